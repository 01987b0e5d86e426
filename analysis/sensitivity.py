# SPDX-License-Identifier: MIT
"""Which of a paper's claims have another verdict if an assumption is another.

paper/<paper>/sensitivity.yaml has the assumptions' alternatives, and sensitivity.csv beside it is made from it
(`write_sheet`): the cells that a claim names, once as they are and once under each alternative that may change them.
Profile `sensitivity` measures these. Each claim is tried under each alternative (`tried`): with the cells measured
under it in the place of those that it may change. A claim that lacks some of them still gets a verdict if no value of
them could change it, and is not run there otherwise. A table's numbers can be printed under each alternative that names
it, beside the published ones (`table_under`). `spindle sensitivity` does all this.
"""

import csv
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

import pandas as pd

from analysis import claims, entries, load, papers
from analysis.errors import TableError
from lab.cell import cells, config

PROFILE = "sensitivity"
TABLE = "sensitivity"
"""Table of the sheet that cells under an alternative belong to."""
ABOUT, SHEET = "sensitivity.yaml", "sensitivity.csv"
SHEET_COLUMNS = ("tables", "controller", "drive", "array", "tags", "scheduler", "file_system", "workload", "parameters",
                 "scale", "set")  # fmt: skip
COLUMNS = ("claim", "alternative", "verdict", "because", "turns")
AS_IS = "as shipped"
UNTOUCHED = ""
"""Verdict where an alternative may change none of the claim's cells."""
WORDS = {True: "holds", False: "does not", entries.NOT_RUN: entries.NOT_RUN, UNTOUCHED: "."}


@dataclass(frozen=True)
class Alternative:
    """One assumption, as it may be instead."""

    id: str
    set: str | dict[str, str]
    """What its cells override, or that by the drive's name."""
    cells: tuple[str, ...]
    """Patterns on ids without the seed."""
    statement: str
    why: str
    table: str | None = None
    """A table of which all such cells are measured under it, whether a claim names them or not."""

    def words(self, drive: str) -> str:
        """What it overrides on this drive; empty where it says nothing of it."""
        return self.set if isinstance(self.set, str) else self.set.get(drive, "")

    def changes(self, cell: cells.Cell) -> bool:
        """It may change this cell, as the paper's sheet has it."""
        name = cell.id.rpartition(".")[0]
        return bool(self.words(cell.drive)) and any(fnmatchcase(name, pattern) for pattern in self.cells)

    def under(self, cell: cells.Cell) -> cells.Cell:
        """The same cell under it: what its row sets stays, unless the alternative sets the same."""
        own = self.words(cell.drive).split()
        keys = {word.partition("=")[0] for word in own}
        return replace(cell, set=(*(word for word in cell.set if word.partition("=")[0] not in keys), *own))


