# SPDX-License-Identifier: MIT
"""One run as lab.cell.run serves it, and a word at its end on what is left of what was asked for.

    python -m lab.cell.progress --profile quick --run scsi-virtio.ultrastar-36zx.t32.both

A profile has more runs than most targets need. Snakemake asks every job of a target for its input before it starts any
of them: the runs among them note that (`asked_for`), and `begin` leaves the list, with those whose results are there
but do not hold. Each run adds a line when it is done, so that a result that is there from before is not taken for one
that was made again.

The words stand here and not in run.py, because they have no part in a result.
"""

import os
import sys
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from lab.cell import cells, paths, run, store

ASKED: set[str] = set()
"""Runs of the target, in the process of Snakemake that plans."""
NEEDED, AGAIN, DONE = "asked", "again", "done"
"""What a line of the list says of a run: the target needs it; its results do not hold; it was made since."""


def asked_for(run_id: str) -> Callable:
    """Input function of a run's rule: no input, but a note that the target needs the run."""

    def note(wildcards: object) -> list[str]:
        ASKED.add(run_id)
        return []

    return note


def asked_path(profile: str) -> Path:
    """The list of the runs that the last target needed."""
    return paths.ROOT / "results" / profile / "asked.txt"


def begin(profile: str, stale: Collection[str] = ()) -> None:
    """Leave the list; the plan is made. `stale` are runs whose results are there but do not hold."""
    path = asked_path(profile)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.new")
    lines = [f"{AGAIN if name in stale else NEEDED} {name}\n" for name in sorted(ASKED)]
    partial.write_text("".join(lines), encoding="utf-8")
    partial.replace(path)


def done(profile: str, run_id: str) -> None:
    """Note that a run was made just now."""
    # One write at the end of the file: runs that end at once do not mix their lines.
    with open(asked_path(profile), "a", encoding="utf-8") as file:
        file.write(f"{DONE} {run_id}\n")


@dataclass(frozen=True)
class Left:
    """What is left of what was asked for."""

    there: int
    """Runs whose results are there and hold."""
    runs: int
    asked: bool
    """Whether they are those of the last target, and not all of the profile."""
    seconds: float | None
    """A guess at the rest, in real seconds; None while nothing is known."""
    whole: bool = True
    """Whether a run of each kind that is left was made already, so that the guess knows all of them."""

    @property
    def words(self) -> str:
        """The guess in words; empty where nothing is left or known."""
        about = "about" if self.whole else "at least"
        return f"{about} {max(1, round(self.seconds / 60))} min left" if self.seconds else ""


def _noted(profile: str) -> dict[str, set[str]]:
    """The list, as runs by what it says of them."""
    path = asked_path(profile)
    found: dict[str, set[str]] = {NEEDED: set(), AGAIN: set(), DONE: set()}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        word, _, name = line.partition(" ")
        found.get(word, set()).add(name)
    return found


def kind(run: cells.Run) -> frozenset[tuple[str, str]]:
    """What decides most of a run's time: its workloads, and how large they are."""
    return frozenset((cell.workload, cell.scale) for cell in run.cells)


def guess(profile: str, rest: list[cells.Run], known: Iterable[cells.Run]) -> tuple[float, bool] | None:
    """How many seconds these runs take together, and whether a run of each kind among them was made: each cell as long
    as others of its kind took, or as cells took on the whole. None if no run was made."""
    took: dict[frozenset, list[tuple[float, int]]] = {}
    for one in known:
        seconds = store.seconds_of(paths.ROOT / paths.timing_path(profile, one.id))
        if seconds is not None:
            took.setdefault(kind(one), []).append((seconds, len(one.cells)))
    if not took:
        return None
    everything = [pair for found in took.values() for pair in found]

    def each(found: list[tuple[float, int]]) -> float:
        return sum(seconds for seconds, _ in found) / sum(count for _, count in found)

    total = sum(len(one.cells) * each(took.get(kind(one), everything)) for one in rest)
    return total, all(kind(one) in took for one in rest)


def left(profile: str, stale: Collection[str] | None = None) -> Left:
    """How much of what was asked for is there. `stale` are the runs whose results do not hold, where somebody has just
    asked for that of the whole profile; else the list says it of the last target's."""
    known = cells.runs(profile)
    noted = _noted(profile)
    again = noted[AGAIN] - noted[DONE] if stale is None else set(stale)
    asked = [] if stale is not None else [name for name in known if name in noted[NEEDED] | noted[AGAIN]]
    runs = [known[name] for name in asked] or list(known.values())
    rest = [
        one
        for one in runs
        if one.id in again or not all((paths.ROOT / paths.result_path(profile, cell.id)).exists() for cell in one.cells)
    ]
    there = (len(runs) - len(rest), len(runs), bool(asked))
    if not rest:
        return Left(*there, 0.0)
    took = guess(profile, rest, known.values())
    return Left(*there, took[0] / (os.cpu_count() or 1), took[1]) if took else Left(*there, None)


def time_left(profile: str) -> str:
    """How many of the runs that were asked for are there, and a guess at the rest from those that are done."""
    found = left(profile)
    whose = "asked for" if found.asked else f"of profile {profile}"
    there = f"{found.there} of {found.runs} runs {whose} are there"
    return f"{there}, {found.words}" if found.words else there


def served(profile: str, run_id: str) -> str:
    """Note that a run is done, and say what is left."""
    done(profile, run_id)
    return time_left(profile)


def main(argv: list[str] | None = None) -> int:
    """Command line of lab.cell.run."""
    return run.main(argv, served)


if __name__ == "__main__":
    sys.exit(main())
