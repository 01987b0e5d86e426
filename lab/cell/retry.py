# SPDX-License-Identifier: MIT
"""Before a report: drop what has to run again, and what killed reports left.

    python -m lab.cell.retry --profile quick

Dropped are failed cells, and cells that ran on a guest image with other packages than the one that is built.
"""

import argparse
import json
import shutil
import sys
from pathlib import Path

from lab.cell import config, identity, lock, paths, volumes
from lab.cell.errors import SpindleError


def current_lock() -> dict | None:
    """lock and moved packages of the built guest, and those of the tools of software arrays (None if these are not
    built); None if no guest is."""
    built = paths.build()
    if not (built / "guest" / "manifest.json").exists():
        return None
    with_tools = (built / "volumes" / "manifest.json").exists()
    return identity.guest_built(built) | {"tools": identity.manifest(built, "volumes")["moved"] if with_tools else None}


def why_drop(folder: Path, guest: dict | None) -> str | None:
    """Why a cell has to run again, empty if it never ended; None if its result stands."""
    if not (folder / "result.json").exists():
        return ""
    try:
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        if result["status"] != "ok":
            return result["reason"]
        tools = guest.get("tools") if guest and volumes.software(result["cell"].get("array", volumes.NONE)) else []
        if guest is not None and tools is not None and result["lock"]["moved"] != guest["moved"] + tools:
            return "it ran on a guest image with other packages"
    except (OSError, ValueError, KeyError, TypeError):
        return "its result is not readable"
    return None


def sweep(results: Path, guest: dict | None) -> list[tuple[str, str]]:
    """Drop the cells below `results`/cells that have to run again; returns their ids and why."""
    dropped = []
    for folder in sorted(path for path in (results / "cells").glob("*") if path.is_dir()):
        # A leading dot marks a result that was being put in place when its report was killed. Without result.json it
        # was about to be measured again.
        reason = "" if folder.name.startswith(".") else why_drop(folder, guest)
        if reason is None:
            continue
        shutil.rmtree(folder)
        if reason:
            dropped.append((folder.name, reason))
    return dropped


def main(argv: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="lab.cell.retry", description=__doc__.splitlines()[0])
    parser.add_argument("--profile", required=True, help="smoke, quick or full")
    options = parser.parse_args(argv)
    try:
        config.require_profile(options.profile)
        lock.acquire()
        shutil.rmtree(paths.build() / "run", ignore_errors=True)
        for name, reason in sweep(paths.ROOT / "results" / options.profile, current_lock()):
            print(f"again: {name}: {reason}", file=sys.stderr)
    except SpindleError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
