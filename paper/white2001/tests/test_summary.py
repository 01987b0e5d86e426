# SPDX-License-Identifier: MIT
"""The summary: every number once, in the documented form."""

import json
import subprocess
import sys

import pytest

from analysis import entries, load, papers, reference, summary, tables, traced
from paper.white2001 import chung, figures, trace_figures, views
from paper.white2001 import tables as white

PAPER = papers.paper("white2001")

SPACING = "burst_spacing_median_s"
"""What the paper's text says of Figure 2."""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    for table, builder in white.TABLES.items():
        entries.write(builder(frame=load.load([]), drives={}), folder / f"{table}.csv")
    for table in PAPER.committed:
        assert tables.main(["--paper", "white2001", "--table", table, "--reference",
                            "--out", str(folder / reference.table_file(table))]) == 0  # fmt: skip
    traced.build(PAPER, folder, [], folder)
    (folder / "reference.json").write_text(json.dumps({"equal": [], "verified": []}))
    given = ["--paper", "white2001", "--tables", str(folder), "--reference", str(folder / "reference.json")]
    assert summary.main([*given, "--out", str(folder / "summary.json")]) == 0
    return json.loads((folder / "summary.json").read_text()) | {"folder": folder}


def test_summary_has_every_printed_number(found):
    numbers = found["numbers"]
    assert len(numbers) == 568
    assert len({(n["table"], n["row"], n["column"]) for n in numbers}) == 568
    assert all(set(n) == {"paper", "table", "origin", *entries.COLUMNS} for n in numbers)
    assert all(n["published"] is not None for n in numbers)
    assert all(n["reason"] for n in numbers if n["reproduced"] is None)


def test_summary_says_where_each_number_is_from(found):
    """Nothing was measured: what the report prints of cells is the reference's."""
    assert sum(found["origins"].values()) == len(found["numbers"])
    assert not {"measured here", "verified here"} & found["origins"].keys()
    shown = [n for n in found["numbers"] if n["table"] == "table6"]
    assert {n["origin"] for n in shown} == {"reference"}


def test_summary_has_the_numbers_of_the_reference_that_stand_for_others(found):
    rows = {(n["table"], n["row"], n["column"]): n for n in found["numbers"]}
    for number in found["instead"]:
        assert number["origin"] == "reference" and number["reproduced"] is not None
        assert rows[number["table"], number["row"], number["column"]]["reproduced"] is None
    assert {"table5", "table6", "table7"} <= {number["table"] for number in found["instead"]}


def test_summary_counts_what_was_verified_here(found, tmp_path):
    folder = found["folder"]
    rows = {n["column"]: n for n in entries.read(folder / reference.table_file("table6")) if n["row"] == "t32-64.both"}
    cells = rows["ffs.ide.sdet"]["cells"]
    made = {"equal": [], "verified": cells}
    numbers = summary.summarise("white2001", folder, made)["numbers"]
    (one,) = [n for n in numbers if (n["row"], n["column"]) == ("t32-64.both", "ffs.ide.sdet")]
    assert one["origin"] == "verified here"


def test_summary_claims_have_the_documented_keys(found):
    assert all({"id", "statement", "where", "verdict", "because"} <= set(claim) for claim in found["claims"])
    # What Table 1's quotients show needs no run.
    ran = {claim["id"] for claim in found["claims"] if claim["verdict"] != "not run"}
    assert ran == {"array-ide-disks-cheaper", "array-ide-controllers-cheaper", "array-ide-raid-controllers-cheaper"}


def test_summary_extra_has_no_published_numbers(found):
    assert {n["table"] for n in found["extra"]} == set(PAPER.extra)
    ours = [n for n in found["extra"] if n["column"] != SPACING and not n["row"].startswith(chung.PREFIX)]
    # Table 6's numbers, beside both of what they may be.
    readings = [n for n in ours if n["table"] == "postmark" and n["column"].endswith((".run", ".total"))]
    assert len(readings) == 84 and all(n["published"] for n in readings)
    ours = [n for n in ours if n not in readings]
    assert all(n["published"] is None and n["ratio"] is None for n in ours)
    assert {n["published"] for n in found["extra"] if (n["row"], n["column"]) == ("ffs", SPACING)} == {30}


def test_summary_glance():
    rows = [{"ratio": r, "reproduced": r, "reason": None} for r in (1.0, 1.2, 0.5)]
    rows.append({"ratio": None, "reproduced": None, "reason": "failed: x"})
    found = summary.glance(rows)
    assert (found["numbers"], found["reproduced"], found["failed"], found["median"]) == (4, 3, 1, 1.0)
    assert found["within"] == [1 / 3, 2 / 3, 1.0]


def test_names_of_tables_are_quick_to_read():
    """Snakemake reads them with every command; the table data's code would take it a second."""
    heavy = "import sys, analysis.papers; raise SystemExit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", heavy], cwd=papers.papers.ROOT, check=False).returncode == 0


def test_names_of_tables_are_all_that_are_made():
    assert set(white.TABLES) == set(PAPER.rendered)
    assert {*PAPER.measured, *PAPER.traced} >= {*PAPER.committed, *PAPER.extra}
    assert set(PAPER.committed) >= set(PAPER.explained)
    assert set(views.VIEWS) == set(PAPER.rendered)
    assert set(figures.FIGURES) == set(PAPER.figures(papers.NUMBERS))
    assert set(trace_figures.FIGURES) == set(PAPER.figures(papers.TRACES))
