# SPDX-License-Identifier: MIT
# From table data to LaTeX, figures and the reports: one for each paper, and the overview of all.
import importlib.util
from pathlib import Path

from analysis import papers
from paper import sources

PAPER_CODE = sorted(str(path) for path in Path("paper").glob("*.py"))
TABLE_TEMPLATES = ["paper/notes.tex.j2", "paper/table.tex.j2"]
PLOTLY = str(Path(importlib.util.find_spec("plotly").origin).parent / "package_data" / "plotly.min.js")
PAGE_TEMPLATES = sorted({str(path) for path in Path("paper").glob("*.j2")} - set(TABLE_TEMPLATES))
NUMBERS_CODE = expand(
    "analysis/{name}.py",
    name=["numbers", "entries", "settings", "papers", "reference", "reference_page"],
)


localrules:
    table_tex,
    committed_tex,
    comparison_page,
    trace_page,
    lab_page,
    report_tex,
    overview_tex,
    page_shared,
    paper_page,
    overview_page,


rule table_tex:
    input:
        NUMBERS_CODE,
        lambda wildcards: look_code(wildcards.paper),
        TABLE_TEMPLATES,
        table_template,
        lambda wildcards: published_of(papers.paper(wildcards.paper), wildcards.table),
        committed_of,
        csv=f"{RESULTS}/{{paper}}/tables/{{table}}.csv",
    output:
        f"{RESULTS}/{{paper}}/tables/{{table}}.tex",
    log:
        f"{RESULTS}/logs/{{paper}}.{{table}}.tex.log",
    params:
        reference=lambda wildcards: " ".join(f"--reference {name}" for name in committed_of(wildcards)),
    shell:
        logged(
            f"paper.render table --profile {PROFILE} "
            "--paper {wildcards.paper} --table {wildcards.table} --csv {input.csv} {params.reference} "
            "--out {output}"
        )


rule committed_tex:
    input:
        NUMBERS_CODE,
        lambda wildcards: look_code(wildcards.paper),
        TABLE_TEMPLATES,
        table_template,
        lambda wildcards: committed(papers.paper(wildcards.paper)),
        csv=f"{RESULTS}/{{paper}}/tables/reference.{{table}}.csv",
    output:
        f"{RESULTS}/{{paper}}/tables/reference.{{table}}.tex",
    log:
        f"{RESULTS}/logs/{{paper}}.reference.{{table}}.tex.log",
    shell:
        logged(
            f"paper.render table --profile {PROFILE} "
            "--paper {wildcards.paper} --table {wildcards.table} --csv {input.csv} --as-reference --out {output}"
        )


rule comparison_page:
    input:
        ANALYSIS_CODE,
        lambda wildcards: page_code(wildcards.paper),
        deviations=f"{RESULTS}/{{paper}}/deviations.json",
        reference=f"{RESULTS}/{{paper}}/reference.json",
    output:
        f"{RESULTS}/{{paper}}/comparison.tex",
    log:
        f"{RESULTS}/logs/{{paper}}.comparison.log",
    shell:
        logged(
            "paper.comparison_page --paper {wildcards.paper} --deviations {input.deviations} "
            "--reference {input.reference} --out {output}"
        )


rule trace_page:
    input:
        ANALYSIS_CODE,
        lambda wildcards: page_code(wildcards.paper),
        data=f"{RESULTS}/{{paper}}/tables/{traced.DATA}",
        summary=f"{RESULTS}/{{paper}}/tables/{traced.SUMMARY}",
    output:
        f"{RESULTS}/{{paper}}/traces.tex",
    log:
        f"{RESULTS}/logs/{{paper}}.trace_page.log",
    shell:
        logged(
            "paper.trace_page --paper {wildcards.paper} --data {input.data} --summary {input.summary} "
            "--out {output}"
        )


rule lab_page:
    input:
        lambda wildcards: results_of(wildcards.paper, cell_list.ALL),
        expand("envs/{lock}.lock", lock=["qemu", "guest", "requirements"]),
        "paper/lab.py",
        "analysis/load.py",
        cells=cells_file("{paper}", cell_list.ALL),
    output:
        f"{RESULTS}/{{paper}}/lab.json",
    log:
        f"{RESULTS}/logs/{{paper}}.lab.log",
    shell:
        logged(f"paper.lab --results {RESULTS} " "--cells {input.cells} --out {output}")


for paper in ALL:
    if paper.figures(papers.NUMBERS):

        rule:
            name:
                f"{paper.id}_figures"
            input:
                expand("paper/{name}.py", name=["figures", "plot"]),
                data_code(paper),
                there(paper, "figures.py"),
                summary=f"{RESULTS}/{paper.id}/summary.json",
            output:
                figure_files(paper, papers.NUMBERS),
            log:
                f"{RESULTS}/logs/{paper.id}.figures.log",
            params:
                paper=paper.id,
            shell:
                logged(
                    f"paper.figures --out {RESULTS}/{{params.paper}}/figures "
                    "--paper {params.paper} --summary {input.summary}"
                )

    if paper.figures(papers.TRACES):

        rule:
            name:
                f"{paper.id}_trace_figures"
            input:
                expand("paper/{name}.py", name=["figures", "plot"]),
                data_code(paper),
                there(paper, "trace_figures.py"),
                data=f"{RESULTS}/{paper.id}/tables/{traced.DATA}",
            output:
                figure_files(paper, papers.TRACES),
            log:
                f"{RESULTS}/logs/{paper.id}.trace_figures.log",
            params:
                paper=paper.id,
            shell:
                logged(
                    f"paper.figures --results {RESULTS} --out {RESULTS}/{{params.paper}}/figures "
                    "--paper {params.paper} --traces {input.data}"
                )


