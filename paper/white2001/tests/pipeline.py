# SPDX-License-Identifier: MIT
"""The command lines from results to report.tex in the order the rules run them."""

from pathlib import Path
from unittest import mock

from analysis import deviations, papers, reference, reference_page, summary, tables, traced
from paper import comparison_page, figures, lab, render, trace_page
from paper.white2001.tests import synthetic, synthetic_traces

PAPER = "white2001"
ABOUT = papers.paper(PAPER)
TABLES = ABOUT.rendered


def run(root: Path, profile: str = "quick", listed: Path | None = None, **wanted) -> Path:
    """Everything but the PDF below root/results/<profile>; returns the paper's folder there.

    The reference is what lies in root/reference, if anything; `listed` are the explanations, the paper's own if None.
    """
    known = listed or deviations.listed_path(PAPER)
    with (
        mock.patch.object(reference, "folder", lambda paper: root / "reference"),
        mock.patch.object(deviations, "listed_path", lambda paper: known),
    ):
        return make(root, profile, **wanted)


def make(root: Path, profile: str, **wanted) -> Path:
    """The command lines."""
    results = root / "results" / profile
    ids = synthetic.write(results, **wanted)
    synthetic_traces.fill(results, ids)
    results.mkdir(parents=True, exist_ok=True)
    (results / "cells.txt").write_text("\n".join(ids))
    own = results / PAPER
    folder = own / "tables"
    cells = ["--results", str(results), "--cells", str(results / "cells.txt")]
    for table in TABLES:
        given = {"table1": [], "table2": [], "table3": synthetic.drives(root)}.get(table, cells)
        name = ["--paper", PAPER, "--table", table]
        csv, tex = folder / f"{table}.csv", folder / f"{table}.tex"
        assert tables.main([*name, *given, "--out", str(csv)]) == 0
        if table in ABOUT.committed:
            committed = folder / reference.table_file(table)
            assert tables.main([*name, "--reference", "--out", str(committed)]) == 0
        drawn = ["table", *name, "--profile", profile]
        beside = []
        if ABOUT.tables[table].reference in (papers.FILLED, papers.SHOWN):
            beside = ["--reference", str(committed)]
        if table in ABOUT.shown:
            there = ["--csv", str(committed), "--as-reference", "--out", str(committed.with_suffix(".tex"))]
            assert render.main([*drawn, *there]) == 0
        assert render.main([*drawn, *beside, "--csv", str(csv), "--out", str(tex)]) == 0
    compare(results, cells)
    draw_traces(results, cells)
    made = {name: str(own / f"{name}.json") for name in ("summary", "lab")}
    assert summary.main(["--paper", PAPER, "--tables", str(folder), "--out", made["summary"]]) == 0
    assert lab.main([*cells, "--out", made["lab"]]) == 0
    assert figures.main(["--paper", PAPER, "--summary", made["summary"], "--out", str(own / "figures")]) == 0
    report = ["report", "--paper", PAPER, "--profile", profile, "--summary", made["summary"], "--lab", made["lab"]]
    assert render.main([*report, "--out", str(own / "report.tex")]) == 0
    return own


def compare(results: Path, cells: list[str]) -> None:
    """The sections on deviations and reference numbers."""
    given = ["--paper", PAPER, *cells, "--tables", str(results / PAPER / "tables")]
    made = {name: str(results / PAPER / f"{name}.json") for name in ("deviations", "reference")}
    assert deviations.main([*given, "--out", made["deviations"]]) == 0
    assert reference_page.main([*given, "--out", made["reference"]]) == 0
    page = ["--paper", PAPER, *(part for name in made for part in (f"--{name}", made[name]))]
    assert comparison_page.main([*page, "--out", str(results / PAPER / "comparison.tex")]) == 0


def draw_traces(results: Path, cells: list[str]) -> None:
    """Figures 1 and 2 and the section on traces, of the cells that the arguments `cells` list."""
    folder, pictures = results / PAPER / "tables", results / PAPER / "figures"
    data = str(folder / "figures.json")
    assert traced.main(["--paper", PAPER, *cells, "--out", str(folder)]) == 0
    assert figures.main(["--paper", PAPER, "--results", str(results), "--traces", data, "--out", str(pictures)]) == 0
    page = ["--paper", PAPER, "--data", data, "--summary", str(folder / "io-summary.csv")]
    assert trace_page.main([*page, "--out", str(results / PAPER / "traces.tex")]) == 0
