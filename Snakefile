# SPDX-License-Identifier: MIT
# Table of contents: what is measured (config/), the stages' rules, and the targets. Each stage has its rules in a file of
# its folder, and the functions that they call in common.smk beside it.
#
#   snakemake --profile config/profiles/quick                      the reports of one profile
#   snakemake --profile config/profiles/quick PAPER.report         one paper's; PAPER is a folder of paper/
#   snakemake --profile config/profiles/quick PAPER.table5         one table; PAPER alone: all that the paper prints
from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

min_version("9.0")

# Rules call `python -m lab.cell...` and so on: the packages lie beside this file.
sys.path.insert(0, workflow.basedir)

from analysis import cell_list, papers
from lab.cell import cells as lab_cells
from lab.cell import config as lab_config
from lab.cell import papers as lab_papers
from lab.cell import built, identity, images, lock, paths, planning, progress, volumes
from lab.cell.errors import SpindleError

try:
    if not config:
        raise SpindleError("no profile: give --profile config/profiles/quick (or smoke, or full)")
    lab_config.check(config, "config", "Snakemake's config")
    PROFILE = config["profile"]
    # Reports of what is there, in the midst of measuring: no rule measures then, and what has no result is not asked for.
    RENDERING = config.get("rendering", False)
    PAPERS = lab_papers.ids()
    RUNS = lab_cells.runs(PROFILE)
    PLAN = planning.plan(PROFILE)
    STALE = PLAN.stale_runs()
    HELD = set(planning.held(PROFILE, STALE)) if RENDERING else None
except SpindleError as error:
    raise WorkflowError(str(error))

BUILD = str(paths.BUILD)
PYTHON = sys.executable


include: "lab/common.smk"
include: "analysis/common.smk"
include: "paper/common.smk"
include: "notebooks/common.smk"


MEASURED = [paths.result_path(PROFILE, cell.id) for run in RUNS.values() for cell in run.cells]
REPORT = list(
    dict.fromkeys(
        [
            f"results/{PROFILE}/report.pdf",
            f"results/{PROFILE}/report.html",
            f"results/{PROFILE}/summary.json",
            *(file for paper in papers.every() for file in report_of(paper)),
        ]
    )
)


onstart:
    try:
        lock.keep(lock.RESULTS, alone=True, what=f"report of profile {PROFILE}")
        if RENDERING:
            cell_list.leave_held(PROFILE, HELD)
        else:
            progress.begin(PROFILE, STALE)
            planning.say(STALE, progress.ASKED)
    except SpindleError as error:
        raise WorkflowError(str(error))


rule all:
    input:
        REPORT,


rule report:
    input:
        REPORT,


rule measured:
    input:
        MEASURED,


# One repetition of the macro benchmarks: half of what the full profile measures on file systems.
rule first_repetition:
    input:
        # A list: of a generator Snakemake loses the first.
        [paths.result_path(PROFILE, run.id) for run in RUNS.values() if not run.cells[0].raw and run.cells[0].seed == 1],


# The targets of each paper begin with its name, so that two papers may both have a Table 5.
for paper in papers.every():

    rule:
        name:
            paper.id
        input:
            [f"results/{PROFILE}/{paper.id}/tables/{table}.tex" for table in paper.printed],

    rule:
        name:
            f"{paper.id}.report"
        input:
            report_of(paper),

    for table in paper.rendered:

        rule:
            name:
                f"{paper.id}.{table}"
            input:
                f"results/{PROFILE}/{paper.id}/tables/{table}.tex",


include: "lab/lab.smk"
include: "analysis/analysis.smk"
include: "paper/paper.smk"
include: "notebooks/notebooks.smk"


# With Slurm (config/slurm) runs and images of file systems become jobs; all else is done where the command was given.
workflow.localrules(*(one.name for one in workflow.rules if not one.name.startswith(("run_", "image_"))))
