# SPDX-License-Identifier: MIT
"""How the tables look that are more than a list of numbers."""

from paper.view import Table, words

PAPER = "chung2000"
NAMES = {
    "atlas": "Atlas 10K",
    "atlas.uncached": "Atlas 10K, cache off",
    "atlas.buffered": "Atlas 10K, buffered",
    "atlas.dynamic.buffered": "Atlas 10K, dynamic volume, buffered",
    "atlas.uncached.buffered": "Atlas 10K, cache off, buffered",
    "atlas.ntfs": "Atlas 10K, file of NTFS",
    "atlas.dynamic": "Atlas 10K, dynamic volume",
    "lct08": "Fireball lct08, mother board",
    "lct08.card": "Fireball lct08, card",
    "lct08.card.buffered": "Fireball lct08, card, buffered",
    "lct08.apart.2": "two Fireball lct08, card, side by side",
    "lct08.apart.4": "four Fireball lct08, card, side by side",
    "lct08.pio": "Fireball lct08, mother board, PIO",
    "maxtor": "DiamondMax Plus 40",
    "atlas.2": "two Atlas 10K, md RAID 0",
    "atlas.3": "three Atlas 10K, md RAID 0",
    "atlas.4": "four Atlas 10K, md RAID 0",
    "lct08.2": "two Fireball lct08, card, md RAID 0",
    "lct08.2.buffered": "the same, buffered",
    "lct08.raid0.2": "two Fireball lct08, card's RAID 0",
    "lct08.raid0.2.buffered": "two Fireball lct08, card's RAID 0, buffered",
    "lct08.raid0.3": "three Fireball lct08, card's RAID 0",
    "lct08.raid0.4": "four Fireball lct08, card's RAID 0",
    "lct08.twinstor": "two Fireball lct08, TwinStor",
    "barracuda": "Barracuda 4LP (old machine)",
    "barracuda.buffered": "Barracuda 4LP, buffered (old)",
    "barracuda.dynamic": "Barracuda 4LP, dynamic volume (old)",
    "barracuda.uncached": "Barracuda 4LP, cache off (old)",
}
"""Configurations for a reader."""
SIZES = ("2", "4", "8", "16", "32", "64", "128", "256")
"""KiB of sequential requests."""
DEPTHS = ("1", "2", "4", "8", "16", "32")
"""Of random requests."""


def _cells(table: Table, row: str, columns: tuple[str, ...], like: str) -> list[str]:
    """Our numbers of a line; what the sheet does not have is empty."""
    return [table.cell(row, column, like=like).reproduced if (row, column) in table.index else "" for column in columns]


def sweeps(table: Table) -> dict:
    """Sequential rates by size, random rates by depth with latencies, and rates by place."""
    rows = list(dict.fromkeys(entry["row"] for entry in table.rows))
    sequential, random, zones, files = [], [], [], []
    for row in rows:
        name, op, kind, *size = split(row)
        if kind == "zones":
            columns = tuple(entry["column"] for entry in table.rows if entry["row"] == row)
            found = zip(columns, _cells(table, row, columns, "0.0"), strict=True)
            zones.append({"name": NAMES[name], "op": op, "places": [(int(at) / 10, value) for at, value in found]})
        elif kind == "files":
            columns = tuple(entry["column"] for entry in table.rows if entry["row"] == row)
            found = zip(columns, _cells(table, row, columns, "0.0"), strict=True)
            files.append({"name": NAMES[name], "op": op, "fills": list(found)})
        elif kind == "processor":
            continue  # The figure has it.
        elif kind == "random":
            line = {"name": NAMES[name], "op": op, "kib": size[0]}
            line["cells"] = _cells(table, row, tuple(f"d{depth}" for depth in DEPTHS), "0")
            line["p99"] = _cells(table, row, tuple(f"d{depth}.p99" for depth in DEPTHS), "0")
            random.append(line)
        else:
            cells = _cells(table, row, SIZES, "0.0")
            sequential.append({"name": NAMES[name], "op": op, "depth": kind.removeprefix("d"), "cells": cells})
    return {"sizes": SIZES, "depths": DEPTHS, "sequential": sequential, "random": random, "zones": zones,
            "files": files}  # fmt: skip


def split(row: str) -> list[str]:
    """Configuration, operation, and what follows: atlas.2.read.d3 is `atlas.2`, `read`, `d3`."""
    name, op, rest = next((row.partition(f".{op}.")[0], op, row.partition(f".{op}.")[2])
                          for op in ("read", "write") if f".{op}." in row)  # fmt: skip
    return [name, op, *rest.split(".")]


def places(table: Table) -> dict:
    """Each table and figure of the paper and what became of it."""
    said = words(PAPER, "places")
    return {"lines": [{"name": row, "what": said[row, "what"], "state": said[row, "state"], "why": said[row, "why"]}
                      for row in dict.fromkeys(row for row, _ in said)]}  # fmt: skip


def table8(table: Table) -> dict:
    """The fields of SQLIO's line, and what sqlio prints there."""
    said = words(PAPER, "table8")
    return {"lines": [{"field": row, "paper": said[row, "paper"], "here": said[row, "here"]}
                      for row in dict.fromkeys(row for row, _ in said)]}  # fmt: skip


