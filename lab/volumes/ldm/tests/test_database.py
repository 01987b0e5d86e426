# SPDX-License-Identifier: MIT
"""The bytes of the database: what is written is read back, positions and sums are those of real disks, and damage is
one message."""

import functools
import random
from uuid import UUID

import pytest

from lab.volumes.ldm import database, layout, records, volumes
from lab.volumes.ldm.fields import Cursor, number, text
from lab.volumes.ldm.layout import SECTOR, LdmError

SECTORS = 102_400


def disk_of(areas):
    """A disk in memory: what was written by sector, and a function that reads it."""
    content = {}
    for start, data in areas:
        for place in range(0, len(data), SECTOR):
            content[start + place // SECTOR] = data[place : place + SECTOR]
    return content, lambda sector: content.get(sector, bytes(SECTOR))


@functools.cache
def written(kind, disks, name):
    """A database, and what is written on its first disk."""
    geometry = database.Geometry.of(SECTORS)
    planned = volumes.plan(volumes.Request(kind, name), disks, geometry.data_sectors)
    return planned, database.encode(geometry, planned, planned.disks[0])


def made(kind="raid5", disks=3, name="Volume1"):
    """A database, and its first disk."""
    planned, areas = written(kind, disks, name)
    return planned, disk_of(areas)


def test_fields():
    assert number(0) == b"\x01\x00"
    assert number(0x17800) == b"\x03\x01\x78\x00"
    assert text("gen") == b"\x03gen"
    at = Cursor(number(0) + text("") + number(1 << 40) + b"\x00", "here")
    assert (at.number(), at.text(), at.number(), at.number()) == (0, "", 1 << 40, 0)
    for bad in (b"\x09", b"\x02\x01", b""):
        with pytest.raises(LdmError, match=r"here: .*create it again"):
            Cursor(bad, "here").number()
    with pytest.raises(LdmError, match="no text"):
        Cursor(b"\x01\xff", "here").text()


def drawn(seed):
    """A record of every kind with contents drawn from a seed."""
    draw = random.Random(seed)

    def name():
        return "".join(draw.choice("abcXYZ019_-") for _ in range(draw.randint(1, 63)))

    def some():
        return draw.randrange(1 << draw.randint(1, 63))

    guid = UUID(int=draw.getrandbits(128))
    stripe = draw.choice((0, 8, 128, 2048))
    yield records.Group(some(), name(), guid)
    yield records.Disk(some(), name(), guid)
    yield records.Volume(some(), name(), draw.choice(("gen", "raid5")), draw.randrange(256), some(), some(), guid)
    yield records.Component(some(), name(), draw.randrange(256), some(), some(), stripe)
    yield records.Partition(some(), name(), some(), some(), some(), some(), some(), draw.choice((0, 1, 31)))


@pytest.mark.parametrize("seed", range(200))
def test_records_are_read_back(seed):
    for record in drawn(seed):
        data = records.encode(record)
        assert records.decode(data, "here") == record
        # Unused bytes behind a record, as in a VBLK, change nothing.
        assert records.decode(b"".join(records.split(data, layout.VBLK_BYTES)), "here") == record
        for end in range(records.RECORD_HEAD_BYTES, len(data)):
            with pytest.raises(LdmError):
                records.decode(data[:end], "here")


@pytest.mark.parametrize(
    ("kind", "disks"),
    [("simple", 1), ("spanned", 2), ("striped", 2), ("striped", 32), ("mirrored", 2), ("raid5", 3), ("raid5", 32)],
)
def test_disks_are_read_back(kind, disks):
    geometry = database.Geometry.of(SECTORS)
    planned = volumes.plan(volumes.Request(kind, name="v" * 63, group="g" * 30), disks, geometry.data_sectors)
    for disk in planned.disks:
        _, read = disk_of(database.encode(geometry, planned, disk))
        found = database.decode(read, SECTORS, "here")
        assert (found.guid, found.group, found.geometry) == (disk.guid, planned.group.guid, geometry)
        assert found.database == planned
        assert volumes.kind_of(found.database, found.database.volumes[0]) == kind


def test_structure():
    """Positions and values that Windows' disks of this size have, by hand."""
    planned, (disk, _) = made()
    assert disk[0][0x1BE:] == bytes.fromhex("00 010100 42 fe3f05 3f000000 47780100") + bytes(48) + b"\x55\xaa"
    base = SECTORS - 2048
    assert disk[6] == disk[base + 1856] == disk[base + 2047]
    assert disk[6][:8] == b"PRIVHEAD"
    assert disk[6][0x0C:0x10] == bytes.fromhex("0002 000b")
    assert disk[6][0x18:0x30] == bytes.fromhex("0000000000000001 00000000000007ff 0000000000000740")
    assert disk[6][0x30:0x54].decode() == str(planned.disks[0].guid)
    assert disk[6][0xB0:0xD4].decode() == str(planned.group.guid)
    assert disk[6][0xF0:0xFB] == b"Spindle-Dg0"
    assert disk[6][0x11B:0x13B] == bytes.fromhex("000000000000003f 0000000000017847 0000000000018800 0000000000000800")
    assert disk[6][0x13B:0x163] == bytes.fromhex(
        "0000000000000001 00000000000007fe 00000001 00000001 00000000000005c9 00000000000000e0"
    )
    tocs = [disk[base + place] for place in (1, 2, 2045, 2046)]
    assert len(set(tocs)) == 1
    # With the first number of a table of contents this is Windows Server 2008 R2's, byte for byte.
    areas = "636f6e666967 00000000 0000000000000011 00000000000005c9 0006000100000000"
    areas += "6c6f67 00000000000000 00000000000005da 00000000000000e0 0006000100000000"
    head = b"TOCBLOCK" + bytes.fromhex("000008b6 00000000 00000001") + bytes(16)
    assert tocs[0] == (head + bytes.fromhex(areas)).ljust(SECTOR, b"\0")
    vmdb = disk[base + 17]
    assert vmdb[:0x21] == bytes.fromhex("564d4442 00001724 00000080 00000200 0001 0004 000a") + b"Spindle-Dg0"
    assert vmdb[0x35:0x59].decode() == str(planned.group.guid)
    assert vmdb[0x75:0x95] == bytes.fromhex("0000000000000001 0000000000000001 00000001 00000001 00000003 00000003")
    assert disk[base + 18][:16] == bytes.fromhex("56424c4b 00000004 00000001 0000 0001")
    assert disk[base + 1497][384:] == bytes.fromhex("56424c4b 00001723") + bytes(120)
    assert disk[base + 1498][:4] == disk[base + 1499][:4] == b"KLOG"
    assert not any(disk[base + 1500])
    for sector in (disk[6], tocs[0]):
        assert int.from_bytes(sector[8:12], "big") == sum(sector) - sum(sector[8:12])


def test_volume_record():
    """A volume's record by hand, as libldm and the kernel read it."""
    planned, (disk, _) = made("striped", 2)
    found = next(
        disk[SECTORS - 2048 + 18 + place // 4][place % 4 * 128 :][:128]
        for place in range(8)
        if disk[SECTORS - 2048 + 18 + place // 4][place % 4 * 128 + 0x13] == 0x51
    )
    head = bytes.fromhex("56424c4b 00000007 00000004 0000 0001 0000 00 51 0000004f")
    name = b"\x01\x04" + b"\x07Volume1" + b"\x03gen" + b"\x00" + b"ACTIVE".ljust(14, b"\0")
    rest = bytes.fromhex("03 01 01 000000 11 0101 0000000000000001 0000000000000000 0302f000 00000000 07")
    assert found == (head + name + rest + planned.volumes[0].guid.bytes).ljust(128, b"\0")


@pytest.mark.parametrize("seed", range(200))
def test_damage_is_a_message(seed):
    """Bytes overwritten anywhere in the structures: the same database is read, or one message says what is wrong."""
    draw = random.Random(seed)
    planned, (disk, read) = made("raid5", 3, name="v" * 60)
    base = SECTORS - 2048
    used = [0, 6, base + 1, base + 2, *range(base + 17, base + 24), *(base + place for place in (1497, 1856, 2047))]
    for _ in range(draw.randint(1, 4)):
        sector = draw.choice(used)
        content = bytearray(disk[sector])
        at = draw.randrange(SECTOR)
        length = draw.choice((1, 1, 2, 8, 64))
        content[at : at + length] = draw.randbytes(len(content[at : at + length]))
        if draw.random() < 0.5 and sector in (6, base + 1, base + 2):
            content = database.checked(bytes(content))
            if sector == 6:
                disk[base + 1856] = disk[base + 2047] = content
        disk[sector] = bytes(content)
    try:
        found = database.decode(read, SECTORS, "disk")
    except LdmError as error:
        assert str(error).startswith("disk: ")
        assert "create" in str(error)
    else:
        assert [type(record) for record in found.database.records] == [type(record) for record in planned.records]
        assert volumes.kind_of(found.database, found.database.volumes[0])


@pytest.mark.parametrize("sectors", [0, 1, 7, 2048, 4000])
def test_empty_disks(sectors):
    with pytest.raises(LdmError, match="no partition of type 0x42"):
        database.decode(lambda _: bytes(SECTOR), sectors, "disk")


@pytest.mark.parametrize(("sectors", "data"), [(102_400, 96_327), (71_687_340, 71_682_030 - 63), (18_113, 16_002)])
def test_geometry(sectors, data):
    """The logical disk ends at a cylinder; the first is Windows Server 2003's for this size."""
    geometry = database.Geometry.of(sectors)
    assert geometry.data_sectors == data
    assert (geometry.data_sectors + 63) % 16_065 == 0
    assert geometry.data_sectors + 63 <= geometry.database_start
