# SPDX-License-Identifier: MIT
"""Rows of a sheet that stand for several."""

import pytest

from lab.cell import cells, config, papers, sheets
from lab.cell.errors import ConfigError

ROW = {"tables": "table5", "tags": "8", "workload": "rawio", "parameters": "op=read pattern=random", "scale": "1"}


def short(**changes):
    rows = sheets.expand(ROW | changes)
    return [" ".join([row["tags"], row["workload"], row["parameters"]]).strip() for row in rows]


def test_sheets_one_row_is_itself():
    assert list(sheets.expand(ROW)) == [ROW]


def test_sheets_the_first_column_is_the_outermost_loop():
    assert short(tags="none|8", parameters="op=read|write pattern=random|sequential") == [
        f"{tags} rawio op={op} pattern={pattern}"
        for tags in ("none", "8")
        for op in ("read", "write")
        for pattern in ("random", "sequential")
    ]


def test_sheets_parameters_of_one_workload_alone():
    assert short(workload="sdet scripts=20|ssh", parameters="") == ["8 sdet scripts=20", "8 ssh"]
    assert short(workload="fio mix=a|rawio", parameters="op=read|write") == [
        "8 fio mix=a op=read",
        "8 fio mix=a op=write",
        "8 rawio op=read",
        "8 rawio op=write",
    ]


@pytest.mark.parametrize("value", ["8|", "|8", "8||9", "8 | 9"])
def test_sheets_an_empty_alternative_is_refused(tmp_path, value):
    columns = ("tables", "controller", "drive", "array", "tags", "scheduler", "file_system", *list(ROW)[2:])
    row = ROW | {"controller": "c", "drive": "d", "array": "none", "tags": value, "scheduler": "both"}
    row |= {"file_system": "raw"}
    path = tmp_path / "cells.csv"
    path.write_text(",".join(columns) + "\n" + ",".join(row[name] for name in columns) + "\n")
    with pytest.raises(ConfigError, match=r"cells.csv:2: 'tags' is wrong"):
        config.read_sheet(path)


def test_sheets_of_papers_name_a_line_for_each_row():
    for paper in papers.ids():
        lines = papers.sheet(paper).read_text().count("\n") - 1
        rows = config.read_sheet(papers.sheet(paper))
        assert len({line for line, _ in rows}) == lines <= len(rows)
        assert len(cells.sheet(paper)) == len(rows)
