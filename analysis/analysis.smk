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


def below(paper):
    """Paths of files, each from its place in the repository."""
    return lambda *names: [f"paper/{paper.id}/{name}" for name in names]


def data_code(paper):
    """What a paper's data depend on, beside its cells and numbers."""
    files = below(paper)(*(path.name for path in paper.code()))
    return [*ANALYSIS_CODE, *files, *below(paper)("paper.yaml")]


def ids_of(name, table):
    """The cells of a paper's table in this profile; of a report in the midst of measuring, those that have a result."""
    return cell_list.cell_ids(PROFILE, name, table, HELD)


def results_of(name, table):
    """Result files of these cells."""
    return [paths.result_path(PROFILE, cell) for cell in ids_of(name, table)]


def cells_file(name, table):
    """The list of these cells."""
    return f"{RESULTS}/{name}/cells/{table}.txt"


def committed(paper):
    """The reference numbers of a paper, if it has any."""
    return below(paper)(*(f"reference/{path.name}" for path in sorted(paper.reference.glob("*.csv"))))


def there(paper, *names):
    """Those of a paper's files that there are."""
    return below(paper)(*(name for name in names if (paper.folder / name).is_file()))


def published_of(paper, table):
    """Files with a table's printed numbers, and what else it is made from; a table of our own may have none."""
    beside = [f"paper/{name}/published/{path.name}" for name, path in papers.beside(table)]
    return [*there(paper, f"published/{table}.csv", *paper.tables[table].files), *beside]


def data_inputs(wildcards):
    """Everything that a table's data are made from."""
    paper, table = DATA[wildcards.data]
    drives = [f"{BUILD}/disk/show/{drive}.json" for _, drive in paper.tables[table].drives]
    measured = [*results_of(paper.id, table), cells_file(paper.id, table)] if table in paper.measured else []
    return [*published_of(paper, table), *data_code(paper), "config/schemas/result.schema.json", *drives, *measured]


def data_arguments(wildcards):
    """What the command line needs to know of a table."""
    paper, table = DATA[wildcards.data]
    drives = [f"--drive {side}={BUILD}/disk/show/{drive}.json" for side, drive in paper.tables[table].drives]
    measured = [f"--results {RESULTS} --cells {cells_file(paper.id, table)}"] if table in paper.measured else []
    return " ".join([f"--paper {paper.id} --table {table}", *drives, *measured])


def table_files(name, tables, before=""):
    """Table data of these tables."""
    return [f"{RESULTS}/{name}/tables/{before}{table}.csv" for table in tables]


def both_files(name, tables):
    """Table data of these tables, and what was made of them from the reference."""
    from_reference = [table for table in tables if table in papers.paper(name).committed]
    return table_files(name, tables) + table_files(name, from_reference, "reference.")


rule table_cells:
    output:
        f"{RESULTS}/{{paper}}/cells/{{cells_of}}.txt",
    log:
        f"{RESULTS}/logs/{{paper}}.{{cells_of}}.cells.log",
    params:
        # A new sheet or plan makes a new list.
        cells=lambda wildcards: identity.digest(ids_of(wildcards.paper, wildcards.cells_of)),
    shell:
        "{PYTHON} -m analysis.cell_list --profile {PROFILE} --paper {wildcards.paper} --table {wildcards.cells_of} "
        "--out {output} {GIVEN_HELD} 2>&1 | tee {log}"


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
        "{PYTHON} -m analysis.tables {params.given} --out {output} 2>&1 | tee {log}"


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
        "{PYTHON} -m analysis.tables --paper {wildcards.paper} --table {wildcards.table} --reference --out {output} "
        "2>&1 | tee {log}"


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
        "{PYTHON} -m analysis.reference_page --paper {wildcards.paper} --results {RESULTS} --cells {input.cells} "
        "--tables {RESULTS}/{wildcards.paper}/tables --out {output} 2>&1 | tee {log}"


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
        "{PYTHON} -m analysis.deviations --paper {wildcards.paper} --results {RESULTS} --cells {input.cells} "
        "--tables {RESULTS}/{wildcards.paper}/tables --out {output} 2>&1 | tee {log}"


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
        "{PYTHON} -m analysis.summary --paper {wildcards.paper} --tables {RESULTS}/{wildcards.paper}/tables "
        "--reference {input.reference} --out {output} 2>&1 | tee {log}"


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
        "{PYTHON} -m analysis.sensitivity --paper {wildcards.paper} --results {RESULTS} --out {output.page} "
        "--csv {output.csv} 2>&1 | tee {log}"


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
            "{PYTHON} -m analysis.traced --paper {params.paper} --results {RESULTS} --cells {input.cells} "
            "--out {RESULTS}/{params.paper}/tables 2>&1 | tee {log}"


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
        "{PYTHON} -m analysis.guests --profile {PROFILE} --results {RESULTS} --out {output.page} >{log} 2>&1"
