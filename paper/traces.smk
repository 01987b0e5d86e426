# SPDX-License-Identifier: MIT
# From the traces of chosen cells (analysis/figure_cells.py) to Figures 1 and 2 and the I/O summary.
from analysis import figure_cells

TRACE_DATA = ["figure1.csv", "figure2.csv", "figure2.bands.csv", "io-summary.csv", "figures.json"]
TRACE_FIGURES = expand(f"{RESULTS}/figures/{PAPER}/{{figure}}.pdf", figure=["schedule", "writes"])


localrules:
    trace_page,


def traced_results(wildcards):
    """Results of the cells whose traces are read; each has its trace beside it."""
    chosen = figure_cells.wanted(cell_list.cell_ids(PROFILE, PAPER, cell_list.ALL))
    return [paths.result_path(PROFILE, cell) for cell in chosen]


rule trace_data:
    input:
        traced_results,
        ANALYSIS_CODE,
        "lab/cell/trace.py",
        cells=f"{RESULTS}/cells/{PAPER}.{cell_list.ALL}.txt",
    output:
        expand(f"{TABLE_DIR}/{{name}}", name=TRACE_DATA),
    log:
        f"{RESULTS}/logs/{PAPER}.trace_data.log",
    shell:
        "{PYTHON} -m analysis.figures --results {RESULTS} --cells {input.cells} --out {TABLE_DIR} 2>&1 | tee {log}"


rule trace_figures:
    input:
        ANALYSIS_CODE,
        "paper/figures.py",
        "paper/trace_figures.py",
        data=f"{TABLE_DIR}/figures.json",
    output:
        TRACE_FIGURES,
    log:
        f"{RESULTS}/logs/{PAPER}.trace_figures.log",
    params:
        folder=lambda wildcards, output: str(Path(output[0]).parent),
    shell:
        "{PYTHON} -m paper.trace_figures --results {RESULTS} --data {input.data} --out {params.folder} 2>&1 | tee {log}"


rule trace_page:
    input:
        ANALYSIS_CODE,
        PAPER_CODE,
        f"{PAPER_DIR}/traces.tex.j2",
        data=f"{TABLE_DIR}/figures.json",
        summary=f"{TABLE_DIR}/io-summary.csv",
    output:
        f"{RESULTS}/traces.tex",
    log:
        f"{RESULTS}/logs/{PAPER}.trace_page.log",
    shell:
        "{PYTHON} -m paper.trace_page --paper {PAPER} --data {input.data} --summary {input.summary} --out {output} "
        "2>&1 | tee {log}"
