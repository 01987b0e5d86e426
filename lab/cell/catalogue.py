# SPDX-License-Identifier: MIT
"""What the lab needs from the catalogue (lab/disk/catalogue): names, limits, QEMU devices, guest modules."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lab.cell import config
from lab.cell.errors import ConfigError
from lab.cell.paths import ROOT

CATALOGUE = ROOT / "lab" / "disk" / "catalogue"
DESCRIPTIVE = ("name", "model", "maker", "media", "capacity_gb", "interface", "interface_mb_s")
"""Keys of entries that are there for people: nothing reads them."""


def entry_path(kind: str, name: str) -> Path:
    """File of one entry; kind is drives, buses, controllers or arrays."""
    return CATALOGUE / kind / f"{name}.toml"


def names(kind: str) -> list[str]:
    """Names of all entries of a kind."""
    return sorted(path.stem for path in (CATALOGUE / kind).glob("*.toml"))


def require(kind: str, name: str, where: str) -> None:
    """Refuse a name that is not in the catalogue."""
    if not entry_path(kind, name).is_file():
        known = names(kind)
        one = {"drives": "drive", "buses": "bus", "controllers": "controller", "arrays": "array"}[kind]
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
    most_disks: int
    """How many disks the lab attaches at most."""
    disks_each: int
    """Of these, to one controller; for more, the machine has several."""
    channels: int
    """Buses of one controller, to which its disks are dealt out in turn."""
    several_device: str
    """QEMU -device argument of a controller where there are several disks; {controller} is its number."""
    card: str
    """Entry of arrays/ that each drive is behind, where the controller is a card that queues for its drives; empty
    where the guest's commands go to the drives."""
    several_disk_device: str
    """The same of a disk, whose serial number is its node's name; {index} is its number on its controller, {channel}
    its bus there, and {place} its number on that bus."""

    def devices(self, nodes: list[str]) -> list[str]:
        """QEMU -device arguments of the controllers and disks for several disks."""
        made = []
        for number, node in enumerate(nodes):
            controller, index = divmod(number, self.disks_each)
            if index == 0 and self.several_device:
                made.append(self.several_device.format(controller=controller))
            place, channel = divmod(index, self.channels)
            made.append(
                self.several_disk_device.format(
                    controller=controller, index=index, channel=channel, place=place, node=node
                )
            )
        return made

    def bus_of(self, number: int) -> int:
        """Number of the bus that a disk is on, counted over all controllers."""
        controller, index = divmod(number, self.disks_each)
        return controller * self.channels + index % self.channels


@cache
def controller(name: str) -> Controller:
    """One controller's entry."""
    path = entry_path("controllers", name)
    data = config.read_toml(path, "controller")
    try:
        qemu, guest = data["qemu"], data["guest"]
        several = data.get("several_disks", {"most": 1, "each": 1, "channels": 1, "device": "", "disk_device": ""})
        return Controller(
            name=name,
            bus=data["bus"]["value"],
            bus_kind=data["bus_kind"]["value"],
            max_tags=data["max_tags"]["value"],
            device=qemu["device"],
            disk_device=qemu["disk_device"],
            modules=tuple(guest["modules"]),
            disk=guest["disk"],
            most_disks=several["most"],
            disks_each=several["each"],
            channels=several["channels"],
            several_device=several["device"],
            card=data.get("card", {"value": ""})["value"],
            several_disk_device=several["disk_device"],
        )
    except KeyError as error:
        raise ConfigError(f"{config.show(path)}: missing key {error}; see lab/disk/catalogue/README.md") from error


_VALUES: dict[Path, tuple[tuple, dict]] = {}


def values(kind: str, name: str) -> dict:
    """The values of an entry that decide something, by key. What only describes is left out, and so are marks, sources
    and comments; settings of a controller stand there as they are. `spindle-disk inputs` gives the same of the model's
    entries (tests/test_inputs.py)."""
    path = entry_path(kind, name)
    try:
        about = path.stat()
    except OSError:
        require(kind, name, "catalogue")
        raise
    written = (about.st_mtime_ns, about.st_size, about.st_ino)
    if _VALUES.get(path, (None,))[0] != written:
        data = config.read_toml(path, {"drives": "drive", "buses": "bus"}.get(kind, kind.rstrip("s")))
        found = {
            key: item["value"] if isinstance(item, dict) and "value" in item else item
            for key, item in data.items()
            if key not in DESCRIPTIVE
        }
        _VALUES[path] = written, found
    return dict(_VALUES[path][1])


def drive_value(name: str, key: str):
    """A value of a drive's entry: bus_kind (ata or scsi: what it speaks), max_tags (commands that it takes at most)."""
    try:
        return values("drives", name)[key]
    except KeyError as error:
        path = config.show(entry_path("drives", name))
        raise ConfigError(f"{path}: missing key {error}; see lab/disk/catalogue/README.md") from error


@cache
def queueing_controller(kind: str) -> Controller:
    """The first controller for drives of a kind (ata or scsi) that queues commands."""
    return next(one for one in map(controller, names("controllers")) if one.bus_kind == kind and one.max_tags > 1)
