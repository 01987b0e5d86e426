# SPDX-License-Identifier: MIT
# From results to table data, summary and claims.
#
# A table's data depends on its cells, its published numbers and the code that reads them, and on nothing else: one
# drive's change re-runs that drive's cells and then the tables that print them.
from pathlib import Path

from analysis import cell_list, table_names

RESULTS = f"results/{PROFILE}"
TABLE_DIR = f"{RESULTS}/tables/{PAPER}"
PUBLISHED_DIR = f"paper/{PAPER}/published"
ANALYSIS_CODE = sorted(str(path) for path in Path("analysis").glob("*.py"))
COMMITTED = sorted(str(path) for path in Path(f"paper/{PAPER}/reference").glob("*.csv"))


wildcard_constraints:
    cells_of="|".join((*table_names.MEASURED, *table_names.EXTRA, cell_list.ALL)),
    reference="|".join(table_names.LITERAL),
    measured="|".join(table_names.MEASURED + table_names.EXTRA),
    committed="|".join(table_names.COMMITTED),


localrules:
    table_cells,
    table_reference,
    table_drives,
    table_measured,
    table_committed,
    reference_page,
    deviations,
    summary,


def results_of(table):
    """Result files of a table's cells in this profile."""
    return [paths.result_path(PROFILE, cell) for cell in cell_list.cell_ids(PROFILE, PAPER, table)]


def published_of(table):
    """Files with a table's printed numbers; a table of our own has none."""
    folder = "paper/chung2000/published" if table == "scaling" else PUBLISHED_DIR
    return sorted(str(path) for path in Path(folder).glob(f"{table}.csv"))


rule table_cells:
    output:
        f"{RESULTS}/cells/{PAPER}.{{cells_of}}.txt",
    log:
        f"{RESULTS}/logs/{PAPER}.{{cells_of}}.cells.log",
    params:
        # A new sheet or plan makes a new list.
        cells=lambda wildcards: identity.digest(cell_list.cell_ids(PROFILE, PAPER, wildcards.cells_of)),
    shell:
        "{PYTHON} -m analysis.cell_list --profile {PROFILE} --paper {PAPER} --table {wildcards.cells_of} "
        "--out {output} 2>&1 | tee {log}"


rule table_reference:
    input:
        f"{PUBLISHED_DIR}/{{reference}}.csv",
        f"paper/{PAPER}/cost.yaml",
        ANALYSIS_CODE,
    output:
        f"{TABLE_DIR}/{{reference}}.csv",
    log:
        f"{RESULTS}/logs/{PAPER}.{{reference}}.csv.log",
    shell:
        "{PYTHON} -m analysis.tables --paper {PAPER} --table {wildcards.reference} --out {output} 2>&1 | tee {log}"


rule table_drives:
    input:
        f"{PUBLISHED_DIR}/table3.csv",
        ANALYSIS_CODE,
        ide=f"{BUILD}/disk/show/deskstar-75gxp.json",
        scsi=f"{BUILD}/disk/show/ultrastar-36zx.json",
    output:
        f"{TABLE_DIR}/table3.csv",
    log:
        f"{RESULTS}/logs/{PAPER}.table3.csv.log",
    shell:
        "{PYTHON} -m analysis.tables --paper {PAPER} --table table3 --drive ide={input.ide} --drive scsi={input.scsi} "
        "--out {output} 2>&1 | tee {log}"


rule table_measured:
    input:
        lambda wildcards: results_of(wildcards.measured) + published_of(wildcards.measured),
        ANALYSIS_CODE,
        f"paper/{PAPER}/paper.yaml",
        "config/schemas/result.schema.json",
        cells=f"{RESULTS}/cells/{PAPER}.{{measured}}.txt",
    output:
        f"{TABLE_DIR}/{{measured}}.csv",
    log:
        f"{RESULTS}/logs/{PAPER}.{{measured}}.csv.log",
    shell:
        "{PYTHON} -m analysis.tables --paper {PAPER} --table {wildcards.measured} --results {RESULTS} "
        "--cells {input.cells} --out {output} 2>&1 | tee {log}"


rule table_committed:
    input:
        lambda wildcards: published_of(wildcards.committed),
        ANALYSIS_CODE,
        COMMITTED,
        f"paper/{PAPER}/paper.yaml",
    output:
        f"{TABLE_DIR}/reference.{{committed}}.csv",
    log:
        f"{RESULTS}/logs/{PAPER}.reference.{{committed}}.csv.log",
    shell:
        "{PYTHON} -m analysis.tables --paper {PAPER} --table {wildcards.committed} --reference --out {output} "
        "2>&1 | tee {log}"


rule reference_page:
    input:
        results_of(cell_list.ALL),
        ANALYSIS_CODE,
        COMMITTED,
        expand(f"{TABLE_DIR}/{{source}}{{table}}.csv", source=["", "reference."], table=table_names.SHOWN),
        cells=f"{RESULTS}/cells/{PAPER}.{cell_list.ALL}.txt",
    output:
        f"{RESULTS}/reference.json",
    log:
        f"{RESULTS}/logs/{PAPER}.reference_page.log",
    shell:
        "{PYTHON} -m analysis.reference_page --paper {PAPER} --results {RESULTS} --cells {input.cells} "
        "--tables {TABLE_DIR} --out {output} 2>&1 | tee {log}"


rule deviations:
    input:
        results_of(cell_list.ALL),
        ANALYSIS_CODE,
        COMMITTED,
        f"paper/{PAPER}/deviations.yaml",
        "config/schemas/deviations.schema.json",
        expand(f"{TABLE_DIR}/{{source}}{{table}}.csv", source=["", "reference."], table=table_names.EXPLAINED),
        cells=f"{RESULTS}/cells/{PAPER}.{cell_list.ALL}.txt",
    output:
        f"{RESULTS}/deviations.json",
    log:
        f"{RESULTS}/logs/{PAPER}.deviations.log",
    shell:
        "{PYTHON} -m analysis.deviations --paper {PAPER} --results {RESULTS} --cells {input.cells} "
        "--tables {TABLE_DIR} --out {output} 2>&1 | tee {log}"


rule summary:
    input:
        expand(f"{TABLE_DIR}/{{table}}.csv", table=table_names.PRINTED + table_names.EXTRA + table_names.TRACED),
        expand(f"{TABLE_DIR}/reference.{{table}}.csv", table=table_names.COMMITTED),
        f"paper/{PAPER}/claims.yaml",
        ANALYSIS_CODE,
    output:
        f"{RESULTS}/summary.json",
    log:
        f"{RESULTS}/logs/{PAPER}.summary.log",
    shell:
        "{PYTHON} -m analysis.summary --paper {PAPER} --tables {TABLE_DIR} --out {output} 2>&1 | tee {log}"
