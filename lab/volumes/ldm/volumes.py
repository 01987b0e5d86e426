# SPDX-License-Identifier: MIT
"""One volume over whole disks: what the database says about it, and the disks it is written on."""

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid5

from lab.volumes.ldm import database, layout, records
from lab.volumes.ldm.database import Database, Geometry, Member
from lab.volumes.ldm.layout import SECTOR, LdmError
from lab.volumes.ldm.records import Component, Disk, Group, Partition, Volume

NAMESPACE = UUID("5370696e-646c-4000-8000-00000000004c")
"""GUIDs are made from this and a seed."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
"""Signs that stand in a path below /dev/mapper as they are."""
VOLUME_NAME_MOST = 63
STRIPES_KIB = (4, 1024)


@dataclass(frozen=True)
class Kind:
    """A kind of volume: how many disks, and how they count."""

    least: int
    most: int
    striped: bool = False


KINDS = {
    "simple": Kind(1, 1),
    "spanned": Kind(2, layout.DISKS_MOST),
    "striped": Kind(2, layout.DISKS_MOST, striped=True),
    "mirrored": Kind(2, 2),
    "raid5": Kind(3, layout.DISKS_MOST, striped=True),
}


@dataclass(frozen=True)
class Request:
    """What to make."""

    kind: str
    name: str = "Volume1"
    group: str = "Spindle-Dg0"
    stripe_kib: int = 64
    seed: str = "1"

    def require(self, disks: int) -> None:
        """Refuse what cannot be made."""
        about = KINDS[self.kind]
        if not about.least <= disks <= about.most:
            wanted = str(about.least) if about.least == about.most else f"{about.least} to {about.most}"
            raise LdmError(f"--type {self.kind}: takes {wanted} disks, {disks} given; name that many files")
        low, high = STRIPES_KIB
        if not low <= self.stripe_kib <= high or self.stripe_kib & (self.stripe_kib - 1):
            raise LdmError(f"--stripe-kib {self.stripe_kib}: give a power of two from {low} to {high}")
        names = (("--name", self.name, VOLUME_NAME_MOST), ("--group", self.group, layout.GROUP_NAME_MOST))
        for option, name, most in names:
            if not NAME.fullmatch(name) or len(name) > most:
                raise LdmError(
                    f"{option} {name!r}: give at most {most} letters, digits, - and _, none of these two first"
                )


def plan(request: Request, disks: int, data_sectors: int) -> Database:
    """The database of one volume over whole disks, each with this much room."""
    request.require(disks)
    share = data_sectors // layout.MIB_SECTORS * layout.MIB_SECTORS  # Windows counts in megabytes.
    if share <= 0:
        raise LdmError(f"{data_sectors} sectors for data are less than 1 MiB; take larger disks")
    numbers = iter(range(1, 1 << 16))
    group = Group(next(numbers), request.group, guid(request, "group"))
    members = tuple(
        Disk(next(numbers), f"Disk{place}", guid(request, f"disk {place}")) for place in range(1, disks + 1)
    )
    mirrored, striped = request.kind == "mirrored", KINDS[request.kind].striped
    counted = {"simple": 1, "spanned": disks, "striped": disks, "mirrored": 1, "raid5": disks - 1}[request.kind]
    volume = Volume(
        number=next(numbers),
        name=request.name,
        kind="raid5" if request.kind == "raid5" else "gen",
        ordinal=1,
        components=disks if mirrored else 1,
        sectors=counted * share,
        guid=guid(request, f"volume {request.name}"),
    )
    code = {"striped": records.STRIPED, "raid5": records.RAID}.get(request.kind, records.BASIC)
    components = tuple(
        Component(
            number=next(numbers),
            name=f"{request.name}-{place:02}",
            kind=code,
            parts=disks // volume.components,
            volume=volume.number,
            stripe_sectors=request.stripe_kib * 1024 // SECTOR if striped else 0,
        )
        for place in range(1, volume.components + 1)
    )
    partitions = tuple(
        Partition(
            number=next(numbers),
            name=f"{disk.name}-01",
            start=0,
            volume_offset=place * share if request.kind == "spanned" else 0,
            sectors=share,
            component=components[place if mirrored else 0].number,
            disk=disk.number,
            index=place if striped else 0,
        )
        for place, disk in enumerate(members)
    )
    return Database(group, members, (volume,), components, partitions)


def guid(request: Request, what: str) -> UUID:
    """The same for the same seed, group and object."""
    return uuid5(NAMESPACE, f"{request.seed} {request.group} {what}")


def open_disk(path: Path, flags: int) -> tuple[int, int]:
    """A disk's file, and its size in sectors."""
    try:
        descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise LdmError(f"{path}: {error.strerror}; name an existing disk image") from error
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode) or about.st_size % SECTOR:
        os.close(descriptor)
        raise LdmError(f"{path}: not a file of whole {SECTOR}-byte sectors; name a raw disk image")
    return descriptor, about.st_size // SECTOR


