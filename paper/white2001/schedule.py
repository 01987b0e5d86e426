# SPDX-License-Identifier: MIT
"""Figure 1: the order in which the disk serves two interleaved streams.

The paper sketches it for a host queue of two requests and two tags. Here it comes from traces of the write/interleave
cells with host scheduling only. What a tag takes to the disk is gone from the host's queue, so the queue that is left
to sort decides how long the disk stays with one stream.
"""

from dataclasses import dataclass
from itertools import pairwise

import pandas as pd

SHOWN = ("none", "4", "128")
"""Tags whose schedule is drawn: the paper's two cases, and the one where the host has nothing left to sort."""
STEPS_SHOWN = 6
"""Steps that the table shows, as many as the paper's."""
UNITS = {"run_length_mean_requests": "requests", "run_length_max_requests": "requests", "sequential_share": "share",
         "rate_mb_s": "MB/s"}  # fmt: skip
"""Measures over the steady half, in the order of figure1.csv, and their units."""


@dataclass(frozen=True)
class Schedule:
    """A trace's requests in the order of service, in units of one request."""

    stream: list[int]
    """0: from the beginning of the disk; 1: from its middle."""
    offset: list[int]
    """Requests since the beginning of the stream."""
    steady: tuple[int, int]
    """Half of the requests, from a quarter to three quarters: the queue is neither filling nor running dry."""

    def runs(self, begin: int, end: int) -> list[tuple[int, int, int]]:
        """(stream, position of the first, number) of the requests that follow one another in one stream."""
        found: list[tuple[int, int, int]] = []
        for position in range(begin, end):
            if found and found[-1][0] == self.stream[position]:
                found[-1] = (found[-1][0], found[-1][1], found[-1][2] + 1)
            else:
                found.append((self.stream[position], position, 1))
        return found

    def steady_runs(self) -> list[tuple[int, int, int]]:
        """Whole runs of the steady part: those cut by its edges are left out unless there is nothing else."""
        runs = self.runs(*self.steady)
        return runs[1:-1] if len(runs) > 2 else runs


def schedule(frame: pd.DataFrame) -> Schedule:
    """The schedule in a trace of the interleave workload: the widest gap between addresses parts the two streams."""
    data = frame[frame.op != "F"].sort_values(["start_ns", "acknowledged_ns"], kind="stable")
    addresses = sorted(set(data.lbn.tolist()))
    gaps = [after - before for before, after in pairwise(addresses)]
    middle = addresses[gaps.index(max(gaps)) + 1] if gaps else 0
    size = max(data.sectors.tolist(), default=1)
    stream = [int(lbn >= middle > 0) for lbn in data.lbn.tolist()]
    begins = (addresses[0] if addresses else 0, middle)
    offset = [(lbn - begins[which]) // size for lbn, which in zip(data.lbn.tolist(), stream, strict=True)]
    return Schedule(stream, offset, (len(data) // 4, 3 * len(data) // 4))


def address(stream: int, offset: int) -> str:
    """An address as the paper writes it: 100, N+100."""
    return f"N+{offset}" if stream else str(offset)


def measures(found: Schedule) -> dict[str, float]:
    """What can be told from the steady part, by the names of UNITS."""
    begin, end = found.steady
    runs = found.steady_runs()
    served = list(zip(found.stream[begin:end], found.offset[begin:end], strict=True))
    following = sum(b == (a[0], a[1] + 1) for a, b in pairwise(served))
    return {
        "run_length_mean_requests": sum(run[2] for run in runs) / len(runs),
        "run_length_max_requests": max(run[2] for run in runs),
        "sequential_share": following / (len(served) - 1),
    }


def table(found: Schedule) -> list[dict]:
    """The first runs of the steady part as the steps T_1, T_2, ... of the paper's table."""
    steps = []
    for stream, position, count in found.steady_runs()[:STEPS_SHOWN]:
        offsets = found.offset[position : position + count]
        rising = all(b == a + 1 for a, b in pairwise(offsets))
        steps.append({"first": address(stream, offsets[0]), "last": address(stream, offsets[-1]), "requests": count,
                      "rising": rising})  # fmt: skip
    return steps
