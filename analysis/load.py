# SPDX-License-Identifier: MIT
"""result.json files as one tidy data frame, one row per cell. Failed cells stay, with status and reason."""

import json
from functools import cache
from pathlib import Path

import jsonschema
import pandas as pd

from analysis.errors import ResultError
from lab.cell import store
from lab.cell.errors import SpindleError

SCHEMA = Path(__file__).resolve().parents[1] / "config" / "schemas" / "result.schema.json"
IDENTITY = ("qemu", "model", "drive", "controller", "guest", "workload", "cell")
METRICS = (
    "rate_mb_s",
    "elapsed_ns",
    "bytes",
    "requests",
    "queue_depth_mean",
    "queue_depth_max",
    "drain_ns",
    "read_hits",
    "flushes",
    "phases",
)
"""Empty where the workload has no such metric."""
LATENCIES = ("latency_mean_ns", "latency_p50_ns", "latency_p95_ns", "latency_p99_ns", "latency_max_ns")
"""What some workloads report of their requests' times."""
PROCESSOR = "processor_ns"
"""What some workloads report of the processor: all that the system spent while they ran."""
NO_ARRAY = "none"
"""A single disk."""
PARAMETERS = ("op", "pattern", "depth", "scripts", "sizes")
"""Parameters of workloads with a column of their own; `parameters` has all of them as one text."""
COLUMNS = [
    "id",
    "run",
    "status",
    "reason",
    "guest",
    "controller",
    "drive",
    "array",
    "tags",
    "scheduler",
    "file_system",
    "workload",
    *PARAMETERS,
    "parameters",
    "scale",
    "seed",
    "clock",
    "ns_per_instruction",
    *METRICS,
    *LATENCIES,
    PROCESSOR,
    *(f"identity_{name}" for name in IDENTITY),
    "lock_guest",
    "lock_moved",
]
SCHEDULERS = {(True, True): "both", (False, True): "disk", (True, False): "host", (False, False): "none"}
"""(host scheduler, disk scheduler) to the name the tables use."""


def read_cell_list(path: Path) -> list[str]:
    """Cell ids, one a line; the list may be empty."""
    try:
        return path.read_text().split()
    except OSError as error:
        raise ResultError(f"list of cells {path}: {error.strerror}; the rule cell_list writes it") from None


def flatten(result: dict) -> dict:
    """One checked result as a row."""
    cell, metrics = result["cell"], result["metrics"] or {}
    row = {"id": result["id"], "run": result["run"], "status": result["status"], "reason": result["reason"] or ""}
    row |= {
        name: cell[name]
        for name in ("guest", "controller", "drive", "tags", "file_system", "workload", "scale", "seed")
    }
    row["array"] = cell.get("array", NO_ARRAY)
    row["scheduler"] = SCHEDULERS[cell["host_scheduler"], cell["disk_scheduler"]]
    row |= {name: cell["parameters"].get(name, "") for name in PARAMETERS}
    # With a row's own assumptions: cells that differ in them are no repetitions of each other.
    words = [*sorted(cell["parameters"].items()), *cell.get("set", {}).items()]
    row["parameters"] = " ".join(f"{name}={value}" for name, value in words)
    row |= {"clock": result["clock"]["kind"], "ns_per_instruction": result["clock"]["ns_per_instruction"]}
    row |= {name: metrics.get(name) for name in METRICS}
    row |= {name: (metrics.get("workload") or {}).get(name) for name in (*LATENCIES, PROCESSOR)}
    row |= {f"identity_{name}": result["identity"][name] for name in IDENTITY}
    return row | {"lock_guest": result["lock"]["guest"], "lock_moved": ";".join(result["lock"]["moved"])}


@cache
def validator(schema: Path) -> jsonschema.Draft202012Validator:
    """What checks results."""
    return jsonschema.Draft202012Validator(json.loads(schema.read_text()))


def checked(path: Path, schema: Path = SCHEMA) -> dict:
    """A result.

    Raises ResultError for a file that is missing, no JSON, against the schema, or that names another cell than
    its folder does.
    """
    try:
        result = store.read_result(path.parent)
    except SpindleError as error:
        raise ResultError(f"result {error}") from None
    problem = jsonschema.exceptions.best_match(validator(schema).iter_errors(result))
    if problem:
        raise ResultError(f"result {path}: {problem.json_path}: {problem.message}; remove its folder and run again")
    return result


def load(paths: list[Path], schema: Path = SCHEMA) -> pd.DataFrame:
    """Results as a frame with COLUMNS, sorted by id. Raises ResultError as `checked` does."""
    rows = [flatten(checked(path, schema)) for path in paths]
    return pd.DataFrame(rows, columns=COLUMNS).sort_values("id", ignore_index=True)


def load_cells(results: Path, ids: list[str]) -> pd.DataFrame:
    """Results of these cells below results/<profile>."""
    return load([results / "cells" / cell / "result.json" for cell in sorted(set(ids))])
