# SPDX-License-Identifier: MIT
"""Arrays of disks: software arrays of the guest (lab/volumes) and hardware arrays in the model (lab/disk/catalogue).

A cell's `array` is `none`, a software array `<kind>-<number of disks>` (md-raid0-4), or a hardware array's file name in
lab/disk/catalogue/arrays without .toml (raid5-ide-8).
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lab.cell import catalogue, config
from lab.cell.errors import ConfigError
from lab.cell.paths import ROOT

FOLDER = ROOT / "lab" / "volumes"
NONE = "none"
LINKS = "/run/disk"
"""Where name-disks names the disks in the guest: disk0 is the device, disk0.sys its folder in sysfs."""
TOOLS = "tools"
"""Name of the volume managers' image in the guest."""
_NAME = re.compile(r"([a-z0-9-]+)-([1-9][0-9]*)")


@dataclass(frozen=True)
class Volume:
    """A kind of software array. In commands {devices} stands for the member disks, {count} for their number,
    {stripe_kib} for the stripe unit, {device} for the array; in `host_make` {images} for the members' image files."""

    name: str
    description: str
    stand_in: bool
    """It stands in for a volume manager of the paper that the guest does not have."""
    modules: tuple[str, ...]
    extra_modules: tuple[str, ...]
    """Modules of lab/volumes/modules.txt."""
    least: int
    most: int
    """Fewest and most disks."""
    stripe_unit: bool
    """Data is spread in stripe units."""
    copies: int
    """Disks that each block of data is written to: 1, the number of all disks (0), or data and parity (2)."""
    host_make: tuple[str, ...]
    """Commands on the host that prepare the empty image files, from the repository's root."""
    host_sources: tuple[str, ...]
    """Files of ours that those commands run."""
    make: tuple[str, ...]
    """Commands that make the array on empty disks, or on those that host_make prepared."""
    assemble: tuple[str, ...]
    """Commands that start it again."""
    device: str
    """Its device file; empty where nothing joins the disks."""
    disk: str
    """Its name in /sys/block; {count} is replaced in the description."""
    check: tuple[str, ...]
    """Commands that exit with 0 if it is whole."""
    stop: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]
    """Files of the running kernel and their values, once it is started."""


@dataclass(frozen=True)
class Software:
    """A software array."""

    volume: Volume
    count: int

    @property
    def apart(self) -> bool:
        """Nothing joins its disks: they stand side by side."""
        return not self.volume.device

    @property
    def devices(self) -> list[str]:
        """Device files of what cells use: the array, or each of the disks."""
        return [f"{LINKS}/disk{number}" for number in range(self.count)] if self.apart else [self.volume.device]

    @property
    def disk(self) -> str:
        """Its name in /sys/block."""
        return self.volume.disk.format(count=self.count)

    def commands(self, lines: tuple[str, ...], stripe_kib: int, images: str = "") -> list[str]:
        """Commands with their placeholders replaced."""
        devices = " ".join(f"{LINKS}/disk{number}" for number in range(self.count))
        return [
            line.format(
                devices=devices, count=self.count, stripe_kib=stripe_kib, device=self.volume.device, images=images
            )
            for line in lines
        ]


@dataclass(frozen=True)
class Hardware:
    """A hardware array as its catalogue entry has it."""

    name: str
    level: str
    members: int
    """Disks that hold data or parity."""
    spares: int
    bus: str
    """Catalogue name of the buses behind the controller."""
    buses: int
    """How many there are; members and spares are dealt out to them in turn."""
    max_tags: int
    stripe_unit_kb: int
    rebuild_kib_s: int
    """How fast a spare is written; 0: not at all."""


def kind_path(name: str) -> Path:
    """File that describes a kind of software array."""
    return FOLDER / f"{name}.toml"


def kinds() -> list[str]:
    """Names of all kinds of software arrays."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


@cache
def volume(name: str) -> Volume:
    """One kind of software array."""
    path = kind_path(name)
    data = config.read_toml(path, "kind of software array")
    try:
        least, most = data["disks"]
        return Volume(
            name=name,
            description=data["description"],
            stand_in=data["stand_in"],
            modules=tuple(data["modules"]),
            extra_modules=tuple(data.get("extra_modules", [])),
            least=least,
            most=most,
            stripe_unit=any("{stripe_kib}" in line for line in [*data.get("host_make", []), *data["make"]]),
            copies=data["copies"],
            host_make=tuple(data.get("host_make", [])),
            host_sources=tuple(data.get("host_sources", [])),
            make=tuple(data["make"]),
            assemble=tuple(data["assemble"]),
            device=data["device"],
            disk=data["disk"],
            check=tuple(data["check"]),
            stop=tuple(data["stop"]),
            settings=tuple((file, value) for file, value in data.get("settings", [])),
        )
    except KeyError as error:
        raise ConfigError(f"{config.show(path)}: missing key {error}; see lab/volumes/README.md") from error


def software(array: str) -> Software | None:
    """A software array; None for one disk and for hardware arrays."""
    match = _NAME.fullmatch(array)
    if not match or array in catalogue.names("arrays") or not kind_path(match[1]).is_file():
        return None
    return Software(volume(match[1]), int(match[2]))


def hardware(array: str, changes: dict | None = None) -> Hardware | None:
    """A hardware array, with a row's own values; None for one disk and for software arrays."""
    path = catalogue.entry_path("arrays", array)
    if array == NONE or not path.is_file():
        return None
    data = catalogue.values("arrays", array) | (changes or {})
    try:
        keys = ("level", "members", "spares", "member_bus", "member_buses", "max_tags", "stripe_unit_kb")
        return Hardware(array, *(data[key] for key in (*keys, "rebuild_kib_s")))
    except KeyError as error:
        raise ConfigError(f"{config.show(path)}: missing key {error}; see lab/disk/catalogue/README.md") from error


def require(array: str, controller: catalogue.Controller, where: str) -> None:
    """Refuse an array that is not described, or that the controller cannot attach."""
    if array == NONE or hardware(array):
        return
    found = software(array)
    if found is None:
        known = [NONE, *catalogue.names("arrays"), *(f"{kind}-4" for kind in kinds())]
        if kind_path(array).is_file():
            raise ConfigError(f"{where}: array {array!r} lacks the number of its disks; write {array}-4 for four")
        raise ConfigError(
            f"{where}: array {array!r} is neither in lab/disk/catalogue/arrays nor a kind of lab/volumes with a number "
            f"of disks; {config.nearest(array, known)}"
        )
    kind = found.volume
    if not kind.least <= found.count <= kind.most:
        raise ConfigError(
            f"{where}: array {array!r} has {found.count} disks, {kind.name} takes {kind.least} to {kind.most}; "
            "correct the number"
        )
    if found.count > controller.most_disks:
        raise ConfigError(
            f"{where}: array {array!r} has {found.count} disks, but controller {controller.name!r} can attach "
            f"{controller.most_disks}; take fewer disks or another controller"
        )


def host_commands(found: Software, stripe_kib: int, images: str) -> list[str]:
    """Commands on the host that prepare the empty image files of a software array."""
    return found.commands(found.volume.host_make, stripe_kib, images)


def host_sources(found: Software) -> list[Path]:
    """Files of ours that those commands run."""
    return [ROOT / name for name in found.volume.host_sources]
