# SPDX-License-Identifier: MIT
"""Invented results for tests: every cell of the tables, near the published numbers, with chosen ones failed.

Nothing here was measured. Rates and times are the published number times a fixed factor per setting, spread a little
by seed, so that tables show ratios near and far. Deterministic: the factors come from a hash of the cell's name.
"""

import csv
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from analysis.tables import ROOT, read_published
from analysis.white2001 import DRIVES, FILE_SYSTEMS, POSTMARK_PHASES, SCSI_CONTROLLER, SIDES

IDENTITY = ("qemu", "model", "guest", "workload")
MACHINES = {"both": (True, True), "disk": (False, True), "host": (True, False), "none": (False, False)}
BYTES = 10485760
MACRO_SEEDS = 3
"""Most repetitions of a macro benchmark."""
SHARES = (0.4, 0.9, 1)
"""Parts of PostMark's time at which its phases end."""
POSTMARK_S = (440, 170, 180, 210, 200, 260, 230, 190, 150)
"""PostMark in seconds, invented, on FILE_SYSTEMS."""

TINY = """\
schema: spindle-deviations/1
deviations:
  - id: tiny
    title: Tiny & wrong
    where:
      - {of: number, table: table6, row: "*", column: ffs.*.postmark}
    why: Because of 100 % of it.
    evidence:
      - what: writes
        value: writes
        unit: requests
        cell: scsi-virtio.ultrastar-36zx.t64.both.ffs.postmark.s01
      - what: seconds
        value: elapsed_s
        unit: s
        cell: scsi-virtio.ultrastar-36zx.t64.both.ffs.postmark.s01
      - what: more memory
        value: 12.345
        unit: s
        command: python -m lab.cell.attempt --assume memory_mib=1024
"""
"""Explanations of deviations: one."""


