# SPDX-License-Identifier: MIT
"""Before a report: drop what has to run again, and what killed reports left.

Dropped are cells that failed and cells whose result cannot be read. What is whole stays: whether it holds is decided by
its identity when the report is planned (lab/cell/planning.py). Receipts of built things whose files are not those that
were built are taken back, so that these are built again.

Where no built thing is missing, nobody has to ask Snakemake for the lab.
"""

import shutil
import sys
from pathlib import Path

from lab.cell import built, cells, config, lock, paths, store


def why_drop(folder: Path) -> str | None:
    """Why a cell has to run again, empty if it never ended; None if its result stands."""
    try:
        result = store.read_result(folder)
        return None if result["status"] == "ok" else str(result["reason"])
    except store.NoResult:
        return ""
    except (store.BadResult, KeyError, TypeError):
        return "its result is not readable"


def sweep(results: Path) -> list[tuple[str, str]]:
    """Drop the cells below `results`/cells that have to run again; returns their ids and why."""
    dropped = []
    for folder in sorted(path for path in (results / "cells").glob("*") if path.is_dir()):
        # A leading dot marks a result that was being put in place when its report was killed. Without result.json it
        # was about to be measured again.
        reason = "" if folder.name.startswith(".") else why_drop(folder)
        if reason is None:
            continue
        shutil.rmtree(folder)
        if reason:
            dropped.append((folder.name, reason))
    return dropped


def to_build(profile: str) -> list[str]:
    """The built things that a profile needs and that are missing or have to be built again; those whose files are not
    what was built are named. Raises SpindleError where the results are in use."""
    config.require_profile(profile)
    with lock.hold(lock.RESULTS, alone=True, what=f"retry of profile {profile}"):
        lock.sweep()
        for reason in built.drop_damaged(paths.build()):
            print(f"again: {reason}", file=sys.stderr)
    needed = {name for run in cells.runs(profile).values() for name in built.used_by(run)}
    return sorted(name for name in needed if not built.stands(name, paths.build()))


def prepare(profile: str) -> list[str]:
    """Drop what has to run again in a profile, and say what; returns what is `to_build`. Raises SpindleError where the
    results are in use."""
    missing = to_build(profile)
    with lock.hold(lock.RESULTS, alone=True, what=f"retry of profile {profile}"):
        for name, reason in sweep(paths.ROOT / "results" / profile):
            print(f"again: {name}: {reason}", file=sys.stderr)
    return missing
