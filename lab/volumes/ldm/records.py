# SPDX-License-Identifier: MIT
"""The objects of the database, one VBLK record each. Field orders: Linux 6.1 block/partitions/ldm.c (ldm_parse_*),
libldm 0.2.5 src/ldm.c (_parse_vblk_*). References between records are by object number."""

from dataclasses import dataclass
from uuid import UUID

from lab.volumes.ldm.fields import Cursor, number, padded, text
from lab.volumes.ldm.layout import VBLK_HEAD_BYTES, LdmError

ACTIVE = "ACTIVE"
TRANSACTION = (1).to_bytes(8, "big")
"""The transaction that wrote a record last. All of ours are written by one, the database's first."""
STATE_BYTES = 14
RECORD_HEAD_BYTES = 8

# Flags: which optional fields follow.
HAS_HINT = 0x02
HAS_INDEX = 0x08
HAS_IDS = 0x08
HAS_IDENTITY_1 = 0x08
HAS_COLUMNS = 0x10
HAS_IDENTITY_2 = 0x20
HAS_SIZE_2 = 0x80

# Component types.
STRIPED, BASIC, RAID = 1, 2, 3
VOLUME_TYPES = {"gen": 3, "raid5": 4}
VOLUME_FLAGS = 0x11
"""Not understood; every volume of Windows Server 2008 R2 has it."""
NTFS = 7


@dataclass(frozen=True)
class Group:
    """A disk group: all disks whose databases are copies of each other."""

    TYPES = (0x35, 0x45)
    number: int
    name: str
    guid: UUID

    def fields(self) -> tuple[int, bytes]:
        """Flags and fields of the record."""
        return 0, number(self.number) + text(self.name) + text(str(self.guid)) + bytes(4) + TRANSACTION

    @classmethod
    def read(cls, kind: int, _flags: int, at: Cursor) -> "Group":
        """From the fields of a record; version 4 has the GUID in binary form."""
        return cls(*named(kind == cls.TYPES[0], at))


@dataclass(frozen=True)
class Disk:
    """A member of the group."""

    TYPES = (0x34, 0x44)
    number: int
    name: str
    guid: UUID

    def fields(self) -> tuple[int, bytes]:
        """Flags and fields of the record. The text behind the GUID is the name of the bus's device: none."""
        return 0, number(self.number) + text(self.name) + text(str(self.guid)) + text("") + bytes(4) + TRANSACTION

    @classmethod
    def read(cls, kind: int, _flags: int, at: Cursor) -> "Disk":
        """From the fields of a record; version 4 has the GUID in binary form."""
        return cls(*named(kind == cls.TYPES[0], at))


@dataclass(frozen=True)
class Volume:
    """What a user sees as a drive. A mirror is one of type gen with several components."""

    TYPES = (0x51,)
    number: int
    name: str
    kind: str
    ordinal: int
    components: int
    sectors: int
    guid: UUID

    def fields(self) -> tuple[int, bytes]:
        """Flags and fields of the record."""
        return 0, b"".join(
            (
                number(self.number),
                text(self.name),
                text(self.kind),
                text(""),
                padded(ACTIVE, STATE_BYTES),
                bytes([VOLUME_TYPES[self.kind], 1, self.ordinal, 0, 0, 0, VOLUME_FLAGS]),
                number(self.components),
                TRANSACTION,
                bytes(8),
                number(self.sectors),
                bytes(4),
                bytes([NTFS]),
                self.guid.bytes,
            )
        )

    @classmethod
    def read(cls, _kind: int, flags: int, at: Cursor) -> "Volume":
        """From the fields of a record."""
        found, name, kind, _ = at.number(), at.text(), at.text(), at.text()
        at.take(STATE_BYTES)
        code, _, ordinal = at.fixed(1), at.fixed(1), at.fixed(1)
        if VOLUME_TYPES.get(kind) != code:
            raise LdmError(
                f"{at.where}: volume {name} has type {kind} and code {code}, which do not belong together;"
                " create it again"
            )
        at.take(4)
        components = at.number()
        at.take(16)
        sectors = at.number()
        at.take(5)
        volume = cls(found, name, kind, ordinal, components, sectors, UUID(bytes=at.take(16)))
        for flag in (HAS_IDENTITY_1, HAS_IDENTITY_2):
            if flags & flag:
                at.take(at.fixed(1))
        if flags & HAS_SIZE_2:
            at.number()
        if flags & HAS_HINT:
            at.text()
        return volume


