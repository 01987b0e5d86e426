# SPDX-License-Identifier: MIT
"""Figures 1 and 2 and the I/O summary as data, from the traces of their cells.

    python -m analysis.figures --results results/quick --cells LIST --out results/quick/tables/white2001

Writes figure1.csv and figure2.csv (columns of analysis.tables), figure2.bands.csv, io-summary.csv, and figures.json:
per panel its cell, the reason if there is nothing to see, and what the report prints beside the picture.
"""

import json
import sys
from pathlib import Path

from analysis import command, io_summary, load, schedule, tables, write_pattern

BAND_COLUMNS = ("row", "lbn_begin", "lbn_end", "writes", "single_block_alone", "single_block_alone_share")
MADE = ("figure1.csv", "figure2.csv", "figure2.bands.csv", "io-summary.csv", "figures.json")
"""Files that `build` writes."""


def build(results: Path, ids: list[str], out: Path) -> None:
    """Write everything."""
    out.mkdir(parents=True, exist_ok=True)
    entries, steps = schedule.build(results, ids)
    tables.write(entries, out / "figure1.csv")
    entries, bands, panels = write_pattern.build(results, ids)
    tables.write(entries, out / "figure2.csv")
    io_summary.write(bands, BAND_COLUMNS, out / "figure2.bands.csv")
    io_summary.write(io_summary.build(results, ids), io_summary.COLUMNS, out / "io-summary.csv")
    (out / "figures.json").write_text(json.dumps({"figure1": steps, "figure2": panels}, indent=1) + "\n")


def main(argv: list[str] | None = None) -> int:
    """Command line; see the module's text."""
    parser = command.parser(__doc__, "results", "cells")
    parser.add_argument("--out", type=Path, required=True, help="folder")
    return command.finish(
        "analysis.figures",
        parser.parse_args(argv),
        lambda args: build(args.results, load.read_cell_list(args.cells), args.out),
    )


if __name__ == "__main__":
    sys.exit(main())
