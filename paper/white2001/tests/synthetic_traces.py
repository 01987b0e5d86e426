# SPDX-License-Identifier: MIT
"""Invented cells with traces, for tests of the figures. Nothing here was measured; everything is deterministic.

`write_postmark` has what Figure 2 is about, with known numbers: bursts of sorted writes every BURST_S seconds over the
whole data (vertical lines), and on FFS small writes, one at a time, that return to one block per group of cylinders
(horizontal lines).
"""

import json
from pathlib import Path

from analysis import papers, traced
from analysis.tests import invented
from lab.cell import evidence, trace
from paper.white2001 import figure_cells

BURST_S = 30
BURST_WRITES = 400
SECOND_NS = 1_000_000_000
BEGIN_NS = 20 * SECOND_NS
GROUPS = 16
GROUP_SECTORS = 65_536
BLOCK_SECTORS = 16
PHASES_S = {"ffs": (60, 240, 40), "softupdates": (40, 120, 10), "ntfs": (50, 150, 20)}
"""Seconds of create, run and delete."""
SCSI = "scsi-virtio.ultrastar-36zx"
DISK_SECTORS = 35_843_670


def line(op: str, lbn: int, sectors: int, arrival_ns: int, depth: int) -> str:
    """One line of a trace; the drive takes 0.2 ms."""
    done = arrival_ns + 200_000
    return f"disk0 {op} {lbn} {sectors} {depth - 1} {arrival_ns} {arrival_ns} {done} {done} {depth} cached"


def put(results: Path, cell_id: str, cell: dict, metrics: dict, lines: list[str], failed: str | None) -> str:
    """A cell's folder; returns its id."""
    text = "\n".join([trace.HEADER, f"# cell {cell_id} seed 1 now_ns 0 start_delay_ns 0", *lines]) + "\n"
    identity = {name: invented.digest(name) for name in (*invented.IDENTITY, "drive", "controller", "cell")}
    result = {
        "schema": "spindle-result/2", "id": cell_id, "run": cell_id, "status": "failed" if failed else "ok",
        "reason": failed, "cell": {"guest": "linux", "controller": "scsi-virtio", "drive": "ultrastar-36zx", **cell,
                                   "scale": 1, "seed": 1},
        "clock": {"kind": "virtual", "ns_per_instruction": 1}, "metrics": None if failed else metrics,
        "report": invented.digest("report"), "trace": invented.digest("trace"), "identity": identity,
        "read": {"assumptions": {}, "catalogue": {}}, "lock": {"guest": invented.digest("lock"), "moved": []},
    }  # fmt: skip
    folder = results / "cells" / cell_id
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "result.json").write_text(json.dumps(result, indent=1) + "\n")
    (folder / "io.trace").write_bytes(evidence.compress(text))
    return cell_id


def interleave(length: int, requests: int) -> list[str]:
    """Lines of the interleave workload when the disk serves `length` requests of each stream in turn."""
    lines = []
    for position in range(requests):
        stream = position // length % 2
        offset = position // (2 * length) * length + position % length
        lines.append(line("W", stream * DISK_SECTORS // 2 // 16 * 16 + 16 * offset, 16, position * 300_000, 1))
    return lines


def fill(results: Path, ids: list[str]) -> None:
    """Traces for the cells of the device itself that the figures want and synthetic.write left without."""
    turns = {"none": 250, "4": 240, "32": 190, "64": 120, "128": 1}
    length = {cell: turns[tags] for tags, cell in figure_cells.schedule_cells(ids).items() if cell}
    for cell in traced.wanted(papers.paper("white2001"), ids):
        path = results / "cells" / cell / "io.trace"
        if not path.exists():
            lines = interleave(length.get(cell, 1), 1280 if cell in length else 64)
            path.write_bytes(evidence.compress("\n".join([trace.HEADER, *lines]) + "\n"))


def write_interleave(results: Path, tags: str, length: int, requests: int = 1280, failed: str | None = None) -> str:
    """A write/interleave cell with host scheduling whose disk serves `length` requests of each stream in turn."""
    cell = {"tags": tags, "host_scheduler": True, "disk_scheduler": False, "file_system": "raw", "workload": "rawio",
            "parameters": {"op": "write", "pattern": "interleave"}}  # fmt: skip
    metrics = {"rate_mb_s": 20.0, "elapsed_ns": 524_288_000, "bytes": 8192 * requests, "requests": requests,
               "queue_depth_mean": 1.0, "queue_depth_max": 1, "drain_ns": 0, "read_hits": 0, "flushes": 0}  # fmt: skip
    return put(
        results, f"{SCSI}.t{tags}.host.rawio-write-interleave.s01", cell, metrics, interleave(length, requests), failed
    )


def bursts(seconds: int) -> list[tuple[int, str]]:
    """Sorted writes over all groups every BURST_S seconds, queued, half a second long."""
    found = []
    for second in range(BURST_S, seconds, BURST_S):
        for index in range(BURST_WRITES):
            at = BEGIN_NS + second * SECOND_NS + index * 1_250_000
            lbn = (GROUPS * GROUP_SECTORS * index // BURST_WRITES) // BLOCK_SECTORS * BLOCK_SECTORS
            found.append((at, line("W", 128 + lbn, 128, at, 2 + index % 31)))
    return found


def synchronous(seconds: int, per_second: int) -> list[tuple[int, str]]:
    """Writes of one block, one at a time: in turn the inode block at the beginning of each group."""
    found = []
    for index in range(seconds * per_second):
        at = BEGIN_NS + index * SECOND_NS // per_second + 600_000
        group = (index * 7) % GROUPS
        found.append((at, line("W", group * GROUP_SECTORS, BLOCK_SECTORS, at, 1)))
    return found


def journal(seconds: int, per_second: int) -> list[tuple[int, str]]:
    """Writes that fill a log of 4096 sectors again and again, and one to its mirror in the middle of the disk."""
    found = []
    for index in range(seconds * per_second):
        at = BEGIN_NS + index * SECOND_NS // per_second + 600_000
        found.append((at, line("W", 1_000_000 + index * 8 % 4096, 8, at, 1)))
        if index % 10 == 0:
            at += 2_000_000
            found.append((at, line("W", DISK_SECTORS // 2, 8, at, 1)))
    return found


def write_postmark(
    results: Path, file_system: str, tags: str = "32", failed: str | None = None, suffix: str = ""
) -> str:
    """A PostMark cell."""
    begin, phases = BEGIN_NS, []
    for name, seconds in zip(("create", "run", "delete"), PHASES_S[file_system], strict=True):
        phases.append({"name": name, "begin_ns": begin, "end_ns": begin + seconds * SECOND_NS})
        begin = phases[-1]["end_ns"]
    seconds = sum(PHASES_S[file_system])
    made = bursts(seconds)
    made += {"ffs": synchronous(seconds, 40), "ntfs": journal(seconds, 20)}.get(file_system, [])
    lines = [text for _, text in sorted(made)]
    summary = trace.summarize(trace.parse("".join(f"{line}\n" for line in lines)))
    cell = {"tags": tags, "host_scheduler": True, "disk_scheduler": True, "file_system": file_system,
            "workload": "postmark", "parameters": {}}  # fmt: skip
    metrics = {"elapsed_ns": seconds * SECOND_NS, "phases": phases, "workload": {}}
    metrics |= {name: getattr(summary, name) for name in trace.Summary.__dataclass_fields__}
    return put(results, f"{SCSI}.t{tags}.both.{file_system}.postmark{suffix}.s01", cell, metrics, lines, failed)
