# SPDX-License-Identifier: MIT
"""After a report: name the cells that failed or are missing; exits with 1 if there are any.

python -m lab.cell.failures --profile quick
"""

import argparse
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


def main(argv: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="lab.cell.failures", description=__doc__.splitlines()[0])
    parser.add_argument("--profile", required=True, help="smoke, quick or full")
    parser.add_argument("--paper", help="only the cells of this one; default: of all papers")
    parser.add_argument("--count", action="store_true", help="only say how many cells have a number")
    options = parser.parse_args(argv)
    try:
        found = failures(options.profile, options.paper)
        total = len(wanted(options.profile, options.paper))
    except SpindleError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if options.count:
        print(f"{total - len(found)} of {total} cells have a number", file=sys.stderr)
        return 0
    for name, reason in found:
        print(f"failed: {name}: {reason}", file=sys.stderr)
    if found:
        print(
            f"{len(found)} of {total} cells have no number; the same command runs them again",
            file=sys.stderr,
        )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
