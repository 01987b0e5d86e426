# SPDX-License-Identifier: MIT
"""Published numbers and results as one CSV per table, the only data its LaTeX is made from.

    python -m analysis.tables --paper white2001 --table table5 --results results/quick --cells LIST --out CSV
    python -m analysis.tables --paper white2001 --table table6 --reference --out CSV
    python -m analysis.tables --paper white2001 --table table3 --drive ide=IDE.json --drive scsi=SCSI.json --out CSV

Columns: row, column, unit, published (as printed), reproduced (mean over the cells that ran), std (sample standard
deviation), n (cells in the mean; 0 for a number that is computed, not measured), ratio (reproduced / published),
stand_in, questioned, reason (why a number is missing, which repetitions are, or why it has no ratio), scale (size of
the workload relative to the paper's), cells.
"""

import argparse
import csv
import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from analysis import command, load, numbers
from analysis.errors import TableError

ROOT = Path(__file__).resolve().parents[1]
PUBLISHED = ("row", "column", "unit", "value", "questioned")
COLUMNS = (
    "row",
    "column",
    "unit",
    "published",
    "reproduced",
    "std",
    "n",
    "ratio",
    "stand_in",
    "questioned",
    "reason",
    "scale",
    "cells",
)
NOT_RUN = "not run"
REFERENCE = "reference data of the paper, nothing to run"
FULL_SCALE = 1
VOLUME_DISKS = re.compile(r"-\d+$")
"""Number of disks at the end of an array's name."""
REASONS = "; "
"""Between the reasons of one entry."""
FAILED_PARTLY = " failed: "
"""In the reason of a mean that lacks repetitions."""


@dataclass(frozen=True)
class Published:
    """One printed number. `value` keeps the printed digits; empty for a number only we have."""

    row: str
    column: str
    unit: str
    value: str
    questioned: bool = False


@dataclass(frozen=True)
class Entry:
    """One number of a table, published and reproduced."""

    published: Published
    reproduced: float | None = None
    std: float | None = None
    n: int = 0
    stand_in: bool = False
    reason: str = ""
    cells: tuple[str, ...] = ()
    comparable: bool = True
    """A ratio makes sense: false for percentages, whose sign may change."""
    scale: float | None = None
    """Size of the workload relative to the paper's; None where nothing was measured."""

    @property
    def ratio(self) -> float | None:
        """Reproduced over published, where the two are of the same size."""
        if not self.comparable or not self.published.value or (self.scale or FULL_SCALE) != FULL_SCALE:
            return None
        return numbers.ratio(self.reproduced, float(self.published.value))

    def record(self) -> dict[str, str]:
        """The entry as a line of the CSV."""

        def stored(value: float | None) -> str:
            return "" if value is None else numbers.stored(value)

        return {
            "row": self.published.row, "column": self.published.column, "unit": self.published.unit,
            "published": self.published.value, "reproduced": stored(self.reproduced), "std": stored(self.std),
            "n": str(self.n), "ratio": stored(self.ratio), "stand_in": str(self.stand_in).lower(),
            "questioned": str(self.published.questioned).lower(), "reason": self.reason, "scale": stored(self.scale),
            "cells": ";".join(self.cells),
        }  # fmt: skip


def published_dir(paper: str) -> Path:
    """Where a paper's printed numbers are."""
    return ROOT / "paper" / paper / "published"


def read_published(path: Path) -> list[Published]:
    """A table's printed numbers in the paper's order. Raises TableError with file and line for a bad one."""
    entries, seen = [], set()
    try:
        file = path.open(newline="")
    except OSError as error:
        raise TableError(f"published numbers {path}: {error.strerror}; known tables are the files beside it") from None
    with file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != PUBLISHED:
            raise TableError(f"{path}:1: columns are {reader.fieldnames}; write {','.join(PUBLISHED)}")
        for line in reader:
            where = f"{path}:{reader.line_num}"
            key = (line["row"], line["column"])
            if key in seen:
                raise TableError(f"{where}: {key} stands there twice; remove one")
            seen.add(key)
            try:
                float(line["value"])
            except (TypeError, ValueError):
                raise TableError(f"{where}: value {line['value']!r} is no number; words go to the .text.csv") from None
            if line["questioned"] not in ("true", "false"):
                raise TableError(f"{where}: questioned is {line['questioned']!r}; write true or false")
            entries.append(Published(*(line[name] for name in PUBLISHED[:4]), line["questioned"] == "true"))
    return entries


def scaled(scale: float) -> str:
    """What a table says beside a number of a smaller workload."""
    return f"at scale {numbers.scale_text(scale)} of the paper's size: only ratios between columns compare"


