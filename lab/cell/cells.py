# SPDX-License-Identifier: MIT
"""Cells and runs: a sheet's rows times a profile's repetitions."""

from dataclasses import dataclass
from functools import cache

from lab.cell import catalogue, config
from lab.cell.errors import ConfigError
from lab.cell.paths import ROOT

PAPERS = ("white2001",)
CROSSCHECK = "crosscheck"
"""Table of the cells that hold one workload against another."""


@dataclass(frozen=True)
class Cell:
    """One measurement."""

    paper: str
    controller: str
    drive: str
    tags: str
    """none, or the number of commands outstanding at the disk."""
    scheduler: str
    """both, disk, host or none."""
    file_system: str
    workload: str
    op: str
    pattern: str
    scale: int
    seed: int
    tables: tuple[str, ...]

    @property
    def run(self) -> str:
        """Id of the run that serves the cell."""
        return f"{self.controller}.{self.drive}.t{self.tags}.{self.scheduler}"

    @property
    def id(self) -> str:
        """Readable, stable id."""
        return f"{self.run}.{self.workload}-{self.op}-{self.pattern}.s{self.seed:02d}"

    @property
    def host_scheduler(self) -> bool:
        """The host sorts requests."""
        return self.scheduler in ("both", "host")

    @property
    def disk_scheduler(self) -> bool:
        """The disk sorts commands."""
        return self.scheduler in ("both", "disk")

    @property
    def depth(self) -> int:
        """Commands that may be outstanding at the disk."""
        return 1 if self.tags == "none" else int(self.tags)

    @property
    def parameters(self) -> dict[str, str]:
        """Parameters of the workload, as result.json has them."""
        return {"op": self.op, "pattern": self.pattern}


@dataclass(frozen=True)
class Run:
    """An ordered list of cells served by one boot: one configuration."""

    id: str
    paper: str
    controller: str
    drive: str
    tags: str
    cells: tuple[Cell, ...]


@cache
def sheet(paper: str) -> tuple[dict, ...]:
    """A paper's checked rows. Tags above what the controller can do are refused here, before anything runs."""
    path = ROOT / config.paper(paper)["cells"]
    rows, seen = [], {}
    for line, row in config.read_sheet(path):
        where = f"{config.show(path)}:{line}"
        catalogue.require("drives", row["drive"], where)
        catalogue.require("controllers", row["controller"], where)
        controller = catalogue.controller(row["controller"])
        limit, kind = controller.max_tags, catalogue.drive_bus_kind(row["drive"])
        if kind != controller.bus_kind:
            raise ConfigError(
                f"{where}: drive {row['drive']!r} speaks {kind}, controller {row['controller']!r} "
                f"{controller.bus_kind}; pair them by kind"
            )
        if row["tags"] != "none" and int(row["tags"]) > limit:
            raise ConfigError(
                f"{where}: {row['tags']} tags, but controller {row['controller']!r} can have at most {limit} "
                f"commands outstanding; lower the tags or choose another controller"
            )
        key = tuple(value for name, value in row.items() if name != "tables")
        if key in seen:
            raise ConfigError(f"{where}: the same cell as line {seen[key]}; join their tables in one row")
        seen[key] = line
        rows.append(row)
    return tuple(rows)


@cache
def cells(profile: str) -> tuple[Cell, ...]:
    """All cells of a profile. Repetitions come outermost, so that a shorter profile's run begins a longer one's.

    Cells of the cross-check come once, behind all repetitions: what is measured does not notice them.
    """
    plan = config.plan(profile)
    wanted = plan["runs"]
    found = []
    for paper in PAPERS:
        checks = [row for row in sheet(paper) if row["tables"] == CROSSCHECK]
        measured = [row for row in sheet(paper) if row["tables"] != CROSSCHECK]
        seeded = [(seed, row) for seed in range(1, plan["repetitions"] + 1) for row in measured]
        for seed, row in [*seeded, *((1, row) for row in checks)]:
            values = {name: value for name, value in row.items() if name not in ("tables", "scale")}
            cell = Cell(paper=paper, seed=seed, scale=int(row["scale"]), tables=tuple(row["tables"].split()), **values)
            if wanted == "all" or cell.run in wanted:
                found.append(cell)
    if wanted != "all":
        known = {cell.run for cell in found}
        for run_id in wanted:
            if run_id not in known:
                all_runs = {
                    f"{r['controller']}.{r['drive']}.t{r['tags']}.{r['scheduler']}" for p in PAPERS for r in sheet(p)
                }
                raise ConfigError(
                    f"config/profiles/{profile}/plan.yaml: run {run_id!r} is in no sheet; "
                    f"{config.nearest(run_id, all_runs)}"
                )
    return tuple(found)


@cache
def runs(profile: str) -> dict[str, Run]:
    """All runs of a profile by id, in the order of the sheets."""
    grouped: dict[str, list[Cell]] = {}
    for cell in cells(profile):
        grouped.setdefault(cell.run, []).append(cell)
    return {
        run_id: Run(run_id, members[0].paper, members[0].controller, members[0].drive, members[0].tags, tuple(members))
        for run_id, members in grouped.items()
    }


def run(profile: str, run_id: str) -> Run:
    """One run of a profile."""
    known = runs(profile)
    if run_id not in known:
        raise ConfigError(f"run {run_id!r} is not in profile {profile!r}; {config.nearest(run_id, known)}")
    return known[run_id]


def cells_of_table(profile: str, paper: str, table: str) -> list[Cell]:
    """Cells of a profile that a table prints. 'controllers' are those of the comparison on the lab page."""
    return [cell for cell in cells(profile) if cell.paper == paper and table in cell.tables]
