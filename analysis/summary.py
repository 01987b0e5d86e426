# SPDX-License-Identifier: MIT
"""All numbers of a paper's tables, and the verdict on every claim, as results/<profile>/<paper>/summary.json.

    python -m analysis.summary --paper PAPER --tables results/quick/PAPER/tables \\
        --reference results/quick/PAPER/reference.json --out JSON

`numbers` has one entry for each number the paper prints; `extra` has ours that it does not print. Each says where the
number is from that the report prints, and `origins` counts that of `numbers`. `claims` as in analysis.claims.
"""

import statistics
import sys
from collections.abc import Callable
from pathlib import Path

from analysis import claims, command, entries, numbers, origins, papers, reference

SCHEMA = "spindle-summary/2"
WITHIN = (1.10, 1.25, 2.0)
"""Factors whose share of the ratios the report states; a ratio of 0.8 is off by 1.25."""


def rows_of(
    paper: str, folder: Path, names: tuple[str, ...], file: Callable[[str], str] = "{}.csv".format
) -> list[dict]:
    """The union of these tables' data. `reason` is null where there is nothing to explain."""
    rows = []
    for table in names:
        for row in entries.read(folder / file(table)):
            entry = {"paper": paper, "table": table} | {name: row[name] for name in entries.COLUMNS}
            rows.append(entry | {"reason": row["reason"] or None})
    return rows


def summarise(paper: str, folder: Path, made: dict) -> dict:
    """The whole summary of one paper's tables; `made` is its reference.json."""
    about = papers.paper(paper)
    rows, extra = (rows_of(paper, folder, names) for names in (about.printed, about.extra))
    committed = rows_of(paper, folder, about.committed, reference.table_file)
    ours = rows + extra
    beside = (papers.FILLED, papers.SHOWN)
    there = {claims.place(row): row for row in committed if about.tables[row["table"]].reference in beside}
    for row in ours:
        other = there.get(claims.place(row))
        row["origin"] = origins.origin(row, other, made["equal"], made["verified"])
    filled = claims.completed(ours, committed)
    instead = [
        new | {"origin": origins.REFERENCE}
        for old, new in zip(rows, filled[: len(rows)], strict=True)
        if new is not old
    ]
    listed = claims.read(about.claims)
    return {
        "schema": SCHEMA,
        "numbers": rows,
        "extra": extra,
        "instead": instead,
        "origins": origins.count(rows),
        "claims": [{"paper": paper} | claims.judge(claim, ours, filled, about.readings) for claim in listed],
    }


def glance(rows: list[dict]) -> dict:
    """How near a group of numbers is to the published: counts, median ratio, shares within WITHIN."""
    ratios = [row["ratio"] for row in rows if row["ratio"] is not None]
    return {
        "numbers": len(rows),
        "reproduced": sum(row["reproduced"] is not None for row in rows),
        "failed": sum((row["reason"] or "").startswith("failed") for row in rows),
        "compared": len(ratios),
        "median": statistics.median(ratios) if ratios else None,
        "within": [sum(numbers.off(r) <= f for r in ratios) / len(ratios) if ratios else None for f in WITHIN],
    }


def worst(rows: list[dict], count: int) -> list[dict]:
    """The numbers farthest from the published, farthest first."""
    compared = [row for row in rows if row["ratio"] is not None]
    return sorted(compared, key=lambda row: (-numbers.off(row["ratio"]), row["table"], row["row"], row["column"]))[
        :count
    ]


def main(argv: list[str] | None = None) -> int:
    """Command line; see the module's text."""
    parser = command.parser(__doc__, "paper", "tables", "out")
    parser.add_argument("--reference", type=Path, required=True, help="the paper's reference.json")
    return command.finish(
        "analysis.summary",
        parser.parse_args(argv),
        lambda args: command.as_json(summarise(args.paper, args.tables, command.read_json(args.reference))),
        made_by="the paper's reference.json",
    )


if __name__ == "__main__":
    sys.exit(main())