rule report_tex:
    input:
        lambda wildcards: page_code(wildcards.paper),
        expand("analysis/{name}.py", name=["summary", "papers"]),
        expand("lab/disk/validation/{part}.csv", part=["measured", "published"]),
        summary=f"{RESULTS}/{{paper}}/summary.json",
        lab=f"{RESULTS}/{{paper}}/lab.json",
    output:
        f"{RESULTS}/{{paper}}/report.tex",
    log:
        f"{RESULTS}/logs/{{paper}}.report.tex.log",
    params:
        commit=sources.commit(),
    shell:
        logged(
            f"paper.render report --profile {PROFILE} "
            "--paper {wildcards.paper} --summary {input.summary} --lab {input.lab} --commit '{params.commit}' "
            "--out {output}"
        )


rule report_pdf:
    input:
        report_inputs,
        "paper/build.py",
        tex=f"{RESULTS}/{{paper}}/report.tex",
    output:
        # What `update` marks stays until the new one takes its place, so that a report is there at any moment.
        update(f"{RESULTS}/{{paper}}/report.pdf"),
    log:
        f"{RESULTS}/logs/{{paper}}.report.log",
    shell:
        call("paper.build --tex {input.tex} --out {output} --log {log}")


rule overview_tex:
    input:
        PAPER_CODE,
        "paper/overview.tex.j2",
        ANALYSIS_CODE,
        expand("paper/{paper}/paper.yaml", paper=PAPERS),
        summaries=expand(f"{RESULTS}/{{paper}}/{{name}}.json", paper=PAPERS, name=["summary", "reference"]),
    output:
        # And figures/<paper>.pdf of each paper that has a number to compare.
        tex=f"{RESULTS}/report.tex",
        summary=update(f"{RESULTS}/summary.json"),
    log:
        f"{RESULTS}/logs/overview.log",
    params:
        commit=sources.commit(),
    shell:
        logged(
            f"paper.overview --profile {PROFILE} --results {RESULTS} "
            "--commit '{params.commit}' --summary {output.summary} --out {output.tex}"
        )


rule overview_pdf:
    input:
        "paper/build.py",
        tex=f"{RESULTS}/report.tex",
    output:
        update(f"{RESULTS}/report.pdf"),
    log:
        f"{RESULTS}/logs/overview.pdf.log",
    shell:
        call("paper.build --tex {input.tex} --out {output} --log {log}")


# The pages for a browser. Plotly's own file lies beside them, so that nothing is fetched when they are opened.
rule page_shared:
    input:
        expand("paper/html/page.{kind}", kind=["css", "js"]),
        ancient(PLOTLY),
    output:
        page_parts(RESULTS),
    log:
        f"{RESULTS}/logs/page.log",
    shell:
        f"cp {{input}} {RESULTS}/page/ 2>&1 | tee {{log}}"


# It writes the cells' files, too, which lie in the paper's folder page/. They are no output, as Snakemake would remove
# them all before each run: those that hold stay as they are (paper/cell_page.py).
rule paper_page:
    input:
        lambda wildcards: look_code(wildcards.paper),
        ANALYSIS_CODE,
        "lab/cell/trace.py",
        expand("paper/html/{name}.html.j2", name=["base", "paper"]),
        lambda wildcards: results_of(wildcards.paper, cell_list.ALL),
        lambda wildcards: committed(papers.paper(wildcards.paper)),
        lambda wildcards: table_files(wildcards.paper, papers.paper(wildcards.paper).tables),
        lambda wildcards: table_files(wildcards.paper, papers.paper(wildcards.paper).committed, "reference."),
        cells_file("{paper}", cell_list.ALL),
        expand(f"{RESULTS}/{{{{paper}}}}/{{name}}.json", name=["summary", "reference", "deviations", "lab"]),
    output:
        update(f"{RESULTS}/{{paper}}/report.html"),
    log:
        f"{RESULTS}/logs/{{paper}}.page.log",
    params:
        commit=sources.commit(),
    shell:
        logged(
            f"paper.page paper --profile {PROFILE} --results {RESULTS} "
            "--paper {wildcards.paper} --commit '{params.commit}' --out {output}"
        )


rule overview_page:
    input:
        PAPER_CODE,
        ANALYSIS_CODE,
        expand("paper/html/{name}.html.j2", name=["base", "overview"]),
        f"{RESULTS}/summary.json",
    output:
        update(f"{RESULTS}/report.html"),
    log:
        f"{RESULTS}/logs/overview.page.log",
    params:
        commit=sources.commit(),
    shell:
        logged(
            f"paper.page overview --profile {PROFILE} --results {RESULTS} " "--commit '{params.commit}' --out {output}"
        )