VIEWS = {"sweeps": sweeps, "places": places, "table8": table8}
PARTS = {
    "3w5400": "3ware 3W-5400",
    "3w6800": "3ware 3W-6800",
    "advertised-least": "advertised, least",
    "advertised-most": "advertised, most",
    "atlas": "Atlas 10K",
    "barracuda": "Barracuda 4LP",
    "basic": "basic volume",
    "break-even": "where it ends to pay",
    "cache": "the drive's cache",
    "caption": "as the caption has it",
    "client": "the client's processor",
    "clock": "the processor's clock",
    "clocks": "the processor's clocks",
    "disk": "one disk",
    "disks": "disks that it takes",
    "dma": "DMA",
    "dynamic": "dynamic volume",
    "extended": "a file that grows",
    "external": "interface",
    "fixed": "cost of a request",
    "four": "four disks",
    "full": "least size at the full rate",
    "hardware": "the card's RAID 0",
    "host": "machine",
    "ide": "IDE",
    "inner": "inner edge",
    "inner-loss": "loss at the inner edge",
    "internal": "media rate",
    "internal-least": "media rate, least",
    "internal-most": "media rate, most",
    "io-per-dollar": "requests for a dollar",
    "kaps": "accesses of 8 KB",
    "kaps-per-dollar": "accesses of 8 KB for a dollar",
    "lazy-writer": "cost of the lazy writer",
    "lct08": "Fireball lct08",
    "mapped": "mapped drive",
    "maps": "accesses of 1 MB",
    "maps-per-dollar": "accesses of 1 MB for a dollar",
    "marginal": "cost of a KB",
    "maxtor": "DiamondMax Plus 40",
    "mb-per-dollar": "capacity for a dollar",
    "memory-bus": "the memory's bus",
    "motherboard": "mother board",
    "new": "new machine",
    "new-ide": "new machine, IDE",
    "new-scsi": "new machine, SCSI",
    "of-advertised": "of what is advertised",
    "of-atlas": "share of the Atlas 10K's rate",
    "old": "old machine",
    "outer": "outer edge",
    "pci": "PCI",
    "peak": "best rate",
    "per-kaps": "price of an access a second",
    "per-revolution": "requests in a revolution",
    "pio": "PIO",
    "plateau-least": "plateau, least",
    "plateau-most": "plateau, most",
    "processor": "the processor's share",
    "raid0": "RAID 0",
    "raid1": "TwinStor",
    "rap": "real rate",
    "read-loss": "read, loss",
    "revolutions": "revolutions of the disk",
    "riedel": "Riedel's",
    "rpm": "revolutions",
    "scsi": "SCSI",
    "scsi-controller": "SCSI adapter",
    "second-generation": "the card's second generation",
    "seek-mean": "mean seek",
    "server": "the server's processor",
    "single": "one drive",
    "software": "software RAID 0",
    "summary": "as the summary has it",
    "terabyte": "price of a terabyte",
    "three": "three disks",
    "threshold": "least outstanding for a gain",
    "two": "two disks",
    "ultra160": "Ultra160 adapter",
    "unc": "UNC name",
    "write-uncached": "write, cache off",
}
"""Parts of the names of rows and columns for a reader, where a part does not say it itself."""
SATURATED = {"one": "one processor", "two": "two processors"}
"""Of Figure 14, the rates at which so many processors have no time left."""


def row_words(table: str, row: str) -> str:
    """A row for a reader: `Atlas 10K`."""
    if row.startswith("figure"):
        return f"Figure {row.removeprefix('figure')}"
    text = ", ".join(column_words(table, row))
    return text if text[0].isdigit() else text[0].upper() + text[1:]


def column_words(table: str, column: str) -> tuple[str, ...]:
    """A column for a reader, in parts: `read`, `2 KB`, `one deep`. A number is a request's size."""
    first, *rest = column.split(".")
    if first == "saturates":
        return (rest[0], f"where it takes {SATURATED[rest[1]]}")
    return tuple(PARTS.get(part, f"{part} KB" if part.isdigit() else part.replace("-", " "))
                 for part in (first, *rest))  # fmt: skip


def setting(table: str, row: str) -> str:
    """A row for a reader."""
    return row_words(table, row)


def quantity(table: str, row: str, column: str) -> str:
    """What is measured, for a reader."""
    return ", ".join(column_words(table, column))


def label(row: dict) -> str:
    """An entry of summary.json: `Figure 15: read, 2 KB, one deep`."""
    table = row["table"]
    where = row_words(table, row["row"])
    named = where if table == "figures" else f"{table.replace('table', 'Table ').replace('text', 'Text')}, {where}"
    return f"{named}: {', '.join(column_words(table, row['column']))}"


def report(rows: list[dict]) -> dict:
    """At a glance: a line for each table that has a number of ours, and one for all that is no percentage."""
    names = dict.fromkeys(row["table"] for row in rows if row["cells"])
    groups = [(name.replace("table", "Table "), [row for row in rows if row["table"] == name]) for name in names]
    return {"groups": [*groups, ("all", rows)]}
