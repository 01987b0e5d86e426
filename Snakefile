# SPDX-License-Identifier: MIT
# Table of contents: what is measured (config/), the stages' rules, and the targets.
#
#   snakemake --profile config/profiles/quick             the report of one profile
#   snakemake --profile config/profiles/quick table5      one table
from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

min_version("9.0")

# Rules call `python -m lab.cell...` and so on: the packages lie beside this file.
sys.path.insert(0, workflow.basedir)

from analysis import table_names
from lab.cell import cells as lab_cells
from lab.cell import config as lab_config
from lab.cell import identity, lock, paths, progress, volumes
from lab.cell.errors import SpindleError

try:
    if not config:
        raise SpindleError("no profile: give --profile config/profiles/quick (or smoke, or full)")
    lab_config.check(config, "config", "Snakemake's config")
    PROFILE = config["profile"]
    RUNS = lab_cells.runs(PROFILE)
    identity.write(PROFILE)
except SpindleError as error:
    raise WorkflowError(str(error))

BUILD = str(paths.BUILD)
PYTHON = sys.executable
PAPER = "white2001"
# The results, too: a missing one (a failed cell that is to run again) would else hide behind newer tables.
REPORT = [
    f"results/{PROFILE}/report.pdf",
    f"results/{PROFILE}/summary.json",
    *(paths.result_path(PROFILE, cell.id) for run in RUNS.values() for cell in run.cells),
]


wildcard_constraints:
    profile="smoke|quick|full",
    table="table[0-9]+",


onstart:
    try:
        lock.keep(lock.RESULTS, alone=True, what=f"report of profile {PROFILE}")
        progress.begin(PROFILE)
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
        REPORT[2:],


# One repetition of the macro benchmarks: half of what the full profile measures on file systems.
rule first_repetition:
    input:
        # A list: of a generator Snakemake loses the first.
        [paths.result_path(PROFILE, run.id) for run in RUNS.values() if not run.cells[0].raw and run.cells[0].seed == 1],


rule white2001:
    input:
        expand(f"results/{PROFILE}/tables/{PAPER}/{{table}}.tex", table=table_names.PRINTED),


for table in table_names.PRINTED:

    rule:
        name:
            table
        input:
            f"results/{PROFILE}/tables/{PAPER}/{table}.tex",


include: "lab/lab.smk"
include: "workloads/workloads.smk"
include: "analysis/analysis.smk"
include: "paper/paper.smk"
include: "paper/traces.smk"
