# SPDX-License-Identifier: MIT
"""A paper as the analysis and the reports see it: what its paper.yaml says of tables and figures, and its own modules.

Snakemake reads this with every command, so nothing here imports what takes long. A paper's modules are found by name
in paper/<paper>/, and only `tables` must be there:

tables          TABLES: a builder for each table that is not made from traces (Builders)
views           how its tables and its report look (Views); without it they look as paper/table.tex.j2 has it
figures         FIGURES: a function for each picture that is drawn from summary.json (Figures)
readable        READABLE: files of reference/ and what makes their text from the reference numbers (Readable)
traced          tables and data from traces (Traced)
trace_figures   FIGURES: a function for each picture that is drawn from traces (TraceFigures)
trace_views     what the report's section on traces sees (TraceViews)

Modules in RENDERING decide only how data look: when one of them changes, no table data are made again.
"""

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Protocol

from analysis.errors import TableError
from lab.cell import config, papers

PACKAGE = "paper"
RENDERING = ("views", "figures", "readable", "trace_figures", "trace_views")
"""Modules of a paper that no table data depend on."""
PAPER, DRIVES, CELLS, TRACES = "paper", "drives", "cells", "traces"
"""What a table is made from."""
NUMBERS = "numbers"
"""What a figure is drawn from, where it is not TRACES."""
FILLED, SHOWN = "filled", "shown"
"""What a report does with a table of reference numbers."""


class Builders(Protocol):
    """paper/<paper>/tables.py."""

    TABLES: dict[str, Callable]
    """Table to `build(frame=..., drives=...) -> list[entries.Entry]`: frame as load.load gives it, drives by column."""


class Views(Protocol):
    """paper/<paper>/views.py."""

    VIEWS: dict[str, Callable]
    """Table to `view(table: paper.view.Table) -> dict`, what the template <table>.tex.j2 sees."""

    def label(self, row: dict) -> str:
        """An entry of summary.json for a reader."""

    def setting(self, table: str, row: str) -> str:
        """A table's row for a reader."""

    def quantity(self, table: str, row: str, column: str) -> str:
        """What is measured, for a reader; of a quotient's column, the part that it is over is gone."""

    def row_words(self, table: str, row: str) -> str:
        """A table's row in the words that the report prints before it."""

    def column_words(self, table: str, column: str) -> tuple[str, ...]:
        """A table's column in the words that the report prints over it, the widest head first."""

    def report(self, numbers: list[dict]) -> dict:
        """What the paper's report.tex.j2 sees besides what every report does; `groups` says what stands at a glance."""


class Figures(Protocol):
    """paper/<paper>/figures.py."""

    FIGURES: dict[str, Callable]
    """Figure to `draw(summary: dict, path: Path)`."""


class Readable(Protocol):
    """paper/<paper>/readable.py."""

    READABLE: dict[str, Callable]
    """File name to `text(committed: reference.Reference) -> str`."""


class Traced(Protocol):
    """paper/<paper>/traced.py."""

    def wanted(self, ids: list[str]) -> list[str]:
        """The cells, of these, whose traces are read."""

    def build(self, results: Path, ids: list[str], out: Path) -> dict:
        """Write the tables from traces; returns what figures.json has for the pictures and for the report."""


class TraceFigures(Protocol):
    """paper/<paper>/trace_figures.py."""

    FIGURES: dict[str, Callable]
    """Figure to `draw(results: Path, data: dict, path: Path)`; data is that of figures.json."""


class TraceViews(Protocol):
    """paper/<paper>/trace_views.py."""

    def page(self, data: dict) -> dict:
        """What the paper's traces.tex.j2 sees of figures.json."""


@dataclass(frozen=True)
class Table:
    """One table, as paper.yaml declares it; config/schemas/paper.schema.json says what each key means."""

    name: str
    source: str
    title: str = ""
    ours: bool = False
    drives: tuple[tuple[str, str], ...] = ()
    files: tuple[str, ...] = ()
    makes: tuple[str, ...] = ()
    also: tuple[tuple[str, str], ...] = ()
    reference: str = ""
    explained: bool = False
    settings: bool = False
    small: bool = False


@dataclass(frozen=True)
class Reading:
    """What else a workload's printed seconds may be, as paper.yaml declares it."""

    name: str
    assumption: str
    """The assumption that names the reading which the tables keep."""
    workload: str
    phases: tuple[str, ...]
    """Phases whose times add up to the seconds."""
    label: str
    """Words for a reader."""


