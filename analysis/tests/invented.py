# SPDX-License-Identifier: MIT
"""Invented results for tests, of any paper. Nothing here was measured; everything is deterministic."""

import hashlib
import json
from pathlib import Path

from analysis.load import NO_ARRAY
from analysis.settings import System

IDENTITY = ("qemu", "model", "guest", "workload", "reader")
MACHINES = {"both": (True, True), "disk": (False, True), "host": (True, False), "none": (False, False)}
BYTES = 10485760


def digest(text: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def unit(text: str) -> float:
    """A number from 0 to 1 out of a name."""
    return int(digest(text)[:8], 16) / 0xFFFFFFFF


def base(system: System) -> str:
    """What the ids of a system's cells begin with."""
    parts = [system.controller, system.drive, *([] if system.array == NO_ARRAY else [system.array])]
    return ".".join([*parts, f"t{system.tags}", system.scheduler])


def raw_of(system: System, op: str, pattern: str, rate: float, seed: int) -> dict:
    """The result.json of a measurement of the device itself that reaches this rate."""
    cell_id = f"{base(system)}.rawio-{op}-{pattern}.s{seed:02d}"
    depth = 1 if system.tags == "none" else int(system.tags)
    metrics = {"rate_mb_s": rate, "elapsed_ns": int(BYTES / rate * 1000), "bytes": BYTES, "requests": 1280,
               "queue_depth_mean": 0.9 * depth, "queue_depth_max": depth, "drain_ns": 0, "read_hits": 0,
               "flushes": 0}  # fmt: skip
    row = system._asdict() | {"file_system": "raw", "workload": "rawio",
                              "parameters": {"op": op, "pattern": pattern}}  # fmt: skip
    return record(cell_id, base(system), row, 1, seed, metrics)


def record(cell_id: str, run: str, row: dict, scale: float, seed: int, metrics: dict) -> dict:
    """What stands around the metrics."""
    host, disk = MACHINES[row["scheduler"]]
    given = {name: row[name] for name in ("controller", "drive", "tags", "file_system", "workload", "parameters")}
    if row.get("array", NO_ARRAY) != NO_ARRAY:
        given["array"] = row["array"]
    return {
        "schema": "spindle-result/2", "id": cell_id, "run": run, "status": "ok", "reason": None,
        "cell": {"guest": "linux", "host_scheduler": host, "disk_scheduler": disk, "scale": scale, "seed": seed}
        | given,
        "clock": {"kind": "virtual", "ns_per_instruction": 1}, "metrics": metrics,
        "report": digest("report"), "trace": digest("trace"), "identity": {name: digest(name) for name in IDENTITY}
        | {"drive": digest(row["drive"]), "controller": digest(row["controller"]), "cell": digest(cell_id)},
        "read": {"assumptions": {}, "catalogue": {}},
        "lock": {"guest": digest("lock"), "moved": []},
    }  # fmt: skip


def put(results: Path, found: dict, failed: str | None = None) -> str:
    """A result below results/<profile>, or a failed one for this reason; returns its cell's id."""
    if failed:
        found = found | {"status": "failed", "reason": failed, "metrics": None}
    path = results / "cells" / found["id"] / "result.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(found, indent=1) + "\n")
    return found["id"]
