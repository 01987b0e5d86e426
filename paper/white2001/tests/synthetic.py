# SPDX-License-Identifier: MIT
"""Invented results for tests: every cell of the tables, near the published numbers, with chosen ones failed.

Nothing here was measured. Rates and times are the published number times a fixed factor per setting, spread a little
by seed, so that tables show ratios near and far. Deterministic: the factors come from a hash of the cell's name.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from analysis import papers
from analysis.entries import read_published
from analysis.load import NO_ARRAY
from analysis.settings import OPS, System
from analysis.tests.invented import base, put, raw_of, record, unit
from lab.cell import cells
from paper.white2001.tables import (
    ARRAY_TAGS,
    DRIVES,
    FILE_SYSTEMS,
    POSTMARK_PHASES,
    POSTMARK_SIZES,
    POSTMARK_SIZES_AT,
    QUEUED_CONTROLLERS,
    SAME_ARRAYS,
    SCSI_CONTROLLER,
    SIDES,
    VOLUMES_POSTMARK,
    printed,
    scripts_of,
    table7_system,
)

MACRO_SEEDS = 3
"""Most repetitions of a macro benchmark."""
SHARES = (0.4, 0.9, 1)
"""Parts of PostMark's time at which its phases end."""
DISKS = (1, 2, 3, 4, 6, 8, 12, 15)
"""Disks of the striped volumes."""
ONE_DISK = {"sequential": 30.0, "random": 1.5}
MOST = {"ide": 98.0, "scsi": 71.0}
"""MB/s of one disk, and of any number of them, invented."""
POSTMARK_S = (440, 170, 180, 210, 200, 260, 230, 190, 150)
"""PostMark in seconds, invented, on FILE_SYSTEMS."""

TINY = """\
schema: spindle-deviations/1
deviations:
  - id: tiny
    title: Tiny & wrong
    where:
      - {of: number, table: table6, row: "*", column: ffs.*.postmark, ratio: [1.2, 4]}
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
      - what: little memory
        value: reads
        unit: requests
        cell: scsi-virtio.ultrastar-36zx.t64.both+fs_name_lookup=shared.ffs.sdet-20.s01
"""
"""Explanations of deviations: one."""


def sheet() -> list[dict]:
    """Rows of the paper's sheet; those of the cross-check are in no table."""
    rows = [row for row in cells.sheet("white2001") if row["workload"] == "rawio" and row["array"] == NO_ARRAY]
    return [row | dict(word.split("=") for word in row["parameters"].split()) for row in rows]


def published_rates() -> dict[tuple[str, str], float]:
    """Table 5 by row and column."""
    path = papers.paper("white2001").published / "table5.csv"
    return {(p.row, p.column): float(p.value) for p in read_published(path)}


def macro_times() -> dict[tuple[str, ...], float]:
    """Seconds of every macro benchmark, by side, tags, scheduler, file system, workload and SDET's scripts."""
    folder, found = papers.paper("white2001").published, {}
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
    system = System(controller, tags, scheduler, DRIVES[side])
    factor = 2 ** (1.2 * (unit(f"{scheduler} {side} {file_system} {workload}") - 0.5))
    return macro_of(system, file_system, workload, words(scripts), seconds * factor, seed, scale)


def words(scripts: str) -> dict[str, str]:
    """A macro benchmark's parameters in Tables 6 and 7."""
    return {"scripts": scripts} if scripts else {}


def macro_of(
    system: System, file_system: str, workload: str, parameters: dict, seconds: float, seed: int, scale: float = 1
) -> dict:
    """The result.json of a macro benchmark that takes about so long on this system."""
    tags = system.tags
    row = system._asdict() | {"file_system": file_system, "workload": workload,
                              "parameters": parameters}  # fmt: skip
    parts = "-".join([workload, *row["parameters"].values(), *([] if scale == 1 else [f"x{scale:g}"])])
    cell_id = f"{base(system)}.{file_system}.{parts}.s{seed:02d}"
    elapsed_ns = int(seconds * 1e9 * scale * (1 + 0.02 * (unit(cell_id) - 0.5)))
    ends = [0, *(int(share * elapsed_ns) for share in SHARES)]
    names = POSTMARK_PHASES if workload == "postmark" else ("first", "second", "third")
    phases = [{"name": name, "begin_ns": begin, "end_ns": end}
              for name, begin, end in zip(names, ends[:-1], ends[1:], strict=True)]  # fmt: skip
    metrics = {"elapsed_ns": elapsed_ns, "phases": phases, "workload": {}, "read_bytes": 100000000,
               "write_bytes": 400000000, "requests": 40000, "queue_depth_mean": 1.5,
               "queue_depth_max": 1 if tags == "none" else int(tags), "drain_ns": 0, "read_hits": 0,
               "flushes": 0}  # fmt: skip
    return record(cell_id, cell_id, row, scale, seed, metrics)


