# SPDX-License-Identifier: MIT
"""A report's section on traces as LaTeX: what the paper itself has to say of them, and the I/O summary.

python -m paper.trace_page --paper PAPER --data .../figures.json --summary .../io-summary.csv --out TEX
"""

import argparse
import sys
from pathlib import Path

from analysis import command, io_summary, numbers, papers
from analysis.load import NO_ARRAY
from paper import tex

NONE = "--"
NAMES = {"ffs": "FFS", "softupdates": "Soft Updates", "ntfs": "NTFS"}
WORKLOADS = {"rawio": "raw", "postmark": "PostMark", "ssh": "SSH", "sdet": "SDET", "netnews": "NetNews"}
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
    paper = papers.paper(args.paper)
    module: papers.TraceViews | None = paper.module("trace_views")
    own = module.page(command.read_json(args.data)) if module else {}
    context = {"paper": paper.id, "summary": summary(io_summary.read(args.summary)), "columns": len(SUMMARY)}
    return tex.render([paper.folder, tex.HERE], "traces.tex.j2", context | own)


def main(argv: list[str] | None = None) -> int:
    """Command line; see the module's text."""
    parser = command.parser(__doc__, "paper", "out")
    parser.add_argument("--data", type=Path, required=True, help="figures.json, made by analysis.traced")
    parser.add_argument("--summary", type=Path, required=True, help="io-summary.csv, made by analysis.traced")
    args = parser.parse_args(argv)
    return command.finish("paper.trace_page", args, page, made_by=str(args.data))


if __name__ == "__main__":
    sys.exit(main())
