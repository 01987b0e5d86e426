# SPDX-License-Identifier: MIT
# From results to table data, summary and claims, of every paper.
#
# A table's data depends on its cells, its published numbers and the code that reads them, and on nothing else: one
# drive's change re-runs that drive's cells and then the tables that print them.
from pathlib import Path

from analysis import cell_list, papers, traced, verified

RESULTS = f"results/{PROFILE}"
# A paper's own modules come from data_code(), less those that decide only how data look.
ANALYSIS_CODE = sorted(str(path) for path in Path("analysis").glob("*.py"))
ALL = papers.every()
DATA = {f"{paper.id}/tables/{table}": (paper, table) for paper in ALL for table in paper.rendered}
# Not among the parameters: a list of the same cells is the same list.
GIVEN_HELD = f"--held {cell_list.held_path(PROFILE)}" if RENDERING else ""
OF_CELLS = sorted({cell_list.ALL, *(table for paper in ALL for table in paper.measured)})


wildcard_constraints:
    paper="|".join(paper.id for paper in ALL),
    data="|".join(DATA),
    table="[a-z0-9]+",
    cells_of="|".join(OF_CELLS),


localrules:
    table_cells,
    table_data,
    table_committed,
    reference_page,
    deviations,
    summary,
    sensitivity,
    claims_tried,


rule table_cells:
    output:
        f"{RESULTS}/{{paper}}/cells/{{cells_of}}.txt",
    log:
        f"{RESULTS}/logs/{{paper}}.{{cells_of}}.cells.log",
    params:
        # A new sheet or plan makes a new list.
        cells=lambda wildcards: identity.digest(ids_of(wildcards.paper, wildcards.cells_of)),
    shell:
        logged(
            f"analysis.cell_list --profile {PROFILE} {GIVEN_HELD} "
            "--paper {wildcards.paper} --table {wildcards.cells_of} --out {output}"
        )


rule table_data:
    input:
        data_inputs,
    output:
        f"{RESULTS}/{{data}}.csv",
    log:
        f"{RESULTS}/logs/{{data}}.csv.log",
    params:
        given=data_arguments,
    shell:
        logged("analysis.tables {params.given} --out {output}")


rule table_committed:
    input:
        lambda wildcards: published_of(papers.paper(wildcards.paper), wildcards.table),
        lambda wildcards: data_code(papers.paper(wildcards.paper)),
        lambda wildcards: committed(papers.paper(wildcards.paper)),
    output:
        f"{RESULTS}/{{paper}}/tables/reference.{{table}}.csv",
    log:
        f"{RESULTS}/logs/{{paper}}.reference.{{table}}.csv.log",
    shell:
        logged("analysis.tables --paper {wildcards.paper} --table {wildcards.table} --reference --out {output}")


rule reference_page:
    input:
        lambda wildcards: results_of(wildcards.paper, cell_list.ALL),
        lambda wildcards: data_code(papers.paper(wildcards.paper)),
        lambda wildcards: committed(papers.paper(wildcards.paper)),
        lambda wildcards: both_files(wildcards.paper, papers.paper(wildcards.paper).shown),
        # Nobody need have verified anything.
        [str(path) for path in [verified.path()] if path.is_file()],
        cells=cells_file("{paper}", cell_list.ALL),
    output:
        f"{RESULTS}/{{paper}}/reference.json",
    log:
        f"{RESULTS}/logs/{{paper}}.reference_page.log",
    shell:
        logged(
            f"analysis.reference_page --results {RESULTS} --tables {RESULTS}/{{wildcards.paper}}/tables "
            "--paper {wildcards.paper} --cells {input.cells} --out {output}"
        )


