# SPDX-License-Identifier: MIT
"""A small UFS made here, fragment by fragment."""

import struct
from pathlib import Path

from analysis import ufs_blocks

BSIZE, FSIZE, FRAG, FPG, NCG, IPG = 8192, 1024, 8, 512, 2, 128
SUPER, GROUP, INODE, FIRST = 16, 24, 32, 48
"""Superblock's copy, cylinder group, inodes and data of a group."""
COUNTS = FIRST


def superblock() -> bytes:
    words = [0] * (ufs_blocks.SUPER_BYTES // 4)
    values = {
        "sblkno": SUPER, "cblkno": GROUP, "iblkno": INODE, "dblkno": FIRST, "size": FPG * NCG, "ncg": NCG,
        "bsize": BSIZE, "fsize": FSIZE, "frag": FRAG, "csaddr": COUNTS, "cssize": FSIZE, "ipg": IPG, "fpg": FPG,
    }  # fmt: skip
    for name, value in values.items():
        words[ufs_blocks.FIELDS[name]] = value
    words[-1] = ufs_blocks.MAGIC
    return struct.pack(f"<{len(words)}I", *words)


def inode(mode: int, size: int, blocks: list[int]) -> bytes:
    pointers = struct.pack("<15i", *blocks, *[0] * (15 - len(blocks)))
    return (struct.pack("<HhHHQ", mode, 1, 0, 0, size) + b"\0" * 24 + pointers).ljust(ufs_blocks.INODE_BYTES, b"\0")


def directory(*names: bytes) -> bytes:
    raw = b"".join(struct.pack("<IHBB", 5, 12, 4, len(name)) + name.ljust(4, b"\0") for name in names[:-1])
    return raw + struct.pack("<IHBB", 5, 512 - len(raw), 4, len(names[-1])) + names[-1].ljust(504 - len(raw), b"\0")


def write(path: Path) -> Path:
    """A root directory, a file of 13 blocks with its indirect block, and what a removed directory left behind."""
    parts = {
        ufs_blocks.SUPER_OFFSET: superblock(),
        INODE * FSIZE + 2 * 128: inode(0x41ED, 512, [64]),
        (FPG + INODE) * FSIZE: inode(0x81A4, 13 * BSIZE, [FPG + 64 + FRAG * n for n in range(12)] + [FPG + 400]),
        64 * FSIZE: directory(b".", b"..", b"a"),
        72 * FSIZE: directory(b".", b".."),
        80 * FSIZE: b"text " * 100,
        (FPG + 400) * FSIZE: struct.pack("<i", FPG + 408),
    }
    with path.open("wb") as file:
        file.truncate(FPG * NCG * FSIZE)
        for at, raw in parts.items():
            file.seek(at)
            file.write(raw)
    return path
