# SPDX-License-Identifier: MIT
"""How the tables look that are more than a list of numbers."""

from paper.view import PlainViews, Table, words

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
setting, quantity = PlainViews.setting, PlainViews.quantity
row_words, column_words = PlainViews.row_words, PlainViews.column_words


def label(row: dict) -> str:
    """An entry of summary.json: `Figure 15: read.2.one-deep`."""
    where = row["row"] if row["table"] == "figures" else f"{row['table']} {row['row']}"
    named = where.replace("figure", "Figure ").replace("table", "Table ")
    return f"{named}: {row['column']}"


def report(rows: list[dict]) -> dict:
    """At a glance: a line for each table that has a number of ours, and one for all that is no percentage."""
    names = dict.fromkeys(row["table"] for row in rows if row["cells"])
    groups = [(name.replace("table", "Table "), [row for row in rows if row["table"] == name]) for name in names]
    return {"groups": [*groups, ("all", rows)]}
