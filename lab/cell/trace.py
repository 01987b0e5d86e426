# SPDX-License-Identifier: MIT
"""The I/O trace (docs/interfaces.md): split by cell, parsed, summed up. Times are virtual nanoseconds."""

import re
from dataclasses import dataclass
from itertools import pairwise

HEADER = "# spindle-trace/1 device op lbn sectors slot arrival_ns start_ns acknowledged_ns medium_ns depth hit"
COMMENT = re.compile(r"^#.*\n?", re.MULTILINE)
CELL = re.compile(r"# cell (\S+) seed [0-9]{1,20} now_ns ([0-9]{1,19}) start_delay_ns [0-9]{1,19}", re.ASCII)
EVENTS = ("failed", "began", "filled")
STATES = ("whole", "degraded", "rebuilding", "lost")
"""Of a hardware array, and of how it is behind them."""
ARRAY = re.compile(
    rf"# array (\S+) now_ns ([0-9]{{1,19}}) ({'|'.join(EVENTS)}) (\S+) state ({'|'.join(STATES)})", re.ASCII
)
DRAINED = re.compile(r"# drained ([1-9][0-9]{0,9}) commands now_ns ([0-9]{1,19})", re.ASCII)
POWER_CUT = re.compile(r"# power cut now_ns [0-9]{1,19} lost_writes [0-9]{1,19} lost_sectors [0-9]{1,19}", re.ASCII)
KINDS = {"cell": CELL, "array": ARRAY, "drained": DRAINED, "power": POWER_CUT}
"""The comment lines that model and driver write, by their first word."""
HITS = ("hit", "part", "miss", "cached", "through", "-", "failed")
REQUEST = re.compile(
    r"([!-~]+) ([RWFU]) ([0-9]{1,19}) ([0-9]{1,19}) ([0-9]{1,9}) ([0-9]{1,19}) ([0-9]{1,19}) ([0-9]{1,19}) "
    r"([0-9]{1,19}|-) ([0-9]{1,9}) "
    rf"({'|'.join(HITS)})",
    re.ASCII,
)
SECTOR_BYTES = 512
SHARE_DIGITS = 6
MEAN_DIGITS = 3
SHOWN = 120
"""Characters of a wrong line that a message shows."""
"""Digits after the point of shares, and of means of bytes and sectors."""


class TraceError(ValueError):
    """The trace is not what the model writes; the message names line and field."""


@dataclass(frozen=True)
class CellMark:
    """A cell begins."""

    label: str
    now_ns: int


@dataclass(frozen=True)
class ArrayMark:
    """A member of a hardware array failed, a spare began to be written (began), or has everything (filled)."""

    array: str
    now_ns: int
    event: str
    unit: str
    state: str
    """Of the array behind it."""


@dataclass(frozen=True)
class DrainedMark:
    """The guest reset a controller or cancelled commands: those outstanding ended at once, outside virtual time."""

    commands: int
    now_ns: int


Mark = CellMark | ArrayMark | DrainedMark


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


def lines_of(text: str) -> list[str]:
    """The lines of a trace; it ends with the end of a line. Unlike splitlines() this knows no other ends of lines."""
    lines = text.split("\n")
    if lines.pop():
        raise TraceError(f"line {len(lines) + 1}: it is torn, as its end is missing")
    return lines


def mark_of(line: str, number: int) -> Mark | None:
    """What a comment line says; None for one that says nothing of a run's course."""
    words = line.split(" ")
    pattern = KINDS.get(words[1]) if len(words) > 1 and words[0] == "#" else None
    if pattern is None:
        raise TraceError(f"line {number}: a comment that neither model nor driver write: {line[:SHOWN]!r}")
    found = pattern.fullmatch(line)
    if found is None:
        raise TraceError(f"line {number}: a torn or damaged `{words[0]} {words[1]}` line: {line[:SHOWN]!r}")
    if pattern is CELL:
        return CellMark(found[1], int(found[2]))
    if pattern is ARRAY:
        return ArrayMark(found[1], int(found[2]), *found.group(3, 4, 5))
    return DrainedMark(int(found[1]), int(found[2])) if pattern is DRAINED else None


def _torn_marker(text: str) -> int:
    """Where a last line begins that was to become a cell's marker; the end of the text if there is none. QEMU was
    killed as it wrote it, and the cell before has ended."""
    start = text.rfind("\n") + 1
    return start if text.startswith("# cell ", start) else len(text)


def marks(text: str) -> list[Mark]:
    """All that the trace of a whole run says beside requests, in order."""
    found = []
    for comment in COMMENT.finditer(text, len(HEADER) if text.startswith(HEADER + "\n") else 0, _torn_marker(text)):
        # A torn line is the last, and its cell's to stumble over.
        if comment[0].endswith("\n"):
            number = text.count("\n", 0, comment.start()) + 1
            found.append(mark_of(comment[0].rstrip("\n"), number))
    return [mark for mark in found if mark is not None]


def split(text: str) -> dict[str, str]:
    """The lines of each cell by label, each with the file's header and its own `# cell` line in front. Only these are
    looked at; what else is wrong with a cell's lines, `parse` finds."""
    head, _, rest = text.partition("\n")
    if head != HEADER:
        found = head[:SHOWN] or "nothing"
        raise TraceError(f"the I/O trace begins with {found!r}, not with {HEADER!r}; rebuild QEMU and the model")
    rest = rest[: _torn_marker(rest)]
    begins = [match.start() for match in re.finditer("^# cell ", rest, re.MULTILINE)]
    cells: dict[str, str] = {}
    for begin, end in pairwise([*begins, len(rest)]):
        number = rest.count("\n", 0, begin) + 2
        mark = mark_of(rest[begin : rest.index("\n", begin)], number)
        if mark.label in cells:
            raise TraceError(f"line {number}: cell {mark.label!r} begins twice")
        cells[mark.label] = f"{HEADER}\n{rest[begin:end]}"
    return cells


def _wrong(line: str, number: int) -> TraceError:
    """What is wrong with a line that is no request."""
    fields = line.split(" ")
    shown = repr(line[:SHOWN])
    if len(fields) != 11:
        return TraceError(f"line {number}: {len(fields)} fields, not 11: {shown}")
    if fields[1] not in ("R", "W", "F", "U"):
        return TraceError(f"line {number}: unknown operation {fields[1][:SHOWN]!r}")
    names = ("lbn", "sectors", "slot", "arrival_ns", "start_ns", "acknowledged_ns", "medium_ns", "depth")
    for name, value in zip(names, fields[2:10], strict=True):
        if not re.fullmatch("[0-9]{1,19}", value) and (name, value) != ("medium_ns", "-"):
            return TraceError(f"line {number}: {name} is no number: {shown}")
    return TraceError(f"line {number}: a field that the model does not write: {shown}")


def parse(text: str) -> list[Request]:
    """The requests of a trace. Every line is a request, or a comment that model or driver write."""
    requests = []
    match = REQUEST.fullmatch
    for number, line in enumerate(lines_of(text), start=1):
        found = match(line)
        if found is None:
            if line.startswith("#"):
                if line != HEADER or number != 1:
                    mark_of(line, number)
                continue
            raise _wrong(line, number)
        device, op, lbn, sectors, slot, arrival, start, acknowledged, medium, depth, hit = found.groups()
        request = Request(
            device,
            op,
            int(lbn),
            int(sectors),
            int(slot),
            int(arrival),
            int(start),
            int(acknowledged),
            None if medium == "-" else int(medium),
            int(depth),
            hit,
        )
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