@dataclass(frozen=True)
class Component:
    """How partitions make up a volume, or one side of a mirror (a plex)."""

    TYPES = (0x32,)
    number: int
    name: str
    kind: int
    parts: int
    volume: int
    stripe_sectors: int = 0
    """0: not striped."""

    def fields(self) -> tuple[int, bytes]:
        """Flags and fields of the record."""
        columns = number(self.stripe_sectors) + number(self.parts) if self.stripe_sectors else b""
        return HAS_COLUMNS if columns else 0, b"".join(
            (
                number(self.number),
                text(self.name),
                text(ACTIVE),
                bytes([self.kind]),
                bytes(4),
                number(self.parts),
                TRANSACTION,
                bytes(8),
                number(self.volume),
                bytes(1),
                columns,
            )
        )

    @classmethod
    def read(cls, _kind: int, flags: int, at: Cursor) -> "Component":
        """From the fields of a record."""
        found, name, _ = at.number(), at.text(), at.text()
        kind = at.fixed(1)
        at.take(4)
        parts = at.number()
        at.take(16)
        volume = at.number()
        at.take(1)
        stripe = 0
        if flags & HAS_COLUMNS:
            stripe, columns = at.number(), at.number()
            if columns != parts:
                raise LdmError(
                    f"{at.where}: component {name} has {columns} columns but {parts} partitions; create it again"
                )
        return cls(found, name, kind, parts, volume, stripe)


@dataclass(frozen=True)
class Partition:
    """A range of one disk that belongs to a component. Start counts from the start of the logical disk."""

    TYPES = (0x33,)
    number: int
    name: str
    start: int
    volume_offset: int
    sectors: int
    component: int
    disk: int
    index: int = 0
    """Column of the stripe."""

    def fields(self) -> tuple[int, bytes]:
        """Flags and fields of the record. Windows leaves the index of the first column out."""
        return HAS_INDEX if self.index else 0, b"".join(
            (
                number(self.number),
                text(self.name),
                bytes(4),
                TRANSACTION,
                self.start.to_bytes(8, "big"),
                self.volume_offset.to_bytes(8, "big"),
                number(self.sectors),
                number(self.component),
                number(self.disk),
                number(self.index) if self.index else b"",
            )
        )

    @classmethod
    def read(cls, _kind: int, flags: int, at: Cursor) -> "Partition":
        """From the fields of a record."""
        found, name = at.number(), at.text()
        at.take(12)
        start, offset = at.fixed(8), at.fixed(8)
        sectors, component, disk = at.number(), at.number(), at.number()
        return cls(found, name, start, offset, sectors, component, disk, at.number() if flags & HAS_INDEX else 0)


def named(as_text: bool, at: Cursor) -> tuple[int, str, UUID]:
    """Number, name and GUID, which is a text or binary."""
    return at.number(), at.text(), parse_guid(at.text(), at.where) if as_text else UUID(bytes=at.take(16))


Record = Group | Disk | Volume | Component | Partition
KINDS = {kind: record for record in (Group, Disk, Volume, Component, Partition) for kind in record.TYPES}


def parse_guid(value: str, where: str) -> UUID:
    """A GUID in its usual form."""
    try:
        guid = UUID(value)
    except ValueError:
        guid = None
    if str(guid) != value.lower():
        raise LdmError(f"{where}: {value!r} is no GUID; the database is damaged, create it again")
    return guid


def encode(record: Record) -> bytes:
    """A record behind the head of its first VBLK: status, flags, type, length, fields."""
    flags, fields = record.fields()
    return bytes([0, 0, flags, record.TYPES[0]]) + len(fields).to_bytes(4, "big") + fields


def decode(data: bytes, where: str) -> Record | None:
    """The record, or nothing where the VBLK is free."""
    at = Cursor(data, where)
    _status, flags, kind, length = at.fixed(2), at.fixed(1), at.fixed(1), at.fixed(4)
    if kind == 0:
        return None
    if kind not in KINDS:
        raise LdmError(f"{where}: a record of unknown type 0x{kind:02x}; the database is damaged, create it again")
    if length > len(data) - RECORD_HEAD_BYTES:
        raise LdmError(f"{where}: a record of {length} bytes does not fit; the database is damaged, create it again")
    return KINDS[kind].read(kind, flags, Cursor(data[RECORD_HEAD_BYTES : RECORD_HEAD_BYTES + length], where))


def split(data: bytes, vblk_bytes: int) -> list[bytes]:
    """A record in pieces that fit into VBLKs."""
    step = vblk_bytes - VBLK_HEAD_BYTES
    return [data[start : start + step].ljust(step, b"\0") for start in range(0, len(data), step)]