def alternatives(paper: papers.Paper) -> list[Alternative]:
    """A paper's alternatives. Raises TableError for an id that stands there twice."""
    path = paper.folder / ABOUT
    found = [
        Alternative(said["id"], said["set"], tuple(said["cells"]), said["statement"], said["why"], said.get("table"))
        for said in config.read_yaml(path, "sensitivity")["alternatives"]
    ]
    names = [one.id for one in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise TableError(f"{path}: alternative {twice!r} stands there twice; rename one")
    return found


def parameters_of(cell: cells.Cell) -> str:
    """What analysis.load has in the column `parameters` of a cell."""
    words = [*sorted(cell.parameters.items()), *cell.settings.overrides.items()]
    return " ".join(f"{name}={value}" for name, value in words)


def frame_of(planned: Iterable[cells.Cell]) -> pd.DataFrame:
    """Cells as analysis.load gives them, without any number: to ask which of them a table takes."""
    rows = [
        dict.fromkeys(load.COLUMNS)
        | {name: getattr(cell, name) for name in ("id", "controller", "drive", "array", "tags", "scheduler")}
        | {"file_system": cell.file_system, "workload": cell.workload, "scale": float(cell.scale), "seed": cell.seed}
        | {name: cell.parameters.get(name, "") for name in load.PARAMETERS}
        | {"parameters": parameters_of(cell), "status": "failed", "reason": entries.NOT_RUN}
        for cell in planned
    ]
    return pd.DataFrame(rows, columns=load.COLUMNS)


def rows_from(paper: papers.Paper, frame: pd.DataFrame) -> list[dict]:
    """The entries of the tables that cells make and claims name, as a summary has them."""
    named = {table for claim in claims.read(paper.claims) for table, _, _ in claims.used(claim)}
    return [
        {"table": table, "row": e.published.row, "column": e.published.column, "cells": e.cells, "reason": e.reason,
         "published": float(e.published.value) if e.published.value else None, "reproduced": e.reproduced,
         "scale": e.scale, "signed": not e.comparable}
        for table in paper.measured
        if table in named
        for e in paper.builder(table)(frame=frame, drives={})
    ]  # fmt: skip


def cells_named(claim: claims.Claim, rows: list[dict]) -> set[str] | None:
    """The cells behind the numbers that a claim names; None where it names another table than those of cells."""
    known = {claims.place(row): row["cells"] for row in rows}
    places = claims.used(claim)
    return {cell for where in places for cell in known[where]} if places <= known.keys() else None


# ---- the sheet ---------------------------------------------------------------------


def sheet_rows(paper: papers.Paper) -> list[dict[str, str]]:
    """The sheet's lines: of each setting one with the cells that a claim names, and one with them under all
    alternatives that may change them. An alternative with a table takes all cells of it."""
    planned = {}
    for row in cells.sheet(paper.id):
        cell = cells.Cell(paper.id, row["controller"], row["drive"], row["tags"], row["scheduler"], row["file_system"],
                          row["workload"], tuple(row["parameters"].split()), row["scale"], 1, (), row["array"],
                          tuple(row.get("set", "").split()))  # fmt: skip
        if cells.CROSSCHECK not in row["tables"]:
            planned[cell.id] = (cell, row)
    rows = rows_from(paper, frame_of(cell for cell, _ in planned.values()))
    named = set().union(*(cells_named(claim, rows) or () for claim in claims.read(paper.claims)))
    known = alternatives(paper)
    found: dict[tuple, list[str]] = {}
    for cell_id, (cell, row) in planned.items():
        tables = row["tables"].split()
        mine = [one for one in known if one.changes(cell) and (cell_id in named or one.table in tables)]
        if cell_id not in named and not mine:
            continue
        words = " ".join([cell.workload, *cell.words])
        others = "|".join(" ".join(one.under(cell).set) for one in mine)
        setting = tuple(row[name] for name in ("controller", "drive", "array", "tags", "scheduler", "file_system"))
        found.setdefault((row["tables"], *setting, row["scale"], " ".join(cell.set)), []).append(words)
        if others:
            found.setdefault((TABLE, *setting, row["scale"], others), []).append(words)
    return [
        dict(zip(SHEET_COLUMNS, (*key[:-2], "|".join(words), "", *key[-2:]), strict=True))
        for key, words in sorted(found.items(), key=lambda item: item[0][0] == TABLE)
    ]


def write_sheet(paper: papers.Paper, path: Path) -> None:
    """The sheet as CSV."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, SHEET_COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sheet_rows(paper))


# ---- the verdicts -------------------------------------------------------------------


def as_shipped(paper: papers.Paper) -> list[cells.Cell]:
    """The cells of the profile as the paper's own sheet has them."""
    return [cell for cell in cells.paper_cells(PROFILE, paper.id) if TABLE not in cell.tables]


def only(frame: pd.DataFrame, ids: Iterable[str]) -> pd.DataFrame:
    """The rows of these cells."""
    return frame[frame.id.isin(set(ids))]


def under(frame: pd.DataFrame, one: Alternative, planned: list[cells.Cell]) -> pd.DataFrame:
    """The cells under an alternative: those measured under it in the place of those that it may change."""
    kept = only(frame, (cell.id for cell in planned if not one.changes(cell)))
    known = {one.under(cell).id: cell for cell in planned if one.changes(cell)}
    there = only(frame, known)
    return pd.concat([kept, there.assign(parameters=[parameters_of(known[cell_id]) for cell_id in there.id])])


def tried(paper: papers.Paper, frame: pd.DataFrame) -> list[dict]:
    """Each claim on numbers of cells, as shipped and under each alternative: `claim`, `alternative`, `verdict`,
    `because`, `turns`."""
    known, planned = alternatives(paper), as_shipped(paper)
    by_id = {cell.id: cell for cell in planned}
    plain = rows_from(paper, only(frame, by_id))
    asked = rows_from(paper, frame_of(planned))
    others = {one.id: rows_from(paper, under(frame, one, planned)) for one in known}
    found = []
    for claim in claims.read(paper.claims):
        named = cells_named(claim, asked)
        if not named:
            continue
        first = claims.tested(claim, plain, whatever=True)
        found.append({"claim": claim.id, "alternative": AS_IS, "verdict": first["verdict"],
                      "because": first["because"], "turns": False})  # fmt: skip
        for one in known:
            if not any(one.changes(by_id[cell_id]) for cell_id in named):
                found.append({"claim": claim.id, "alternative": one.id, "verdict": UNTOUCHED, "because": "",
                              "turns": False})  # fmt: skip
                continue
            second = claims.tested(claim, others[one.id], whatever=True)
            both = {first["verdict"], second["verdict"]}
            found.append({"claim": claim.id, "alternative": one.id, "verdict": second["verdict"],
                          "because": second["because"], "turns": both == {True, False}})  # fmt: skip
    return found


def readable(paper: papers.Paper, found: list[dict]) -> str:
    """The verdicts as Markdown: a line for each claim that could be tested."""
    known = alternatives(paper)
    by_claim: dict[str, dict[str, dict]] = {}
    for item in found:
        by_claim.setdefault(item["claim"], {})[item["alternative"]] = item
    tested = {name: items for name, items in by_claim.items() if items[AS_IS]["verdict"] in (True, False)}
    letters = {one.id: chr(ord("A") + at) for at, one in enumerate(known)}
    lines = ["| | what is otherwise | why it may be so | set |", "|---|---|---|---|"]
    for one in known:
        words = one.set if isinstance(one.set, str) else "; ".join(": ".join(item) for item in one.set.items())
        lines.append(f"| {letters[one.id]} | {one.statement} | {one.why} | `{words}` |")
    lines += ["", "A dot: the alternative changes no cell that the claim names. **Bold**: the verdict turns.", ""]
    lines += [f"| claim | {AS_IS} | {' | '.join(letters.values())} |", "|---" * (len(known) + 2) + "|"]
    for name, items in tested.items():
        said = [items[one.id] for one in known]
        text = [f"**{WORDS[item['verdict']]}**" if item["turns"] else WORDS[item["verdict"]] for item in said]
        lines.append(f"| {name} | {WORDS[items[AS_IS]['verdict']]} | {' | '.join(text)} |")
    turned = [name for name, items in tested.items() if any(item["turns"] for item in items.values())]
    failed = [name for name, items in tested.items()
              if not any(item["verdict"] is True for item in items.values())]  # fmt: skip
    stays = len(tested) - len(turned) - len(failed)
    lines += ["", f"Of {len(by_claim)} claims on numbers of cells {len(tested)} could be tested as shipped. {stays} "
              f"hold under every alternative that was measured, {len(failed)} under none, {len(turned)} turn"
              f"{': ' + ', '.join(turned) if turned else ''}."]  # fmt: skip
    return "\n".join(lines) + "\n"


def amount(entry: entries.Entry) -> str:
    """A reproduced number with three significant digits, or why there is none."""
    return entry.reason if entry.reproduced is None else f"{entry.reproduced:.3g}"


def table_under(paper: papers.Paper, frame: pd.DataFrame, table: str) -> str:
    """A table's numbers as shipped and under each alternative that names the table, as Markdown: in the table's unit,
    and only those numbers that one of them may change. Raises TableError if no alternative names the table."""
    if table not in paper.tables:
        raise TableError(f"{paper.id} has no table {table!r}; {config.nearest(table, paper.tables)}")
    sources = {table, *(name for name, _ in paper.tables[table].also)}
    known = [one for one in alternatives(paper) if one.table in sources]
    if not known:
        raise TableError(f"{paper.folder / ABOUT}: no alternative names table {table!r}; give one `table: {table}`")
    planned = as_shipped(paper)
    by_id = {cell.id: cell for cell in planned}
    frames = [only(frame, by_id), *(under(frame, one, planned) for one in known)]
    build = paper.builder(table)
    entered = [{(e.published.row, e.published.column): e for e in build(frame=one, drives={})} for one in frames]
    lines = [f"| row | column | published | {AS_IS} | {' | '.join(one.id for one in known)} |"]
    lines += ["|---|---" + "|---" * (len(known) + 2) + "|"]
    for place, first in entered[0].items():
        touched = [any(one.changes(by_id[cell]) for cell in first.cells) for one in known]
        if any(touched):
            said = [amount(each[place]) if may else "." for each, may in zip(entered[1:], touched, strict=True)]
            words = [*place, first.published.value or "", amount(first), *said]
            lines.append(f"| {' | '.join(words)} |")
    return "\n".join(lines) + "\n"


def measured(paper: papers.Paper, results: Path) -> pd.DataFrame:
    """The cells of the profile that `results` has so far (results/sensitivity)."""
    ids = [cell.id for cell in cells.paper_cells(PROFILE, paper.id)]
    return load.load_cells(results, [cell for cell in ids if (results / "cells" / cell / "result.json").is_file()])


def write_csv(found: list[dict], path: Path) -> None:
    """The verdicts with what each is from, as CSV."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(item | {"verdict": WORDS[item["verdict"]]} for item in found)
