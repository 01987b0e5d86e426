# SPDX-License-Identifier: MIT
"""What an analyser on the bus would say of each run: io-summary.csv.

One line for every cell on a file system, and one for each configuration of the device itself.
"""

import csv
import dataclasses
from pathlib import Path

from analysis import cell_names, traces
from analysis.load import NO_ARRAY, SCHEDULERS
from lab.cell import trace

SETTING = ("controller", "drive", "tags", "scheduler", "file_system", "workload", "parameters", "scale", "seed")
SUMS = tuple(field.name for field in dataclasses.fields(trace.Summary))
COLUMNS = ("cell", "array", *SETTING, *SUMS, "reason")


def line(results: Path, cell_id: str) -> dict[str, str]:
    """One cell's line. The sums stand in its result if it is on a file system; else the trace is read."""
    cell = traces.cell(results, cell_id)
    sums: dict = {}
    if not cell.reason:
        sums = (
            cell.metrics if set(SUMS) <= cell.metrics.keys() else sums_of(traces.summary(results / "cells" / cell_id))
        )
    reason = cell.reason or ("" if sums else "the disk saw no request")
    return {
        "cell": cell_id, "array": cell.parts.get("array", NO_ARRAY), **setting(cell.parts),
        **{name: shown(sums.get(name)) for name in SUMS}, "reason": reason,
    }  # fmt: skip


def setting(parts: dict) -> dict[str, str]:
    """A cell's setting as text, from the `cell` of its result."""
    scheduler = SCHEDULERS[parts["host_scheduler"], parts["disk_scheduler"]]
    words = " ".join(f"{key}={value}" for key, value in parts["parameters"].items())
    named = parts | {"scheduler": scheduler, "parameters": words}
    return {name: str(named[name]) for name in SETTING}


def sums_of(summary: trace.Summary | None) -> dict:
    """A summary by name; empty for none."""
    return {} if summary is None else dataclasses.asdict(summary)


def shown(value: float | None) -> str:
    """A sum in the CSV, with all its digits: trace.summarize has rounded it."""
    return "" if value is None else repr(value)


def build(results: Path, ids: list[str]) -> list[dict[str, str]]:
    """All lines, by cell id."""
    return [line(results, cell_id) for cell_id in cell_names.summary_cells(ids)]


def write(rows: list[dict], columns: tuple[str, ...], path: Path) -> None:
    """Rows as CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read(path: Path) -> list[dict[str, str]]:
    """Lines of io-summary.csv as text."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))
