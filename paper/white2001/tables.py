# SPDX-License-Identifier: MIT
"""How cells map to the entries of the tables of White, Ng and Hillyer.

Each builder takes the measured cells (analysis.load) and the drives' descriptions, and returns the entries in the
paper's order. `controllers`, `postmark`, `filesystems`, `scaling` and `volumes` are tables of our own: the same
measurements on two controllers each, PostMark's phases at Table 6's settings and on every file system, striped volumes
of one to fifteen disks, and the same arrays under two volume managers.
"""

import re
from collections.abc import Callable
from functools import partial

import pandas as pd
import yaml

from analysis import numbers, papers
from analysis.entries import FULL_SCALE, NOT_RUN, REFERENCE, Entry, Published, measured, read_published, scaled
from analysis.errors import TableError
from analysis.settings import ELAPSED, OPS, RATE, Settings, System, phase_s
from paper.white2001 import chung

PAPER = "white2001"
PATTERNS = ("sequential", "interleave", "random")
SIDES = ("ide", "scsi")
MACRO = ("sdet", "ssh", "netnews", "postmark")
"""The macro benchmarks, in the order of Table 6."""
SDET_SCRIPTS = "20"
"""Concurrent scripts of Table 6's SDET (its caption)."""
TABLE6_TAGS = {"none": {"ide": "none", "scsi": "none"}, "8": {"scsi": "8"}, "32-64": {"ide": "32", "scsi": "64"}}
"""Rows of Table 6: the IDE disk has no 8 tags, and 32 at most."""
FILE_SYSTEMS = ("ffs", "softupdates", "ext2", "ext3-ordered", "ext3-writeback", "ext3-journal", "reiserfs", "xfs",
                "ntfs")  # fmt: skip
POSTMARK_PHASES = ("create", "run", "delete")
POSTMARK_READINGS = ("run", "total")
"""What the paper's seconds of PostMark may be."""
POSTMARK_SIZES = "default"
POSTMARK_SIZES_AT = "t32-64.both"
"""File sizes of the cells that stand beside those with the paper's 400 MB, and their row of Table 6, on SCSI."""
FILE_SYSTEMS_TAGS = "32"
"""As Table 4; NTFS's setting is not in the paper."""
NOTES = {"ssh": "another package on another system: not comparable in absolute time, only its ratios"}
"""Why a benchmark's numbers have no ratio to the published ones."""
DRIVES = {"ide": "deskstar-75gxp", "scsi": "ultrastar-36zx"}
SCSI_CONTROLLER = "scsi-virtio"
QUEUED_CONTROLLERS = {"ide": "ide-ahci", "scsi": SCSI_CONTROLLER}
"""For disks with tags."""
ARRAYS = {"software": {"ide": "md-raid0-4", "scsi": "md-raid0-4"},
          "hardware": {"ide": "raid5-ide-8", "scsi": "raid5-scsi-8"}}  # fmt: skip
"""Arrays of Table 7. The guest sees those of a RAID controller as one SCSI disk, whatever they are made of."""
ARRAY_TAGS = {"ide": "32", "scsi": "64"}
"""For the disks of software arrays and for the arrays of RAID controllers, which speak SCSI: Table 6's most. The paper
says of Table 7 only that tags make no difference."""
STRIPED = re.compile(r"md-raid0-(?P<disks>\d+)")
"""Arrays of `scaling`."""
SCALING_FIRST = (1, 2, 3, 4)
"""Disks that `scaling` always has: those for which there are published numbers. Others it has where they ran."""
SATURATED = 0.95
"""With so much of the most that any number of disks reaches, further disks add nothing."""
SATURATES = "saturates"
"""Row of `scaling`: the least number of disks that reaches it."""
MANAGERS = ("md", "ldm")
"""Volume managers of `volumes`."""
SAME_ARRAYS = {"raid0": {"md": "md-raid0-4", "ldm": "ldm-striped-4"},
               "raid5": {"md": "md-raid5-4", "ldm": "ldm-raid5-4"},
               "raid1": {"md": "md-raid1-2", "ldm": "ldm-mirrored-2"}}  # fmt: skip
"""Arrays of `volumes`, on IDE disks: what each manager calls the same shape."""
VOLUME_PATTERNS = ("sequential", "random")
VOLUMES_POSTMARK = ("raid0", "ntfs")
"""Where `volumes` has PostMark, too: shape and file system, Windows' own."""
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


