# SPDX-License-Identifier: MIT
"""The guest agent's report: numbered, checksummed lines (docs/interfaces.md), read without trusting them."""

import re
from dataclasses import dataclass, field

LINE = re.compile(r"@spindle ([0-9]{1,9}) ([0-9]{1,10}) (.*)", re.DOTALL)
NUMBER = re.compile(r"[0-9]{1,18}")
"""Of a metric or a time; longer ones are none (int() would take digits of other scripts, too, and fail on `²`)."""
STATUS = re.compile(r"-?[0-9]{1,9}")
POLYNOMIAL = 0x04C11DB7


def _table() -> list[int]:
    table = []
    for byte in range(256):
        crc = byte << 24
        for _ in range(8):
            crc = (crc << 1) ^ POLYNOMIAL if crc & 0x80000000 else crc << 1
        table.append(crc & 0xFFFFFFFF)
    return table


TABLE = _table()


def cksum(data: bytes) -> int:
    """The first field that cksum(1) prints for these bytes: the CRC of POSIX, the length fed in after the data."""
    crc = 0
    length = len(data)
    while length:
        data += bytes([length & 0xFF])
        length >>= 8
    for byte in data:
        crc = ((crc << 8) & 0xFFFFFFFF) ^ TABLE[(crc >> 24) ^ byte]
    return crc ^ 0xFFFFFFFF


@dataclass
class CellReport:
    """What the agent said about one cell."""

    metrics: dict[str, int] = field(default_factory=dict)
    phases: list[dict] = field(default_factory=list)
    """Name, begin_ns and end_ns of each phase the workload reported, in virtual ns."""
    said: list[str] = field(default_factory=list)
    """Other lines of standard output."""
    errors: list[str] = field(default_factory=list)
    exit_status: int | None = None
    ended: bool = False
    problem: str | None = None
    """Why the report of this cell cannot be trusted, or what the agent said failed."""


@dataclass
class Report:
    """A whole report."""

    kernel: str | None = None
    cells: dict[str, CellReport] = field(default_factory=dict)
    done: bool = False
    problem: str | None = None
    """What went wrong outside a cell, the first time it did."""


def payloads(text: str):
    """Payload of each line in order; None where a line is damaged or one is missing."""
    expected = 1
    # Not splitlines(): what a workload prints may have what that takes for the end of a line.
    for line in text.split("\n"):
        match = LINE.fullmatch(line.rstrip("\r"))
        if not match:
            if line.strip():
                yield None
            continue
        number, checksum, payload = int(match[1]), int(match[2]), match[3]
        whole = cksum(payload.encode()) == checksum
        if number != expected or not whole:
            yield None
        expected = number + 1
        if whole:
            yield payload


def lines_of(text: str, label: str) -> str:
    """The report's lines from a cell's `cell` line to its `end`, as they came; empty if it never began."""
    found: list[str] = []
    for line in text.split("\n"):
        match = LINE.fullmatch(line.rstrip("\r"))
        if match and match[3] == f"cell {label}":
            found = [line]
        elif found:
            found.append(line)
            if match and match[3] == f"end {label}":
                break
    return "".join(f"{line}\n" for line in found)


def parse(text: str) -> Report:
    """A report from the text on the second serial port; never raises."""
    report = Report()
    current: CellReport | None = None
    damaged = False
    for payload in payloads(text):
        if payload is None:
            damaged = True
            if current is not None:
                current.problem = current.problem or "lines of the agent's report are missing or damaged"
            report.problem = report.problem or "lines of the agent's report are missing or damaged"
            continue
        word, _, rest = payload.partition(" ")
        if word == "hello":
            report.kernel = rest
        elif word == "cell" and not rest:
            current = None
            report.problem = report.problem or "the agent began a cell without a name"
        elif word == "cell":
            if rest in report.cells:
                report.cells[rest].problem = report.cells[rest].problem or "the agent began the cell twice"
            current = report.cells.setdefault(rest, CellReport())
            damaged = False
        elif word == "out" and current is not None:
            _metric(current, rest)
        elif word == "err" and current is not None:
            current.errors.append(rest)
        elif word == "exit" and current is not None:
            current.exit_status = int(rest) if STATUS.fullmatch(rest) else -1
        elif word == "end":
            if current is not None and report.cells.get(rest) is current:
                current.ended = True
            elif rest in report.cells:
                report.cells[rest].problem = "the agent ended the cell out of turn"
            current = None
        elif word == "fail":
            if current is not None:
                current.problem = current.problem or f"the guest reports: {rest}"
            else:
                report.problem = f"the guest reports: {rest}"
        elif word == "done":
            report.done = True
    if damaged and current is None and report.cells:
        last = list(report.cells.values())[-1]
        last.problem = last.problem or "lines of the agent's report are missing or damaged after this cell"
    return report


def _metric(cell: CellReport, line: str) -> None:
    """One line of a workload's standard output; only `metric <name> <integer>` and
    `phase <name> <begin_ns> <end_ns>` are data, the rest is for people.
    """
    words = line.split()
    if len(words) == 3 and words[0] == "metric":
        if words[1] in cell.metrics or not NUMBER.fullmatch(words[2]):
            cell.problem = cell.problem or f"the workload printed a metric twice or without a number: {line!r}"
        else:
            cell.metrics[words[1]] = int(words[2])
    elif words[:1] == ["phase"]:
        times = [int(word) for word in words[2:] if NUMBER.fullmatch(word)]
        if len(words) != 4 or len(times) != 2 or times[1] < times[0]:
            cell.problem = cell.problem or f"the workload printed a phase without a begin and an end: {line!r}"
        else:
            cell.phases.append({"name": words[1], "begin_ns": times[0], "end_ns": times[1]})
    elif line:
        cell.said.append(line)