def default_sizes(seed: int) -> Iterator[dict]:
    """PostMark with its own file sizes: half the time that the paper prints."""
    system = System(SCSI_CONTROLLER, ARRAY_TAGS["scsi"], "both", DRIVES["scsi"])
    for p in printed("table6"):
        file_system, _, what = p.column.partition(".")
        if (p.row, what) == (POSTMARK_SIZES_AT, "scsi.postmark"):
            yield macro_of(system, file_system, "postmark", {"sizes": POSTMARK_SIZES}, float(p.value) / 2, seed)


def result(row: dict, seed: int, rates: dict) -> dict:
    """The result.json of one cell of the raw device."""
    system = System(**{name: row.get(name, NO_ARRAY) for name in System._fields})
    cell_id = f"{base(system)}.rawio-{row['op']}-{row['pattern']}.s{seed:02d}"
    side = "scsi" if row["controller"].startswith("scsi") else "ide"
    factor = 2 ** (1.4 * (unit(f"{row['scheduler']} {side} {row['pattern']}") - 0.5))
    rate = rates[f"t{row['tags']}.{row['scheduler']}", f"{side}.{row['op']}.{row['pattern']}"] * factor
    rate *= 1 + 0.02 * (unit(cell_id) - 0.5) + (0.01 if row["controller"] != SCSI_CONTROLLER else 0)
    return raw_of(system, row["op"], row["pattern"], rate, seed)


def array_results(seeds: int) -> Iterator[dict]:
    """Table 7 near its numbers, and striped volumes that grow until their bus or PCI is full."""
    made = set()
    for p in printed("table7"):
        first, second = p.row.split(".")
        kind, side = p.column.split(".")
        if side == "diff":
            continue
        system, near = table7_system(kind, side), float(p.value) * 2 ** (1.4 * (unit(p.row + p.column) - 0.5))
        for seed in range(1, min(seeds, MACRO_SEEDS) + 1):
            value = near * (1 + 0.02 * (unit(f"{p.row} {p.column} {seed}") - 0.5))
            if first in OPS:
                made.add((system, first, second))
                yield raw_of(system, first, second, value, seed)
            else:
                yield macro_of(system, first, second, words(scripts_of(second)), value, seed)
    for side in SIDES:
        for disks in DISKS:
            system = System(QUEUED_CONTROLLERS[side], ARRAY_TAGS[side], "both", DRIVES[side], f"md-raid0-{disks}")
            for op in OPS:
                for pattern, one in ONE_DISK.items():
                    if (system, op, pattern) not in made:
                        rate = min(disks * one * (0.8 if op == "write" else 1), MOST[side])
                        made.add((system, op, pattern))
                        yield raw_of(system, op, pattern, rate, 1)
    for shape, names in SAME_ARRAYS.items():
        for number, array in enumerate(names.values()):
            system = System(QUEUED_CONTROLLERS["ide"], ARRAY_TAGS["ide"], "both", DRIVES["ide"], array)
            for op in OPS:
                for pattern, one in ONE_DISK.items():
                    if (system, op, pattern) not in made:
                        yield raw_of(system, op, pattern, 2 * one * (0.5 if op == "write" else 1) - 0.1 * number, 1)
            if shape == VOLUMES_POSTMARK[0]:
                yield macro_of(system, VOLUMES_POSTMARK[1], "postmark", {}, 100.0 + number, 1, 0.1)


def every(seeds: int, scales: dict[str, float]) -> Iterator[dict]:
    """All results, none of them failed."""
    rates = published_rates()
    for row in sheet():
        for seed in range(1, seeds + 1):
            yield result(row, seed, rates)
    for key, seconds in macro_times().items():
        for seed in range(1, min(seeds, MACRO_SEEDS) + 1):
            yield macro_result(key, seconds, seed, scales.get(f"{key[3]}.{key[4]}", 1))
    for seed in range(1, min(seeds, MACRO_SEEDS) + 1):
        yield from default_sizes(seed)
    yield from array_results(seeds)


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
        ids.append(put(results, found, reason))
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
