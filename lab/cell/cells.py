# SPDX-License-Identifier: MIT
"""Cells and runs: a sheet's rows times a profile's repetitions."""

from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from functools import cache

from lab.cell import catalogue, config, filesystems, guests, papers, settings, sweep, volumes
from lab.cell.errors import ConfigError
from lab.cell.paths import ROOT

PAPERS = papers.ids()
WORKLOADS = tuple(sorted(path.parent.name for path in (ROOT / "workloads").glob("*/README.md")))
"""Folders of workloads/ that are workloads."""
CROSSCHECK = "crosscheck"
"""Table of the cells that hold one workload against another."""
OPTIONAL = ("sensitivity", "guests", "reference")
"""Profiles that a paper need not have a plan for; they then take nothing of it."""
RAW = "raw"
RAW_WORKLOADS = ("rawio", sweep.WORKLOAD, "fio")
"""Workloads that can use the device itself."""
RAW_ONLY = ("rawio",)
"""Workloads that have nothing to do on a file system."""
ONE_DISK_ONLY = ("fio",)
"""Workloads that are there to be held against another, which one disk shows."""
NEEDED_BY = {"fio": ("rawio",)}
"""Workloads that call a program of others."""


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
    """raw for the device itself, or a name in lab/guest/filesystems."""
    workload: str
    words: tuple[str, ...]
    """Parameters of the workload, `key=value` each, in the sheet's order."""
    scale: str
    """Size relative to the paper's workload, a decimal in (0, 1]."""
    seed: int
    tables: tuple[str, ...]
    array: str = volumes.NONE
    """none for one disk, or an array (lab/cell/volumes.py)."""
    set: tuple[str, ...] = ()
    """Assumptions and catalogue values of its own, `key=value` each (lab/cell/settings.py), in the sheet's order."""
    guest: str = guests.LEAN
    """Operating system: a name in lab/guests."""

    @property
    def base(self) -> str:
        """Guest if it is not the lean one, controller, drive, array if there is one, tags, scheduler and overrides:
        what ids begin with."""
        guest = [] if self.guest == guests.LEAN else [self.guest]
        array = [] if self.array == volumes.NONE else [self.array]
        scheduler = "+".join([self.scheduler, *self.set])
        return ".".join([*guest, self.controller, self.drive, *array, f"t{self.tags}", scheduler])

    @property
    def settings(self) -> settings.Settings:
        """Its assumptions and catalogue values."""
        return settings.Settings(self.paper, self.set)

    @property
    def run(self) -> str:
        """Id of the run that serves the cell. A cell on a file system has a boot of its own: what is cached, and where
        files lie, would else come from the cell before. Cells of the device itself share a boot with those of the same
        paper: so what one paper measures leaves the others as they are. Points of a sweep are so many that each
        repetition has a boot."""
        if not self.raw:
            return self.id
        if self.workload == sweep.WORKLOAD:
            return f"{self.base}.{self.paper}.{self.workload}.s{self.seed:02d}"
        return self.base if self.paper == PAPERS[0] else f"{self.base}.{self.paper}"

    @property
    def id(self) -> str:
        """Readable, stable id."""
        parts = [self.base, *([] if self.raw else [self.file_system])]
        name = "-".join([self.workload, *self.parameters.values()])
        scaled = "" if self.scale == "1" else f"-x{self.scale}"
        return ".".join([*parts, f"{name}{scaled}", f"s{self.seed:02d}"])

    @property
    def raw(self) -> bool:
        """The workload uses the device itself."""
        return self.file_system == RAW

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
        return self.settings.value("tags_none") if self.tags == "none" else int(self.tags)

    @property
    def most_flushes(self) -> int:
        """Flushes that the disk may see in it; with more it has no number."""
        return self.settings.value("flushes")

    @property
    def parameters(self) -> dict[str, str]:
        """Parameters of the workload, as result.json has them."""
        return dict(word.split("=", 1) for word in self.words)


@cache
def preparation(workload: str) -> dict | None:
    """What a workload wants on the file system before its cells begin: workloads/<name>/image.toml, or None.

    `command` puts it there ({dir} and {scale} are replaced), `options` tells the workload that it is there.
    """
    path = ROOT / "workloads" / workload / "image.toml"
    if not path.is_file():
        return None
    data = config.read_toml(path, "what a workload starts from")
    config.check(data, "image", config.show(path))
    return data


