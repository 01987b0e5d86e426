# SPDX-License-Identifier: MIT
"""What the template of the section on traces sees: Figures 1 and 2 with their measures."""

from paper.trace_page import shown
from paper.white2001 import schedule, traced

NAMES = {"ffs": "FFS", "softupdates": "Soft Updates", "ntfs": "NTFS"}
FIGURE2 = (
    ("Writes", "writes", 1, 0), ("Written, MB", "write_bytes", 1e-6, 1), ("Create, s", "create_s", 1, 1),
    ("Run, s", "run_s", 1, 1), ("Delete, s", "delete_s", 1, 1),
    (r"\emph{Vertical lines:} bursts of queued writes", "bursts", 1, 0),
    (r"\quad share of all writes, \%", "burst_share", 100, 1),
    (r"\quad from one to the next, s (median)", "burst_spacing_median_s", 1, 1),
    (r"\quad writes above the one before, \%", "burst_rising_share", 100, 1),
    ("Period of writes in the run phase, s", "period_s", 1, 0),
    (r"\quad autocorrelation at that lag", "period_correlation", 1, 2),
    (r"\emph{Horizontal lines:} addresses", "horizontal_lines", 1, 0),
    (r"\quad share of all writes, \%", "horizontal_share", 100, 1),
    (r"Lone writes of a single block, \% of all writes", "single_block_alone_share", 100, 1),
)  # fmt: skip
"""Lines of the table beside Figure 2: label in LaTeX, measure, factor, digits."""


def page(data: dict) -> dict:
    """What the template of the section on traces sees."""
    return {"figure1": figure1(data["figure1"]), "figure2": figure2(data["figure2"])}


def figure1(panels: dict) -> dict:
    """The steps of the schedules that are drawn, and the measures of all."""
    drawn = [{"tags": tags, **panels[tags]} for tags in schedule.SHOWN]
    steps = [
        [panel["steps"][number] if number < len(panel["steps"]) else None for panel in drawn]
        for number in range(schedule.STEPS_SHOWN)
    ]
    lines = [
        {"tags": tags, "turn": shown(panel["measures"].get("run_length_mean_requests"), 1, 1),
         "sequential": shown(panel["measures"].get("sequential_share"), 100, 1),
         "rate": shown(panel["measures"].get("rate_mb_s"), 1, 1), "reason": panel["reason"]}
        for tags, panel in panels.items()
    ]  # fmt: skip
    return {"drawn": drawn, "steps": steps if any(map(any, steps)) else [], "lines": lines,
            "cells": cells_of(panels)}  # fmt: skip


def figure2(panels: dict) -> dict:
    """The measures, one column a file system."""
    lines = [
        {"label": label, "values": [shown(panels[name]["measures"].get(measure), factor, digits) for name in NAMES]}
        for label, measure, factor, digits in FIGURE2
    ]
    magnified = panels[traced.MAGNIFIED]["magnified"]
    return {"names": list(NAMES.values()), "lines": lines if any(p["measures"] for p in panels.values()) else [],
            "cells": cells_of(panels), "missing": [f"{NAMES[n]}: {p['reason']}" for n, p in panels.items()
                                                   if p["reason"]],
            "magnified_percent": magnified and shown(magnified["share"], 100, 0)}  # fmt: skip


def cells_of(panels: dict) -> list[str]:
    """Cells that a figure is made from."""
    return [panel["cell"] for panel in panels.values() if panel["cell"]]
