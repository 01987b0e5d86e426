# SPDX-License-Identifier: MIT
"""The command lines from results to report.tex in the order the rules run them."""

import shutil
from pathlib import Path
from unittest import mock

from analysis import deviations, papers, reference, reference_page, summary, tables, traced
from paper import comparison_page, figures, lab, page, render, trace_page
from paper.white2001.tests import synthetic, synthetic_traces

PAPER = "white2001"
ABOUT = papers.paper(PAPER)
TABLES = ABOUT.rendered


def run(root: Path, profile: str = "quick", listed: Path | None = None, drawn: bool = True, **wanted) -> Path:
    """Everything but the PDF below root/results/<profile>; returns the paper's folder there. Without `drawn`, only the
    data.

    The reference is what lies in root/reference, if anything; `listed` are the explanations, the paper's own if None.
    """
    known = listed or deviations.listed_path(PAPER)
    with (
        mock.patch.object(reference, "folder", lambda paper: root / "reference"),
        mock.patch.object(deviations, "listed_path", lambda paper: known),
    ):
        return make(root, profile, drawn, **wanted)


def make(root: Path, profile: str, drawn: bool, **wanted) -> Path:
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
        if not drawn:
            continue
        given = ["table", *name, "--profile", profile]
        beside = []
        if ABOUT.tables[table].reference in (papers.FILLED, papers.SHOWN):
            beside = ["--reference", str(committed)]
        if table in ABOUT.shown:
            there = ["--csv", str(committed), "--as-reference", "--out", str(committed.with_suffix(".tex"))]
            assert render.main([*given, *there]) == 0
        assert render.main([*given, *beside, "--csv", str(csv), "--out", str(tex)]) == 0
    compare(results, cells)
    draw_traces(results, cells) if drawn else trace_data(results, cells)
    made = {name: str(own / f"{name}.json") for name in ("summary", "lab")}
    about = ["--tables", str(folder), "--reference", str(own / "reference.json")]
    assert summary.main(["--paper", PAPER, *about, "--out", made["summary"]]) == 0
    assert lab.main([*cells, "--out", made["lab"]]) == 0
    if not drawn:
        return own
    assert figures.main(["--paper", PAPER, "--summary", made["summary"], "--out", str(own / "figures")]) == 0
    report = ["report", "--paper", PAPER, "--profile", profile, "--summary", made["summary"], "--lab", made["lab"]]
    assert render.main([*report, "--out", str(own / "report.tex")]) == 0
    return own


def pages(root: Path, own: Path) -> None:
    """The paper's page, with the files of its cells; `own` is the folder that `run` has returned."""
    results, name = own.parent, "report.html"
    (own / "cells").mkdir(exist_ok=True)
    shutil.copy(results / "cells.txt", own / "cells" / "all.txt")
    given = ["--paper", PAPER, "--profile", results.name, "--results", str(results), "--out", str(own / name)]
    with mock.patch.object(reference, "folder", lambda paper: root / "reference"):
        assert page.main(["paper", *given]) == 0


def compare(results: Path, cells: list[str]) -> None:
    """The sections on deviations and reference numbers."""
    given = ["--paper", PAPER, *cells, "--tables", str(results / PAPER / "tables")]
    made = {name: str(results / PAPER / f"{name}.json") for name in ("deviations", "reference")}
    assert deviations.main([*given, "--out", made["deviations"]]) == 0
    assert reference_page.main([*given, "--out", made["reference"]]) == 0
    page = ["--paper", PAPER, *(part for name in made for part in (f"--{name}", made[name]))]
    assert comparison_page.main([*page, "--out", str(results / PAPER / "comparison.tex")]) == 0


def trace_data(results: Path, cells: list[str]) -> None:
    """What is made from traces, of the cells that the arguments `cells` list."""
    assert traced.main(["--paper", PAPER, *cells, "--out", str(results / PAPER / "tables")]) == 0


def draw_traces(results: Path, cells: list[str]) -> None:
    """Figures 1 and 2 and the section on traces, of the cells that the arguments `cells` list."""
    folder, pictures = results / PAPER / "tables", results / PAPER / "figures"
    data = str(folder / "figures.json")
    trace_data(results, cells)
    assert figures.main(["--paper", PAPER, "--results", str(results), "--traces", data, "--out", str(pictures)]) == 0
    page = ["--paper", PAPER, "--data", data, "--summary", str(folder / "io-summary.csv")]
    assert trace_page.main([*page, "--out", str(results / PAPER / "traces.tex")]) == 0
