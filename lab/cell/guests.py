# SPDX-License-Identifier: MIT
"""Guests (lab/guests/<name>.toml): operating systems that the lab boots, and what each of them can do."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lab.cell import config, volumes
from lab.cell.errors import ConfigError
from lab.cell.paths import ROOT

FOLDER = ROOT / "lab" / "guests"
LEAN = "linux"
"""The guest of cells that name none."""
RAW = "raw"
SYSFS, COMMANDS = "sysfs", "commands"
"""How settings are made."""
NATIVE, SUCCESSOR, STAND_IN = "native", "successor", "stand-in"
"""What a guest is to a paper."""


@dataclass(frozen=True)
class Guest:
    """One guest as its entry describes it; config/schemas/guest.schema.json says what each key means."""

    name: str
    data: dict

    @property
    def lean(self) -> bool:
        """The lean Linux, which the lab builds itself."""
        return self.name == LEAN

    @property
    def thing(self) -> str:
        """Its folder below build/, and its name among built things and locks."""
        return "guest" if self.lean else f"guests/{self.name}"

    @property
    def by_bios(self) -> bool:
        """A boot loader on its system disk starts it."""
        return self.data["boot"]["by"] == "bios"

    @property
    def settings_by(self) -> str:
        """SYSFS or COMMANDS."""
        return self.data["settings"]["by"]

    @property
    def file_systems(self) -> tuple[str, ...] | None:
        """Names of the file systems that it has; None for all that the lab has."""
        return tuple(self.data["file_systems"]) if "file_systems" in self.data else None

    @property
    def makes_images(self) -> str:
        """The guest that makes its empty file systems: the lean Linux makes those of every Linux."""
        return LEAN if self.settings_by == SYSFS else self.name

    def commands(self, key: str, **values: str) -> list[str]:
        """Commands of [settings] with these values in place."""
        return [line.format(**values) for line in self.data["settings"].get(key, [])]

    def disk(self, controller: str) -> str:
        """Name of the disk under test behind a controller."""
        return self.data["settings"]["disk"][controller]


def entry_path(name: str) -> Path:
    """File that describes a guest."""
    return FOLDER / f"{name}.toml"


def names() -> tuple[str, ...]:
    """Names of all guests, the lean one first."""
    return tuple(sorted((path.stem for path in FOLDER.glob("*.toml")), key=lambda name: (name != LEAN, name)))


@cache
def guest(name: str) -> Guest:
    """One guest. Raises ConfigError for one that is not described, or whose entry is wrong."""
    require(name, "guest")
    path = entry_path(name)
    data = config.read_toml(path, "guest")
    config.check(data, "guest", config.show(path))
    return Guest(name, data)


def require(name: str, where: str) -> None:
    """Refuse a guest that is not described."""
    if not entry_path(name).is_file():
        raise ConfigError(f"{where}: guest {name!r} is not in lab/guests; {config.nearest(name, names())}")


def check(row: dict, where: str) -> None:
    """Refuse a row that asks its guest for something that it cannot do."""
    name = row.get("guest", LEAN)
    require(name, where)
    about = guest(name)
    if about.lean:
        return
    cannot = " ".join(about.data["cannot"])
    if volumes.software(row["array"]):
        raise ConfigError(f"{where}: guest {name!r} has no array {row['array']!r}; take guest {LEAN!r}. {cannot}")
    known = about.file_systems or ()
    if row["file_system"] not in (RAW, *known):
        hint = config.nearest(row["file_system"], [RAW, *known])
        raise ConfigError(f"{where}: guest {name!r} has no file system {row['file_system']!r}; {hint}. {cannot}")
    if about.settings_by == COMMANDS and row["controller"] not in about.data["settings"]["disk"]:
        hint = config.nearest(row["controller"], about.data["settings"]["disk"])
        raise ConfigError(f"{where}: guest {name!r} has no driver for controller {row['controller']!r}; {hint}")


def check_workload(row: dict, where: str) -> None:
    """Refuse a row whose workload its guest does not run."""
    name = row.get("guest", LEAN)
    known = guest(name).data.get("workloads")
    if known is not None and row["workload"] not in known:
        hint = config.nearest(row["workload"], known)
        raise ConfigError(f"{where}: guest {name!r} does not run workload {row['workload']!r}; {hint}")


def standing(name: str, paper_name: str) -> str:
    """What a guest is to a paper, by the systems that its paper.yaml names: NATIVE is the very version, SUCCESSOR
    another version of the same system, which is printed beside the stand-in and never in place of the paper's system,
    STAND_IN anything else."""
    about = guest(name)
    systems = config.paper(paper_name).get("systems", [])
    if any((one["system"], one["version"]) == (about.data["system"], about.data["version"]) for one in systems):
        return NATIVE
    return SUCCESSOR if any(one["system"] == about.data["system"] for one in systems) else STAND_IN
