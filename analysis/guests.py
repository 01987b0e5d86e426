# SPDX-License-Identifier: MIT
"""The same cells on several guests, side by side: results/guests/guests.csv and guests.md.

    python -m analysis.guests --profile guests --results results/guests --out results/guests/guests.md

A guest's number stands beside the lean Linux's, with the ratio, and never in its place. What a guest is to the paper
(native, successor, stand-in) stands in its column's head.
"""

import argparse
import csv
import io
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from analysis import command, load
from lab.cell import cells, guests, store

COLUMNS = ("paper", "cell", "quantity", "unit", "guest", "standing", "value", "lean", "ratio", "reason")
QUANTITIES = {"rate_mb_s": "MB/s", "elapsed_ns": "ns", "requests": "requests", "seek_distance_mean_lbn": "sectors"}


@dataclass(frozen=True)
class Line:
    """One number of one guest, beside the lean guest's; None where a cell has none."""

    paper: str
    cell: str
    """Id of the lean guest's cell."""
    quantity: str
    guest: str
    value: float | None
    lean: float | None
    reason: str = ""

    @property
    def ratio(self) -> float | None:
        """To the lean guest's number."""
        return self.value / self.lean if self.value is not None and self.lean else None


def quantities(cell: cells.Cell) -> tuple[str, ...]:
    """What is compared of a cell."""
    return ("rate_mb_s",) if cell.raw else ("elapsed_ns", "requests", "seek_distance_mean_lbn")


def lines(profile: str, results: Path) -> list[Line]:
    """All numbers of guests other than the lean one that a profile has, in the order of the sheets."""
    found = []
    for cell in cells.cells(profile):
        if cell.guest == guests.LEAN:
            continue
        lean = replace(cell, guest=guests.LEAN)
        read = [load.checked(results / "cells" / one.id / store.RESULT) for one in (cell, lean)]
        reason = "; ".join(result["reason"] for result in read if result["reason"])
        for quantity in quantities(cell):
            own, other = ((result["metrics"] or {}).get(quantity) for result in read)
            found.append(Line(cell.paper, lean.id, quantity, cell.guest, own, other, reason))
    return found


def text(number: float | None) -> str:
    """A number for a file."""
    return "" if number is None else f"{number:.6g}" if isinstance(number, float) else str(number)


def as_csv(found: list[Line]) -> str:
    """All of them as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for line in found:
        standing, unit = guests.standing(line.guest, line.paper), QUANTITIES[line.quantity]
        numbers = [text(number) for number in (line.value, line.lean, line.ratio)]
        writer.writerow([line.paper, line.cell, line.quantity, unit, line.guest, standing, *numbers, line.reason])
    return out.getvalue()


def as_markdown(found: list[Line]) -> str:
    """The same for a reader: a table for each paper and guest."""
    parts = ["# The same cells on other guests\n"]
    for paper, guest in dict.fromkeys((line.paper, line.guest) for line in found):
        standing = guests.standing(guest, paper)
        parts.append(f"\n## {paper}: {guest} ({standing}) beside the lean Linux\n")
        parts.append(f"| cell | quantity | lean Linux | {guest} | ratio |\n|---|---|---|---|---|")
        for line in found:
            if (line.paper, line.guest) == (paper, guest):
                ratio = f"{line.ratio:.3f}" if line.ratio is not None else line.reason or "no number"
                unit = QUANTITIES[line.quantity]
                parts.append(
                    f"| {line.cell} | {line.quantity} ({unit}) | {text(line.lean)} | {text(line.value)} | {ratio} |"
                )
    return "\n".join(parts) + "\n"


def main(argv: list[str] | None = None) -> int:
    """Command line."""
    args = command.parser(__doc__, "profile", "results", "out").parse_args(argv)

    def make(options: argparse.Namespace) -> str:
        found = lines(options.profile, options.results)
        options.out.with_suffix(".csv").write_text(as_csv(found))
        return as_markdown(found)

    return command.finish("guests", args, make)


if __name__ == "__main__":
    sys.exit(main())
