# SPDX-License-Identifier: MIT
"""What has to run again: each result's identity against what is described and built here.

Snakemake runs what is missing. What is there but was made from something else it cannot see, because nothing here goes
by the times of files, nor by what Snakemake noted of earlier runs: results that came in an archive have neither. So the
Snakefile asks here while it is read, and gives the runs that are named an input which is newer than any result. Nothing
is written, and no lock is taken.

Of a thing that is to be built again nobody knows yet what it will be, and so no result that needs it holds. `make
report` builds first and plans then.
"""

import json
import os
import sys
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from lab.cell import built, cells, identity, paths

UNKNOWN = "lab"
"""Stands among the inputs that moved where something is not built, or will be built again."""
UNREADABLE = "schema"
"""Stands there where a result cannot be read."""


@dataclass
class Plan:
    """Which results of a profile hold."""

    profile: str
    labels: dict[str, str]
    """Of everything that is built and need not be built again."""
    images: dict = field(default_factory=dict)
    """Hashes of images, by image."""

    def knows(self, run: cells.Run) -> bool:
        """All is built that the run uses."""
        return all(label in self.labels for name in built.used_by(run) for label in built.THINGS[name].labels)

    def image_paths(self, image: identity.Image) -> list[Path] | None:
        """Where an image lies, below the build directory as the Snakefile names it; None while nobody knows."""
        if not self.knows(identity.image_run(image)):
            return None
        if image not in self.images:
            self.images[image] = identity.image_hash(image, self.labels)
        return identity.image_files(paths.BUILD, image, self.images[image])

    def stale_runs(self) -> dict[str, list[str]]:
        """Runs of the profile whose results are there and do not hold, and what moved."""
        return {run.id: moved for run in cells.runs(self.profile).values() if (moved := self.stale(run))}

    def stale(self, run: cells.Run) -> list[str]:
        """Inputs that moved since a run's results were made; none where those that are there hold."""
        results = []
        for cell in run.cells:
            path = paths.ROOT / paths.result_path(self.profile, cell.id)
            try:
                results.append((cell.id, json.loads(path.read_text(encoding="utf-8"))))
            except FileNotFoundError:
                continue
            except (OSError, ValueError):
                return [UNREADABLE]
        if not results:
            return []
        if not self.knows(run):
            return [UNKNOWN]
        here = identity.of_run(run, self.labels, self.images)
        found = set()
        for cell_id, result in results:
            try:
                found.update(identity.moved(here[cell_id], result))
            except (KeyError, TypeError, AttributeError):
                return [UNREADABLE]
        return sorted(found)


def plan(profile: str) -> Plan:
    """The plan of a profile, from what lies here now."""
    return Plan(profile, built.known_labels(paths.build()))


def lacks_results(profile: str, run: cells.Run) -> bool:
    """Some result of the run is not there. Snakemake does not look for one behind a table that is there already."""
    return not all((paths.ROOT / paths.result_path(profile, cell.id)).is_file() for cell in run.cells)


def held(profile: str, stale: dict[str, list[str]]) -> list[str]:
    """Ids of the cells that have a result here which holds, failed ones too; `stale` as `stale_runs` has it."""
    return [
        cell.id
        for run in cells.runs(profile).values()
        if run.id not in stale
        for cell in run.cells
        if (paths.ROOT / paths.result_path(profile, cell.id)).is_file()
    ]


@cache
def again() -> list[str]:
    """Input of a run that is to run again: a file in this process's memory, which is newer than any result.

    It has other bytes in each process. Snakemake notes the hash of a small input, and takes one of the same hash for
    unchanged, however new it is; of an empty file, as all in /proc are to it, too.
    """
    file = os.memfd_create("spindle-again")
    os.write(file, f"{os.getpid()} {time.time_ns()}\n".encode())
    return [f"/proc/self/fd/{file}"]


def say(stale: dict[str, list[str]], asked: set[str]) -> None:
    """Say of the runs that a target needs why they run again."""
    for run_id in (name for name in stale if name in asked):
        print(f"again: {run_id}: made with another {', '.join(stale[run_id])}", file=sys.stderr, flush=True)
