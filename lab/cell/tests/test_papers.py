# SPDX-License-Identifier: MIT
"""The registry of papers, and what several papers share."""

from dataclasses import replace

import pytest

from lab.cell import cells, config, papers
from lab.cell.errors import ConfigError

ABOUT = "schema: spindle-paper/1\npaper: {name}\nplace: {place}\ntitle: x\nauthors: y\n{more}"
ASSUMPTION = "assumptions:\n  - {id: a, statement: s, why: w, value: 1, unit: u}\n"
REST = f"tables:\n  table1: {{from: cells}}\n{ASSUMPTION}stand_ins: []\n"


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """Papers in a folder of their own."""
    monkeypatch.setattr(papers, "FOLDER", tmp_path)
    config.paper.cache_clear()

    def put(name, place, more=REST):
        (tmp_path / name).mkdir()
        (tmp_path / name / papers.ABOUT).write_text(ABOUT.format(name=name, place=place, more=more))

    yield put
    config.paper.cache_clear()


def test_papers_are_the_folders_in_the_order_in_which_they_came(shelf, tmp_path):
    shelf("beta2000", 1)
    shelf("alpha2001", 2)
    (tmp_path / "tests").mkdir()
    assert papers.ids() == ("beta2000", "alpha2001")


def test_papers_unknown_one_is_named(shelf):
    shelf("beta2000", 1)
    with pytest.raises(ConfigError, match=r"'beta2001' is unknown.*known are: beta2000"):
        papers.folder("beta2001")


def test_papers_place_is_needed(shelf):
    shelf("beta2000", "first")
    with pytest.raises(ConfigError, match=r"paper/beta2000/paper.yaml: no line `place: NUMBER`"):
        papers.ids()


def test_papers_assumptions_of_another(shelf):
    shelf("beta2000", 1)
    shelf("alpha2001", 2, "like: beta2000\n" + REST.replace("value: 1", "value: 2").replace("id: a", "id: b"))
    assert [(item["id"], item["value"]) for item in config.paper("alpha2001")["assumptions"]] == [("a", 1), ("b", 2)]
    assert config.assumption("alpha2001", "a") == 1


def test_papers_one_cell_under_two_assumptions_is_refused(shelf):
    shelf("beta2000", 1)
    shelf("alpha2001", 2, REST.replace("value: 1", "value: 2"))
    shelf("gamma2002", 3, "like: beta2000\n" + REST)
    cell = cells.Cell("beta2000", "c", "d", "8", "both", "raw", "rawio", (), "1", 1, ())
    cells.agree(cell, "gamma2002")
    with pytest.raises(ConfigError, match=r"'c\.d\..*' is in the sheets of beta2000 and alpha2001, .* differ in 'a'"):
        cells.agree(cell, "alpha2001")
    # A row's own value is the same in both.
    cells.agree(replace(cell, set=("a=3",)), "alpha2001")


def test_papers_have_runs_of_their_own(lab):
    first = next(cell for cell in cells.cells("smoke") if cell.raw)
    assert first.run == first.base
    assert replace(first, paper="later2002").run == f"{first.base}.later2002"
    assert replace(first, paper="later2002").id == first.id
