# SPDX-License-Identifier: MIT
"""The cells a table of a profile is made of, one id a line, sorted.

    python -m analysis.cell_list --profile quick --paper PAPER --table table5 --out FILE [--held FILE]

A file, because a thousand results are more than a command line holds. Table `all` stands for every cell of the paper.
paper.yaml says under `also` which cells of other tables a table uses. A report in the midst of measuring is made of the
cells that the file `held` names.
"""

import sys
from collections.abc import Collection
from pathlib import Path

from analysis import command, papers
from lab.cell import cells, paths

ALL = "all"


def held_path(profile: str) -> Path:
    """The list of the cells that have a result which holds, from the root."""
    return Path("results") / profile / "held.txt"


def leave_held(profile: str, held: Collection[str]) -> None:
    """Write that list, whole."""
    path = paths.ROOT / held_path(profile)
    path.parent.mkdir(parents=True, exist_ok=True)
    command.put(path, "".join(f"{cell}\n" for cell in sorted(held)))


def cell_ids(profile: str, paper: str, table: str, held: Collection[str] | None = None) -> list[str]:
    """Ids of a table's cells in this profile; none where the profile leaves the table out. Only those that are `held`,
    if that is given."""
    found = _cell_ids(profile, paper, table)
    return found if held is None else [cell for cell in found if cell in held]


def _cell_ids(profile: str, paper: str, table: str) -> list[str]:
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
    parser.add_argument("--held", type=Path, help="only cells that stand in this file, one a line")

    def text(args) -> str:
        held = None if args.held is None else set(args.held.read_text(encoding="utf-8").split())
        return "".join(f"{cell}\n" for cell in cell_ids(args.profile, args.paper, args.table, held))

    return command.finish("analysis.cell_list", parser.parse_args(argv), text)


if __name__ == "__main__":
    sys.exit(main())
