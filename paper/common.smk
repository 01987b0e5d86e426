# SPDX-License-Identifier: MIT
# Which files tables, figures and pages are made from, and what makes up a report.


def page_parts(folder):
    """What all pages share."""
    return [f"{folder}/page/{name}" for name in ("page.css", "page.js", "plotly.min.js")]


def report_of(paper):
    """What makes up one paper's report."""
    folder = f"results/{PROFILE}/{paper.id}"
    pages = [f"{folder}/report.html", *page_parts(f"results/{PROFILE}")]
    return [f"{folder}/report.pdf", *pages, f"{folder}/summary.json"]


def look_code(name):
    """Code that decides how a paper's data look, its own and that of all."""
    paper = papers.paper(name)
    return [*PAPER_CODE, *below(paper)(*(path.name for path in paper.code(rendering=True)), "paper.yaml")]


def page_code(name):
    """Code and templates of a paper's pages, its own and those of all; the tables' templates are not here."""
    paper = papers.paper(name)
    own = [path.name for path in sorted(paper.folder.glob("*.tex.j2")) if path.name.split(".")[0] not in paper.tables]
    return [*look_code(name), *PAGE_TEMPLATES, *below(paper)(*own)]


def table_template(wildcards):
    """A table's own template, and its words."""
    paper = papers.paper(wildcards.paper)
    return there(paper, f"{wildcards.table}.tex.j2", f"published/{wildcards.table}.text.csv")


def committed_of(wildcards):
    """The same table made from the reference numbers, if the report prints some of them."""
    reference = papers.paper(wildcards.paper).tables[wildcards.table].reference
    wanted = reference in (papers.FILLED, papers.SHOWN)
    return table_files(wildcards.paper, [wildcards.table], "reference.") if wanted else []


def figure_files(paper, source):
    """Pictures of a paper."""
    return [f"{RESULTS}/{paper.id}/figures/{name}.pdf" for name in paper.figures(source)]


def report_inputs(wildcards):
    """What a report's LaTeX asks for."""
    paper = papers.paper(wildcards.paper)
    folder = f"{RESULTS}/{paper.id}"
    tables = [*paper.rendered, *(f"reference.{table}" for table in paper.shown)]
    return [
        *(f"{folder}/tables/{table}.tex" for table in tables),
        *figure_files(paper, papers.NUMBERS),
        *figure_files(paper, papers.TRACES),
        f"{folder}/traces.tex",
        f"{folder}/comparison.tex",
    ]
