# SPDX-License-Identifier: MIT
"""The I/O trace (docs/interfaces.md): split by cell, parsed, summed up. Times are virtual nanoseconds."""

from dataclasses import dataclass

HEADER = "# spindle-trace/1 device op lbn sectors slot arrival_ns start_ns acknowledged_ns medium_ns depth hit"
SECTOR_BYTES = 512


class TraceError(ValueError):
    """The trace is not what the model writes; the message names line and field."""


@dataclass(frozen=True)
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
    """What result.json takes from a trace."""

    read_bytes: int
    write_bytes: int
    queue_depth_mean: float
    """Outstanding commands averaged over the time from the first arrival to the last acknowledgement."""
    queue_depth_max: int
    drain_ns: int
    """From the last acknowledgement until all data was on the medium."""
    read_hits: int
    flushes: int


NOTHING = Summary(0, 0, 0.0, 0, 0, 0, 0)
"""Sums of no request."""


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


def summarize(requests: list[Request]) -> Summary | None:
    """Sums and depths of a cell's requests; None if there are none."""
    if not requests:
        return None
    first = min(request.arrival_ns for request in requests)
    last = max(request.acknowledged_ns for request in requests)
    # The integral of the number outstanding is the sum of the times each was.
    outstanding_ns = sum(request.acknowledged_ns - request.arrival_ns for request in requests)
    on_medium = max((request.medium_ns for request in requests if request.medium_ns is not None), default=last)
    return Summary(
        read_bytes=SECTOR_BYTES * sum(request.sectors for request in requests if request.op == "R"),
        write_bytes=SECTOR_BYTES * sum(request.sectors for request in requests if request.op in ("W", "U")),
        queue_depth_mean=round(outstanding_ns / (last - first), 6) if last > first else float(len(requests)),
        queue_depth_max=max(request.depth for request in requests),
        drain_ns=max(0, on_medium - last),
        read_hits=sum(request.op == "R" and request.hit == "hit" for request in requests),
        flushes=sum(request.op == "F" for request in requests),
    )