def in_use(descriptor: int) -> str:
    """What a disk has already; empty: nothing."""
    start = os.pread(descriptor, (layout.PRIVATE_HEADER + 1) * SECTOR, 0)
    if start[layout.PRIVATE_HEADER * SECTOR :].startswith(b"PRIVHEAD"):
        return "is a dynamic disk"
    if start[SECTOR:].startswith(b"EFI PART"):
        return "has a GPT partition table"
    return "has a partition table" if start[SECTOR - 2 : SECTOR] == database.MBR_END else ""


def create(request: Request, paths: Sequence[Path], force: bool = False) -> Database:
    """Write a volume's database on disks of one size; nothing is written if one of them cannot be used."""
    request.require(len(paths))
    opened: list[tuple[int, int]] = []
    try:
        for path in paths:
            opened.append(open_disk(path, os.O_RDWR))
        seen: dict[tuple[int, int], Path] = {}
        for path, (descriptor, sectors) in zip(paths, opened, strict=True):
            about = os.fstat(descriptor)
            if (about.st_dev, about.st_ino) in seen:
                raise LdmError(f"{path}: the same file as {seen[about.st_dev, about.st_ino]}; name each disk once")
            seen[about.st_dev, about.st_ino] = path
            if sectors != opened[0][1]:
                raise LdmError(
                    f"{path}: {sectors} sectors, but {paths[0]} has {opened[0][1]}; take disks of the same size"
                )
            if sectors > layout.MBR_SECTORS_MOST:
                raise LdmError(f"{path}: {sectors} sectors; a partition table of this kind ends at 2 TiB")
            used = in_use(descriptor)
            if used and not force:
                raise LdmError(f"{path}: {used}; --force overwrites it")
        geometry = Geometry.of(opened[0][1])
        if geometry.data_sectors < layout.MIB_SECTORS:
            cylinder = layout.HEADS * layout.TRACK_SECTORS
            least = (layout.DATABASE_SECTORS + cylinder) * SECTOR
            raise LdmError(f"{paths[0]}: {opened[0][1] * SECTOR} bytes; a dynamic disk has at least {least}")
        made = plan(request, len(paths), geometry.data_sectors)
        for disk, (descriptor, _) in zip(made.disks, opened, strict=True):
            for sector, content in database.encode(geometry, made, disk):
                at = sector * SECTOR
                while content:
                    written = os.pwrite(descriptor, content, at)
                    content, at = content[written:], at + written
    except OSError as error:
        raise LdmError(f"writing the database: {error.strerror}; make room and run again with --force") from error
    finally:
        for descriptor, _ in opened:
            os.close(descriptor)
    return made


def read(path: Path) -> Member:
    """One disk's header and database."""
    descriptor, sectors = open_disk(path, os.O_RDONLY)

    def sector(number: int) -> bytes:
        found = os.pread(descriptor, SECTOR, number * SECTOR)
        if len(found) != SECTOR:
            raise LdmError(f"{path}: sector {number} is behind the end of the disk; {database.RETRY}")
        return found

    try:
        return database.decode(sector, sectors, str(path))
    except OSError as error:
        raise LdmError(f"{path}: {error.strerror}; is the disk readable?") from error
    finally:
        os.close(descriptor)


def kind_of(made: Database, volume: Volume) -> str:
    """The kind of a volume."""
    first = made.components_of(volume)[0]
    if first.kind == records.BASIC:
        if volume.components > 1:
            return "mirrored"
        return "spanned" if first.parts > 1 else "simple"
    return "striped" if first.kind == records.STRIPED else "raid5"


def describe(paths: Sequence[Path]) -> list[str]:
    """What disks of one group say about themselves and their volumes."""
    members = [(path, read(path)) for path in paths]
    first_path, first = members[0]
    where: dict[UUID, tuple[Path, Member]] = {}
    for path, member in members:
        if (member.group, member.sequence) != (first.group, first.sequence) or member.database != first.database:
            raise LdmError(f"{path}: its database is not that of {first_path}; show one group at a time")
        if member.guid in where:
            raise LdmError(f"{path}: the same disk as {where[member.guid][0]}; show each disk once")
        where[member.guid] = path, member
    made = first.database
    lines = [f"group {made.group.name} {made.group.guid}: transaction {first.sequence}"]
    for disk in made.disks:
        if disk.guid in where:
            path, member = where[disk.guid]
            version = ".".join(map(str, member.version))
            room = f"data {layout.DATA_START}+{member.geometry.data_sectors} of {member.geometry.sectors} sectors"
            lines.append(f"disk {disk.name} {disk.guid}: {path}, version {version}, {room}")
        else:
            lines.append(f"disk {disk.name} {disk.guid}: not among these files")
    for volume in made.volumes:
        lines.append(f"volume {volume.name} {volume.guid}: {kind_of(made, volume)}, {volume.sectors} sectors")
        for component in made.components_of(volume):
            stripe = f", stripes of {component.stripe_sectors} sectors" if component.stripe_sectors else ""
            lines.append(f"  component {component.name}{stripe}")
            for part in made.parts_of(component):
                place = f"{part.start}+{part.sectors} of {made.disk(part.disk).name}"
                lines.append(f"    partition {part.name}: {place}, at {part.volume_offset} of the volume")
    return lines
