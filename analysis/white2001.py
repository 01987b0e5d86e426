# SPDX-License-Identifier: MIT
"""How cells map to the entries of the tables of White, Ng and Hillyer.

Each builder takes the measured cells (analysis.load) and the drives' descriptions, and returns the entries in the
paper's order. `controllers` is a table of our own: the same measurements on two controllers each.
"""

from collections.abc import Callable

import pandas as pd
import yaml

from analysis import numbers
from analysis.errors import TableError
from analysis.tables import NOT_RUN, REFERENCE, ROOT, Entry, Published, measured, published_dir, read_published

PAPER = "white2001"
RATE = "rate_mb_s"
OPS = ("read", "write")
PATTERNS = ("sequential", "interleave", "random")
DRIVES = {"ide": "deskstar-75gxp", "scsi": "ultrastar-36zx"}
SCSI_CONTROLLER = "scsi-virtio"
COMPARED = (
    *((c, "none", s) for s in ("both", "disk", "host", "none") for c in ("ide-piix", "ide-ahci")),
    *((c, t, "both") for t in ("none", "32") for c in ("scsi-virtio", "scsi-megasas")),
)
"""Controller, tags and scheduler of the rows of `controllers`; each pair of rows differs in the controller only."""
TABLE3 = {
    "capacity": lambda drive: numbers.gb_from_sectors(drive["sectors"]),
    "rpm": lambda drive: drive["rpm"],
    "seek_read": lambda drive: drive["seek_read_ms_mean"],
    "seek_write": lambda drive: drive["seek_write_ms_mean"],
    "interface_rate": lambda drive: drive["interface_mb_s"],
    "sustained": lambda drive: drive["sustained_outer_mb_s"],
    "buffer": lambda drive: numbers.mb_from_kb(drive["buffer_kb"]),
}
"""Rows of Table 3 from what the disk model says of a drive."""


def ide_controller(tags: str) -> str:
    """The IDE side of Table 5: one command at a time on PIIX, queued commands on AHCI."""
    return "ide-piix" if tags == "none" else "ide-ahci"


def stand_ins() -> set[str]:
    """Guests and controllers that stand in for the paper's own."""
    config = yaml.safe_load((ROOT / "config" / f"{PAPER}.yaml").read_text())
    # The list's entry for the guest is called `guest`; result files name the system.
    return {"linux" if entry["id"] == "guest" else entry["id"] for entry in config["stand_ins"]}


def printed(table: str) -> list[Published]:
    """A table's published numbers."""
    return read_published(published_dir(PAPER) / f"{table}.csv")


class Settings:
    """The measured cells by setting."""

    KEY = ("controller", "tags", "scheduler", "op", "pattern")

    def __init__(self, frame: pd.DataFrame):
        self.none = frame.iloc[:0]
        raw = frame[(frame.workload == "rawio") & (frame.file_system == "raw")]
        self.groups = dict(iter(raw.groupby(list(self.KEY)))) if len(raw) else {}

    def pick(self, controller: str, tags: str, scheduler: str, op: str, pattern: str) -> pd.DataFrame:
        """The repetitions of one measurement; empty where none was made."""
        return self.groups.get((controller, tags, scheduler, op, pattern), self.none)


def table1(frame: pd.DataFrame, drives: dict) -> list[Entry]:
    """Prices. Cost per GB and per device are computed from the table's own cost, capacity and devices."""
    published = printed("table1")
    value = {(p.row, p.column): float(p.value) for p in published}
    rule = yaml.safe_load((ROOT / "paper" / PAPER / "cost.yaml").read_text())
    entries = []
    for p in published:
        if p.column == "cost_per_gb":
            capacity = value[p.row, "capacity"]
            divisor = rule["divisor_gb"] if capacity == rule["printed_capacity_gb"] else capacity
            entries.append(Entry(p, numbers.cost_per(value[p.row, "cost"], divisor)))
        elif p.column == "cost_per_device":
            entries.append(Entry(p, numbers.cost_per(value[p.row, "cost"], value[p.row, "devices"])))
        else:
            entries.append(Entry(p, reason=REFERENCE))
    return entries


def table2(frame: pd.DataFrame, drives: dict) -> list[Entry]:
    """The two interfaces in general: reference data."""
    return [Entry(p, reason=REFERENCE) for p in printed("table2")]


def table3(frame: pd.DataFrame, drives: dict) -> list[Entry]:
    """The two drives as the disk model computes them from its catalogue."""
    entries = []
    for p in printed("table3"):
        if p.column not in drives:
            entries.append(Entry(p, reason=NOT_RUN))
            continue
        drive = drives[p.column]
        try:
            entries.append(Entry(p, float(TABLE3[p.row](drive))))
        except (KeyError, TypeError, ValueError) as error:
            raise TableError(
                f"{PAPER} table3, {p.row} of {p.column}: the drive's description has no usable {error}; "
                f"make it again with `spindle-disk show {DRIVES[p.column]} --json`"
            ) from None
    return entries


def table4(frame: pd.DataFrame, drives: dict) -> list[Entry]:
    """IDE against SCSI with 32 tags and both schedulers; the application rows need workloads not built yet."""
    known, settings, found, entries = stand_ins(), Settings(frame), {}, []
    for p in printed("table4"):
        op, _, pattern = p.row.partition(".")
        if op not in OPS:
            entry = Entry(p, reason="not run yet", comparable=p.column != "diff")
        elif p.column == "diff":
            ide, scsi = found[p.row, "ide"], found[p.row, "scsi"]
            gap = [e.reason for e in (ide, scsi) if e.reproduced is None]
            both = {"stand_in": ide.stand_in or scsi.stand_in, "cells": ide.cells + scsi.cells, "comparable": False}
            if gap:
                entry = Entry(p, reason=gap[0], **both)
            else:
                percent = numbers.percent_faster_rate(ide.reproduced, scsi.reproduced)
                entry = Entry(p, percent, n=min(ide.n, scsi.n), **both)
        else:
            controller = ide_controller("32") if p.column == "ide" else SCSI_CONTROLLER
            entry = measured(p, settings.pick(controller, "32", "both", op, pattern), known, RATE)
            found[p.row, p.column] = entry
        entries.append(entry)
    return entries


def table5(frame: pd.DataFrame, drives: dict) -> list[Entry]:
    """The micro benchmarks for every tag and scheduler setting."""
    known, settings, entries = stand_ins(), Settings(frame), []
    for p in printed("table5"):
        tags, scheduler = p.row.removeprefix("t").split(".")
        side, op, pattern = p.column.split(".")
        controller = ide_controller(tags) if side == "ide" else SCSI_CONTROLLER
        entries.append(measured(p, settings.pick(controller, tags, scheduler, op, pattern), known, RATE))
    return entries


def controllers(frame: pd.DataFrame, drives: dict) -> list[Entry]:
    """The same disk, tags and schedulers on another controller: not in the paper."""
    known, settings, entries = stand_ins(), Settings(frame), []
    for controller, tags, scheduler in COMPARED:
        for op in OPS:
            for pattern in PATTERNS:
                ours = Published(f"{controller}.t{tags}.{scheduler}", f"{op}.{pattern}", "MB/s", "")
                entries.append(measured(ours, settings.pick(controller, tags, scheduler, op, pattern), known, RATE))
    return entries


TABLES: dict[str, Callable[..., list[Entry]]] = {
    "table1": table1, "table2": table2, "table3": table3, "table4": table4, "table5": table5,
    "controllers": controllers,
}  # fmt: skip
