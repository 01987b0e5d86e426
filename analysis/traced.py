# SPDX-License-Identifier: MIT
"""What is made from the traces of a paper's cells: the I/O summary, and what the paper's own module `traced` makes.

    python -m analysis.traced --paper PAPER --results results/quick --cells LIST --out results/quick/PAPER/tables

Writes io-summary.csv, the tables that paper.yaml has `from: traces`, and figures.json: what the pictures and the report
need beside the traces themselves.
"""

import argparse
import sys
from pathlib import Path

from analysis import cell_names, command, io_summary, load, papers

SUMMARY, DATA = "io-summary.csv", "figures.json"
"""Files that every paper has."""


def wanted(paper: papers.Paper, ids: list[str]) -> list[str]:
    """The cells, of these, whose traces are read."""
    module: papers.Traced | None = paper.module("traced")
    return sorted({*cell_names.summary_cells(ids), *(module.wanted(ids) if module else [])})


def files(paper: papers.Paper) -> list[str]:
    """Names of all files that `build` writes."""
    tables = [paper.tables[name] for name in paper.traced]
    made = [name for table in tables for name in (f"{table.name}.csv", *table.makes)]
    return [*made, SUMMARY, DATA]


def build(paper: papers.Paper, results: Path, ids: list[str], out: Path) -> None:
    """Write everything."""
    out.mkdir(parents=True, exist_ok=True)
    module: papers.Traced | None = paper.module("traced")
    data = module.build(results, ids, out) if module else {}
    io_summary.write(io_summary.build(results, ids), io_summary.COLUMNS, out / SUMMARY)
    (out / DATA).write_text(command.as_json(data))


def made(args: argparse.Namespace) -> None:
    """What the command line asks for."""
    build(papers.paper(args.paper), args.results, load.read_cell_list(args.cells), args.out)


def main(argv: list[str] | None = None) -> int:
    """Command line; see the module's text."""
    parser = command.parser(__doc__, "paper", "results", "cells")
    parser.add_argument("--out", type=Path, required=True, help="folder")
    return command.finish("analysis.traced", parser.parse_args(argv), made)


if __name__ == "__main__":
    sys.exit(main())
