# SPDX-License-Identifier: MIT
"""Entries: one number of a table each, published and reproduced; and the CSV files that hold them.

Columns: row, column, unit, published (as printed), reproduced (mean over the cells that ran), std (sample standard
deviation), n (cells in the mean; 0 for a number that is computed, not measured), ratio (reproduced / published),
stand_in, questioned, reason (why a number is missing, which repetitions are, or why it has no ratio), scale (size of
the workload relative to the paper's), cells, readings (`name=number`, the reproduced number under another reading of
the paper's, where it differs; without a number where the cells do not have it).
"""

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from analysis import numbers
from analysis.errors import TableError

PUBLISHED = ("row", "column", "unit", "value", "questioned")
MARKED = (*PUBLISHED, "mark", "where")
ABOVE, BELOW = "above", "below"
MARKS = ("printed", "about", "conflicting", "given", ABOVE, BELOW)
"""As printed; given approximately; the paper has another number for the same, which `where` names; put into the lab, so
that it is no result; or a bound: the paper says only that its number is more than this, or at most this."""
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
    "readings",
)
NOT_RUN = "not run"
REFERENCE = "reference data of the paper, nothing to run"
FULL_SCALE = 1
VOLUME_DISKS = re.compile(r"-\d+$")
"""Number of disks at the end of an array's name."""
GIVEN = "given to the lab, no result"
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
class Marked:
    """One printed number with what is known of it."""

    number: Published
    mark: str
    """One of MARKS."""
    where: str
    """Place in the paper."""


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
    readings: dict[str, float | None] = field(default_factory=dict)
    """`reproduced` under other readings of the paper's number, by the reading's name, where it differs."""

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
            "readings": ";".join(f"{name}={stored(value)}" for name, value in self.readings.items()),
        }  # fmt: skip


def bounded(entry: Entry, mark: str) -> Entry:
    """An entry whose printed number is a bound: whether ours keeps it stands in the place of a ratio."""
    if mark not in (ABOVE, BELOW) or entry.reproduced is None:
        return entry
    bound = float(entry.published.value)
    kept = entry.reproduced > bound if mark == ABOVE else entry.reproduced <= bound
    words = "more than this" if mark == ABOVE else "at most this"
    text = f"the paper says {words}: ours {'is' if kept else 'is not'}"
    return replace(entry, comparable=False, reason=REASONS.join(filter(None, [entry.reason, text])))


def read_published(path: Path) -> list[Published]:
    """A table's printed numbers in the paper's order. Raises TableError with file and line for a bad one."""
    return [Published(row, column, unit, value, questioned == "true")
            for _, (row, column, unit, value, questioned, *_) in _lines(path, PUBLISHED, MARKED)]  # fmt: skip


def read_marked(path: Path, prefix: str = "") -> list[Marked]:
    """The same of a file that has `mark` and `where` of each number, too; `prefix` comes before the rows' names."""
    found = []
    for place, (row, column, unit, value, questioned, mark, where) in _lines(path, MARKED):
        if mark not in MARKS or not where:
            raise TableError(f"{place}: write mark as one of {', '.join(MARKS)}, and where in the paper it stands")
        number = Published(prefix + row, column, unit, value, questioned == "true")
        found.append(Marked(number, mark, where))
    return found


def _lines(path: Path, *known: tuple[str, ...]) -> list[tuple[str, list[str]]]:
    """The checked lines of a file of printed numbers, each with its place for messages. `known` are the columns that it
    may have."""
    found, seen = [], set()
    try:
        file = path.open(newline="")
    except OSError as error:
        raise TableError(f"published numbers {path}: {error.strerror}; known tables are the files beside it") from None
    with file:
        reader = csv.DictReader(file)
        columns = tuple(reader.fieldnames or ())
        if columns not in known:
            raise TableError(f"{path}:1: columns are {reader.fieldnames}; write {','.join(known[0])}")
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
            found.append((where, [line[name] for name in columns]))
    return found


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
            words = [word.partition("=") for word in line["readings"].split(";") if word]
            row["readings"] = {name: float(value) if value else None for name, _, value in words}
            rows.append(row)
    return rows