def printed(table: str) -> list[Published]:
    """A table's published numbers."""
    return read_published(papers.paper(PAPER).published / f"{table}.csv")


def disk(controller: str, tags: str, scheduler: str) -> System:
    """A single disk, the paper's drive for this controller."""
    side = "scsi" if controller.startswith("scsi-") else "ide"
    return System(controller, tags, scheduler, DRIVES[side])


def cost_rule() -> dict:
    """By which capacity the paper divides, where it is not the one it prints."""
    return yaml.safe_load((papers.paper(PAPER).folder / "cost.yaml").read_text())


def table1(frame: pd.DataFrame, drives: dict) -> list[Entry]:
    """Prices. Cost per GB and per device are computed from the table's own cost, capacity and devices."""
    published = printed("table1")
    value = {(p.row, p.column): float(p.value) for p in published}
    rule = cost_rule()
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


def controller_of(side: str, tags: str) -> str:
    """The controller that a side's numbers are measured on."""
    return ide_controller(tags) if side == "ide" else SCSI_CONTROLLER


def elapsed(published: Published, cells: pd.DataFrame, known: set[str], workload: str) -> Entry:
    """A macro benchmark's elapsed time."""
    return measured(published, cells, known, ELAPSED, numbers.seconds, NOTES.get(workload, ""))


def difference(published: Published, ide: Entry, scsi: Entry, base: str = "scsi") -> Entry:
    """A column of differences from the two before it; at a smaller scale, too, if it is the same for both.

    Table 4 counts in per cent of SCSI's number, Table 7 of IDE's.
    """
    both = {"stand_in": ide.stand_in or scsi.stand_in, "cells": ide.cells + scsi.cells, "comparable": False}
    gap = [entry.reason for entry in (ide, scsi) if entry.reproduced is None]
    if not gap and ide.scale != scsi.scale:
        scales = [numbers.scale_text(entry.scale) for entry in (ide, scsi)]
        gap = [f"IDE ran at scale {scales[0]}, SCSI at {scales[1]}"]
    if gap:
        return Entry(published, reason=gap[0], **both)
    rate = published.row.partition(".")[0] in OPS
    percent = numbers.percent_faster_rate if rate else numbers.percent_faster_time
    reason = scaled(ide.scale) if ide.scale != FULL_SCALE else ""
    other, of = (ide, scsi) if base == "scsi" else (scsi, ide)
    return Entry(
        published,
        percent(other.reproduced, of.reproduced),
        n=min(ide.n, scsi.n),
        reason=reason,
        scale=ide.scale,
        **both,
    )


def table4(frame: pd.DataFrame, drives: dict) -> list[Entry]:
    """IDE against SCSI with 32 tags and both schedulers; the applications on FFS."""
    known, settings, found, entries = papers.paper(PAPER).stand_ins, Settings(frame), {}, []
    for p in printed("table4"):
        if p.column == "diff":
            entries.append(difference(p, found[p.row, "ide"], found[p.row, "scsi"]))
            continue
        system = disk(controller_of(p.column, "32"), "32", "both")
        first, _, second = p.row.partition(".")
        if first in OPS:
            entry = measured(p, settings.pick(system, first, second), known, RATE)
        else:
            entry = elapsed(p, settings.pick_macro(system, "ffs", first, second), known, first)
        found[p.row, p.column] = entry
        entries.append(entry)
    return entries


def table5(frame: pd.DataFrame, drives: dict) -> list[Entry]:
    """The micro benchmarks for every tag and scheduler setting."""
    known, settings, entries = papers.paper(PAPER).stand_ins, Settings(frame), []
    for p in printed("table5"):
        tags, scheduler = p.row.removeprefix("t").split(".")
        side, op, pattern = p.column.split(".")
        cells = settings.pick(disk(controller_of(side, tags), tags, scheduler), op, pattern)
        entries.append(measured(p, cells, known, RATE))
    return entries