@dataclass(frozen=True)
class Run:
    """An ordered list of cells served by one boot: one configuration, one file system or none."""

    id: str
    paper: str
    controller: str
    drive: str
    tags: str
    cells: tuple[Cell, ...]
    script: tuple[str, ...] = ()
    """Lines of the job in place of the cells' own: for what is not measured (an image made, a trial)."""
    fills: bool = False
    """The run puts data on an empty file system."""
    faults: tuple[tuple[str, str, int], ...] = ()
    """Drives that fail: unit of the topology, label of the marker, and how many ns after it."""

    @property
    def array(self) -> str:
        """The array that all its cells use, or none."""
        return self.cells[0].array

    @property
    def guest(self) -> guests.Guest:
        """The guest that all its cells use."""
        return guests.guest(self.cells[0].guest)

    @property
    def settings(self) -> settings.Settings:
        """Assumptions and catalogue values of all its cells."""
        return self.cells[0].settings

    @property
    def hardware(self) -> volumes.Hardware | None:
        """The hardware array that all its cells use, with their own values; None for other cells."""
        return volumes.hardware(self.array, self.settings.array)

    @property
    def workloads(self) -> tuple[str, ...]:
        """Workloads whose images the run needs."""
        names = {cell.workload for cell in self.cells} & set(WORKLOADS)
        return tuple(sorted(names.union(*(NEEDED_BY.get(name, ()) for name in names))))


def check_setting(paper: str, row: dict, where: str) -> None:
    """Refuse a row whose parts are unknown or do not go together: guest, controller, drive, array, tags, file system,
    overrides. Sheets and attempts are checked here, before anything runs."""
    config.check(row, "row", where)
    catalogue.require("drives", row["drive"], where)
    catalogue.require("controllers", row["controller"], where)
    controller = catalogue.controller(row["controller"])
    limit, kind = controller.max_tags, catalogue.drive_value(row["drive"], "bus_kind")
    volumes.require(row["array"], controller, where)
    behind = volumes.hardware(row["array"])
    words = tuple(row.get("set", "").split())
    settings.check(paper, words, row["drive"], behind.name if behind else None, where)
    behind = volumes.hardware(row["array"], settings.Settings(paper, words).array)
    # A hardware array's drives speak to the array.
    if kind != controller.bus_kind and behind is None:
        raise ConfigError(
            f"{where}: drive {row['drive']!r} speaks {kind}, controller {row['controller']!r} "
            f"{controller.bus_kind}; pair them by kind"
        )
    if behind and row["tags"] != "none" and int(row["tags"]) > behind.max_tags:
        raise ConfigError(
            f"{where}: {row['tags']} tags, but array {behind.name!r} takes at most {behind.max_tags} commands; "
            "lower the tags"
        )
    if row["tags"] != "none" and int(row["tags"]) > limit:
        raise ConfigError(
            f"{where}: {row['tags']} tags, but controller {row['controller']!r} can have at most {limit} "
            f"commands outstanding; lower the tags or choose another controller"
        )
    guests.check(row, where)
    if row["file_system"] != RAW and guests.guest(row.get("guest", guests.LEAN)).settings_by == guests.SYSFS:
        filesystems.require(row["file_system"], where)


def check_workload(row: dict, where: str) -> None:
    """Refuse a row whose workload is unknown or does not go with its file system or array."""
    if row["workload"] not in WORKLOADS and row["file_system"] != RAW:
        raise ConfigError(
            f"{where}: workload {row['workload']!r} has no folder in workloads/; "
            f"{config.nearest(row['workload'], WORKLOADS)}"
        )
    raw = row["file_system"] == RAW
    if (raw and row["workload"] not in RAW_WORKLOADS) or (not raw and row["workload"] in RAW_ONLY):
        raise ConfigError(
            f"{where}: workload {row['workload']!r} and file system {row['file_system']!r} do not go together; "
            f"{', '.join(RAW_WORKLOADS)} use the device itself ({RAW}), all but {', '.join(RAW_ONLY)} a file system"
        )
    if row["workload"] == sweep.WORKLOAD:
        sweep.check(row["parameters"].split(), raw, where)
    guests.check_workload(row, where)
    array = volumes.software(row["array"])
    if array and array.apart and row["workload"] != sweep.WORKLOAD:
        raise ConfigError(
            f"{where}: array {row['array']!r} is disks side by side, which only {sweep.WORKLOAD} takes; "
            f"write {volumes.NONE}, or an array"
        )
    if array and array.apart and not raw:
        raise ConfigError(
            f"{where}: array {row['array']!r} is disks side by side, which no file system spans; write {RAW}"
        )
    if row["workload"] in ONE_DISK_ONLY and row["array"] != volumes.NONE:
        raise ConfigError(
            f"{where}: workload {row['workload']!r} is for one disk, not for array {row['array']!r}; "
            f"write {volumes.NONE}"
        )


