# SPDX-License-Identifier: MIT
"""Small cells against the same cells at the paper's size.

A benchmark at a smaller scale takes another time, and nothing says how much that should be. What it must keep is the
quotient of two columns. Each of the paper's quotients of two small cells, in the tables that paper.yaml calls `small`,
stands beside that of the same two at scale 1. All four numbers may come from the profile or from the reference, but the
two of a quotient come from the same.
"""

from collections.abc import Callable

import pandas as pd

from analysis import numbers, papers
from analysis.deviations import NUMBER, OWN, REFERENCE, candidates
from analysis.entries import FULL_SCALE, Entry, read_published

Index = dict[tuple[str, str], Entry]


def index(build: Callable, frame: pd.DataFrame) -> Index:
    """The table of these cells, by row and column."""
    return {(e.published.row, e.published.column): e for e in build(frame=frame, drives={})}


def quotient(parts: list[Entry]) -> tuple[float, float] | None:
    """Scale and quotient of two numbers; None unless both are there, at one scale."""
    over, under = parts
    if over.reproduced is None or under.reproduced is None or over.scale != under.scale:
        return None
    return over.scale, over.reproduced / under.reproduced


def build(paper: papers.Paper, own: pd.DataFrame, committed: pd.DataFrame) -> list[dict]:
    """The lines of all tables of this paper that have small cells."""
    tables = (table.name for table in paper.tables.values() if table.small)
    return [line for table in tables for line in of_table(paper, table, own, committed)]


def of_table(paper: papers.Paper, table: str, own: pd.DataFrame, committed: pd.DataFrame) -> list[dict]:
    """One line for each quotient of small cells, in the table's order; `full` is None where scale 1 did not run."""
    builder = paper.builder(table)
    frames = ((OWN, own), (REFERENCE, committed))
    small, full = (
        [(origin, index(builder, part[part.scale < FULL_SCALE] if below else part[part.scale == FULL_SCALE]))
         for origin, part in frames]
        for below in (True, False)
    )  # fmt: skip

    def first(indexes: list[tuple[str, Index]], entries: list[tuple[str, str]]) -> tuple[str, tuple] | None:
        """The quotient of the profile; else that of the reference."""
        for origin, known in indexes:
            found = quotient([known[entry] for entry in entries])
            if found:
                return origin, found
        return None

    published = read_published(paper.published / f"{table}.csv")
    printed = [{"row": p.row, "column": p.column, "unit": p.unit} for p in published]
    value = {(p.row, p.column): float(p.value) for p in published}
    lines = []
    for of, row, column, entries in candidates(paper.quotients, printed):
        if of == NUMBER:
            continue
        little = first(small, entries)
        if little is None:
            continue
        large = first(full, entries)
        lines.append({
            "of": of, "table": table, "row": row, "column": column, "scale": little[1][0], "small": little[1][1],
            "small_origin": little[0], "full": large[1][1] if large else None,
            "full_origin": large[0] if large else None,
            "ratio": numbers.ratio(little[1][1], large[1][1]) if large else None,
            "published": value[entries[0]] / value[entries[1]],
        })  # fmt: skip
    return lines
