# SPDX-License-Identifier: MIT
"""The report's section on traces as LaTeX: Figures 1 and 2 with their measures, and the I/O summary.

python -m paper.trace_page --paper white2001 --data .../figures.json --summary .../io-summary.csv --out TEX
"""

import argparse
import sys
from pathlib import Path

from analysis import command, io_summary, numbers, schedule, write_pattern
from analysis.load import NO_ARRAY
from paper import tex
from paper.render import HERE

NONE = "--"
NAMES = {"ffs": "FFS", "softupdates": "Soft Updates", "ntfs": "NTFS"}
WORKLOADS = {"rawio": "raw", "postmark": "PostMark", "ssh": "SSH", "sdet": "SDET", "netnews": "NetNews"}
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
SUMMARY = (
    ("requests", 1, 0), ("read_share", 100, 0), ("flushes", 1, 0), ("request_bytes_mean", 1 / 1024, 1),
    ("sequential_share", 100, 0), ("seek_distance_mean_lbn", 1e-3, 0), ("seek_distance_median_lbn", 1e-3, 0),
    ("queue_depth_mean", 1, 1), ("queue_depth_max", 1, 0), ("busy_share", 100, 0), ("response_mean_ns", 1e-6, 1),
    ("response_p95_ns", 1e-6, 1), ("cached_write_share", 100, 0),
)  # fmt: skip
"""Columns of the printed I/O summary: sum, factor, digits."""


def shown(value: float | None, factor: float, digits: int) -> str:
    """A number in the unit of its column."""
    return NONE if value is None else numbers.fixed(value * factor, digits)


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
    magnified = panels[write_pattern.MAGNIFIED]["magnified"]
    return {"names": list(NAMES.values()), "lines": lines if any(p["measures"] for p in panels.values()) else [],
            "cells": cells_of(panels), "missing": [f"{NAMES[n]}: {p['reason']}" for n, p in panels.items()
                                                   if p["reason"]],
            "magnified_percent": magnified and shown(magnified["share"], 100, 0)}  # fmt: skip


def cells_of(panels: dict) -> list[str]:
    """Cells that a figure is made from."""
    return [panel["cell"] for panel in panels.values() if panel["cell"]]


def summary(rows: list[dict]) -> list[dict]:
    """Lines of the printed I/O summary: the first repetition of each cell."""
    lines = []
    for row in rows:
        if row["seed"] != "1":
            continue
        scale = "" if row["scale"] == "1" else f" x{row['scale']}"
        name = " ".join([WORKLOADS.get(row["workload"], row["workload"]), *parameters(row)])
        values = [shown(float(row[key]) if row[key] else None, factor, digits) for key, factor, digits in SUMMARY]
        lines.append({"workload": name + scale, "file_system": "" if row["file_system"] == "raw" else
                      NAMES.get(row["file_system"], row["file_system"]), "controller": behind(row),
                      "tags": row["tags"], "scheduler": row["scheduler"], "values": values,
                      "reason": row["reason"]})  # fmt: skip
    order = {name: position for position, name in enumerate(("both", "disk", "host", "none"))}
    return sorted(lines, key=lambda line: (line["file_system"] != "", line["workload"], line["file_system"],
                                           line["controller"], order[line["scheduler"]],
                                           int(line["tags"].replace("none", "0"))))  # fmt: skip


def behind(row: dict) -> str:
    """The controller, and the array if there is one."""
    return row["controller"] if row["array"] == NO_ARRAY else f"{row['controller']} {row['array']}"


def parameters(row: dict) -> list[str]:
    """Values of a workload's parameters."""
    return [word.partition("=")[2] for word in row["parameters"].split()]


def page(args: argparse.Namespace) -> str:
    """The output's text."""
    data = command.read_json(args.data)
    context = {"paper": args.paper, "figure1": figure1(data["figure1"]), "figure2": figure2(data["figure2"]),
               "summary": summary(io_summary.read(args.summary)), "columns": len(SUMMARY)}  # fmt: skip
    return tex.render([HERE / args.paper], "traces.tex.j2", context)


def main(argv: list[str] | None = None) -> int:
    """Command line; see the module's text."""
    parser = command.parser(__doc__, "paper", "out")
    parser.add_argument("--data", type=Path, required=True, help="figures.json, made by analysis.figures")
    parser.add_argument("--summary", type=Path, required=True, help="io-summary.csv, made by analysis.figures")
    args = parser.parse_args(argv)
    return command.finish("paper.trace_page", args, page, made_by=str(args.data))


if __name__ == "__main__":
    sys.exit(main())