def table6(frame: pd.DataFrame, drives: dict) -> list[Entry]:
    """The macro benchmarks on FFS and with Soft Updates, for every tag and scheduler setting."""
    known, settings, entries = papers.paper(PAPER).stand_ins, Settings(frame), []
    for p in printed("table6"):
        group, scheduler = p.row.removeprefix("t").split(".")
        file_system, side, workload = p.column.split(".")
        tags = TABLE6_TAGS[group][side]
        system = disk(controller_of(side, tags), tags, scheduler)
        cells = settings.pick_macro(system, file_system, workload, scripts_of(workload))
        entries.append(elapsed(p, cells, known, workload))
    return entries


def scripts_of(workload: str) -> str:
    """Concurrent scripts of a benchmark in Tables 6 and 7 (which does not say; its times are those of so many)."""
    return SDET_SCRIPTS if workload == "sdet" else ""


def table7_system(kind: str, side: str) -> System:
    """The array behind a column of Table 7."""
    seen = side if kind == "software" else "scsi"
    return System(QUEUED_CONTROLLERS[seen], ARRAY_TAGS[seen], "both", DRIVES[side], ARRAYS[kind][side])


def table7(frame: pd.DataFrame, drives: dict) -> list[Entry]:
    """Disk arrays in software and behind a RAID controller, IDE against SCSI."""
    known, settings, found, entries = papers.paper(PAPER).stand_ins, Settings(frame), {}, []
    for p in printed("table7"):
        first, second = p.row.split(".")
        kind, side = p.column.split(".")
        if side == "diff":
            entries.append(difference(p, found[p.row, kind, "ide"], found[p.row, kind, "scsi"], base="ide"))
            continue
        system = table7_system(kind, side)
        if first in OPS:
            entry = measured(p, settings.pick(system, first, second), known, RATE)
        else:
            entry = elapsed(p, settings.pick_macro(system, first, second, scripts_of(second)), known, second)
        found[p.row, kind, side] = entry
        entries.append(entry)
    return entries


def filesystems(frame: pd.DataFrame, drives: dict) -> list[Entry]:
    """PostMark and its phases on every file system: not in the paper, which says of NTFS that IDE is 10 % faster."""
    known, settings, entries = papers.paper(PAPER).stand_ins, Settings(frame), []
    for file_system in FILE_SYSTEMS:
        for side in SIDES:
            controller = controller_of(side, FILE_SYSTEMS_TAGS)
            cells = settings.pick_macro(disk(controller, FILE_SYSTEMS_TAGS, "both"), file_system, "postmark")
            for phase in POSTMARK_PHASES:
                ours = Published(file_system, f"{side}.{phase}", "s", "")
                entries.append(measured(ours, cells, known, "phases", partial(phase_s, phase)))
            entries.append(elapsed(Published(file_system, f"{side}.total", "s", ""), cells, known, "postmark"))
    return entries


def postmark(frame: pd.DataFrame, drives: dict) -> list[Entry]:
    """PostMark's phases at the settings of Table 6, and with its own file sizes. The paper's number stands beside both
    readings of it: which of them it is, the paper does not say."""
    known, settings, entries = papers.paper(PAPER).stand_ins, Settings(frame), []

    def phases(row: str, printed: Published, side: str, file_system: str, cells: pd.DataFrame) -> None:
        for phase in (*POSTMARK_PHASES, "total"):
            value = printed.value if phase in POSTMARK_READINGS else ""
            p = Published(row, f"{file_system}.{side}.{phase}", "s", value)
            if phase == "total":
                entries.append(elapsed(p, cells, known, "postmark"))
            else:
                entries.append(measured(p, cells, known, "phases", partial(phase_s, phase)))

    for p in printed("table6"):
        file_system, side, workload = p.column.split(".")
        if workload != "postmark":
            continue
        group, scheduler = p.row.removeprefix("t").split(".")
        tags = TABLE6_TAGS[group][side]
        system = disk(controller_of(side, tags), tags, scheduler)
        phases(p.row, p, side, file_system, settings.pick_macro(system, file_system, workload))
        if (p.row, side) == (POSTMARK_SIZES_AT, "scsi"):
            cells = settings.pick_macro(system, file_system, workload, sizes=POSTMARK_SIZES)
            phases(POSTMARK_SIZES, p, side, file_system, cells)
    return entries


