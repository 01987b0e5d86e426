# SPDX-License-Identifier: MIT
"""The I/O trace (docs/interfaces.md): split by cell, parsed, summed up. Times are virtual nanoseconds."""

import re
from dataclasses import dataclass
from itertools import pairwise

HEADER = "# spindle-trace/1 device op lbn sectors slot arrival_ns start_ns acknowledged_ns medium_ns depth hit"
MARKER = re.compile(r"^# cell (\S+)(?:.* now_ns (\d+) )?", re.MULTILINE)
"""A cell begins: its label, and the time unless the line is torn."""
SECTOR_BYTES = 512
SHARE_DIGITS = 6
MEAN_DIGITS = 3
"""Digits after the point of shares, and of means of bytes and sectors."""


class TraceError(ValueError):
    """The trace is not what the model writes; the message names line and field."""


@dataclass(frozen=True, slots=True)
class Request:
    """One line."""

    device: str
    op: str
    lbn: int
    sectors: int
    slot: int
    arrival_ns: int
    start_ns: int
    acknowledged_ns: int
    medium_ns: int | None
    depth: int
    hit: str


@dataclass(frozen=True)
class Summary:
    """A cell's requests as an analyser on the bus would sum them up.

    Data requests are reads and writes, not flushes. A share or a mean of nothing is None. Every number is an integer
    or a quotient of two, rounded to the digits given in SHARE_DIGITS and MEAN_DIGITS: the same on every machine.
    """

    requests: int
    """All commands, flushes included."""
    reads: int
    writes: int
    """FUA writes included."""
    fua_writes: int
    flushes: int
    read_bytes: int
    write_bytes: int
    request_bytes_mean: float | None
    """Of data requests."""
    read_share: float | None
    """Reads, of all data requests."""
    read_hits: int
    cached_write_share: float | None
    """Writes that were acknowledged out of the drive's buffer, of all writes."""
    sequential_share: float | None
    """Data requests that begin where the one served before them ended, of all but the first."""
    seek_distance_mean_lbn: float | None
    """Between the end of a data request and the beginning of the one served after it (order of start_ns)."""
    seek_distance_median_lbn: float | None
    response_mean_ns: int | None
    """From arrival to acknowledgement, of data requests."""
    response_p95_ns: int | None
    """By nearest rank."""
    busy_share: float | None
    """Time with a command outstanding, of the time from the first arrival to the last acknowledgement."""
    queue_depth_mean: float
    """Outstanding commands averaged over the time from the first arrival to the last acknowledgement."""
    queue_depth_max: int
    drain_ns: int
    """From the last acknowledgement until all data was on the medium."""


def split(text: str) -> dict[str, str]:
    """The lines of each cell by label, each with the file's header and its own `# cell` line in front."""
    lines = text.splitlines()
    if not lines or lines[0] != HEADER:
        found = lines[0] if lines else "nothing"
        raise TraceError(f"the I/O trace begins with {found!r}, not with {HEADER!r}; rebuild QEMU and the model")
    cells: dict[str, list[str]] = {}
    current: list[str] | None = None
    for number, line in enumerate(lines[1:], start=2):
        if line.startswith("# cell "):
            label = line.split()[2]
            if label in cells:
                raise TraceError(f"line {number}: cell {label!r} begins twice")
            current = cells[label] = [HEADER, line]
        elif current is not None:
            current.append(line)
    return {label: "\n".join(part) + "\n" for label, part in cells.items()}


def began_ns(text: str) -> int:
    """Virtual time of a cell's marker, from its part of the trace."""
    label, now_ns = MARKER.search(text).groups()
    if now_ns is None:
        raise TraceError(f"the marker of cell {label!r} has no time")
    return int(now_ns)


def parse(text: str) -> list[Request]:
    """The requests of a trace; comment lines are passed over."""
    requests = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("#") or not line:
            continue
        fields = line.split(" ")
        if len(fields) != 11:
            raise TraceError(f"line {number}: {len(fields)} fields, not 11: {line!r}")
        try:
            numbers = [int(value) for value in fields[2:8]]
            medium_ns = None if fields[8] == "-" else int(fields[8])
            depth = int(fields[9])
        except ValueError as error:
            raise TraceError(f"line {number}: {error}: {line!r}") from error
        request = Request(fields[0], fields[1], *numbers, medium_ns, depth, fields[10])
        if request.op not in ("R", "W", "F", "U"):
            raise TraceError(f"line {number}: unknown operation {request.op!r}")
        if not request.arrival_ns <= request.start_ns <= request.acknowledged_ns:
            raise TraceError(f"line {number}: arrival, start and acknowledgement are not in order: {line!r}")
        requests.append(request)
    return requests


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, SHARE_DIGITS) if whole else None


def _mean(total: int, count: int) -> float | None:
    return round(total / count, MEAN_DIGITS) if count else None


def seek_distances(served: list[Request]) -> list[int]:
    """Sectors between the end of each data request and the beginning of the next, in the order given."""
    return [abs(after.lbn - before.lbn - before.sectors) for before, after in pairwise(served)]


def busy_ns(requests: list[Request]) -> int:
    """Time with at least one command outstanding."""
    total, until = 0, 0
    for begin, end in sorted((request.arrival_ns, request.acknowledged_ns) for request in requests):
        if end > until:
            total += end - max(begin, until)
            until = end
    return total


def summarize(requests: list[Request]) -> Summary | None:
    """Sums, means and shares of a cell's requests; None if there are none."""
    if not requests:
        return None
    first = min(request.arrival_ns for request in requests)
    last = max(request.acknowledged_ns for request in requests)
    # The integral of the number outstanding is the sum of the times each was.
    outstanding_ns = sum(request.acknowledged_ns - request.arrival_ns for request in requests)
    on_medium = max((request.medium_ns for request in requests if request.medium_ns is not None), default=last)
    # What waited for room in the buffer begins at one time and crosses the bus in turn.
    data = sorted((r for r in requests if r.op != "F"), key=lambda r: (r.start_ns, r.acknowledged_ns))
    reads = [request for request in data if request.op == "R"]
    writes = [request for request in data if request.op != "R"]
    read_bytes, write_bytes = (SECTOR_BYTES * sum(request.sectors for request in part) for part in (reads, writes))
    distances = sorted(seek_distances(data))
    half = len(distances) // 2
    responses = sorted(request.acknowledged_ns - request.arrival_ns for request in data)
    return Summary(
        requests=len(requests),
        reads=len(reads),
        writes=len(writes),
        fua_writes=sum(request.op == "U" for request in writes),
        flushes=len(requests) - len(data),
        read_bytes=read_bytes,
        write_bytes=write_bytes,
        request_bytes_mean=_mean(read_bytes + write_bytes, len(data)),
        read_share=_share(len(reads), len(data)),
        read_hits=sum(request.hit == "hit" for request in reads),
        cached_write_share=_share(sum(request.hit == "cached" for request in writes), len(writes)),
        sequential_share=_share(distances.count(0), len(distances)),
        seek_distance_mean_lbn=_mean(sum(distances), len(distances)),
        seek_distance_median_lbn=(distances[half] + distances[~half]) / 2 if distances else None,
        response_mean_ns=(2 * sum(responses) + len(data)) // (2 * len(data)) if data else None,
        response_p95_ns=responses[(95 * len(data) + 99) // 100 - 1] if data else None,
        busy_share=_share(busy_ns(requests), last - first),
        queue_depth_mean=_share(outstanding_ns, last - first) if last > first else float(len(requests)),
        queue_depth_max=max(request.depth for request in requests),
        drain_ns=max(0, on_medium - last),
    )
