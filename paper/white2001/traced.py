# SPDX-License-Identifier: MIT
"""Figures 1 and 2 as data, from the traces of the cells that figure_cells names.

figure1.csv and figure2.csv are tables of their own; figure2.bands.csv has the writes by address; figures.json says per
panel its cell, the reason if there is nothing to see, and what the report prints beside the picture.
"""

from dataclasses import replace
from pathlib import Path

import pandas as pd

from analysis import entries, io_summary, traces, write_pattern
from analysis.entries import Entry, Published
from paper.white2001 import figure_cells, schedule

BAND_COLUMNS = ("row", "lbn_begin", "lbn_end", "writes", "single_block_alone", "single_block_alone_share")
MAGNIFIED = "ntfs"
"""The file system whose log is magnified."""
PUBLISHED = {("ffs", "burst_spacing_median_s"): "30"}
"""What the paper says of them (4.2.3): the update daemon writes every 30 seconds."""


def wanted(ids: list[str]) -> list[str]:
    """The cells, of these, whose traces are read."""
    named = [*figure_cells.schedule_cells(ids).values(), *figure_cells.writes_cells(ids).values()]
    return [cell for cell in named if cell]


def build(results: Path, ids: list[str], out: Path) -> dict:
    """Write the tables; returns what the pictures and the page need."""
    found, steps = build_schedule(results, ids)
    entries.write(found, out / "figure1.csv")
    found, bands, panels = build_writes(results, ids)
    entries.write(found, out / "figure2.csv")
    io_summary.write(bands, BAND_COLUMNS, out / "figure2.bands.csv")
    return {"figure1": steps, "figure2": panels}


def build_schedule(results: Path, ids: list[str]) -> tuple[list[Entry], dict]:
    """Figure 1: entries of figure1.csv, and what the report says beside the plot, by tags."""
    found_entries, panels = [], {}
    for tags, cell_id in figure_cells.schedule_cells(ids).items():
        cell = traces.cell(results, cell_id)
        values: dict[str, float] = {}
        steps: list[dict] = []
        reason = cell.reason
        if not reason:
            found = schedule.schedule(traces.read(results / "cells" / cell.id))
            if found.steady[1] - found.steady[0] < 2:
                reason = "the trace has too few requests"
            else:
                values = schedule.measures(found) | {"rate_mb_s": cell.metrics["rate_mb_s"]}
                steps = schedule.table(found)
        for name, unit in schedule.UNITS.items():
            found_entries.append(Entry(Published(f"t{tags}.host", name, unit, ""), values.get(name), None,
                                 int(name in values), reason=reason, cells=(cell.id,) if cell.id else (),
                                 scale=cell.parts.get("scale")))  # fmt: skip
        panels[tags] = {"cell": cell.id, "reason": reason, "steps": steps, "measures": values}
    return found_entries, panels


def build_writes(results: Path, ids: list[str]) -> tuple[list[Entry], list[dict], dict]:
    """Figure 2: entries of figure2.csv, lines of figure2.bands.csv, and what the report says beside the plot."""
    made_entries, band_rows, panels = [], [], {}
    found_in: dict[str, tuple[traces.TracedCell, pd.DataFrame]] = {}
    reasons: dict[str, str] = {}
    for name, cell_id in figure_cells.writes_cells(ids).items():
        cell = traces.cell(results, cell_id)
        cell = replace(cell, phases=write_pattern.named(cell.phases))
        reason = cell.reason
        if not reason and not cell.phases:
            reason = "the workload reported no phases"
        if not reason:
            made = write_pattern.writes(traces.read(results / "cells" / cell.id), cell.phases[0]["begin_ns"])
            reason = "" if len(made) else "the disk saw no write"
            found_in[name] = (cell, made)
        reasons[name] = reason
        values = write_pattern.measures(found_in[name][1], cell.phases) if not reason else {}
        for measure, unit in write_pattern.UNITS.items():
            why = reason or ("" if measure in values else "there is none in this run")
            made_entries.append(Entry(Published(name, measure, unit, PUBLISHED.get((name, measure), "")),
                                 values.get(measure), None, int(measure in values), reason=why,
                                 cells=(cell.id,) if cell.id else (), scale=cell.parts.get("scale")))  # fmt: skip
        panels[name] = {"cell": cell.id, "reason": reason, "measures": values, "phases": cell.phases, "magnified": None}
    good = {name: pair for name, pair in found_in.items() if not reasons[name]}
    for name, (_, made) in good.items():
        end = int((made.lbn + made.sectors).max())
        band_rows += [{"row": name} | line for line in write_pattern.bands(made, end)]
    if MAGNIFIED in good:
        cell, made = good[MAGNIFIED]
        band = write_pattern.dense_band(made)
        run = write_pattern.run_phase(cell.phases)
        times = write_pattern.window(made, band, run["begin_ns"], run["end_ns"])
        inside = int(made.lbn.between(band[0], band[1] - 1).sum())
        panels[MAGNIFIED]["magnified"] = {"lbn": list(band), "ns": list(times), "share": inside / len(made)}
    return made_entries, band_rows, panels
