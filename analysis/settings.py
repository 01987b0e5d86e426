# SPDX-License-Identifier: MIT
"""The measured cells by setting: what a table's builder picks the repetitions of a number from."""

from typing import NamedTuple

import pandas as pd

from analysis import numbers
from analysis.errors import TableError
from analysis.load import NO_ARRAY
from analysis.papers import Reading

RATE, ELAPSED = "rate_mb_s", "elapsed_ns"
"""Metrics of cells of the device itself, and of all cells."""
OPS = ("read", "write")


class System(NamedTuple):
    """What a measurement runs on."""

    controller: str
    tags: str
    scheduler: str
    drive: str
    array: str = NO_ARRAY


class Settings:
    """The measured cells by setting."""

    KEY = (*System._fields, "op", "pattern")
    MACRO_KEY = (*System._fields, "file_system", "workload", "scripts", "sizes")

    def __init__(self, frame: pd.DataFrame):
        self.none = frame.iloc[:0]
        raw = frame[(frame.workload == "rawio") & (frame.file_system == "raw")]
        self.groups = dict(iter(raw.groupby(list(self.KEY)))) if len(raw) else {}
        # By all parameters: `parameters` has them sorted, and a row's own values behind them.
        points = frame[frame.workload == "sqlio"]
        by = [*System._fields, "file_system", "parameters"]
        self.points = dict(iter(points.groupby(by))) if len(points) else {}
        macro = frame[frame.file_system != "raw"]
        self.macro_groups = dict(iter(macro.groupby(list(self.MACRO_KEY)))) if len(macro) else {}

    def pick(self, system: System, op: str, pattern: str) -> pd.DataFrame:
        """The repetitions of one measurement; empty where none was made. Raises TableError for mixed parameters."""
        found = self.groups.get((*system, op, pattern), self.none)
        return repetitions(found, f"{described(system)} {op} {pattern}")

    def pick_point(
        self, system: System, parameters: dict[str, str], own: dict | None = None, file_system: str = "raw"
    ) -> pd.DataFrame:
        """The repetitions of a point of a sweep; `own` are the row's own values, as a result's `set` has them."""
        words = [*sorted(parameters.items()), *(own or {}).items()]
        return self.points.get((*system, file_system, " ".join(f"{name}={value}" for name, value in words)), self.none)

    def pick_macro(
        self, system: System, file_system: str, workload: str, scripts: str = "", sizes: str = ""
    ) -> pd.DataFrame:
        """The repetitions of one macro benchmark; empty where none ran. Raises TableError for mixed parameters."""
        found = self.macro_groups.get((*system, file_system, workload, scripts, sizes), self.none)
        return repetitions(found, f"{described(system)} {file_system} {workload}")


def described(system: System) -> str:
    """A system in a message."""
    array = "" if system.array == NO_ARRAY else f" {system.array}"
    return f"{system.controller} {system.drive}{array} t{system.tags} {system.scheduler}"


def repetitions(found: pd.DataFrame, name: str) -> pd.DataFrame:
    """The same cells. Raises TableError if they differ in more than the seed and the scale."""
    if found.parameters.nunique() > 1:
        mixed = ", ".join(repr(text) for text in sorted(set(found.parameters)))
        raise TableError(
            f"{name} ran with parameters {mixed}, "
            f"which are no repetitions of each other; give one of them another table in the sheet"
        )
    return found


def phase_s(name: str, phases: list[dict] | None) -> float | None:
    """How long a phase took; None if there is none of this name."""
    found = [phase["end_ns"] - phase["begin_ns"] for phase in phases or [] if phase["name"] == name]
    return numbers.seconds(sum(found)) if found else None


def read_as(frame: pd.DataFrame, reading: Reading) -> pd.DataFrame:
    """The cells with this reading's seconds as their elapsed time; None where a cell lacks one of its phases."""

    def spent_ns(phases: list[dict] | None) -> int | None:
        found = {phase["name"]: phase["end_ns"] - phase["begin_ns"] for phase in phases or []}
        return sum(found[name] for name in reading.phases) if found.keys() >= {*reading.phases} else None

    times_ns = [
        spent_ns(phases) if workload == reading.workload else elapsed_ns
        for workload, phases, elapsed_ns in zip(frame.workload, frame.phases, frame[ELAPSED], strict=True)
    ]
    return frame.assign(**{ELAPSED: pd.Series(times_ns, index=frame.index, dtype=object)})
