# SPDX-License-Identifier: MIT
"""I/O traces of cells as data frames: the one place where the analysis reads io.trace."""

import io
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import zstandard

from analysis.errors import ResultError
from lab.cell import store, trace
from lab.cell.errors import SpindleError

INTEGERS = ("lbn", "sectors", "slot", "arrival_ns", "start_ns", "acknowledged_ns")
COLUMNS = ("device", "op", *INTEGERS, "medium_ns", "depth", "hit")
"""The fields of a line, in order; `medium_ns` is <NA> where the trace has a dash."""
SURPLUS = "surplus"
NOT_RUN = "not run"


@dataclass(frozen=True)
class TracedCell:
    """A cell that a figure is made from. `reason` says why there is nothing to see, and is empty otherwise."""

    id: str
    reason: str = ""
    phases: list[dict] = field(default_factory=list)
    metrics: dict = field(default_factory=dict)
    parts: dict = field(default_factory=dict)
    """`cell` of its result: controller, drive, tags, ..."""


def text_of(path: Path) -> str:
    """The lines of a cell's io.trace."""
    try:
        return zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes()).decode()
    except OSError as error:
        raise ResultError(f"trace {path}: {error.strerror}; remove the cell's folder and run it again") from None
    except (zstandard.ZstdError, UnicodeDecodeError) as error:
        raise ResultError(f"trace {path}: {error}; remove the cell's folder and run it again") from None


def frame(text: str) -> pd.DataFrame:
    """The requests of a trace with COLUMNS, in the trace's order.

    As strict as lab.cell.trace.parse, which names the line where this finds something wrong.
    """
    types = dict.fromkeys((*INTEGERS, "depth"), "int64") | {"medium_ns": "Int64", SURPLUS: "str"}
    types |= dict.fromkeys(("device", "op", "hit"), "str")
    try:
        # One column more than there may be: what stands in it is a line that is too long.
        found = pd.read_csv(
            io.StringIO(text), sep=" ", header=None, names=[*COLUMNS, SURPLUS], index_col=False, comment="#",
            dtype=types, keep_default_na=False, na_values={"medium_ns": ["-"], "hit": [""], SURPLUS: [""]},
            skip_blank_lines=True,
        )  # fmt: skip
        good = bool(
            found[SURPLUS].isna().all() and found.hit.notna().all()
            and found.op.isin(("R", "W", "F", "U")).all() and found.hit.isin(trace.HITS).all()
            and (found.arrival_ns <= found.start_ns).all() and (found.start_ns <= found.acknowledged_ns).all()
        )  # fmt: skip
    except ValueError:
        good = False
    if not good:
        trace.parse(text)
        raise trace.TraceError("the trace has a line that is none; make the cell again")
    return found[list(COLUMNS)]


def read(folder: Path) -> pd.DataFrame:
    """The trace of the cell in this folder. Raises ResultError naming file and line for one that cannot be read."""
    path = folder / "io.trace"
    try:
        return frame(text_of(path))
    except trace.TraceError as error:
        raise ResultError(f"trace {path}: {error}") from None


def in_order(requests: pd.DataFrame) -> pd.DataFrame:
    """The same requests in the order of arrival, with `alone`: nothing else of them was outstanding meanwhile."""
    # The host hands over several commands at one time; the depth counts them in order.
    found = requests.sort_values(["arrival_ns", "depth"], kind="stable")
    following = found.arrival_ns.shift(-1)
    return found.assign(alone=(found.depth == 1) & ((following >= found.acknowledged_ns) | following.isna()))


def summary(folder: Path) -> trace.Summary | None:
    """The sums of the trace of the cell in this folder."""
    path = folder / "io.trace"
    try:
        return trace.summarize(trace.parse(text_of(path)))
    except trace.TraceError as error:
        raise ResultError(f"trace {path}: {error}") from None


def cell(results: Path, cell_id: str | None) -> TracedCell:
    """What a figure must know of a cell; None is one that the profile does not have."""
    if cell_id is None:
        return TracedCell("", NOT_RUN)
    try:
        result = store.read_result(results / "cells" / cell_id)
    except SpindleError as error:
        raise ResultError(f"result {error}") from None
    found = result["metrics"] or {}
    reason = "" if result["status"] == "ok" else f"failed: {result['reason']}"
    return TracedCell(cell_id, reason, found.get("phases", []), found, result["cell"])
