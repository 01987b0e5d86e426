# SPDX-License-Identifier: MIT
"""What the disk saw during one phase of a workload, as measures with names.

phase_<name>_reads                 requests that arrived in the phase
phase_<name>_writes
phase_<name>_read_hits             reads that the drive or the controller answered from its cache
phase_<name>_reads_alone           reads that had the disk to themselves until they were acknowledged
phase_<name>_read_response_mean_ms from arrival to acknowledgement
phase_<name>_inode_writes          writes into the inodes of UFS
phase_<name>_bitmap_writes         writes into the cylinder groups of UFS, which have its bitmaps

Counted are the disks that the guest sees, not those behind a hardware array. The last two need the image that the cell
started from, which lies in build/ where the cell was measured.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from analysis import traces, ufs_blocks
from analysis.errors import ResultError
from lab.cell import cells, identity, paths, volumes

NAME = re.compile(r"phase_([a-z]+)_([a-z_]+)")
MEMBER = r"m[0-9]+"
"""A disk behind a hardware array, which the guest does not see."""
NS_PER_MS = 1_000_000
OF_REQUESTS = ("reads", "writes", "read_hits", "reads_alone", "read_response_mean_ms")
REGIONS = {"inode_writes": ufs_blocks.INODES, "bitmap_writes": ufs_blocks.BITMAPS}


def parts(name: str) -> tuple[str, str] | None:
    """The phase and what of it, for the name of such a measure."""
    found = NAME.fullmatch(name)
    return (found[1], found[2]) if found and found[2] in (*OF_REQUESTS, *REGIONS) else None


def seen(folder: Path) -> pd.DataFrame:
    """The requests of a cell at the disks that the guest sees, in order, with `alone`."""
    found = traces.read(folder)
    return traces.in_order(found[~found.device.str.fullmatch(MEMBER) & (found.op != "F")])


def of_requests(found: pd.DataFrame, what: str) -> float | None:
    """One of OF_REQUESTS; None for a mean of nothing."""
    reads = found[found.op == "R"]
    if what == "read_response_mean_ms":
        waited = int((reads.acknowledged_ns - reads.arrival_ns).sum())
        return waited / len(reads) / NS_PER_MS if len(reads) else None
    return {
        "reads": len(reads),
        "writes": len(found) - len(reads),
        "read_hits": int((reads.hit == "hit").sum()),
        "reads_alone": int(reads.alone.sum()),
    }[what]


def in_region(found: pd.DataFrame, image: Path, what: str) -> int:
    """Writes that lie in one of REGIONS of the UFS in an image."""
    about = ufs_blocks.layout(image)
    writes = found[found.op != "R"]
    return int((ufs_blocks.classes(writes, ufs_blocks.regions(about), about) == REGIONS[what]).sum())


def image_of(cell_id: str) -> Path:
    """The file that a cell's disk started from. Raises ResultError where it is not there."""
    run = cells.up_to(cell_id)
    if run is None:
        raise ResultError(f"{cell_id}: no sheet has this cell, so its file system is not known")
    one = next(cell for cell in run.cells if cell.id == cell_id)
    if one.array != volumes.NONE:
        raise ResultError(f"{cell_id}: its file system lies on an array, so that addresses of a disk do not say where")
    path = identity.image_paths(paths.build(), identity.image_of(one))[0]
    if not path.is_file():
        raise ResultError(f"{cell_id}: {path.name}, from which it started, is not here; measure the cell here")
    return path


def measures(
    folder: Path, phases: list[dict], wanted: set[str], image: Callable[[str], Path] = image_of
) -> dict[str, float]:
    """The wanted ones that a cell has. Raises ResultError where the image is needed and missing."""
    asked = {name: found for name in wanted if (found := parts(name))}
    if not asked:
        return {}
    every, values = seen(folder), {}
    for name, (phase, what) in sorted(asked.items()):
        spans = [one for one in phases if one["name"] == phase]
        if not spans:
            continue
        inside = pd.concat(
            [every[(every.arrival_ns >= one["begin_ns"]) & (every.arrival_ns < one["end_ns"])] for one in spans]
        )
        value = in_region(inside, image(folder.name), what) if what in REGIONS else of_requests(inside, what)
        if value is not None:
            values[name] = value
    return values
