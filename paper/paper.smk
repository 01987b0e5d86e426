# SPDX-License-Identifier: MIT
# From table data to LaTeX, figures and the report.
import subprocess
from pathlib import Path

from analysis import table_names

PAPER_DIR = f"paper/{PAPER}"
FIGURES = expand(f"{RESULTS}/figures/{PAPER}/{{figure}}.pdf", figure=["ratios", "tags", "scaling"])
PAPER_CODE = sorted(str(path) for folder in ("paper", PAPER_DIR) for path in Path(folder).glob("*.py"))
NUMBERS_CODE = expand(
    "analysis/{name}.py",
    name=["numbers", "tables", "table_names", "white2001", "chung2000", "reference", "reference_page"],
)


localrules:
    table_tex,
    committed_tex,
    comparison_page,
    lab_page,
    figures,
    report_tex,


def commit():
    """Commit of the source, with a + if it has changes; empty where there is no git."""
    try:
        head = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
        changed = subprocess.run(["git", "status", "--porcelain", "-uno"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "")


def committed_of(table):
    """The same table made from the reference numbers, if the report prints some of them."""
    return [f"{TABLE_DIR}/reference.{table}.csv"] if table in table_names.SHOWN + table_names.FILLED else []


rule table_tex:
    input:
        NUMBERS_CODE,
        PAPER_CODE,
        lambda wildcards: sorted(str(path) for path in Path(PUBLISHED_DIR).glob(f"{wildcards.any_table}.text.csv")),
        lambda wildcards: published_of("scaling") if wildcards.any_table == "scaling" else [],
        f"{PAPER_DIR}/notes.tex.j2",
        lambda wildcards: committed_of(wildcards.any_table),
        csv=f"{TABLE_DIR}/{{any_table}}.csv",
        template=f"{PAPER_DIR}/{{any_table}}.tex.j2",
    output:
        f"{TABLE_DIR}/{{any_table}}.tex",
    log:
        f"{RESULTS}/logs/{PAPER}.{{any_table}}.tex.log",
    wildcard_constraints:
        any_table="|".join(table_names.PRINTED + table_names.EXTRA),
    params:
        reference=lambda wildcards: " ".join(f"--reference {name}" for name in committed_of(wildcards.any_table)),
    shell:
        "{PYTHON} -m paper.render table --paper {PAPER} --table {wildcards.any_table} --profile {PROFILE} "
        "--csv {input.csv} {params.reference} --out {output} 2>&1 | tee {log}"


rule committed_tex:
    input:
        NUMBERS_CODE,
        PAPER_CODE,
        COMMITTED,
        f"{PAPER_DIR}/notes.tex.j2",
        csv=f"{TABLE_DIR}/reference.{{shown}}.csv",
        template=f"{PAPER_DIR}/{{shown}}.tex.j2",
    output:
        f"{TABLE_DIR}/reference.{{shown}}.tex",
    log:
        f"{RESULTS}/logs/{PAPER}.reference.{{shown}}.tex.log",
    wildcard_constraints:
        shown="|".join(table_names.SHOWN),
    shell:
        "{PYTHON} -m paper.render table --paper {PAPER} --table {wildcards.shown} --profile {PROFILE} "
        "--csv {input.csv} --as-reference --out {output} 2>&1 | tee {log}"


rule comparison_page:
    input:
        ANALYSIS_CODE,
        PAPER_CODE,
        f"{PAPER_DIR}/comparison.tex.j2",
        deviations=f"{RESULTS}/deviations.json",
        reference=f"{RESULTS}/reference.json",
    output:
        f"{RESULTS}/comparison.tex",
    log:
        f"{RESULTS}/logs/{PAPER}.comparison.log",
    shell:
        "{PYTHON} -m paper.comparison_page --paper {PAPER} --deviations {input.deviations} "
        "--reference {input.reference} --out {output} 2>&1 | tee {log}"


rule lab_page:
    input:
        results_of(cell_list.ALL),
        expand("envs/{lock}.lock", lock=["qemu", "guest", "requirements"]),
        "paper/lab.py",
        "analysis/load.py",
        cells=f"{RESULTS}/cells/{PAPER}.{cell_list.ALL}.txt",
    output:
        f"{RESULTS}/lab.json",
    log:
        f"{RESULTS}/logs/{PAPER}.lab.log",
    shell:
        "{PYTHON} -m paper.lab --results {RESULTS} --cells {input.cells} --out {output} 2>&1 | tee {log}"


rule figures:
    input:
        "paper/figures.py",
        summary=f"{RESULTS}/summary.json",
    output:
        FIGURES,
    log:
        f"{RESULTS}/logs/{PAPER}.figures.log",
    params:
        folder=lambda wildcards, output: str(Path(output[0]).parent),
    shell:
        "{PYTHON} -m paper.figures --summary {input.summary} --out {params.folder} 2>&1 | tee {log}"


rule report_tex:
    input:
        PAPER_CODE,
        expand("analysis/{name}.py", name=["summary", "table_names"]),
        "paper/report.tex.j2",
        f"paper/{PAPER}/paper.yaml",
        expand("lab/disk/validation/{part}.csv", part=["measured", "published"]),
        summary=f"{RESULTS}/summary.json",
        lab=f"{RESULTS}/lab.json",
    output:
        f"{RESULTS}/report.tex",
    log:
        f"{RESULTS}/logs/{PAPER}.report.tex.log",
    params:
        commit=commit(),
    shell:
        "{PYTHON} -m paper.render report --paper {PAPER} --profile {PROFILE} --summary {input.summary} "
        "--lab {input.lab} --commit '{params.commit}' --out {output} 2>&1 | tee {log}"


rule report_pdf:
    input:
        expand(f"{TABLE_DIR}/{{table}}.tex", table=table_names.PRINTED + table_names.EXTRA),
        FIGURES,
        expand(f"{RESULTS}/figures/{PAPER}/{{figure}}.pdf", figure=["schedule", "writes"]),
        f"{RESULTS}/traces.tex",
        f"{RESULTS}/comparison.tex",
        expand(f"{TABLE_DIR}/reference.{{table}}.tex", table=table_names.SHOWN),
        "paper/build.py",
        tex=f"{RESULTS}/report.tex",
    output:
        f"{RESULTS}/report.pdf",
    log:
        f"{RESULTS}/logs/report.tex.log",
    shell:
        "{PYTHON} -m paper.build --tex {input.tex} --out {output} --log {log}"
