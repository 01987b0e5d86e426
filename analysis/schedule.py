# SPDX-License-Identifier: MIT
"""Figure 1: the order in which the disk serves two interleaved streams.

The paper sketches it for a host queue of two requests. Here it comes from traces: the write/interleave cells with
host scheduling only, without tags and with four.
"""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from analysis import traces
from analysis.tables import Entry, Published

ROWS = {"none": "tnone.host", "4": "t4.host"}
"""Tags to the row of the figure's data."""
CELL = "scsi-virtio.ultrastar-36zx.t{tags}.host.rawio-write-interleave.s01"
SHOWN = 160
"""Requests that the plot shows."""
RUNS_SHOWN = 6
"""Steps that the table shows, as many as the paper's."""


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


def cells(ids: list[str]) -> dict[str, str | None]:
    """Tags to the cell that shows them, None where the profile has none."""
    wanted = {tags: CELL.format(tags=tags) for tags in ROWS}
    return {tags: name if name in ids else None for tags, name in wanted.items()}


def schedule(frame: pd.DataFrame) -> Schedule:
    """The schedule in a trace of the interleave workload: the widest gap between addresses parts the two streams."""
    data = frame[frame.op != "F"].sort_values("start_ns", kind="stable")
    addresses = sorted(set(data.lbn.tolist()))
    gaps = [after - before for before, after in zip(addresses, addresses[1:], strict=False)]
    middle = addresses[gaps.index(max(gaps)) + 1] if gaps else 0
    size = max(data.sectors.tolist(), default=1)
    stream = [int(lbn >= middle > 0) for lbn in data.lbn.tolist()]
    begins = (addresses[0] if addresses else 0, middle)
    offset = [(lbn - begins[which]) // size for lbn, which in zip(data.lbn.tolist(), stream, strict=True)]
    return Schedule(stream, offset, (len(data) // 4, 3 * len(data) // 4))


def address(stream: int, offset: int) -> str:
    """An address as the paper writes it: 100, N+100."""
    return f"N+{offset}" if stream else str(offset)


def measures(found: Schedule, rate_mb_s: float | None) -> dict[str, tuple[str, float]]:
    """Name to unit and value, over the steady part."""
    begin, end = found.steady
    runs = found.steady_runs()
    served = list(zip(found.stream[begin:end], found.offset[begin:end], strict=True))
    following = sum(b == (a[0], a[1] + 1) for a, b in zip(served, served[1:], strict=False))
    values = {
        "run_length_mean_requests": ("requests", sum(run[2] for run in runs) / len(runs)),
        "run_length_max_requests": ("requests", max(run[2] for run in runs)),
        "sequential_share": ("share", following / (len(served) - 1)),
    }
    return values | ({"rate_mb_s": ("MB/s", rate_mb_s)} if rate_mb_s is not None else {})


def table(found: Schedule) -> list[dict]:
    """The first runs of the steady part as the steps T_1, T_2, ... of the paper's table."""
    steps = []
    for stream, position, count in found.steady_runs()[:RUNS_SHOWN]:
        offsets = found.offset[position : position + count]
        rising = all(b == a + 1 for a, b in zip(offsets, offsets[1:], strict=False))
        steps.append({"first": address(stream, offsets[0]), "last": address(stream, offsets[-1]), "requests": count,
                      "consecutive": rising})  # fmt: skip
    return steps


NAMES = {"run_length_mean_requests": "requests", "run_length_max_requests": "requests", "sequential_share": "share",
         "rate_mb_s": "MB/s"}  # fmt: skip
"""Measures and their units; a missing cell has them all, empty."""


def build(results: Path, ids: list[str]) -> tuple[list[Entry], dict]:
    """Entries of figure1.csv, and what the page says beside the plot."""
    entries, panels = [], {}
    for tags, cell_id in cells(ids).items():
        cell = traces.cell(results, cell_id)
        panel = {"cell": cell.id, "reason": cell.reason, "steps": [], "measures": {}}
        values: dict[str, tuple[str, float]] = {}
        if not cell.reason:
            found = schedule(traces.read(results / "cells" / cell.id))
            if found.steady[1] - found.steady[0] < 2:
                panel["reason"] = "the trace has too few requests"
            else:
                values = measures(found, cell.metrics.get("rate_mb_s"))
                panel |= {"steps": table(found), "measures": {name: value for name, (_, value) in values.items()}}
        for name, unit in NAMES.items():
            _, value = values.get(name, (unit, None))
            entries.append(Entry(Published(ROWS[tags], name, unit, ""), value, None, int(value is not None),
                                 reason=panel["reason"], cells=(cell.id,) if cell.id else ()))  # fmt: skip
        panels[tags] = panel
    return entries, panels
