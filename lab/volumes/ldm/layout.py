# SPDX-License-Identifier: MIT
"""Where the structures of a dynamic disk lie, and the constants in them.

Positions are in 512-byte sectors. Sources: [K] Linux 6.1, block/partitions/ldm.c and ldm.h; [L] libldm 0.2.5,
src/ldm.c and src/mbr.c; [W] disks that Windows Server 2003 R2 and 2008 R2 wrote, in libldm's test/data.
"""

from lab.cell.errors import SpindleError

SECTOR = 512
MIB_SECTORS = (1 << 20) // SECTOR

# Behind the partition table [K] [L].
PARTITION_TYPE = 0x42
PRIVATE_HEADER = 6
DATA_START = 63
"""First sector of the logical disk: the second track of the geometry below [W]."""
HEADS, TRACK_SECTORS = 255, 63
"""Geometry of every large disk; Windows 2000 ends the logical disk at a cylinder [W]."""
MBR_SECTORS_MOST = (1 << 32) - 1

# In the database, which is the last megabyte of the disk; positions count from its start [K].
DATABASE_SECTORS = 2048
PRIVATE_HEADER_COPIES = (1856, 2047)
TOCS = (1, 2, 2045, 2046)
TOC_AREA_SECTORS = 2046  # [W]
CONFIG_START, CONFIG_SECTORS = 17, 1481
LOG_START, LOG_SECTORS = CONFIG_START + CONFIG_SECTORS, 224  # [W]

# Versions: the private header's is that of Windows 2000 and XP [K].
PRIVATE_HEADER_VERSION = (2, 11)
PRIVATE_HEADER_VERSIONS = (PRIVATE_HEADER_VERSION, (2, 12))
VMDB_VERSION = (4, 10)

VBLK_BYTES = 128
VBLK_HEAD_BYTES = 16
VBLK_MOST_PARTS = 4  # [K]
FIRST_VBLK = SECTOR // VBLK_BYTES
"""Numbers of VBLKs count from the header of the VMDB, which takes the place of the first four [W]."""
END_VBLK = CONFIG_SECTORS * SECTOR // VBLK_BYTES

HOST_GUID = "1b77da20-c717-11d0-a5be-00a0c91db73c"
"""The same on all disks of [W]."""

GROUP_NAME_MOST = 30
"""Characters: the VMDB has 31 bytes with the NUL [L]."""
DISKS_MOST = 32
"""Columns and plexes that Windows gives a volume at most (recalled)."""


class LdmError(SpindleError):
    """A disk or a request that cannot be used: what, where, next step."""
