# SPDX-License-Identifier: MIT
"""Requests, results and traces as data frames of pandas."""

import io
import json
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from spindle_disk import _model
from spindle_disk._model import DiskError, Drive, Lab

TRACE_COLUMNS = (
    "device", "op", "lbn", "sectors", "slot", "arrival_ns", "start_ns", "acknowledged_ns", "medium_ns", "depth", "hit",
)  # fmt: skip
"""Of a trace's line (docs/model.md)."""
TRACE_TEXTS = {"device": "str", "op": "str", "hit": "str", "medium_ns": "Int64"}
"""Columns of a trace that are no plain numbers."""
NOT_ACKNOWLEDGED = -1


@dataclass(frozen=True)
class Replay:
    """What came of a list of requests."""

    frame: pd.DataFrame
    """A row for each request that was submitted, in the order of submission: `op`, `lbn`, `sectors`, `arrival_ns`,
    `acknowledged_ns`, `response_ns`, `lost_sectors`. Times are those of the lab. `acknowledged_ns` and `response_ns`
    are missing where a request was not acknowledged, and `lost_sectors` counts what a power cut took of those that
    were. The index is that of the requests."""
    summary: dict[str, int | float]
    """The figures that `spindle-disk replay` prints (docs/model.md): requests, bytes, elapsed time, rate, and response
    times."""
    trace: str
    """The lab's trace of it; empty where the lab keeps none. `read_trace` makes a data frame of it."""


def replay(
    lab: Lab,
    requests: pd.DataFrame,
    *,
    unit: str | None = None,
    depth: int | None = None,
    think_ns: int = 0,
    power_cut_ns: int | None = None,
    seed: int | None = 0,
) -> Replay:
    """Run a list of requests through a unit of a lab, until nothing is pending.

    `requests` has the columns `op` (`R` read, `W` write, `F` flush, `U` write with FUA), `lbn` and `sectors`, and
    perhaps `ordered` (ordered tags). Without `depth` it has `arrival_ns` too, in the list's own time, and each request
    arrives at its time. With `depth` so many requests are kept outstanding; arrival times do not count, and `think_ns`
    is the host's time between a completion and the next request. `power_cut_ns` cuts the power so long after the start.

    The lab must be idle. `seed` is that of the marker with which the replay starts: arms at cylinder 0, caches empty,
    platters at an angle drawn from the seed. With None there is no marker, and the replay goes on from the state in
    which the lab is, so that a long list can be given in parts.

    Raises DiskError: a column is missing or is no column of whole numbers, a request that the unit refuses (the message
    has its row, counted from 0), or a lab that is not idle.
    """
    frame = requests
    arrival = None if depth is not None else _numbers(frame, "arrival_ns")
    letters, shown = _operations(frame)
    ordered = np.ascontiguousarray(frame["ordered"], dtype=bool) if "ordered" in frame else None
    lbn, sectors = _numbers(frame, "lbn"), _numbers(frame, "sectors")
    plan = (depth, think_ns, power_cut_ns, seed)
    summary, arrived, acknowledged, lost, trace = lab._replay(
        unit, arrival, letters, lbn, sectors, ordered, plan
    )  # fmt: skip
    # After a power cut there are fewer than were asked for.
    count = len(arrived)
    missing = acknowledged == NOT_ACKNOWLEDGED
    done = pd.DataFrame(
        {
            "op": shown[:count],
            "lbn": lbn[:count],
            "sectors": sectors[:count],
            "arrival_ns": arrived,
            "acknowledged_ns": pd.arrays.IntegerArray(acknowledged, missing),
            "response_ns": pd.arrays.IntegerArray(acknowledged - arrived, missing.copy()),
            "lost_sectors": lost,
        },
        index=frame.index[:count],
    )
    return Replay(done, json.loads(summary), trace)


