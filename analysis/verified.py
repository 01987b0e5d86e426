# SPDX-License-Identifier: MIT
"""What `spindle verify` found here: results/verified.json.

The file keeps the last outcome of each cell of a reference that was measured again: which line of the reference it was
held against, what it was made from here, and whether its numbers and its trace are equal. It has no dates, and the same
outcomes give the same bytes. It is written whole after each cell.

A number of the reference counts as verified here as long as each of its cells was equal from equal inputs, and the line
of the reference is still the one that it was held against.
"""

from collections import Counter
from pathlib import Path

from analysis import command, io_summary, reference
from lab.cell import identity, paths
from lab.cell.errors import SpindleError

SCHEMA = "spindle-verified/1"
KEYS = {"paper", "reference", "outcome", "equal", "trace", "moved", "lab"}
"""What it has of each cell."""
EQUAL = "equal"
DIGITS = reference.IDENTITY_DIGITS
LATER = "verified.csv"
"""Beside a reference: on which states of the lab a sample of it was measured again, and how many cells were equal."""
COLUMNS = (*reference.STATE, "cells", "equal")


def path() -> Path:
    """Where the record is."""
    return paths.ROOT / "results" / "verified.json"


def read(place: Path) -> dict[str, dict]:
    """The outcomes by cell; none where nothing was verified. Raises SpindleError for a file that is no such record."""
    if not place.is_file():
        return {}
    try:
        found = command.read_json(place)
        cells = found["cells"]
        if found["schema"] == SCHEMA and all(one.keys() >= KEYS for one in cells.values()):
            return cells
    except (SpindleError, KeyError, TypeError, AttributeError):
        pass
    raise SpindleError(f"{place}: it is no record of `spindle verify`; remove it, and verify again")


def line_of(committed: reference.Reference, cell: str) -> str:
    """Digest of a reference's line of a cell, with its phases: what a verification was held against."""
    return identity.digest([committed.cells[cell], committed.phases.get(cell, [])])[:DIGITS]


def keep(place: Path, paper: str, cell: str, committed: reference.Reference, found: dict) -> None:
    """Put one outcome into the record; `found` has `outcome`, `equal`, `trace`, `moved` and `lab`."""
    cells = read(place)
    cells[cell] = {"paper": paper, "reference": line_of(committed, cell)} | found
    place.parent.mkdir(parents=True, exist_ok=True)
    command.put(place, command.as_json({"schema": SCHEMA, "cells": dict(sorted(cells.items()))}))


def proven(place: Path, committed: reference.Reference) -> list[str]:
    """Cells of a reference that were measured again here and were equal to the line that it has now."""
    return sorted(
        cell
        for cell, one in read(place).items()
        if one["outcome"] == EQUAL and cell in committed.cells and one["reference"] == line_of(committed, cell)
    )


def states(place: Path, committed: reference.Reference) -> list[dict[str, str]]:
    """Of each state of the lab that the record has: cells that were held against a reference's present lines, and how
    many of them were equal. That their inputs moved does not matter: this says whether that moved a number."""
    known = [
        one for cell, one in read(place).items()
        if one["lab"] and cell in committed.cells and one["reference"] == line_of(committed, cell)
    ]  # fmt: skip
    state = [tuple(one["lab"].get(name, "") for name in reference.STATE) for one in known]
    equal = Counter(at for at, one in zip(state, known, strict=True) if one["equal"])
    return [
        dict(zip(COLUMNS, (*at, str(count), str(equal[at])), strict=True))
        for at, count in sorted(Counter(state).items())
    ]


def later(folder: Path) -> list[dict[str, str]]:
    """The lines of a reference's LATER."""
    return reference.read_lines(folder / LATER, COLUMNS)


def take(place: Path, committed: reference.Reference, folder: Path) -> list[dict[str, str]]:
    """Put what the record says of this reference into its LATER, in the place of older lines on the same states;
    returns the new lines."""
    found = states(place, committed)
    if found:
        every = {tuple(line[name] for name in reference.STATE): line for line in [*later(folder), *found]}
        io_summary.write([every[at] for at in sorted(every)], COLUMNS, folder / LATER)
    return found


def words(one: dict) -> str:
    """An outcome for a reader."""
    if one["outcome"] == EQUAL:
        return "equal, numbers and trace" if one["trace"] else "equal, the numbers; the reference has no trace of it"
    also = "; it is equal all the same" if one["equal"] else ""
    return f"{one['outcome']}{': ' if one['moved'] else ''}{', '.join(one['moved'])}{also}"
