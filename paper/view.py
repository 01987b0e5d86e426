# SPDX-License-Identifier: MIT
"""What templates see of a table: entries as formatted LaTeX, notes, and where the numbers come from."""

import csv
import hashlib
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from analysis import entries, numbers, papers, reference
from analysis.entries import FAILED_PARTLY, REASONS
from paper.errors import RenderError
from paper.tex import escape

CELL_ID = re.compile(r"^(?P<controller>[^.]+)\.(?P<drive>[^.]+)\..*\.s(?P<seed>\d+)$")
NEAR, FAR = 1.25, 2.0
"""Ratios off by more than these factors are tinted, lightly and strongly."""
MISSING = "{--}"
PERCENT = "%"
RATIO_DIGITS = 2


@dataclass
class Notes:
    """Footnotes of a table: each distinct text gets the next letter."""

    texts: list[str] = field(default_factory=list)

    def mark(self, text: str) -> str:
        """The superscript letter of a note, taking no width, so that columns stay aligned."""
        if text not in self.texts:
            self.texts.append(text)
        return rf"\tnote{{{self.letter(self.texts.index(text))}}}"

    @staticmethod
    def letter(index: int) -> str:
        """a to z, then aa."""
        return ("" if index < 26 else chr(96 + index // 26)) + chr(97 + index % 26)

    def listed(self) -> list[tuple[str, str]]:
        """(letter, text) in order."""
        return [(self.letter(i), text) for i, text in enumerate(self.texts)]


@dataclass(frozen=True)
class Cell:
    """One entry, each part ready for an S column."""

    published: str
    reproduced: str
    std: str
    ratio: str


class Table:
    """A table's data and the way its entries look."""

    def __init__(self, path: Path, paper: str, table: str, profile: str, made_from: dict | None = None,
                 elsewhere: int = 0, beside: Path | None = None):  # fmt: skip
        self.path, self.paper, self.table, self.profile = path, paper, table, profile
        self.made_from = made_from
        """Of a table of reference numbers: what they were made from (analysis.reference)."""
        self.elsewhere = elsewhere
        """Numbers that are missing here, but not in the reference."""
        self.beside = Table(beside, paper, table, profile) if beside else None
        """The same table made from the reference numbers."""
        self.rows = entries.read(path)
        self.index = {(row["row"], row["column"]): row for row in self.rows}
        self.notes = Notes()
        measured = [row for row in self.rows if row["cells"]]
        self.all_stand_in = bool(measured) and all(row["stand_in"] for row in measured)
        self.usual_n = {unit: self.most_common_n(unit) for unit in dict.fromkeys(row["unit"] for row in measured)}

    def most_common_n(self, unit: str) -> int:
        """Repetitions that most numbers of this unit are the mean of; 0 where nothing ran."""
        counts = Counter(row["n"] for row in self.rows if row["unit"] == unit and row["cells"] and row["n"])
        return max(counts, key=lambda n: (counts[n], n), default=0)

    def repetitions(self) -> str:
        """The usual n: `3`, or `10 (MB/s), 3 (s)`; empty where nothing is repeated."""
        usual = {unit: n for unit, n in self.usual_n.items() if n and unit != PERCENT}
        if max(usual.values(), default=0) <= 1:
            return ""
        if len(set(usual.values())) == 1:
            return str(next(iter(usual.values())))
        return ", ".join(f"{n} ({unit})" for unit, n in usual.items())

    def row(self, row: str, column: str) -> dict:
        """One entry's data."""
        try:
            return self.index[row, column]
        except KeyError:
            raise RenderError(
                f"{self.path}: no entry ({row}, {column}); the published CSV and the view differ"
            ) from None

    def missing(self, row: dict) -> str:
        """What stands in place of a number that is not there."""
        failed = row["reason"].startswith("failed")
        mark = self.notes.mark(row["reason"])
        return rf"{{\failed{mark}}}" if failed else rf"{{--{mark}}}"

    def marks(self, entry: dict, said: str) -> str:
        """The letters and signs behind a number; `said` is a reason that the table's head gives already."""
        reasons = [reason for reason in entry["reason"].split(REASONS) if reason and reason != said]
        usual = self.usual_n.get(entry["unit"])
        if entry["cells"] and entry["n"] != usual and entry["unit"] != PERCENT and FAILED_PARTLY not in entry["reason"]:
            reasons.append(f"n = {entry['n']}")
        marks = self.notes.mark(REASONS.join(reasons)) if reasons else ""
        return marks + (r"\tnote{\textdagger}" if entry["stand_in"] and not self.all_stand_in else "")

    def cell(self, row: str, column: str, like: str | None = None, said: str = "") -> Cell:
        """An entry, formatted. `like` gives the digits of numbers the paper does not print; `said`: see marks."""
        entry = self.row(row, column)
        printed = entry["printed"]
        published = printed or MISSING
        if entry["questioned"]:
            published = rf"\questioned {published}"
        if entry["reproduced"] is None:
            return Cell(published, self.missing(entry), "", MISSING)
        reproduced = numbers.like(entry["reproduced"], like or printed)
        marks = self.marks(entry, said)
        digits = numbers.decimals(like or printed) + 1
        std = "" if entry["std"] is None else numbers.fixed(entry["std"], digits)
        return Cell(published, reproduced + (f" {{{marks}}}" if marks else ""), std, shaded(entry["ratio"]))

    def source(self) -> str:
        """Drives, seeds, profile, file and its hash: what the numbers of this table are."""
        if self.made_from is not None:
            return self.made_from_text()
        ids = [CELL_ID.match(cell) for row in self.rows for cell in row["cells"]]
        if None in ids:
            raise RenderError(f"{self.path}: a cell id does not name controller, drive and seed; see docs/lab.md")
        parts = [f"profile {self.profile}"]
        if ids:
            drives = sorted({match["drive"] for match in ids})
            seeds = sorted({int(match["seed"]) for match in ids})
            parts.insert(0, f"drives {', '.join(drives)}")
            parts.append(f"seeds {spans(seeds)}")
            parts.append(f"{len({match[0] for match in ids})} cells")
        digest = hashlib.sha256(self.path.read_bytes()).hexdigest()[:12]
        name = f"results/{self.profile}/{self.paper}/tables/{self.table}.csv"
        return escape(f"{'; '.join(parts)}; {name}, SHA-256 {digest}")

    def made_from_text(self) -> str:
        """The identity of reference numbers."""
        inputs = "; ".join(f"{name} {', '.join(hashes)}" for name, hashes in self.made_from["inputs"].items())
        mixture = reference.mixture(self.made_from).removesuffix(".")
        return escape(
            f"reference numbers of {self.made_from['cells']} cells, paper/{self.paper}/reference/cells.csv; identity "
            f"{self.made_from['identity']}; made from {inputs}{f'. {mixture}' if mixture else ''}"
        )


def shaded(ratio: float | None) -> str:
    """A ratio with its tint."""
    if ratio is None:
        return MISSING
    off = numbers.off(ratio)
    tint = r"\ratiofar " if off > FAR else r"\rationear " if off > NEAR else ""
    return tint + numbers.fixed(ratio, RATIO_DIGITS)


def spans(values: list[int]) -> str:
    """1, 2, 3, 7 as `1–3, 7`."""
    groups: list[list[int]] = []
    for value in values:
        if groups and value == groups[-1][1] + 1:
            groups[-1][1] = value
        else:
            groups.append([value, value])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in groups)


def words(paper: str, table: str) -> dict[tuple[str, str], str]:
    """A table's words, by row and column."""
    path = papers.paper(paper).published / f"{table}.text.csv"
    with path.open(newline="") as file:
        return {(line["row"], line["column"]): line["text"] for line in csv.DictReader(file)}


PAGE_LINES = 40
"""Most numbers of a list that is kept on one page."""


def plain(table: Table) -> dict:
    """What table.tex.j2 sees: of a paper that has no view of its own for a table, a line for each entry, below the name
    of its row."""
    paper = papers.paper(table.paper)
    said = views(paper)
    groups: dict[str, list[dict]] = {}
    for entry in table.rows:
        like = entry["printed"] or f"0.{'0' * RATIO_DIGITS}"
        named = {"what": ", ".join(said.column_words(table.table, entry["column"])), "unit": entry["unit"]}
        line = named | {"cell": table.cell(entry["row"], entry["column"], like=like)}
        groups.setdefault(said.row_words(table.table, entry["row"]), []).append(line)
    return {"title": paper.tables[table.table].title or table.table, "groups": groups,
            "long": len(table.rows) > PAGE_LINES}  # fmt: skip


class PlainViews:
    """The views of a paper that has no module `views`, in its names as they are."""

    VIEWS: ClassVar[dict] = {}

    @staticmethod
    def label(row: dict) -> str:
        """An entry of summary.json."""
        return f"{row['table']}: {row['row']}, {row['column']}"

    @staticmethod
    def setting(table: str, row: str) -> str:
        """A table's row."""
        return row

    @staticmethod
    def quantity(table: str, row: str, column: str) -> str:
        """What is measured."""
        return column

    @staticmethod
    def row_words(table: str, row: str) -> str:
        """A table's row."""
        return row

    @staticmethod
    def column_words(table: str, column: str) -> tuple[str, ...]:
        """A table's column."""
        return tuple(column.split("."))

    @staticmethod
    def report(rows: list[dict]) -> dict:
        """At a glance: a line for each table."""
        names = dict.fromkeys(row["table"] for row in rows)
        return {"groups": [(name, [row for row in rows if row["table"] == name]) for name in names]}


def views(paper: papers.Paper) -> papers.Views:
    """How a paper's tables and its report look."""
    return paper.module("views") or PlainViews
