# SPDX-License-Identifier: MIT
"""The guest agent's report: numbered, checksummed lines (docs/interfaces.md), read without trusting them."""

import re
from dataclasses import dataclass, field

LINE = re.compile(r"@spindle (\d+) (\d+) (.*)", re.DOTALL)
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
    for line in text.splitlines():
        match = LINE.fullmatch(line.rstrip("\r"))
        if not match:
            if line.strip():
                yield None
            continue
        number, checksum, payload = int(match[1]), int(match[2]), match[3]
        if number != expected or cksum(payload.encode()) != checksum:
            yield None
        expected = number + 1
        if cksum(payload.encode()) == checksum:
            yield payload


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
        elif word == "cell":
            current = report.cells.setdefault(rest, CellReport())
            damaged = False
        elif word == "out" and current is not None:
            _metric(current, rest)
        elif word == "err" and current is not None:
            current.errors.append(rest)
        elif word == "exit" and current is not None:
            current.exit_status = int(rest) if rest.lstrip("-").isdigit() else -1
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
        if words[1] in cell.metrics or not words[2].isdigit():
            cell.problem = cell.problem or f"the workload printed a metric twice or without a number: {line!r}"
        else:
            cell.metrics[words[1]] = int(words[2])
    elif words[:1] == ["phase"]:
        if len(words) != 4 or not (words[2].isdigit() and words[3].isdigit()) or int(words[3]) < int(words[2]):
            cell.problem = cell.problem or f"the workload printed a phase without a begin and an end: {line!r}"
        else:
            cell.phases.append({"name": words[1], "begin_ns": int(words[2]), "end_ns": int(words[3])})
    elif line:
        cell.said.append(line)