rule deviations:
    input:
        lambda wildcards: results_of(wildcards.paper, cell_list.ALL),
        lambda wildcards: data_code(papers.paper(wildcards.paper)),
        lambda wildcards: committed(papers.paper(wildcards.paper)),
        lambda wildcards: there(papers.paper(wildcards.paper), "deviations.yaml"),
        lambda wildcards: both_files(wildcards.paper, papers.paper(wildcards.paper).explained),
        "config/schemas/deviations.schema.json",
        cells=cells_file("{paper}", cell_list.ALL),
    output:
        f"{RESULTS}/{{paper}}/deviations.json",
    log:
        f"{RESULTS}/logs/{{paper}}.deviations.log",
    shell:
        logged(
            f"analysis.deviations --results {RESULTS} --tables {RESULTS}/{{wildcards.paper}}/tables "
            "--paper {wildcards.paper} --cells {input.cells} --out {output}"
        )


rule summary:
    input:
        lambda wildcards: table_files(wildcards.paper, papers.paper(wildcards.paper).tables),
        lambda wildcards: table_files(wildcards.paper, papers.paper(wildcards.paper).committed, "reference."),
        lambda wildcards: there(papers.paper(wildcards.paper), "claims.yaml"),
        lambda wildcards: data_code(papers.paper(wildcards.paper)),
        reference=f"{RESULTS}/{{paper}}/reference.json",
    output:
        # What `update` marks stays until the new one takes its place, so that a report is there at any moment.
        update(f"{RESULTS}/{{paper}}/summary.json"),
    log:
        f"{RESULTS}/logs/{{paper}}.summary.log",
    shell:
        logged(
            f"analysis.summary --tables {RESULTS}/{{wildcards.paper}}/tables "
            "--paper {wildcards.paper} --reference {input.reference} --out {output}"
        )


# Profile `sensitivity`: each claim's verdict under other assumptions (analysis/sensitivity.py).
TRIED = [paper for paper in ALL if PROFILE == "sensitivity" and there(paper, "sensitivity.yaml")]


rule sensitivity:
    input:
        [f"{RESULTS}/{paper.id}/sensitivity.md" for paper in TRIED],


rule claims_tried:
    input:
        lambda wildcards: results_of(wildcards.paper, cell_list.ALL),
        lambda wildcards: there(papers.paper(wildcards.paper), "claims.yaml", "sensitivity.yaml", "sensitivity.csv"),
        lambda wildcards: data_code(papers.paper(wildcards.paper)),
        "config/schemas/sensitivity.schema.json",
    output:
        page=f"{RESULTS}/{{paper}}/sensitivity.md",
        csv=f"{RESULTS}/{{paper}}/sensitivity.csv",
    log:
        f"{RESULTS}/logs/{{paper}}.sensitivity.log",
    shell:
        logged(
            f"analysis.sensitivity --results {RESULTS} "
            "--paper {wildcards.paper} --out {output.page} --csv {output.csv}"
        )


# From the traces of chosen cells to the I/O summary, and to what a paper itself makes of them.
for paper in ALL:

    rule:
        name:
            f"{paper.id}_trace_data"
        input:
            [paths.result_path(PROFILE, cell) for cell in traced.wanted(paper, ids_of(paper.id, cell_list.ALL))],
            data_code(paper),
            "lab/cell/trace.py",
            cells=cells_file(paper.id, cell_list.ALL),
        output:
            [f"{RESULTS}/{paper.id}/tables/{name}" for name in traced.files(paper)],
        log:
            f"{RESULTS}/logs/{paper.id}.trace_data.log",
        params:
            paper=paper.id,
        shell:
            logged(
                f"analysis.traced --results {RESULTS} --out {RESULTS}/{{params.paper}}/tables "
                "--paper {params.paper} --cells {input.cells}"
            )


# Numbers of other guests beside the lean one's. No report asks for it.
rule guests_table:
    input:
        MEASURED,
        ANALYSIS_CODE,
    output:
        page=f"{RESULTS}/guests.md",
        csv=f"{RESULTS}/guests.csv",
    log:
        f"{RESULTS}/logs/guests-table.log",
    shell:
        logged(f"analysis.guests --profile {PROFILE} --results {RESULTS} --out {{output.page}}")
