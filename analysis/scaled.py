# SPDX-License-Identifier: MIT
"""Small cells against the same cells at the paper's size.

A benchmark at a smaller scale takes another time, and nothing says how much that should be. What it must keep is the
quotient of two columns: FFS over Soft Updates, IDE over SCSI. Each quotient of two small cells of Table 6 stands beside
that of the same two at scale 1. All four numbers may come from the profile or from the reference, but the two of a
quotient come from the same.
"""

import pandas as pd

from analysis import numbers, white2001
from analysis.deviations import NUMBER, OWN, REFERENCE, candidates
from analysis.tables import FULL_SCALE, Entry

TABLE = "table6"
Index = dict[tuple[str, str], Entry]


def index(frame: pd.DataFrame) -> Index:
    """Table 6 of these cells, by row and column."""
    return {(e.published.row, e.published.column): e for e in white2001.table6(frame, {})}


def quotient(parts: list[Entry]) -> tuple[float, float] | None:
    """Scale and quotient of two numbers; None unless both are there, at one scale."""
    over, under = parts
    if over.reproduced is None or under.reproduced is None or over.scale != under.scale:
        return None
    return over.scale, over.reproduced / under.reproduced


def build(own: pd.DataFrame, committed: pd.DataFrame) -> list[dict]:
    """One line for each quotient of small cells, in Table 6's order; `full` is None where scale 1 was not measured."""
    frames = ((OWN, own), (REFERENCE, committed))
    small, full = (
        [(origin, index(part[part.scale < FULL_SCALE] if below else part[part.scale == FULL_SCALE]))
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

    printed = [{"row": p.row, "column": p.column, "unit": p.unit} for p in white2001.printed(TABLE)]
    value = {(p.row, p.column): float(p.value) for p in white2001.printed(TABLE)}
    lines = []
    for of, row, column, entries in candidates(TABLE, printed):
        if of == NUMBER:
            continue
        little = first(small, entries)
        if little is None:
            continue
        large = first(full, entries)
        lines.append({
            "of": of, "row": row, "column": column, "scale": little[1][0], "small": little[1][1],
            "small_origin": little[0], "full": large[1][1] if large else None,
            "full_origin": large[0] if large else None,
            "ratio": numbers.ratio(little[1][1], large[1][1]) if large else None,
            "published": value[entries[0]] / value[entries[1]],
        })  # fmt: skip
    return lines
