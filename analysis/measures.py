# SPDX-License-Identifier: MIT
"""Measures of one cell by name, as deviations.yaml uses them in expressions.

elapsed_s, phase_<name>_s    what the workload reports of its time
rate_mb_s                    of a cell of the device itself
workload_<name>              its other numbers: workload_files_created
phase_<name>_<what>          what the disk saw in a phase (analysis/phase_traffic.py): phase_run_reads
member_requests              commands to the disks behind a hardware array
requests, writes, ...        the sums of the trace (lab.cell.trace.Summary)
trace_<name>                 what write_pattern finds in the trace, from the first phase on: trace_alone_share
"""

import ast
import re
from pathlib import Path

from analysis import io_summary, numbers, phase_traffic, traces, write_pattern
from analysis.errors import ClaimError, ResultError

TRACE = "trace_"
WORKLOAD = "workload_"
RATE, MEMBERS = "rate_mb_s", "member_requests"


def phase_name(phase: str) -> str:
    """The measure of a phase's length."""
    return f"phase_{phase}_s"


def timed(elapsed_ns: int, phases: list[dict]) -> dict[str, float]:
    """Lengths in seconds; phases of the same name are added up."""
    found: dict[str, int] = {}
    for phase in phases:
        name = phase_name(phase["name"])
        found[name] = found.get(name, 0) + phase["end_ns"] - phase["begin_ns"]
    return {name: numbers.seconds(length) for name, length in {"elapsed_s": elapsed_ns, **found}.items()}


def of_result(metrics: dict) -> dict[str, float]:
    """What a result's metrics say without its trace."""
    found = timed(metrics["elapsed_ns"], metrics.get("phases", []))
    found |= {name: metrics[name] for name in (RATE, *io_summary.SUMS) if metrics.get(name) is not None}
    behind = [sums["requests"] for disk, sums in metrics.get("devices", {}).items()
              if re.fullmatch(phase_traffic.MEMBER, disk)]  # fmt: skip
    found |= {MEMBERS: sum(behind)} if behind else {}
    return found | {f"{WORKLOAD}{name}": value for name, value in (metrics.get("workload") or {}).items()}


def of_trace(folder: Path, phases: list[dict]) -> dict[str, float]:
    """What the trace in a cell's folder shows."""
    phases = write_pattern.named(phases)
    if not phases:
        raise ResultError(f"{folder}: its workload reported no phases; a measure of the trace needs one")
    writes = write_pattern.writes(traces.read(folder), phases[0]["begin_ns"])
    return {f"{TRACE}{name}": value for name, value in write_pattern.measures(writes, phases).items()}


def of_cell(results: Path, cell_id: str, wanted: set[str]) -> dict[str, float]:
    """The measures of a finished cell below results/<profile>; its trace is read only where one of them needs it."""
    cell = traces.cell(results, cell_id)
    if cell.reason:
        raise ResultError(f"{cell_id}: {cell.reason}")
    found = of_result(cell.metrics)
    if any(name.startswith(TRACE) for name in wanted):
        found |= of_trace(results / "cells" / cell_id, cell.phases)
    return found | phase_traffic.measures(results / "cells" / cell_id, cell.phases, wanted)


def names(expression: str) -> set[str]:
    """The measures that an expression uses."""
    try:
        tree = ast.parse(expression, mode="eval")
    except SyntaxError as error:
        raise ClaimError(f"expression {expression!r}: {error.msg}; see analysis/claims.py") from None
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called}


def known(name: str) -> bool:
    """A measure may have this name; whether a cell has it, is another question."""
    if name.startswith(TRACE):
        return name.removeprefix(TRACE) in write_pattern.UNITS
    phase = (name.startswith("phase_") and name.endswith("_s")) or phase_traffic.parts(name)
    return bool(phase) or name in ("elapsed_s", RATE, MEMBERS, *io_summary.SUMS) or name.startswith(WORKLOAD)


def from_trace(wanted: set[str]) -> bool:
    """Any of these comes from the trace."""
    return any(
        name.startswith(TRACE) or name in (MEMBERS, *io_summary.SUMS) or phase_traffic.parts(name) for name in wanted
    )
