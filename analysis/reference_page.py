# SPDX-License-Identifier: MIT
"""What the report says of the reference: what it is made from, this profile's cells beside it, and small cells.

python -m analysis.reference_page --paper PAPER --results results/quick --cells LIST --tables DIR --out JSON
"""

import sys
from pathlib import Path

from analysis import command, entries, load, papers, reference, scaled, verified


def lacking(own: Path, other: Path) -> int:
    """Numbers at the paper's size that a table has if made from the reference, and not if made from the profile."""
    there = {(row["row"], row["column"]) for row in entries.read(other) if entries.at_full_size(row)}
    return sum((row["row"], row["column"]) in there and not entries.at_full_size(row) for row in entries.read(own))


def build(paper: str, results: Path, ids: list[str], folder: Path) -> dict:
    """Everything that the report prints of the reference."""
    committed = reference.read(reference.folder(paper))
    about = papers.paper(paper)
    known = set(ids) & reference.planned(about.id)
    results_there = reference.finished_results(about, results)
    found = reference.compare(committed, [one for one in results_there if one["id"] in known])
    return committed.describe() | {
        "later": verified.later(reference.folder(paper)),
        "shared": found.shared, "same": found.same, "equal": found.equal, "moved": found.moved, "differ": found.differ,
        "verified": verified.proven(verified.path(), committed),
        "lacking": {
            table: lacking(folder / f"{table}.csv", folder / reference.table_file(table)) for table in about.shown
        },
        "scaled": scaled.build(about, load.load_cells(results, ids), reference.for_tables(paper, committed)),
    }  # fmt: skip


def main(argv: list[str] | None = None) -> int:
    """Command line; see the module's text."""
    parser = command.parser(__doc__, "paper", "results", "cells", "tables", "out")
    return command.finish(
        "analysis.reference_page",
        parser.parse_args(argv),
        lambda args: command.as_json(build(args.paper, args.results, load.read_cell_list(args.cells), args.tables)),
    )


if __name__ == "__main__":
    sys.exit(main())
