# SPDX-License-Identifier: MIT
"""After a report: name the cells that failed or are missing; exits with 1 if there are any.

python -m lab.cell.failures --profile quick
"""

import argparse
import json
import sys

from lab.cell import cells, paths
from lab.cell.errors import SpindleError


def failures(profile: str) -> list[tuple[str, str]]:
    """Ids of cells without a number, and why."""
    found = []
    for cell in cells.cells(profile):
        try:
            result = json.loads((paths.ROOT / paths.result_path(profile, cell.id)).read_text(encoding="utf-8"))
        except FileNotFoundError:
            found.append((cell.id, "not run"))
            continue
        if result["status"] != "ok":
            found.append((cell.id, result["reason"]))
    return found


def main(argv: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="lab.cell.failures", description=__doc__.splitlines()[0])
    parser.add_argument("--profile", required=True, help="smoke, quick or full")
    parser.add_argument("--count", action="store_true", help="only say how many cells have a number")
    options = parser.parse_args(argv)
    try:
        found = failures(options.profile)
    except SpindleError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if options.count:
        total = len(cells.cells(options.profile))
        print(f"{total - len(found)} of {total} cells have a number", file=sys.stderr)
        return 0
    for name, reason in found:
        print(f"failed: {name}: {reason}", file=sys.stderr)
    if found:
        print(
            f"{len(found)} of {len(cells.cells(options.profile))} cells have no number; "
            "the same command runs them again",
            file=sys.stderr,
        )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
