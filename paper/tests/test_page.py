# SPDX-License-Identifier: MIT
"""What the pages of every paper have in common: colours, where numbers are from, and the files of cells."""

import json

import pytest

from analysis import origins, papers, reference
from analysis.settings import System
from analysis.tests import invented
from lab.cell import evidence, trace
from paper import cell_page, page
from paper.view import PlainViews

SYSTEM = System("ide-ahci", "4", "both", "deskstar-75gxp")
MS = 1_000_000


@pytest.mark.parametrize(
    ("ratio", "shade"),
    [(1.0, "same"), (0.92, "same"), (1.2, "near above"), (0.81, "near below"), (0.51, "off below"), (2.1, "far above"),
     (0.4, "far below"), (None, "")],
)  # fmt: skip
def test_page_shade(ratio, shade):
    assert page.shade(ratio) == shade


def test_page_data_cannot_end_the_script():
    text = page.script_json({"a": "</script><!-- & "})
    assert not {"<", ">", "&"} & set(text)
    assert json.loads(text) == {"a": "</script><!-- & "}


@pytest.mark.parametrize(
    ("own", "committed", "found"),
    [
        ({"reproduced": 1.0, "cells": ["a", "b"]}, None, origins.MEASURED),
        ({"reproduced": 1.0, "cells": ["b"]}, {"reproduced": 2.0}, origins.VERIFIED),
        ({"reproduced": 1.0, "cells": ["b"], "scale": 0.05}, {"reproduced": 2.0}, origins.REFERENCE),
        ({"reproduced": 1.0, "cells": ["a"], "scale": 0.05}, {"reproduced": 2.0, "scale": 0.1}, origins.MEASURED),
        ({"reproduced": None}, {"reproduced": 2.0}, origins.REFERENCE),
        # What `spindle verify` found equal, says nothing of a profile's own cell, which may have other inputs.
        ({"reproduced": None}, {"reproduced": 2.0, "cells": ["b", "v"]}, origins.VERIFIED),
        ({"reproduced": None}, {"reproduced": 2.0, "cells": ["a", "v"]}, origins.REFERENCE),
        ({"reproduced": 1.0, "cells": ["v"]}, {"reproduced": 2.0}, origins.MEASURED),
        ({"reproduced": None, "reason": "failed: no"}, None, origins.FAILED),
        ({"reproduced": None, "reason": "not run"}, None, origins.LACKING),
        ({"reproduced": 1.0}, None, origins.COMPUTED),
    ],
)
def test_page_origin(own, committed, found):
    row = {"scale": 1.0, "cells": [], "reason": ""}
    assert origins.origin(row | own, committed and row | committed, {"b"}, {"v"}) == found


def numbered(rows, columns, keep=lambda row, column: True):
    return [{"row": row, "column": column} for row in rows for column in columns if keep(row, column)]


def test_page_grid_where_most_places_have_a_number(monkeypatch):
    """Of a paper whose tables have no words of their own."""
    monkeypatch.setattr(page, "views", lambda paper: PlainViews)
    paper = papers.every()[0]
    found = page.grid(paper, "one", numbered("abc", ("x.1", "y"), lambda row, column: (row, column) != ("b", "x.1")))
    assert found["columns"] == [("x", "1"), ("y",)]
    assert [[one and one["row"] for one in line["cells"]] for line in found["lines"]] == [
        ["a", "a"], [None, "b"], ["c", "c"]
    ]  # fmt: skip
    assert page.grid(paper, "one", [{"row": str(at), "column": str(at)} for at in range(9)]) is None


@pytest.fixture
def results(tmp_path):
    """A cell with a trace, and one that failed."""
    for op, failed in (("read", None), ("write", "the guest hung")):
        found = invented.raw_of(SYSTEM, op, "random", 2.5, 1)
        invented.put(tmp_path, found, failed)
    lines = [f"disk0 R {at} 8 0 {at * MS} {at * MS} {at * MS + 9} - 1 hit" for at in range(3)]
    text = "\n".join([trace.HEADER, *lines]) + "\n"
    folder = tmp_path / "cells" / CELL
    (folder / "io.trace").write_bytes(evidence.compress(text))
    (folder / "console.log").write_text("a kernel </script> speaks\n" + "x" * cell_page.CONSOLE_CHARACTERS)
    return tmp_path


CELL = "ide-ahci.deskstar-75gxp.t4.both.rawio-read-random.s01"
OTHER = CELL.replace("read", "write")
KEPT = CELL.replace("s01", "s02")


def data_of(path):
    """What a cell's file calls the page with."""
    _, line = path.read_text().splitlines()
    assert line.startswith("spindleCell(")
    return json.loads(line.removeprefix("spindleCell(").removesuffix(");"))


def committed():
    """A reference with one cell more."""
    line = dict.fromkeys(reference.CELLS, "") | {"cell": KEPT, "elapsed_ns": "5", "input_model": "abc"}
    phases = [{"cell": KEPT, "phase": "run", "begin_ns": "0", "end_ns": "2000000000"}]
    return reference.Reference({KEPT: line}, {KEPT: phases})


def test_page_cells_have_a_file_each(results, tmp_path):
    out = tmp_path / "page"
    assert cell_page.write("smoke", results, [CELL, OTHER], committed(), out) == 3
    found = data_of(out / f"{CELL}.js")
    assert ["Measure it again and compare every byte", f"spindle verify --profile smoke --cells {CELL}"] in found[
        "commands"
    ]
    assert found["picture"]["requests"] == 3
    assert found["console"].startswith("[26 characters before this are left out]\nxxx")
    failed = data_of(out / f"{OTHER}.js")
    assert failed["picture"] is None and "io.trace" in failed["no_picture"]
    assert ["status", "failed: the guest hung"] in failed["facts"][1][1]
    there = data_of(out / f"{KEPT}.js")
    assert there["commands"][0][1] == f"spindle verify --cells {KEPT}"
    assert (there["phases"][0]["took"], there["picture"]) == ("2.000 s", None)


def test_page_cells_are_written_once(results, tmp_path):
    out = tmp_path / "page"
    cell_page.write("smoke", results, [CELL, OTHER], committed(), out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    (out / "leftover.js").write_text("")
    assert cell_page.write("smoke", results, [CELL, OTHER], committed(), out) == 0
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    path = results / "cells" / CELL / "result.json"
    path.write_text(path.read_text().replace('"requests": 1280', '"requests": 1281'))
    assert cell_page.write("smoke", results, [CELL, OTHER], committed(), out) == 1
    # A file that was cut off is another.
    (out / f"{CELL}.js").write_text("")
    assert cell_page.write("smoke", results, [CELL, OTHER], committed(), out) == 1
