# SPDX-License-Identifier: MIT
"""The cells a table of a profile is made of, one id a line, sorted.

    python -m analysis.cell_list --profile quick --paper white2001 --table table5 --out FILE

A file, because a thousand results are more than a command line holds. Table `all` stands for every cell of the paper.
"""

import sys

from analysis import command
from lab.cell import cells

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
    parser = command.parser(__doc__, "profile", "paper", "table", "out")
    return command.finish(
        "analysis.cell_list",
        parser.parse_args(argv),
        lambda args: "".join(f"{cell}\n" for cell in cell_ids(args.profile, args.paper, args.table)),
    )


if __name__ == "__main__":
    sys.exit(main())
