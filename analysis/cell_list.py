# SPDX-License-Identifier: MIT
"""The cells a table of a profile is made of, one id a line, sorted.

    python -m analysis.cell_list --profile quick --paper PAPER --table table5 --out FILE

A file, because a thousand results are more than a command line holds. Table `all` stands for every cell of the paper.
paper.yaml says under `also` which cells of other tables a table uses.
"""

import sys

from analysis import command, papers
from lab.cell import cells

ALL = "all"


def cell_ids(profile: str, paper: str, table: str) -> list[str]:
    """Ids of a table's cells in this profile; none where the profile leaves the table out."""
    if table == ALL:
        return sorted(cell.id for cell in cells.paper_cells(profile, paper))
    wanted = cells.cells_of_table(profile, paper, table)
    for other, workload in papers.paper(paper).tables[table].also:
        there = cells.cells_of_table(profile, paper, other)
        wanted += [cell for cell in there if workload in ("", cell.workload)]
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
