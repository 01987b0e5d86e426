# SPDX-License-Identifier: MIT
"""What the lab needs from the catalogue (lab/disk/catalogue): names, limits, QEMU devices, guest modules."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lab.cell import config
from lab.cell.errors import ConfigError
from lab.cell.paths import ROOT

CATALOGUE = ROOT / "lab" / "disk" / "catalogue"


def entry_path(kind: str, name: str) -> Path:
    """File of one entry; kind is drives, buses or controllers."""
    return CATALOGUE / kind / f"{name}.toml"


def names(kind: str) -> list[str]:
    """Names of all entries of a kind."""
    return sorted(path.stem for path in (CATALOGUE / kind).glob("*.toml"))


def require(kind: str, name: str, where: str) -> None:
    """Refuse a name that is not in the catalogue."""
    if not entry_path(kind, name).is_file():
        known = names(kind)
        one = {"drives": "drive", "buses": "bus", "controllers": "controller"}[kind]
        hint = config.nearest(name, known) if known else "the catalogue is empty"
        raise ConfigError(
            f"{where}: {one} {name!r} is not in lab/disk/catalogue/{kind}; {hint} (known: {', '.join(known)})"
        )


@dataclass(frozen=True)
class Controller:
    """A controller as the lab builds it into a machine."""

    name: str
    bus: str
    bus_kind: str
    """ata or scsi; a drive must be of the same kind."""
    max_tags: int
    device: str
    """QEMU -device argument of the controller; empty where it is part of the machine (PIIX)."""
    disk_device: str
    """QEMU -device argument of the disk; {node} stands for the block node."""
    modules: tuple[str, ...]
    disk: str
    """Name of the disk in the guest, e.g. sda."""


@cache
def controller(name: str) -> Controller:
    """One controller's entry."""
    path = entry_path("controllers", name)
    data = config.read_toml(path, "controller")
    try:
        qemu, guest = data["qemu"], data["guest"]
        return Controller(
            name=name,
            bus=data["bus"]["value"],
            bus_kind=data["bus_kind"]["value"],
            max_tags=data["max_tags"]["value"],
            device=qemu["device"],
            disk_device=qemu["disk_device"],
            modules=tuple(guest["modules"]),
            disk=guest["disk"],
        )
    except KeyError as error:
        raise ConfigError(f"{config.show(path)}: missing key {error}; see lab/disk/catalogue/README.md") from error


@cache
def drive_bus_kind(name: str) -> str:
    """ata or scsi: what a drive speaks."""
    path = entry_path("drives", name)
    try:
        return config.read_toml(path, "drive")["bus_kind"]["value"]
    except KeyError as error:
        raise ConfigError(f"{config.show(path)}: missing key {error}; see lab/disk/catalogue/README.md") from error
