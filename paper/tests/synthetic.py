# SPDX-License-Identifier: MIT
"""Invented results for tests: every cell of the sheet, near the published numbers, with chosen ones failed.

Nothing here was measured. Rates are the published number times a fixed factor per setting, spread a little by seed,
so that tables show ratios near and far. Deterministic: the factors come from a hash of the cell's name.
"""

import csv
import hashlib
import json
from pathlib import Path

from analysis.tables import ROOT, read_published
from analysis.white2001 import SCSI_CONTROLLER

IDENTITY = ("qemu", "model", "guest", "workload")
MACHINES = {"both": (True, True), "disk": (False, True), "host": (True, False), "none": (False, False)}
BYTES = 10485760


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


def result(row: dict, seed: int, rates: dict, failed: str | None) -> dict:
    """One cell's result.json."""
    setting = f"{row['controller']}.{row['drive']}.t{row['tags']}.{row['scheduler']}"
    cell_id = f"{setting}.rawio-{row['op']}-{row['pattern']}.s{seed:02d}"
    side = "scsi" if row["controller"].startswith("scsi") else "ide"
    factor = 2 ** (1.4 * (unit(f"{row['scheduler']} {side} {row['pattern']}") - 0.5))
    rate = rates[f"t{row['tags']}.{row['scheduler']}", f"{side}.{row['op']}.{row['pattern']}"] * factor
    rate *= 1 + 0.02 * (unit(cell_id) - 0.5) + (0.01 if row["controller"] != SCSI_CONTROLLER else 0)
    depth = 1 if row["tags"] == "none" else int(row["tags"])
    host, disk = MACHINES[row["scheduler"]]
    metrics = {"rate_mb_s": rate, "elapsed_ns": int(BYTES / rate * 1000), "bytes": BYTES, "requests": 1280,
               "queue_depth_mean": 0.9 * depth, "queue_depth_max": depth, "drain_ns": 0, "read_hits": 0,
               "flushes": 0}  # fmt: skip
    return {
        "schema": "spindle-result/1", "id": cell_id, "run": setting, "status": "failed" if failed else "ok",
        "reason": failed,
        "cell": {"guest": "linux", "controller": row["controller"], "drive": row["drive"], "tags": row["tags"],
                 "host_scheduler": host, "disk_scheduler": disk, "file_system": "raw", "workload": "rawio",
                 "parameters": {"op": row["op"], "pattern": row["pattern"]}, "scale": 1, "seed": seed},
        "clock": {"kind": "virtual", "ns_per_instruction": 1}, "metrics": None if failed else metrics,
        "identity": {name: digest(name) for name in IDENTITY}
        | {"drive": digest(row["drive"]), "controller": digest(row["controller"]), "cell": digest(cell_id)},
        "lock": {"guest": digest("lock"), "moved": []},
    }  # fmt: skip


def write(
    results: Path, seeds: int = 10, missing: tuple[str, ...] = (), failed: dict[str, str] | None = None
) -> list[str]:
    """Results below results/<profile>; returns the cell ids.

    `missing` and the keys of `failed` are beginnings of cell ids: those cells do not exist, or failed for that reason.
    """
    rates, ids = published_rates(), []
    for row in sheet():
        for seed in range(1, seeds + 1):
            found = result(row, seed, rates, None)
            if found["id"].startswith(missing):
                continue
            reason = next((text for start, text in (failed or {}).items() if found["id"].startswith(start)), None)
            if reason:
                found = result(row, seed, rates, reason)
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
