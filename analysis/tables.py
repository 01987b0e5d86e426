# SPDX-License-Identifier: MIT
"""A table's data: published numbers and results as one CSV, the only data its LaTeX is made from (analysis.entries).

python -m analysis.tables --paper PAPER --table table5 --results results/quick --cells LIST --out CSV
python -m analysis.tables --paper PAPER --table table6 --reference --out CSV
python -m analysis.tables --paper PAPER --table table3 --drive ide=IDE.json --drive scsi=SCSI.json --out CSV
"""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from analysis import command, entries, load, papers, reference, settings
from analysis.errors import TableError


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


def with_reading(made: list[entries.Entry], name: str, other: list[entries.Entry]) -> list[entries.Entry]:
    """A table's entries with those of the same table under another reading, where the number is another one."""
    return [
        one if one.reproduced == there.reproduced else replace(one, readings=one.readings | {name: there.reproduced})
        for one, there in zip(made, other, strict=True)
    ]


def make(args: argparse.Namespace) -> None:
    """Write the table's data."""
    paper = papers.paper(args.paper)
    build = paper.builder(args.table)
    if args.cells and not args.results:
        raise TableError("--cells: say with --results where the results are, such as results/quick")
    if args.reference:
        frame = reference.for_tables(paper.id, reference.read(reference.folder(paper.id)))
    else:
        ids = load.read_cell_list(args.cells) if args.cells else []
        frame = load.load_cells(args.results, ids) if ids else load.load([])
    drives = read_drives(args.drive)
    made = build(frame=frame, drives=drives)
    for reading in paper.readings:
        made = with_reading(made, reading.name, build(frame=settings.read_as(frame, reading), drives=drives))
    entries.write(made, args.out)


def main(argv: list[str] | None = None) -> int:
    """Command line; see the module's text."""
    parser = command.parser(__doc__, "paper", "table", "out")
    parser.add_argument("--results", type=Path, help="results/<profile>, for measured tables")
    parser.add_argument("--cells", type=Path, help="file with the table's cell ids, one a line")
    parser.add_argument("--reference", action="store_true", help="from the paper's reference numbers, not from results")
    parser.add_argument("--drive", action="append", default=[], metavar="SIDE=FILE", help="a drive's description")
    return command.finish("analysis.tables", parser.parse_args(argv), make)


if __name__ == "__main__":
    sys.exit(main())