@cache
def sheet(paper: str, file: str = papers.SHEET) -> tuple[dict, ...]:
    """A paper's checked rows, those of its sheet or of another one beside it."""
    path = papers.sheet(paper) if file == papers.SHEET else papers.folder(paper) / file
    rows, seen = [], {}
    for line, row in config.read_sheet(path):
        where = f"{config.show(path)}:{line}"
        check_setting(paper, row, where)
        check_workload(row, where)
        key = tuple(value for name, value in row.items() if name != "tables")
        if key in seen:
            raise ConfigError(f"{where}: the same cell as line {seen[key]}; let one line have all its tables")
        seen[key] = line
        rows.append(row)
    return tuple(rows)


def planned_rows(plan: dict, paper: str) -> tuple[dict, ...]:
    """The rows of the sheets that a plan names, in their order."""
    return tuple(row for file in plan.get("sheets", [papers.SHEET]) for row in sheet(paper, file))


def _cell(paper: str, row: dict, seed: int) -> Cell:
    lists = {name: tuple(row.get(name, "").split()) for name in ("tables", "parameters", "set")}
    values = {name: value for name, value in row.items() if name not in lists}
    return Cell(paper, seed=seed, words=lists["parameters"], tables=lists["tables"], set=lists["set"], **values)


@cache
def cells(profile: str) -> tuple[Cell, ...]:
    """All cells of a profile. One that several papers have belongs to the first of them, and is measured once."""
    found: dict[str, Cell] = {}
    for paper in PAPERS:
        for cell in paper_cells(profile, paper):
            first = found.setdefault(cell.id, cell)
            if first.paper != paper:
                agree(first, paper)
    return tuple(found.values())


@cache
def paper_cells(profile: str, paper: str) -> tuple[Cell, ...]:
    """The cells that a profile takes of a paper. Repetitions come outermost, so that a shorter profile's run begins a
    longer one's.

    Of the cells of the device itself, `points` chooses some by patterns on the part of the id before the seed. Cells of
    the cross-check come once, behind all repetitions: what is measured does not notice them. Cells on file
    systems come last; the plan chooses them by patterns on their ids and may scale them down.
    """
    if profile in OPTIONAL and not papers.plan(paper, profile).is_file():
        return ()
    plan = config.plan(profile, paper)
    where = config.show(papers.plan(paper, profile))
    rows = planned_rows(plan, paper)
    raw = [row for row in rows if row["file_system"] == RAW]
    checks = [row for row in raw if row["tables"] == CROSSCHECK and "guests" not in plan]
    measured = [row for row in raw if row["tables"] != CROSSCHECK]
    found = [_cell(paper, row, seed) for seed in range(1, plan["repetitions"] + 1) for row in measured]
    found += [_cell(paper, row, 1) for row in checks]
    if plan["runs"] != "all":
        known = {cell.base for cell in found}
        for run_id in plan["runs"]:
            if run_id not in known:
                raise ConfigError(f"{where}: run {run_id!r} is not in the sheet; {config.nearest(run_id, known)}")
        found = [cell for cell in found if cell.base in plan["runs"]]
    if "points" in plan:
        found = fitting(found, plan["points"], where)
    found += file_system_cells(paper, plan.get("file_systems", []), where, rows)
    return tuple(of_guests(found, plan["guests"], where)) if "guests" in plan else tuple(found)


def of_guests(found: list[Cell], names: list[str], where: str) -> list[Cell]:
    """Cells for each of these guests. A cell whose row names a guest keeps it."""
    made: dict[str, Cell] = {}
    for cell in found:
        for name in names if cell.guest == guests.LEAN else [cell.guest]:
            one = replace(cell, guest=name)
            row = {key: getattr(one, key) for key in ("guest", "controller", "array", "file_system", "workload")}
            guests.check(row, f"{where}: cell {one.id}")
            guests.check_workload(row, f"{where}: cell {one.id}")
            made.setdefault(one.id, one)
    return list(made.values())


