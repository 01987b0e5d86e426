# SPDX-License-Identifier: MIT
"""File systems (lab/guest/filesystems): how the guest makes, mounts and checks them."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lab.cell import config
from lab.cell.errors import ConfigError
from lab.cell.paths import ROOT

FOLDER = ROOT / "lab" / "guest" / "filesystems"


@dataclass(frozen=True)
class FileSystem:
    """One file system as the guest uses it. {device} in commands stands for the disk, or the array."""

    name: str
    description: str
    stand_in: bool
    """It stands in for a file system of the paper that the guest does not have."""
    modules: tuple[str, ...]
    make: tuple[str, ...]
    """Commands that make it, run in the guest one after another."""
    mount_type: str
    mount_options: str
    mount_command: str
    """Command that mounts it instead of mount(8), for drivers in user space; empty for the others."""
    check: str
    """Command that exits with 0 if the unmounted file system is whole."""
    settings: tuple[tuple[str, str], ...]
    """Files of the running kernel and their values; {kept_kib} stands for fs_kept_metadata_bytes at the cell's
    scale."""
    fill_as: str
    """File system of the same format under which a benchmark's data is put there before a cell: itself, or a faster
    one."""


def entry_path(name: str) -> Path:
    """File that describes a file system."""
    return FOLDER / f"{name}.toml"


def names() -> list[str]:
    """Names of all file systems."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def require(name: str, where: str) -> None:
    """Refuse a file system that is not described."""
    if not entry_path(name).is_file():
        raise ConfigError(
            f"{where}: file system {name!r} is not in lab/guest/filesystems; {config.nearest(name, names())}"
        )


@cache
def file_system(name: str) -> FileSystem:
    """One file system."""
    require(name, "file system")
    path = entry_path(name)
    data = config.read_toml(path, "file system")
    try:
        return FileSystem(
            name=name,
            description=data["description"],
            stand_in=data["stand_in"],
            modules=tuple(data["modules"]),
            make=tuple(data["make"]),
            mount_type=data["mount"]["type"],
            mount_options=data["mount"]["options"],
            mount_command=data["mount"].get("command", ""),
            check=data["check"],
            settings=tuple((file, value) for file, value in data.get("settings", [])),
            fill_as=data.get("fill_as", name),
        )
    except KeyError as error:
        raise ConfigError(f"{config.show(path)}: missing key {error}; see lab/guest/filesystems/README.md") from error
