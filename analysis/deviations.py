# SPDX-License-Identifier: MIT
"""Where ours is off by more than FACTOR, and the explanations that paper/<paper>/deviations.yaml has.

    python -m analysis.deviations --paper PAPER --results results/quick --tables DIR --cells LIST --out JSON

Looked at are the numbers at the paper's size of the tables that paper.yaml calls `explained`, and its `quotients` of
two columns, ours against the paper's: a quotient compares where an absolute time does not. A quotient is made of two
numbers of this profile, or of two of the reference (paper/<paper>/reference), never of one each.
"""

import argparse
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from analysis import claims, command, entries, load, measures, numbers, papers, reference
from analysis.errors import ClaimError, DeviationError, ResultError
from lab.cell import config

FACTOR = 1.5
"""A quotient of ours and the paper's beyond this, either way, wants an explanation."""
NUMBER = "number"
OWN, REFERENCE = "profile", "reference"
EVIDENCE = "evidence.csv"
"""The sheet of a paper's cells that only evidence needs."""


@dataclass(frozen=True)
class Quantity:
    """Something that the paper's numbers say and ours may say otherwise."""

    of: str
    table: str
    row: str
    column: str
    published: float
    reproduced: float
    origin: str
    unit: str = ""
    """Empty for a quotient."""

    @property
    def ratio(self) -> float:
        """Ours over the paper's."""
        return self.reproduced / self.published

    @property
    def off(self) -> bool:
        """It wants an explanation."""
        return numbers.off(self.ratio) > FACTOR


def usable(row: dict | None) -> bool:
    """A number of ours is there, at the paper's size."""
    return row is not None and entries.at_full_size(row)


def candidates(quotients: Iterable[str], rows: list[dict]) -> list[tuple[str, str, str, list[tuple[str, str]]]]:
    """Of what kind, row, column, and the table's entries that it is made of; in the table's order.

    A quotient is named `<over>/<under>` after parts of a column: it is the first's number over the second's.
    """
    known = [(row["row"], row["column"]) for row in rows if row["unit"] != "%"]
    found = [(NUMBER, row, column, [(row, column)]) for row, column in known]
    for name in quotients:
        over, _, under = name.partition("/")
        for row, column in known:
            parts = column.split(".")
            if over not in parts:
                continue
            at = parts.index(over)
            other = (row, ".".join([*parts[:at], under, *parts[at + 1 :]]))
            if other in known:
                found.append((name, row, ".".join(parts[:at] + parts[at + 1 :]), [(row, column), other]))
    return found


def quantities(quotients: Iterable[str], own: dict[str, list[dict]], other: dict[str, list[dict]]) -> list[Quantity]:
    """All that can be compared. `own` and `other` are table data by table: this profile's, and the reference's."""
    found = []
    for table, rows in own.items():
        indexes = [
            (origin, {(row["row"], row["column"]): row for row in part})
            for origin, part in ((OWN, rows), (REFERENCE, other.get(table, [])))
        ]
        for of, row, column, places in candidates(quotients, rows):
            for origin, index in indexes:
                parts = [index.get(place) for place in places]
                if not all(map(usable, parts)):
                    continue
                if of == NUMBER:
                    # The table knows what compares in absolute terms.
                    if parts[0]["ratio"] is not None:
                        entry = parts[0]
                        found.append(Quantity(of, table, row, column, entry["published"], entry["reproduced"], origin,
                                              entry["unit"]))  # fmt: skip
                else:
                    published, reproduced = (parts[0][name] / parts[1][name] for name in ("published", "reproduced"))
                    found.append(Quantity(of, table, row, column, published, reproduced, origin))
                break
    return found


def fits(where: dict, of: str, table: str, row: str, column: str) -> bool:
    """A `where` of deviations.yaml names this quantity."""
    return (where["of"], where["table"]) == (of, table) and all(
        fnmatchcase(text, where[name]) for name, text in (("row", row), ("column", column))
    )


def explains(where: dict, quantity: Quantity) -> bool:
    """A `where` of deviations.yaml is about this quantity, and its ratio lies in the range for which it was said."""
    low, high = where["ratio"]
    return fits(where, quantity.of, quantity.table, quantity.row, quantity.column) and low <= quantity.ratio <= high


def listed_path(paper: str) -> Path:
    """A paper's explanations."""
    return papers.paper(paper).deviations


def read(path: Path, paper: str) -> list[dict]:
    """The explanations; none where the paper has no such file.

    Raises DeviationError for a repeated id, for a table or a quotient that paper.yaml does not compare, and for a
    pattern that fits nothing printed.
    """
    if not path.exists():
        return []
    about = papers.paper(paper)
    listed = config.read_yaml(path, "deviations")["deviations"]
    printed = {}
    for table in about.explained:
        rows = [asdict(entry) for entry in entries.read_published(about.published / f"{table}.csv")]
        printed[table] = candidates(about.quotients, rows)
    seen: set[str] = set()
    planned = reference.planned(paper)
    for item in listed:
        where = f"{config.show(path)}: deviation {item['id']!r}"
        if item["id"] in seen:
            raise DeviationError(f"{where}: stands there twice; rename one")
        seen.add(item["id"])
        for part in item["where"]:
            if part["table"] not in printed or part["of"] not in (NUMBER, *about.quotients):
                raise DeviationError(
                    f"{where}: {part['of']} of {part['table']} is not compared; paper.yaml compares {NUMBER}, "
                    f"{', '.join(about.quotients)} of {', '.join(printed)}"
                )
            low, high = part["ratio"]
            if not (low < high and (high < 1 or low > 1)):
                raise DeviationError(
                    f"{where}: ratio [{low:g}, {high:g}] of row {part['row']!r}, column {part['column']!r} has no "
                    "direction; write the least and the greatest ratio that it explains, both below 1 or both above"
                )
            if not any(fits(part, of, part["table"], row, column) for of, row, column, _ in printed[part["table"]]):
                raise DeviationError(
                    f"{where}: no {part['of']} of {part['table']} fits row {part['row']!r}, column {part['column']!r}; "
                    f"names are those of published/{part['table']}.csv, less the part that a quotient is over"
                )
        for piece in item["evidence"]:
            unknown = [name for name in sorted(names_in(piece)) if not measures.known(name)]
            if unknown:
                raise DeviationError(f"{where}: {unknown[0]!r} is no measure; analysis/measures.py lists them")
            # With any numbers: what is no expression is found before there are results.
            known = {name: 1000.0 + at for at, name in enumerate(sorted(names_in(piece)))}
            claims.evaluate(piece["value"], known, no_table)
            if piece["cell"] not in planned:
                raise DeviationError(
                    f"{where}: no sheet has the cell {piece['cell']!r}; give {config.show(about.folder / EVIDENCE)} "
                    f"a row for it; {config.nearest(piece['cell'], planned)}"
                )
    return listed