def at_full_size(row: dict) -> bool:
    """Of a row as `read` gives it: a number of ours is there, at the paper's size (or of no size)."""
    return row["reproduced"] is not None and (row.get("scale") or FULL_SCALE) == FULL_SCALE


def measured(
    published: Published, frame: pd.DataFrame, stand_ins: set[str], metric: str, value: Callable = float, note: str = ""
) -> Entry:
    """A number from its repetitions: the mean over those that ran; the reason says what is missing.

    Of repetitions at several scales the largest counts. `value` makes the number from the metric, None where it is
    not in there. A number with a `note` has no ratio, and the note says why.
    """
    if frame.empty:
        return Entry(published, reason=NOT_RUN)
    scale = float(frame.scale.max())
    frame = frame[frame.scale == scale].sort_values("id")
    found = [value(metric) if status == "ok" else None
             for metric, status in zip(frame[metric], frame.status, strict=True)]  # fmt: skip
    good = [number for number in found if number is not None]
    mean, std = numbers.mean_std(good)
    reasons = []
    if len(good) < len(found):
        given = {text or f"no such {metric} in the result" for number, text in zip(found, frame.reason, strict=True)
                 if number is None}  # fmt: skip
        text = REASONS.join(sorted(given))
        reasons.append(f"{len(found) - len(good)} of {len(found)}{FAILED_PARTLY}{text}" if good else f"failed: {text}")
    if good and scale != FULL_SCALE:
        reasons.append(scaled(scale))
    if good and note:
        reasons.append(note)
    volumes = {VOLUME_DISKS.sub("", array) for array in frame.array}
    stand_in = bool({*frame.guest, *frame.controller, *frame.array, *volumes} & stand_ins)
    return Entry(published, mean, std, len(good), stand_in, REASONS.join(reasons), tuple(frame.id), not note, scale)


def write(entries: list[Entry], path: Path) -> None:
    """The entries as CSV, one line each, in their order."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(entry.record() for entry in entries)


def read(path: Path) -> list[dict]:
    """Table data back from its CSV: numbers as float or None, published also as printed (`printed`)."""
    try:
        file = path.open(newline="")
    except OSError as error:
        raise TableError(f"table data {path}: {error.strerror}; make it with `snakemake {path}`") from None
    rows = []
    with file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise TableError(f"{path}:1: columns are {reader.fieldnames}; remove the file and make it again")
        for line in reader:
            row = dict(line, printed=line["published"], n=int(line["n"]))
            for name in ("published", "reproduced", "std", "ratio", "scale"):
                row[name] = float(line[name]) if line[name] else None
            for name in ("stand_in", "questioned"):
                row[name] = line[name] == "true"
            row["cells"] = line["cells"].split(";") if line["cells"] else []
            rows.append(row)
    return rows


def read_drives(items: list[str]) -> dict[str, dict]:
    """`side=FILE` arguments as what `spindle-disk show DRIVE --json` printed."""
    drives = {}
    for item in items:
        side, _, name = item.partition("=")
        try:
            drives[side] = json.loads(Path(name).read_text())
        except (OSError, ValueError) as error:
            raise TableError(f"--drive {item}: {error}; write side=FILE, made by `spindle-disk show --json`") from None
    return drives


def make(args: argparse.Namespace) -> None:
    """Write the table's data."""
    from analysis import reference

    tables = builders()[args.paper]
    if args.table not in tables:
        raise TableError(f"--table {args.table}: {args.paper} has {', '.join(sorted(tables))}")
    if args.cells and not args.results:
        raise TableError("--cells: say with --results where the results are, such as results/quick")
    if args.reference:
        frame = reference.read(reference.folder(args.paper)).frame
    else:
        ids = load.read_cell_list(args.cells) if args.cells else []
        frame = load.load_cells(args.results, ids) if ids else load.load([])
    write(tables[args.table](frame=frame, drives=read_drives(args.drive)), args.out)


def builders() -> dict[str, dict[str, Callable]]:
    """What builds each table of each paper."""
    from analysis import white2001

    return {"white2001": white2001.TABLES}


def main(argv: list[str] | None = None) -> int:
    """Command line; see the module's text."""
    parser = command.parser(__doc__, "table", "out")
    parser.add_argument("--paper", required=True, choices=sorted(builders()))
    parser.add_argument("--results", type=Path, help="results/<profile>, for measured tables")
    parser.add_argument("--cells", type=Path, help="file with the table's cell ids, one a line")
    parser.add_argument("--reference", action="store_true", help="from the paper's reference numbers, not from results")
    parser.add_argument("--drive", action="append", default=[], metavar="SIDE=FILE", help="a drive's description")
    return command.finish("analysis.tables", parser.parse_args(argv), make)


if __name__ == "__main__":
    sys.exit(main())