@dataclass(frozen=True)
class Paper:
    """One paper."""

    id: str

    @property
    def folder(self) -> Path:
        """Where everything is that is only this paper's."""
        return papers.folder(self.id)

    @property
    def about(self) -> dict:
        """paper.yaml."""
        return config.paper(self.id)

    @cached_property
    def tables(self) -> dict[str, Table]:
        """Its tables, in the order of the report."""
        found = []
        for name, said in self.about["tables"].items():
            keys = {key: value for key, value in said.items() if key != "from"}
            keys |= {key: tuple(keys[key]) for key in ("files", "makes") if key in keys}
            keys |= {"drives": tuple(keys.get("drives", {}).items())}
            keys |= {"also": tuple((item["table"], item.get("workload", "")) for item in keys.get("also", []))}
            found.append(Table(name, said["from"], **keys))
        return {table.name: table for table in found}

    def _names(self, fits: Callable[[Table], bool]) -> tuple[str, ...]:
        return tuple(table.name for table in self.tables.values() if fits(table))

    @cached_property
    def printed(self) -> tuple[str, ...]:
        """Tables that the paper prints."""
        return self._names(lambda table: not table.ours)

    @cached_property
    def extra(self) -> tuple[str, ...]:
        """Tables of our own."""
        return self._names(lambda table: table.ours)

    @cached_property
    def rendered(self) -> tuple[str, ...]:
        """Tables with LaTeX of their own."""
        return self._names(lambda table: table.source != TRACES)

    @cached_property
    def traced(self) -> tuple[str, ...]:
        """Tables made from traces."""
        return self._names(lambda table: table.source == TRACES)

    @cached_property
    def measured(self) -> tuple[str, ...]:
        """Tables made from the results of cells."""
        return self._names(lambda table: table.source == CELLS)

    @cached_property
    def committed(self) -> tuple[str, ...]:
        """Tables that are made a second time, from the committed reference numbers."""
        return self._names(lambda table: bool(table.reference))

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """Of these, printed where the profile lacks some of their numbers."""
        return self._names(lambda table: table.reference == SHOWN)

    @cached_property
    def explained(self) -> tuple[str, ...]:
        """Tables whose numbers analysis.deviations compares and explains."""
        return self._names(lambda table: table.explained)

    def figures(self, source: str) -> tuple[str, ...]:
        """Pictures that are drawn from NUMBERS, or from TRACES."""
        return tuple(name for name, said in self.about.get("figures", {}).items() if said == source)

    @property
    def quotients(self) -> dict[str, str]:
        """Quotients that are compared, `<over>/<under>`, with words for a reader."""
        return self.about.get("quotients", {})

    @property
    def readings(self) -> tuple[Reading, ...]:
        """Readings of printed seconds beside the one that the tables keep. Raises TableError for an assumption that the
        paper does not have."""
        known = {item["id"] for item in self.about["assumptions"]}
        found = []
        for name, said in self.about.get("readings", {}).items():
            if said["assumption"] not in known:
                raise TableError(
                    f"paper/{self.id}/paper.yaml: reading {name!r} names assumption {said['assumption']!r}, which does "
                    "not stand there; add it, with the reading that the tables keep"
                )
            found.append(Reading(name, said["assumption"], said["workload"], tuple(said["phases"]), said["label"]))
        return tuple(found)

    @property
    def published(self) -> Path:
        """Folder of the printed numbers."""
        return self.folder / "published"

    @property
    def reference(self) -> Path:
        """Folder of the committed reference numbers."""
        return self.folder / "reference"

    @property
    def claims(self) -> Path:
        """The claims; a paper may have none."""
        return self.folder / "claims.yaml"

    @property
    def deviations(self) -> Path:
        """The explanations of deviations; a paper may have none."""
        return self.folder / "deviations.yaml"

    @property
    def stand_ins(self) -> set[str]:
        """Guests, controllers, arrays and volume managers that stand in for the paper's own."""
        # The list's entry for the guest is called `guest`; result files name the system.
        return {"linux" if entry["id"] == "guest" else entry["id"] for entry in self.about["stand_ins"]}

    def has(self, name: str) -> bool:
        """The paper has such a module."""
        return (self.folder / f"{name}.py").is_file()

    def module(self, name: str) -> ModuleType | None:
        """One of the paper's own modules; None where it has none of this name."""
        return importlib.import_module(f"{PACKAGE}.{self.id}.{name}") if self.has(name) else None

    def builder(self, table: str) -> Callable:
        """What builds a table's data. Raises TableError for a table that there is not."""
        builders: Builders | None = self.module("tables")
        known = builders.TABLES if builders else {}
        if table not in known:
            raise TableError(f"--table {table}: {self.id} has {', '.join(sorted(known))} (paper/{self.id}/tables.py)")
        return known[table]

    def code(self, rendering: bool = False) -> list[Path]:
        """Its modules that decide what data are, and with `rendering` those that decide how they look, too."""
        return sorted(path for path in self.folder.glob("*.py") if rendering or path.stem not in RENDERING)


@cache
def paper(name: str) -> Paper:
    """The paper of this name. Raises ConfigError if there is none."""
    papers.folder(name)
    return Paper(name)


def beside(table: str) -> list[tuple[str, Path]]:
    """Printed numbers that papers have for another paper's table of its own: each paper's name and its file
    published/beside.<table>.csv, which analysis.entries.read_marked reads. So a paper has another's data, not its
    code."""
    found = ((one.id, one.published / f"beside.{table}.csv") for one in every())
    return [(name, path) for name, path in found if path.is_file()]


def every() -> list[Paper]:
    """All papers."""
    return [paper(name) for name in papers.ids()]