def names_in(piece: dict) -> set[str]:
    """The measures that a piece of evidence uses."""
    return measures.names(piece["value"])


def evidence(item: dict, results: Path, ids: set[str], committed: reference.Reference) -> dict:
    """One piece of evidence with its value, and where that comes from; `value` is None where nothing has it."""
    expression, cell_id = item["value"], item["cell"]
    wanted = names_in(item)
    found = item | {"value": None, "origin": None, "trace": measures.from_trace(wanted), "reason": ""}
    if cell_id in ids and reference.finished(results, cell_id):
        try:
            known, found["origin"] = measures.of_cell(results, cell_id, wanted), OWN
        except ResultError as error:
            return found | {"reason": str(error)}
    elif cell_id in committed.cells:
        known, found["origin"] = committed.measures_of(cell_id), REFERENCE
    else:
        return found | {"reason": "neither measured here nor in the reference"}
    missing = sorted(wanted - known.keys())
    if missing:
        whose = "the reference" if found["origin"] == REFERENCE else "this profile"
        return found | {"reason": f"{whose} has no {missing[0]} of it"}
    try:
        return found | {"value": float(claims.evaluate(expression, known, no_table))}
    except ClaimError as error:
        # Above all a division by zero; the rest was checked as the file was read.
        return found | {"reason": str(error)}


def no_table(table: str, row: str, column: str) -> float:
    """Evidence is about one cell."""
    raise DeviationError(f"deviations.yaml: cell({table!r}, ...) does not belong into evidence; name measures")


def span(group: list[Quantity]) -> dict:
    """Several quantities of one kind: how many, their range, and where the farthest one is."""
    ratios = [quantity.ratio for quantity in group]
    first = group[0]
    return {
        "of": first.of, "table": first.table, "column": first.column, "unit": first.unit,
        "rows": [quantity.row for quantity in group], "origins": sorted({quantity.origin for quantity in group}),
        **{name: [min(values), max(values)] for name, values in (
            ("published", [quantity.published for quantity in group]),
            ("reproduced", [quantity.reproduced for quantity in group]), ("ratio", ratios))},
    }  # fmt: skip


def spans(found: list[Quantity], settings: set[str]) -> list[dict]:
    """Quantities grouped by kind, table and column in order; by row, too, but in tables whose rows are settings."""
    groups: dict[tuple, list[Quantity]] = {}
    for quantity in found:
        key = (quantity.table, quantity.of, quantity.column, "" if quantity.table in settings else quantity.row)
        groups.setdefault(key, []).append(quantity)
    return [span(group) for group in groups.values()]


def build(listed: list[dict], found: list[Quantity], settings: set[str], results: Path, ids: set[str],
          committed: reference.Reference) -> dict:  # fmt: skip
    """Everything that the report prints."""
    explained, taken = [], set()
    for item in listed:
        named = [q for q in found if any(fits(part, q.of, q.table, q.row, q.column) for part in item["where"])]
        off = [q for q in named if q.off and any(explains(part, q) for part in item["where"])]
        beyond = [q for q in named if q.off and q not in off]
        taken |= set(off)
        explained.append({
            "id": item["id"], "title": item["title"], "why": item["why"].strip(), "measured": len(named),
            "off": len(off), "spans": spans(off or named, settings), "beyond": spans(beyond, settings),
            "evidence": [evidence(piece, results, ids, committed) for piece in item["evidence"]],
        })  # fmt: skip
    off = [quantity for quantity in found if quantity.off]
    return {
        "factor": FACTOR, "compared": len(found), "off": len(off),
        "explained": explained, "unexplained": spans([quantity for quantity in off if quantity not in taken], settings),
    }  # fmt: skip


def made(args: argparse.Namespace) -> str:
    """The output's text."""
    paper = papers.paper(args.paper)
    own = {table: entries.read(args.tables / f"{table}.csv") for table in paper.explained}
    other = {
        table: entries.read(args.tables / reference.table_file(table)) if table in paper.committed else []
        for table in paper.explained
    }
    ids = set(load.read_cell_list(args.cells))
    committed = reference.read(reference.folder(args.paper))
    listed = read(listed_path(args.paper), args.paper)
    settings = {table.name for table in paper.tables.values() if table.settings}
    found = quantities(paper.quotients, own, other)
    return command.as_json(build(listed, found, settings, args.results, ids, committed))


def main(argv: list[str] | None = None) -> int:
    """Command line; see the module's text."""
    parser = command.parser(__doc__, "paper", "results", "tables", "cells", "out")
    return command.finish("analysis.deviations", parser.parse_args(argv), made)


if __name__ == "__main__":
    sys.exit(main())
