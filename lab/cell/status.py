# SPDX-License-Identifier: MIT
"""What of a profile is there, holds, failed and is at work. Nothing is written, and no lock is taken."""

from dataclasses import dataclass

from lab.cell import built, cells, lock, paths, planning, progress, store
from lab.cell.errors import SpindleError

DONE, FAILED, AGAIN, OPEN = "done", "failed", "to measure again", "not measured"
STATES = (DONE, FAILED, AGAIN, OPEN)
"""Of a cell: it has a number that holds; it has none, with a reason; it was made from other inputs; it has not run."""


@dataclass(frozen=True)
class State:
    """One cell."""

    cell: cells.Cell
    state: str
    why: str = ""
    """Reason of a failure, or inputs that moved."""


@dataclass(frozen=True)
class Status:
    """A profile."""

    cells: list[State]
    running: list[str]
    """Who holds the results, and the runs at work."""
    missing: list[str]
    """Things that have to be built before anything is measured."""
    left: progress.Left


def state_of(profile: str, cell: cells.Cell, stale: dict[str, list[str]]) -> State:
    """One cell; `stale` are runs whose results do not hold, and what moved."""
    try:
        result = store.read_result(paths.ROOT / paths.cell_dir(profile, cell.id))
    except store.NoResult:
        return State(cell, OPEN)
    except SpindleError as error:
        return State(cell, FAILED, str(error))
    if cell.run in stale:
        return State(cell, AGAIN, f"made with another {', '.join(stale[cell.run])}")
    return State(cell, DONE) if result["status"] == "ok" else State(cell, FAILED, result["reason"])


def of_profile(profile: str) -> Status:
    """The status of a profile. Raises SpindleError where its sheets cannot be read."""
    plan = planning.plan(profile)
    stale = plan.stale_runs()
    needed = {name for run in cells.runs(profile).values() for name in built.used_by(run)}
    missing = sorted(name for name in needed if not built.stands(name, paths.build()))
    found = [state_of(profile, cell, stale) for cell in cells.cells(profile)]
    running = [*lock.holders(lock.RESULTS), *lock.holders(lock.RESULTS, kind="within")]
    return Status(found, running, missing, progress.left(profile, stale))
