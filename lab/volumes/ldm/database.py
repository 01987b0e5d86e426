# SPDX-License-Identifier: MIT
"""A dynamic disk as bytes: partition table, private header, tables of contents, VMDB with its VBLKs, log.

Everything is big-endian but for the partition table. Offsets: Linux 6.1 block/partitions/ldm.c, libldm 0.2.5
src/ldm.c; those that neither reads are from the disks that layout.py calls [W].
"""

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from uuid import UUID

from lab.volumes.ldm import layout, records
from lab.volumes.ldm.fields import padded, unpadded
from lab.volumes.ldm.layout import SECTOR, LdmError
from lab.volumes.ldm.records import Component, Disk, Group, Partition, Record, Volume

TIMESTAMP = (974_851_200 + 11_644_473_600) * 10_000_000
"""2000-11-22, when the guest's clock starts, as Windows counts: units of 100 ns since 1601."""
SEQUENCE = 1
"""Of the tables of contents, and of the one transaction that wrote the database."""
CHECKSUM = slice(8, 12)
RETRY = "the disk is damaged or not dynamic; make it with `create`"

PRIVATE_HEADER = struct.Struct(">8sIHHQQQQ64s64s64s32sH9sQQQQQQIIQQI")
TOC_START = struct.Struct(">8sI4xI16x")
TOC_AREA = struct.Struct(">8sHQQQ")
TOC_FLAGS = 0x0006_0001_0000_0000  # Not understood; so in all disks of [W].
VMDB = struct.Struct(">4sIIIHHH31s64sQQ4I12x4I12xQ")
VBLK_HEAD = struct.Struct(">4sIIHH")
LOG_HEAD = struct.Struct(">4sIIIIIBQQ")
LOG_HEADS = 2
MBR_ENTRY = struct.Struct("<B3sB3sII")
MBR_ENTRIES = 446
MBR_SIGNATURE = 440
MBR_END = b"\x55\xaa"