def digest(text: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def unit(text: str) -> float:
    """A number from 0 to 1 out of a name."""
    return int(digest(text)[:8], 16) / 0xFFFFFFFF


def sheet() -> list[dict]:
    """Rows of the paper's sheet; those of the cross-check are in no table."""
    with (ROOT / "config" / "cells" / "white2001.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["workload"] == "rawio"]
    return [row | dict(word.split("=") for word in row["parameters"].split()) for row in rows]


def published_rates() -> dict[tuple[str, str], float]:
    """Table 5 by row and column."""
    path = ROOT / "paper" / "white2001" / "published" / "table5.csv"
    return {(p.row, p.column): float(p.value) for p in read_published(path)}


def macro_times() -> dict[tuple[str, ...], float]:
    """Seconds of every macro benchmark, by side, tags, scheduler, file system, workload and SDET's scripts."""
    folder, found = ROOT / "paper" / "white2001" / "published", {}
    for p in read_published(folder / "table6.csv"):
        group, scheduler = p.row[1:].split(".")
        file_system, side, workload = p.column.split(".")
        tags = {"ide": "32", "scsi": "64"}[side] if group == "32-64" else group
        scripts = "20" if workload == "sdet" else ""
        found[side, tags, scheduler, file_system, workload, scripts] = float(p.value)
    for p in read_published(folder / "table4.csv"):
        workload, _, scripts = p.row.partition(".")
        if p.unit == "s":
            found.setdefault((p.column, "32", "both", "ffs", workload, scripts), float(p.value))
    for file_system, seconds in zip(FILE_SYSTEMS, POSTMARK_S, strict=True):
        for side in SIDES:
            found.setdefault((side, "32", "both", file_system, "postmark", ""), float(seconds))
    return found


def macro_result(key: tuple[str, ...], seconds: float, seed: int, scale: float = 1) -> dict:
    """The result.json of one cell of a macro benchmark."""
    side, tags, scheduler, file_system, workload, scripts = key
    controller = SCSI_CONTROLLER if side == "scsi" else "ide-piix" if tags == "none" else "ide-ahci"
    row = {"controller": controller, "drive": DRIVES[side], "tags": tags, "scheduler": scheduler,
           "file_system": file_system, "workload": workload,
           "parameters": {"scripts": scripts} if scripts else {}}  # fmt: skip
    parts = "-".join([workload, *row["parameters"].values(), *([] if scale == 1 else [f"x{scale:g}"])])
    cell_id = f"{controller}.{DRIVES[side]}.t{tags}.{scheduler}.{file_system}.{parts}.s{seed:02d}"
    factor = 2 ** (1.2 * (unit(f"{scheduler} {side} {file_system} {workload}") - 0.5))
    elapsed_ns = int(seconds * 1e9 * scale * factor * (1 + 0.02 * (unit(cell_id) - 0.5)))
    ends = [0, *(int(share * elapsed_ns) for share in SHARES)]
    names = POSTMARK_PHASES if workload == "postmark" else ("first", "second", "third")
    phases = [{"name": name, "begin_ns": begin, "end_ns": end}
              for name, begin, end in zip(names, ends[:-1], ends[1:], strict=True)]  # fmt: skip
    metrics = {"elapsed_ns": elapsed_ns, "phases": phases, "workload": {}, "read_bytes": 100000000,
               "write_bytes": 400000000, "requests": 40000, "queue_depth_mean": 1.5,
               "queue_depth_max": 1 if tags == "none" else int(tags), "drain_ns": 0, "read_hits": 0,
               "flushes": 0}  # fmt: skip
    return record(cell_id, cell_id, row, scale, seed, metrics)


def result(row: dict, seed: int, rates: dict) -> dict:
    """The result.json of one cell of the raw device."""
    setting = f"{row['controller']}.{row['drive']}.t{row['tags']}.{row['scheduler']}"
    cell_id = f"{setting}.rawio-{row['op']}-{row['pattern']}.s{seed:02d}"
    side = "scsi" if row["controller"].startswith("scsi") else "ide"
    factor = 2 ** (1.4 * (unit(f"{row['scheduler']} {side} {row['pattern']}") - 0.5))
    rate = rates[f"t{row['tags']}.{row['scheduler']}", f"{side}.{row['op']}.{row['pattern']}"] * factor
    rate *= 1 + 0.02 * (unit(cell_id) - 0.5) + (0.01 if row["controller"] != SCSI_CONTROLLER else 0)
    depth = 1 if row["tags"] == "none" else int(row["tags"])
    metrics = {"rate_mb_s": rate, "elapsed_ns": int(BYTES / rate * 1000), "bytes": BYTES, "requests": 1280,
               "queue_depth_mean": 0.9 * depth, "queue_depth_max": depth, "drain_ns": 0, "read_hits": 0,
               "flushes": 0}  # fmt: skip
    row = row | {"file_system": "raw", "workload": "rawio", "parameters": {k: row[k] for k in ("op", "pattern")}}
    return record(cell_id, setting, row, 1, seed, metrics)


def record(cell_id: str, run: str, row: dict, scale: float, seed: int, metrics: dict) -> dict:
    """What stands around the metrics."""
    host, disk = MACHINES[row["scheduler"]]
    given = {name: row[name] for name in ("controller", "drive", "tags", "file_system", "workload", "parameters")}
    return {
        "schema": "spindle-result/1", "id": cell_id, "run": run, "status": "ok", "reason": None,
        "cell": {"guest": "linux", "host_scheduler": host, "disk_scheduler": disk, "scale": scale, "seed": seed}
        | given,
        "clock": {"kind": "virtual", "ns_per_instruction": 1}, "metrics": metrics,
        "identity": {name: digest(name) for name in IDENTITY}
        | {"drive": digest(row["drive"]), "controller": digest(row["controller"]), "cell": digest(cell_id)},
        "lock": {"guest": digest("lock"), "moved": []},
    }  # fmt: skip


def every(seeds: int, scales: dict[str, float]) -> Iterator[dict]:
    """All results, none of them failed."""
    rates = published_rates()
    for row in sheet():
        for seed in range(1, seeds + 1):
            yield result(row, seed, rates)
    for key, seconds in macro_times().items():
        for seed in range(1, min(seeds, MACRO_SEEDS) + 1):
            yield macro_result(key, seconds, seed, scales.get(f"{key[3]}.{key[4]}", 1))


def write(
    results: Path,
    seeds: int = 10,
    missing: tuple[str, ...] = (),
    failed: dict[str, str] | None = None,
    scales: dict[str, float] | None = None,
) -> list[str]:
    """Results below results/<profile>; returns the cell ids.

    `missing` and the keys of `failed` are beginnings of cell ids: those cells do not exist, or failed for that reason.
    `scales` has the scale of `<file system>.<workload>`, where it is not 1.
    """
    ids = []
    for found in every(seeds, scales or {}):
        if found["id"].startswith(missing):
            continue
        reason = next((text for start, text in (failed or {}).items() if found["id"].startswith(start)), None)
        if reason:
            found |= {"status": "failed", "reason": reason, "metrics": None}
        path = results / "cells" / found["id"] / "result.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(found, indent=1) + "\n")
        ids.append(found["id"])
    return sorted(ids)


def drives(folder: Path) -> list[str]:
    """Two drives as `spindle-disk show --json` describes them, as --drive arguments."""
    facts = {
        "ide": {"sectors": 60036480, "rpm": 7200, "seek_read_ms_mean": 7.005, "seek_write_ms_mean": 7.997,
                "sustained_outer_mb_s": 37.02, "buffer_kb": 2048, "interface_mb_s": 100},
        "scsi": {"sectors": 35843670, "rpm": 10020, "seek_read_ms_mean": 4.91, "seek_write_ms_mean": 5.88,
                 "sustained_outer_mb_s": 29.4, "buffer_kb": 2048, "interface_mb_s": 80},
    }  # fmt: skip
    found = []
    for side, values in facts.items():
        (folder / f"{side}.json").write_text(json.dumps(values))
        found += ["--drive", f"{side}={folder / f'{side}.json'}"]
    return found
