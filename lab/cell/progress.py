# SPDX-License-Identifier: MIT
"""One run as lab.cell.run serves it, and a word at its end on what is left of what was asked for.

    python -m lab.cell.progress --profile quick --run scsi-virtio.ultrastar-36zx.t32.both

A profile has more runs than most targets need. Snakemake asks every job of a target for its input before it starts any
of them: the runs among them note that (`asked_for`), and `begin` leaves the list for the runs to come.

The words stand here and not in run.py, because they have no part in a result.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from lab.cell import cells, paths, run, store

ASKED: set[str] = set()
"""Runs of the target, in the process of Snakemake that plans."""


def asked_for(run_id: str) -> Callable:
    """Input function of a run's rule: no input, but a note that the target needs the run."""

    def note(wildcards: object) -> list[str]:
        ASKED.add(run_id)
        return []

    return note


def asked_path(profile: str) -> Path:
    """The list of the runs that the last target needed."""
    return paths.ROOT / "results" / profile / "asked.txt"


def begin(profile: str) -> None:
    """Leave the list; the plan is made."""
    path = asked_path(profile)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.new")
    partial.write_text("".join(f"{name}\n" for name in sorted(ASKED)), encoding="utf-8")
    partial.replace(path)


def seconds(profile: str, runs: list[cells.Run]) -> list[float]:
    """How long those of them took whose times are there."""
    files = [paths.ROOT / paths.timing_path(profile, one.id) for one in runs]
    return [took for took in map(store.seconds_of, files) if took is not None]


def time_left(profile: str) -> str:
    """How many of the runs that were asked for are there, and a guess at the rest from those that are done."""
    known = cells.runs(profile)
    path = asked_path(profile)
    asked = [name for name in path.read_text(encoding="utf-8").split() if name in known] if path.exists() else []
    runs = [known[name] for name in asked] or list(known.values())
    whose = "asked for" if asked else f"of profile {profile}"
    left = [
        one
        for one in runs
        if not all((paths.ROOT / paths.result_path(profile, cell.id)).exists() for cell in one.cells)
    ]
    there = f"{len(runs) - len(left)} of {len(runs)} runs {whose} are there"
    took = seconds(profile, runs)
    if not left or not took:
        return there
    guess = sum(took) / len(took) * len(left) / (os.cpu_count() or 1)
    return f"{there}, about {max(1, round(guess / 60))} min left"


def main(argv: list[str] | None = None) -> int:
    """Command line of lab.cell.run."""
    return run.main(argv, time_left)


if __name__ == "__main__":
    sys.exit(main())