@dataclass(frozen=True)
class Geometry:
    """Where the parts of a disk of some size lie, in sectors."""

    sectors: int
    data_sectors: int
    """Of the logical disk, which begins at layout.DATA_START."""

    @classmethod
    def of(cls, sectors: int) -> "Geometry":
        """As Windows 2000 lays a disk out: the logical disk ends at a cylinder before the database."""
        cylinder = layout.HEADS * layout.TRACK_SECTORS
        return cls(sectors, (sectors - layout.DATABASE_SECTORS) // cylinder * cylinder - layout.DATA_START)

    @property
    def database_start(self) -> int:
        """The last megabyte."""
        return self.sectors - layout.DATABASE_SECTORS


@dataclass(frozen=True)
class Database:
    """What every disk of a group holds a copy of."""

    group: Group
    disks: tuple[Disk, ...]
    volumes: tuple[Volume, ...]
    components: tuple[Component, ...]
    partitions: tuple[Partition, ...]

    @property
    def records(self) -> tuple[Record, ...]:
        """All objects, in the order in which they are written."""
        return (self.group, *self.disks, *self.volumes, *self.components, *self.partitions)

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Volumes, components, partitions, disks: in the order of the VMDB's header."""
        return len(self.volumes), len(self.components), len(self.partitions), len(self.disks)

    def parts_of(self, component: Component) -> list[Partition]:
        """Partitions of a component: by column, or by place in the volume."""
        mine = [part for part in self.partitions if part.component == component.number]
        return sorted(mine, key=lambda part: (part.index, part.volume_offset, part.number))

    def components_of(self, volume: Volume) -> list[Component]:
        """Components of a volume."""
        return [one for one in self.components if one.volume == volume.number]

    def disk(self, number: int) -> Disk:
        """A disk by its number."""
        return next(disk for disk in self.disks if disk.number == number)


@dataclass(frozen=True)
class Member:
    """One disk of a group, as read."""

    guid: UUID
    group: UUID
    geometry: Geometry
    version: tuple[int, int]
    sequence: int
    """Of the transaction that wrote the database last."""
    database: Database


def checked(sector: bytes) -> bytes:
    """A sector with its checksum: the sum of all its bytes, the checksum's own as zeros [W]."""
    out = bytearray(sector.ljust(SECTOR, b"\0"))
    out[CHECKSUM] = bytes(4)
    out[CHECKSUM] = sum(out).to_bytes(4, "big")
    return bytes(out)


def encode_partition_table(geometry: Geometry, signature: int) -> bytes:
    """The first sector: one partition over the logical disk. No program to boot from."""
    cylinders = (geometry.data_sectors + layout.DATA_START) // (layout.HEADS * layout.TRACK_SECTORS)
    last = min(cylinders - 1, 1023)
    end = bytes([layout.HEADS - 1, layout.TRACK_SECTORS | last >> 2 & 0xC0, last & 0xFF])
    entry = MBR_ENTRY.pack(0, b"\x01\x01\x00", layout.PARTITION_TYPE, end, layout.DATA_START, geometry.data_sectors)
    out = bytearray(SECTOR)
    out[MBR_SIGNATURE : MBR_SIGNATURE + 4] = signature.to_bytes(4, "little")
    out[MBR_ENTRIES : MBR_ENTRIES + len(entry)] = entry
    out[-2:] = MBR_END
    return bytes(out)


def encode_private_header(geometry: Geometry, group: Group, disk: Disk, signature: int) -> bytes:
    """The private header; its copies are the same."""
    return checked(
        PRIVATE_HEADER.pack(
            b"PRIVHEAD",
            0,
            *layout.PRIVATE_HEADER_VERSION,
            TIMESTAMP,
            SEQUENCE,
            layout.PRIVATE_HEADER_COPIES[1],
            layout.PRIVATE_HEADER_COPIES[0],
            padded(str(disk.guid), 64),
            padded(layout.HOST_GUID, 64),
            padded(str(group.guid), 64),
            padded(group.name, 32),
            2,  # Not understood; so in all disks of [W].
            bytes(9),
            layout.DATA_START,
            geometry.data_sectors,
            geometry.database_start,
            layout.DATABASE_SECTORS,
            1,  # Tables of contents, behind which are their copies.
            layout.TOC_AREA_SECTORS,
            1,  # Configurations.
            1,  # Logs.
            layout.CONFIG_SECTORS,
            layout.LOG_SECTORS,
            signature,
        )
    )


def encode_toc() -> bytes:
    """The table of contents; its copies are the same."""
    config = TOC_AREA.pack(b"config", 0, layout.CONFIG_START, layout.CONFIG_SECTORS, TOC_FLAGS)
    log = TOC_AREA.pack(b"log", 0, layout.LOG_START, layout.LOG_SECTORS, TOC_FLAGS)
    return checked(TOC_START.pack(b"TOCBLOCK", 0, SEQUENCE) + config + log)


def encode_config(database: Database) -> bytes:
    """The VMDB: its header and all VBLKs, free ones included."""
    header = VMDB.pack(
        b"VMDB",
        layout.END_VBLK,
        layout.VBLK_BYTES,
        SECTOR,
        1,  # Nothing half done.
        *layout.VMDB_VERSION,
        padded(database.group.name, 31),
        padded(str(database.group.guid), 64),
        SEQUENCE,
        SEQUENCE,
        *database.counts,  # Committed,
        *database.counts,  # and pending: the same.
        TIMESTAMP,
    )
    vblks = []
    for record in database.records:
        pieces = records.split(records.encode(record), layout.VBLK_BYTES)
        if len(pieces) > layout.VBLK_MOST_PARTS:
            raise ValueError(f"{record} takes {len(pieces)} VBLKs")
        for piece, data in enumerate(pieces):
            vblks.append((record.number, piece, len(pieces), data))
    free = layout.END_VBLK - layout.FIRST_VBLK - len(vblks)
    vblks += [(0, 0, 0, bytes(layout.VBLK_BYTES - layout.VBLK_HEAD_BYTES))] * free
    body = [
        VBLK_HEAD.pack(b"VBLK", place, group, piece, pieces) + data
        for place, (group, piece, pieces, data) in enumerate(vblks, start=layout.FIRST_VBLK)
    ]
    return header.ljust(SECTOR, b"\0") + b"".join(body)


def encode_log() -> bytes:
    """The log of transactions, with nothing in it: two heads, and the last committed transaction in the first."""
    heads = [LOG_HEAD.pack(b"KLOG", 0, 0, SEQUENCE, LOG_HEADS, 0, 0, 0, SEQUENCE)]
    heads += [LOG_HEAD.pack(b"KLOG", 0, 0, 0, LOG_HEADS, place, 0, 0, 0) for place in range(1, LOG_HEADS)]
    return b"".join(head.ljust(SECTOR, b"\0") for head in heads).ljust(layout.LOG_SECTORS * SECTOR, b"\0")


def encode(geometry: Geometry, database: Database, disk: Disk) -> list[tuple[int, bytes]]:
    """What to write on one disk: first sector and content of its two reserved areas, whole."""
    signature = int.from_bytes(disk.guid.bytes[:4], "big")
    header = encode_private_header(geometry, database.group, disk, signature)
    start = bytearray(layout.DATA_START * SECTOR)
    end = bytearray(layout.DATABASE_SECTORS * SECTOR)

    def put(area: bytearray, sector: int, content: bytes) -> None:
        area[sector * SECTOR : sector * SECTOR + len(content)] = content

    put(start, 0, encode_partition_table(geometry, signature))
    put(start, layout.PRIVATE_HEADER, header)
    for place in layout.TOCS:
        put(end, place, encode_toc())
    put(end, layout.CONFIG_START, encode_config(database))
    put(end, layout.LOG_START, encode_log())
    for place in layout.PRIVATE_HEADER_COPIES:
        put(end, place, header)
    return [(0, bytes(start)), (geometry.database_start, bytes(end))]


def require_checksum(sector: bytes, magic: bytes, where: str) -> None:
    """Refuse a sector that is not what it should be."""
    if not sector.startswith(magic):
        raise LdmError(f"{where}: there is no {magic.decode()}; {RETRY}")
    if checked(sector) != sector:
        raise LdmError(f"{where}: the checksum of {magic.decode()} is wrong; {RETRY}")


def decode(read: Callable[[int], bytes], sectors: int, where: str) -> Member:
    """A disk that `read` gives sector by sector. What is damaged is an error, also where a copy is whole."""
    table = read(0)
    if table[-2:] != MBR_END or table[MBR_ENTRIES + 4] != layout.PARTITION_TYPE:
        raise LdmError(f"{where}: sector 0: no partition of type 0x{layout.PARTITION_TYPE:x}; {RETRY}")
    first = read(layout.PRIVATE_HEADER)
    place = f"{where}: sector {layout.PRIVATE_HEADER}"
    require_checksum(first, b"PRIVHEAD", place)
    found = PRIVATE_HEADER.unpack_from(first)
    version, names = found[2:4], found[8:12]
    data_start, data_sectors, start, size = found[14:18]
    if version not in layout.PRIVATE_HEADER_VERSIONS:
        raise LdmError(f"{place}: version {version[0]}.{version[1]} is not known; {RETRY}")
    if size != layout.DATABASE_SECTORS or start + size > sectors or not data_sectors:
        raise LdmError(f"{place}: a database of {size} sectors at {start} on a disk of {sectors}; {RETRY}")
    if data_start != layout.DATA_START or data_start + data_sectors > start:
        raise LdmError(f"{place}: {data_sectors} sectors of data at {data_start}, database at {start}; {RETRY}")
    for copy in layout.PRIVATE_HEADER_COPIES:
        if read(start + copy) != first:
            raise LdmError(f"{where}: sector {start + copy}: not the same private header as in sector 6; {RETRY}")
    decode_tocs(read, start, where)
    config = b"".join(read(start + layout.CONFIG_START + sector) for sector in range(layout.CONFIG_SECTORS))
    sequence, database = decode_config(config, f"{where}: VMDB at sector {start + layout.CONFIG_START}")
    disk = records.parse_guid(unpadded(names[0], place), place)
    group = records.parse_guid(unpadded(names[2], place), place)
    if group != database.group.guid:
        raise LdmError(f"{place}: belongs to group {group}, the database to {database.group.guid}; {RETRY}")
    if disk not in [one.guid for one in database.disks]:
        raise LdmError(f"{place}: disk {disk} is not in its own database; {RETRY}")
    return Member(disk, group, Geometry(sectors, data_sectors), version, sequence, database)


def decode_tocs(read: Callable[[int], bytes], start: int, where: str) -> None:
    """Windows keeps an old and a new table of contents, and may leave one out; each must name the same areas."""
    found = 0
    for copy in layout.TOCS:
        toc, place = read(start + copy), f"{where}: sector {start + copy}"
        if not any(toc):
            continue
        require_checksum(toc, b"TOCBLOCK", place)
        found += 1
        expected = {
            "config": (layout.CONFIG_START, layout.CONFIG_SECTORS),
            "log": (layout.LOG_START, layout.LOG_SECTORS),
        }
        for index, (name, area) in enumerate(expected.items()):
            entry = TOC_AREA.unpack_from(toc, TOC_START.size + index * TOC_AREA.size)
            if unpadded(entry[0], place) != name or entry[2:4] != area:
                raise LdmError(f"{place}: area {index + 1} is not {name} of {area[1]} sectors at {area[0]}; {RETRY}")
    if not found:
        raise LdmError(f"{where}: sector {start + layout.TOCS[0]}: there is no TOCBLOCK; {RETRY}")


def decode_config(config: bytes, where: str) -> tuple[int, Database]:
    """Committed transaction and objects of a VMDB."""
    header = VMDB.unpack_from(config)
    magic, end, vblk_bytes, first, status, *version = header[:7]
    if magic != b"VMDB" or tuple(version) != layout.VMDB_VERSION:
        raise LdmError(f"{where}: there is no VMDB of version 4.10; {RETRY}")
    if vblk_bytes != layout.VBLK_BYTES or first != SECTOR or end * vblk_bytes > len(config):
        raise LdmError(f"{where}: VBLKs of {vblk_bytes} bytes from {first}, to number {end}; {RETRY}")
    if status != 1 or header[9] != header[10]:
        raise LdmError(f"{where}: a transaction is not complete; {RETRY}")
    found = sort_records(read_vblks(config, end, where), where)
    if found.counts != header[11:15] or found.counts != header[15:19]:
        raise LdmError(f"{where}: {found.counts} volumes, components, partitions, disks; the header disagrees; {RETRY}")
    if (unpadded(header[7], where), unpadded(header[8], where)) != (found.group.name, str(found.group.guid)):
        raise LdmError(f"{where}: header and record name different groups; {RETRY}")
    return header[9], found


def read_vblks(config: bytes, end: int, where: str) -> list[Record]:
    """All records; pieces of one may lie apart."""
    pieces: dict[int, dict[int, bytes]] = {}
    lengths: dict[int, int] = {}
    for number in range(layout.FIRST_VBLK, end):
        vblk = config[number * layout.VBLK_BYTES : (number + 1) * layout.VBLK_BYTES]
        magic, place, group, piece, count = VBLK_HEAD.unpack_from(vblk)
        if magic != b"VBLK" or place != number:
            raise LdmError(f"{where}: VBLK {number} is not there; {RETRY}")
        if count == 0:
            continue
        mine = pieces.setdefault(group, {})
        if (
            piece >= count
            or count > layout.VBLK_MOST_PARTS
            or piece in mine
            or lengths.setdefault(group, count) != count
        ):
            raise LdmError(f"{where}: VBLK {number} is piece {piece + 1} of {count}; {RETRY}")
        mine[piece] = vblk[layout.VBLK_HEAD_BYTES :]
    for group, mine in pieces.items():
        if len(mine) != lengths[group]:
            raise LdmError(f"{where}: record {group} has {len(mine)} of its {lengths[group]} pieces; {RETRY}")
    joined = [(group, b"".join(mine[piece] for piece in sorted(mine))) for group, mine in pieces.items()]
    decoded = [records.decode(data, f"{where}: record {group}") for group, data in joined]
    return [record for record in decoded if record is not None]


def sort_records(found: Iterable[Record], where: str) -> Database:
    """Records by kind; each must be there once, and what it refers to, too."""
    sorted_by: dict[type, list] = {kind: [] for kind in (Group, Disk, Volume, Component, Partition)}
    for record in found:
        sorted_by[type(record)].append(record)
    groups = sorted_by.pop(Group)
    if len(groups) != 1:
        raise LdmError(f"{where}: {len(groups)} disk groups; {RETRY}")
    numbers = {kind: {record.number for record in mine} for kind, mine in sorted_by.items()}
    if sum(map(len, numbers.values())) != sum(map(len, sorted_by.values())):
        raise LdmError(f"{where}: two objects have the same number; {RETRY}")
    database = Database(groups[0], *(tuple(mine) for mine in sorted_by.values()))
    for part in database.partitions:
        if part.component not in numbers[Component] or part.disk not in numbers[Disk]:
            raise LdmError(f"{where}: partition {part.name} refers to what is not there; {RETRY}")
    for component in database.components:
        if component.volume not in numbers[Volume] or component.parts != len(database.parts_of(component)):
            raise LdmError(f"{where}: component {component.name} refers to what is not there; {RETRY}")
        if component.kind not in (records.STRIPED, records.BASIC, records.RAID):
            raise LdmError(f"{where}: component {component.name} is of unknown type {component.kind}; {RETRY}")
    for volume in database.volumes:
        if not volume.components or volume.components != len(database.components_of(volume)):
            raise LdmError(f"{where}: volume {volume.name} refers to what is not there; {RETRY}")
    return database
