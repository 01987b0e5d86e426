# SPDX-License-Identifier: MIT
"""What Chung, Gray, Worthington and Horst (Windows 2000 Disk IO Performance, 2000) print of several disks.

published/scaling.csv has the numbers that stand in the text, in its tables and in captions, none read
off a picture. Rows are numbers of disks, `saturates`, and limits of parts; a column's further words narrow it down
(`gain`: over one disk less; `factor`: over one disk).
"""

import csv
from dataclasses import dataclass
from pathlib import Path

from analysis.entries import PUBLISHED, Published
from analysis.errors import TableError

PREFIX = "chung2000."
"""Before a row's name, where their numbers stand beside ours."""
PATH = Path(__file__).parent / "published" / "scaling.csv"
MARKS = ("printed", "about", "conflicting")
"""As printed; given approximately; or the text has another number for the same, which `where` names."""
REASON = "another paper's drives, adapter and requests: only the shape compares"


@dataclass(frozen=True)
class Point:
    """One printed number."""

    number: Published
    """Its row begins with PREFIX."""
    mark: str
    where: str


def points() -> list[Point]:
    """All of them, in the order of the file. Raises TableError with file and line for a bad one."""
    found: dict[tuple[str, str], Point] = {}
    with PATH.open(newline="") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != (*PUBLISHED, "mark", "where"):
            raise TableError(f"{PATH}:1: columns are {reader.fieldnames}; write {','.join(PUBLISHED)},mark,where")
        for line in reader:
            where = f"{PATH}:{reader.line_num}"
            row, column, unit, value, questioned = (line[name] for name in PUBLISHED)
            try:
                float(value)
            except (TypeError, ValueError):
                raise TableError(f"{where}: value {value!r} is no number") from None
            if line["mark"] not in MARKS or questioned not in ("true", "false") or not line["where"]:
                raise TableError(f"{where}: write questioned as true or false, mark as one of {MARKS}, and where it is")
            if (row, column) in found:
                raise TableError(f"{where}: {(row, column)} stands there twice; remove one")
            number = Published(PREFIX + row, column, unit, value, questioned == "true")
            found[row, column] = Point(number, line["mark"], line["where"])
    return list(found.values())
