# SPDX-License-Identifier: MIT
"""The cells a table of a profile is made of, one id a line, sorted.

    python -m analysis.cell_list --profile quick --paper white2001 --table table5 --out FILE

A file, because a thousand results are more than a command line holds. Table `all` stands for every cell of the paper.
"""

import argparse
import sys
from pathlib import Path

from lab.cell import cells
from lab.cell.errors import SpindleError

ALL = "all"


def cell_ids(profile: str, paper: str, table: str) -> list[str]:
    """Ids of a table's cells in this profile; none where the profile leaves the table out."""
    if table == ALL:
        return sorted(cell.id for cell in cells.cells(profile) if cell.paper == paper)
    wanted = cells.cells_of_table(profile, paper, table)
    if table == "controllers":
        # It compares with the cells of Table 5.
        wanted = wanted + cells.cells_of_table(profile, paper, "table5")
    if table == "postmark":
        # Its phases at Table 6's settings.
        wanted = wanted + [cell for cell in cells.cells_of_table(profile, paper, "table6") if cell.workload == table]
    return sorted({cell.id for cell in wanted})


def main(argv: list[str] | None = None) -> int:
    """Command line; see the module's text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("profile", "paper", "table"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args(argv)
    try:
        found = cell_ids(args.profile, args.paper, args.table)
    except SpindleError as error:
        print(f"analysis.cell_list: {error}", file=sys.stderr)
        return 1
    args.out.write_text("".join(f"{cell}\n" for cell in found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