def read_requests(
    path: str | PathLike[str], *, format: str | None = None, device: str | None = None, action: str = "D"
) -> pd.DataFrame:
    """Read a list of requests: our own, a trace of the lab, DiskSim's ASCII input, fio's iolog or blkparse's output.

    The format is recognised unless `format` names it (list, trace, disksim, fio, blkparse). `device` chooses among
    several devices, and `action` says which of blkparse's events count (D: issued to the drive, Q: queued). The columns
    are `arrival_ns`, `op`, `lbn`, `sectors` and `ordered`, by rising arrival. Raises DiskError with file and line.
    """
    columns = _model.read_requests(path, format=format, device=device, action=action)
    return pd.DataFrame(columns | {"op": list(columns["op"])})


def read_trace(trace: str | PathLike[str]) -> pd.DataFrame:
    """A trace of the lab as a data frame: its text, or the path of a file, which may be compressed (`io.trace` of a
    cell). Comments are left out. The columns are those of a trace's line; `medium_ns` is missing for read hits and
    flushes. Raises DiskError where a file cannot be read or a line has another number of words."""
    is_text = isinstance(trace, str) and (not trace or "\n" in trace)
    try:
        return _trace(io.StringIO(trace) if is_text else trace, None if is_text else _compression(trace))
    except (OSError, ValueError) as error:
        raise DiskError(f"{'the trace' if is_text else trace}: cannot be read as a trace: {error}") from error


def _compression(path: Any) -> str | None:
    """How a file is compressed, by its first bytes: the name of a cell's trace does not say."""
    with open(path, "rb") as file:
        return "zstd" if file.read(4) == b"\x28\xb5\x2f\xfd" else None


def _trace(source: Any, compression: str | None) -> pd.DataFrame:
    kinds = {name: TRACE_TEXTS.get(name, "int64") for name in TRACE_COLUMNS}
    return pd.read_csv(
        source, sep=" ", comment="#", header=None, names=TRACE_COLUMNS, dtype=kinds, compression=compression,
        index_col=False, na_values={"medium_ns": ["-"]}, keep_default_na=False, on_bad_lines="error",
    )  # fmt: skip


def about(drive: Drive) -> dict[str, Any]:
    """All that `spindle-disk show --json` prints of a drive: model and maker, zones with their rates, seek times."""
    return json.loads(drive._page())


def _column(frame: pd.DataFrame, name: str) -> pd.Series:
    if name not in frame:
        more = "; give a depth, or say when each request arrives" if name == "arrival_ns" else ""
        raise DiskError(f"the requests have no column {name}{more}")
    return frame[name]


def _numbers(frame: pd.DataFrame, name: str) -> np.ndarray:
    """A column of whole numbers."""
    column = _column(frame, name)
    values = column.to_numpy()
    if values.dtype.kind not in "iu" and len(values):
        numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
        wrong = np.flatnonzero(~(numbers == np.floor(numbers)))
        if len(wrong):
            raise DiskError(f"row {wrong[0]}: {name} {column.iloc[wrong[0]]!r} is not a whole number")
        # Beyond that a float has no room for the last digits.
        if np.abs(numbers).max() > 2**53:
            raise DiskError(f"column {name}: numbers beyond 2^53 must come as integers")
    if values.dtype.kind == "u" and len(values) and values.max() > np.iinfo(np.int64).max:
        raise DiskError(f"column {name}: a number does not fit into 63 bits")
    return np.ascontiguousarray(values, dtype=np.int64)


def _operations(frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """The operations as bytes of their letters, and as they were given."""
    codes, kinds = pd.factorize(_column(frame, "op"))
    for code, kind in enumerate(kinds):
        if not (isinstance(kind, str) and len(kind) == 1 and kind.isascii()):
            row = int(np.flatnonzero(codes == code)[0])
            raise DiskError(f"row {row}: no operation {kind!r}; there are: R, W, F, U")
    if (codes < 0).any():
        raise DiskError(f"row {int(np.flatnonzero(codes < 0)[0])}: the operation is missing")
    letters = np.array([ord(kind) for kind in kinds], dtype=np.uint8)
    return letters[codes], np.asarray(frame["op"])