def fitting(found: list[Cell], patterns: list[str], where: str) -> list[Cell]:
    """The cells whose ids, without the seed, fit one of a plan's patterns (as a shell's); each must fit a cell."""
    wanted = {pattern: [c for c in found if fnmatchcase(c.id.rsplit(".", 1)[0], pattern)] for pattern in patterns}
    if useless := [pattern for pattern, cells_of in wanted.items() if not cells_of]:
        raise ConfigError(f"{where}: no cell of its runs fits 'points' pattern {useless[0]!r}; correct it")
    chosen = {cell.id for cells_of in wanted.values() for cell in cells_of}
    return [cell for cell in found if cell.id in chosen]


def file_system_cells(paper: str, choices: list[dict], where: str, sheet_rows: tuple[dict, ...]) -> list[Cell]:
    """The cells on file systems that a plan's list chooses of these rows, repetitions outermost, each once.

    A choice has `cells`, a list of patterns (as a shell's) on the part of the id before scale and seed, `arrays`,
    patterns on names of arrays (only single disks if it is missing), `repetitions`, and `scale`.
    """
    rows = [_cell(paper, row, 1) for row in sheet_rows if row["file_system"] != RAW]
    found: dict[str, Cell] = {}
    most = max((choice["repetitions"] for choice in choices), default=0)
    for seed in range(1, most + 1):
        for choice in choices:
            arrays = choice.get("arrays", [volumes.NONE])
            on_arrays = [cell for cell in rows if any(fnmatchcase(cell.array, pattern) for pattern in arrays)]
            for pattern in choice["cells"]:
                chosen = [cell for cell in on_arrays if fnmatchcase(cell.id.rsplit(".", 1)[0], pattern)]
                if not chosen:
                    raise ConfigError(
                        f"{where}: no row of the sheet fits 'file_systems' pattern {pattern!r}; correct it"
                    )
                for cell in chosen if seed <= choice["repetitions"] else ():
                    scaled = replace(cell, seed=seed, scale=choice.get("scale", cell.scale))
                    found.setdefault(scaled.id, scaled)
    return list(found.values())


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


def agree(one: Cell, other: str) -> None:
    """Refuse a cell that another paper has, too, under other assumptions: it has one result. What its row overrides is
    the same in both."""
    papers_of = (one.paper, other)
    here, there = ({item["id"]: item["value"] for item in config.paper(name)["assumptions"]} for name in papers_of)
    differ = sorted(key for key in (here | there).keys() - one.settings.overrides if here.get(key) != there.get(key))
    if differ:
        raise ConfigError(
            f"cell {one.id!r} is in the sheets of {one.paper} and {other}, but their assumptions differ in "
            f"{differ[0]!r}; "
            f"give it the same value in both {papers.ABOUT}, or let one of the papers use another controller or drive"
        )


def run(profile: str, run_id: str) -> Run:
    """One run of a profile."""
    known = runs(profile)
    if run_id not in known:
        raise ConfigError(f"run {run_id!r} is not in profile {profile!r}; {config.nearest(run_id, known)}")
    return known[run_id]


def up_to(cell_id: str, profile: str | None = None) -> Run | None:
    """The run that serves a cell, without what comes behind the cell, which is no input of it. What comes before it is
    one, and may be other cells in another profile: so `profile` is asked first, and then all. None if no profile has
    such a cell."""
    for name in sorted(config.profiles(), key=lambda name: name != profile):
        for one in cells(name):
            if one.id == cell_id:
                whole = run(name, one.run)
                return replace(whole, cells=whole.cells[: whole.cells.index(one) + 1])
    return None


def matching(profile: str, word: str) -> list[Cell]:
    """Cells of a profile by an id, by the id of their run, or by a pattern (as a shell's) on their ids."""
    return [one for one in cells(profile) if word in (one.id, one.run) or fnmatchcase(one.id, word)]


SELECTABLE = tuple(field.name for field in fields(Cell) if field.name not in ("words", "tables", "set"))
"""What cells can be chosen by, besides their ids."""


def fits(one: Cell, where: dict[str, str]) -> bool:
    """Whether a cell has these values, each a pattern as a shell's; the names are those of SELECTABLE."""
    for name in where:
        if name not in SELECTABLE:
            raise ConfigError(f"{name}: cells cannot be chosen by it; {config.nearest(name, SELECTABLE)}")
    return all(fnmatchcase(str(getattr(one, name)), value) for name, value in where.items())


def cells_of_table(profile: str, paper: str, table: str) -> list[Cell]:
    """Cells of a profile that a paper's table prints. 'controllers' are those of the comparison on the lab page.

    Another guest's numbers stand beside these in a table of their own (analysis/guests.py), never in their place."""
    return [cell for cell in paper_cells(profile, paper) if table in cell.tables and cell.guest == guests.LEAN]
