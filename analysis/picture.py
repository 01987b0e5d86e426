# SPDX-License-Identifier: MIT
"""What the picture of a trace is drawn from: requests by time and address, and beneath them depth and rate over time.

After seekwatcher and iowatcher, which draw blktrace's events in this way. Of a trace with more than LIMIT requests
every n-th is kept, in the order of service; depth and rate are those of all of them.
"""

from collections.abc import Collection

import numpy as np
import pandas as pd

from lab.cell import trace

LIMIT = 10_000
"""Requests of a cell that are drawn, of all its disks together."""
BINS = 400
"""Intervals of time for depth and rate."""
US = 1_000
HITS = dict(zip(trace.HITS, "hpmct-f", strict=True))
"""How the drive served a request, in a letter."""


def outstanding_ns(at_ns: np.ndarray, arrival_ns: np.ndarray, acknowledged_ns: np.ndarray) -> np.ndarray:
    """The integral of the number of commands outstanding, up to each of these times."""

    def passed(times_ns: np.ndarray) -> np.ndarray:
        ordered = np.sort(times_ns)
        sums = np.concatenate([[0], np.cumsum(ordered)])
        before = np.searchsorted(ordered, at_ns)
        return at_ns * before - sums[before]

    return passed(arrival_ns) - passed(acknowledged_ns)


def over_time(found: pd.DataFrame, begin_ns: int, end_ns: int) -> dict:
    """Depth and rate of one disk in BINS equal intervals: `depth` is the mean and `most` the largest number
    outstanding, `rate` that of acknowledged data in 10^6 bytes a second; `width_us` is an interval."""
    width_ns = max(-(-(end_ns - begin_ns) // BINS), 1)
    edges_ns = begin_ns + width_ns * np.arange(BINS + 1, dtype=np.int64)
    arrival_ns, acknowledged_ns = (
        (found[name] - begin_ns).to_numpy(np.int64) for name in ("arrival_ns", "acknowledged_ns")
    )
    mean = np.diff(outstanding_ns(edges_ns - begin_ns, arrival_ns, acknowledged_ns)) / width_ns
    # As many as were outstanding when the interval began, or after an arrival in it.
    most = np.subtract(*(np.searchsorted(np.sort(times_ns), edges_ns[:-1] - begin_ns, side="right")
                         for times_ns in (arrival_ns, acknowledged_ns)))  # fmt: skip
    np.maximum.at(most, np.minimum(arrival_ns // width_ns, BINS - 1), found.depth.to_numpy(np.int64))
    moved = np.where(found.op == "F", 0, found.sectors) * trace.SECTOR_BYTES
    done = np.bincount(np.minimum(acknowledged_ns // width_ns, BINS - 1), weights=moved, minlength=BINS)
    return {
        "width_us": round(width_ns / US, 3), "depth": [round(value, 2) for value in mean.tolist()],
        "most": most.tolist(), "rate": [round(value, 3) for value in (done * 1e3 / width_ns).tolist()],
    }  # fmt: skip


def of_disk(name: str, found: pd.DataFrame, begin_ns: int, end_ns: int, step: int) -> dict:
    """One disk's requests. `begin_us` are differences, each to the one before; times are whole microseconds."""
    kept = found.sort_values(["start_ns", "acknowledged_ns"], kind="stable").iloc[::step]
    begin_us = (kept.start_ns - begin_ns) // US
    return {
        "name": name, "requests": len(found), "op": "".join(kept.op), "hit": "".join(kept.hit.map(HITS)),
        "begin_us": np.diff(begin_us.to_numpy(np.int64), prepend=0).tolist(),
        "waited_us": ((kept.start_ns - kept.arrival_ns) // US).tolist(),
        "served_us": ((kept.acknowledged_ns - kept.start_ns) // US).tolist(),
        "lbn": kept.lbn.tolist(), "sectors": kept.sectors.tolist(), "depth": kept.depth.tolist(),
        "over_time": over_time(found, begin_ns, end_ns),
    }  # fmt: skip


def picture(found: pd.DataFrame, first: Collection[str] = (), limit: int = LIMIT) -> dict | None:
    """What is drawn of a trace (analysis.traces.frame); None without requests. `begin_ns` is the first arrival, which
    all times count from, and `step` says that one of so many requests is kept. The disks in `first` come first."""
    if found.empty:
        return None
    begin_ns, end_ns = int(found.arrival_ns.min()), int(found.acknowledged_ns.max())
    step = -(-len(found) // limit)
    disks = sorted(found.groupby("device"), key=lambda item: (item[0] not in first, len(item[0]), item[0]))
    return {
        "begin_ns": begin_ns, "requests": len(found), "step": step,
        "disks": [of_disk(name, part, begin_ns, end_ns, step) for name, part in disks],
    }  # fmt: skip