def controllers(frame: pd.DataFrame, drives: dict) -> list[Entry]:
    """The same disk, tags and schedulers on another controller: not in the paper."""
    known, settings, entries = papers.paper(PAPER).stand_ins, Settings(frame), []
    for controller, tags, scheduler in COMPARED:
        for op in OPS:
            for pattern in PATTERNS:
                ours = Published(f"{controller}.t{tags}.{scheduler}", f"{op}.{pattern}", "MB/s", "")
                cells = settings.pick(disk(controller, tags, scheduler), op, pattern)
                entries.append(measured(ours, cells, known, RATE))
    return entries


def saturation(published: Published, rates: dict[int, Entry]) -> Entry:
    """How many disks it takes to reach what more of them do not raise, from a column of `scaling`."""
    ran = {disks: entry for disks, entry in sorted(rates.items()) if entry.reproduced is not None}
    if len(ran) < 2:
        return Entry(published, reason=NOT_RUN)
    most = max(entry.reproduced for entry in ran.values())
    least = next(disks for disks, entry in ran.items() if entry.reproduced >= SATURATED * most)
    given = {"stand_in": any(entry.stand_in for entry in ran.values()),
             "cells": tuple(cell for entry in ran.values() for cell in entry.cells)}  # fmt: skip
    if least == max(ran):
        return Entry(published, reason=f"still rises with {least} disks", **given)
    return Entry(published, float(least), n=1, scale=FULL_SCALE, **given)


def scaling(frame: pd.DataFrame, drives: dict) -> list[Entry]:
    """Throughput against number of disks, a bus for each (IDE) and one for all (SCSI), and what Chung et al. print.

    The paper has no such figure. Theirs are other drives behind other adapters: no ratio, only the shape compares.
    """
    known, settings, entries = papers.paper(PAPER).stand_ins, Settings(frame), []
    ran = {int(match["disks"]) for array in set(frame.array) if (match := STRIPED.fullmatch(array))}
    found: dict[tuple[str, str, str], dict[int, Entry]] = {}
    for disks in sorted({*SCALING_FIRST, *ran}):
        for side in SIDES:
            for op in OPS:
                for pattern in ("sequential", "random"):
                    single = disk(QUEUED_CONTROLLERS[side], ARRAY_TAGS[side], "both")
                    cells = settings.pick(single._replace(array=f"md-raid0-{disks}"), op, pattern)
                    if cells.empty and disks == 1:
                        cells = settings.pick(single, op, pattern)
                    ours = Published(str(disks), f"{side}.{op}.{pattern}", "MB/s", "")
                    entries.append(measured(ours, cells, known, RATE))
                    found.setdefault((side, op, pattern), {})[disks] = entries[-1]
    for (side, op, pattern), rates in found.items():
        entries.append(saturation(Published(SATURATES, f"{side}.{op}.{pattern}", "disks", ""), rates))
    return entries + [Entry(point.number, reason=chung.REASON) for point in chung.points()]


def volumes(frame: pd.DataFrame, drives: dict) -> list[Entry]:
    """The same array of IDE disks under Linux's md and as a volume of dynamic disks: not in the paper."""
    known, settings, entries = papers.paper(PAPER).stand_ins, Settings(frame), []
    for shape, names in SAME_ARRAYS.items():
        systems = {manager: disk(QUEUED_CONTROLLERS["ide"], ARRAY_TAGS["ide"], "both")._replace(array=names[manager])
                   for manager in MANAGERS}  # fmt: skip
        for op in OPS:
            for pattern in VOLUME_PATTERNS:
                for manager, system in systems.items():
                    ours = Published(f"{shape}.{op}.{pattern}", manager, "MB/s", "")
                    entries.append(measured(ours, settings.pick(system, op, pattern), known, RATE))
        if shape == VOLUMES_POSTMARK[0]:
            for manager, system in systems.items():
                ours = Published(f"{shape}.{VOLUMES_POSTMARK[1]}.postmark", manager, "s", "")
                cells = settings.pick_macro(system, VOLUMES_POSTMARK[1], "postmark")
                entries.append(elapsed(ours, cells, known, "postmark"))
    return entries


TABLES: dict[str, Callable[..., list[Entry]]] = {
    "table1": table1, "table2": table2, "table3": table3, "table4": table4, "table5": table5, "table6": table6,
    "table7": table7, "controllers": controllers, "postmark": postmark, "filesystems": filesystems, "scaling": scaling,
    "volumes": volumes,
}  # fmt: skip
