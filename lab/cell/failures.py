# SPDX-License-Identifier: MIT
"""After a report: the cells that failed or are missing."""

import sys

from lab.cell import cells, paths, store
from lab.cell.errors import SpindleError


def wanted(profile: str, paper: str | None) -> tuple[cells.Cell, ...]:
    """The cells of a profile, or those that it takes of one paper."""
    return cells.paper_cells(profile, paper) if paper else cells.cells(profile)


def failures(profile: str, paper: str | None = None) -> list[tuple[str, str]]:
    """Ids of cells without a number, and why."""
    found = []
    for cell in wanted(profile, paper):
        try:
            result = store.read_result(paths.ROOT / paths.cell_dir(profile, cell.id))
        except store.NoResult:
            found.append((cell.id, "not run"))
            continue
        except SpindleError as error:
            found.append((cell.id, str(error)))
            continue
        if result["status"] != "ok":
            found.append((cell.id, result["reason"]))
    return found


def tell(profile: str, paper: str | None = None) -> int:
    """Name the cells without a number and why; returns how many there are."""
    found = failures(profile, paper)
    for name, reason in found:
        print(f"failed: {name}: {reason}", file=sys.stderr)
    if found:
        total = len(wanted(profile, paper))
        print(f"{len(found)} of {total} cells have no number; the same command runs them again", file=sys.stderr)
    return len(found)


def count(profile: str, paper: str | None = None) -> str:
    """How many cells of a profile, or of those that it takes of one paper, have a number, in words."""
    total = len(wanted(profile, paper))
    return f"{total - len(failures(profile, paper))} of {total} cells have a number"
