# SPDX-License-Identifier: MIT
"""What a cell on UFS wrote and read: data, directories, inodes, bitmaps or superblock.

    spindle try --fs ffs --workload postmark --keep out --keep-disk
    python -m analysis.ufs_blocks --image out/disk.img out/io.trace
    python -m analysis.ufs_blocks --image EMPTY.img results/full/cells/<cell>/io.trace

Superblocks, bitmaps and inodes lie where the superblock of the image says (lab/guest/ufs/ufs1.h). Behind them every
fragment may hold data, a directory or an indirect block, and only the disk as the run left it tells which: first the
inodes in use, then, for a fragment that none of them owns any more, what still stands in it. With an image of the
empty file system all of these are `data area`.

What cannot be told: a fragment counts for the whole run as what it was last, so a directory whose place was given to a
file counts as data. Indirect blocks of files that are gone count as data. Nothing says who waited for a write; `alone`
are those that had the disk to themselves until they were acknowledged.
"""

import argparse
import os
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from analysis import traces
from analysis.errors import ResultError
from lab.cell import trace

SUPER_OFFSET = 8192
SUPER_BYTES = 1376
MAGIC = 0x011954
FIELDS = {
    "sblkno": 2, "cblkno": 3, "iblkno": 4, "dblkno": 5, "size": 9, "ncg": 11, "bsize": 12, "fsize": 13, "frag": 14,
    "csaddr": 38, "cssize": 39, "ipg": 46, "fpg": 47,
}  # fmt: skip
"""Fields of the superblock that are needed, and which of its 32-bit words they are (ufs1.h)."""
INODE_BYTES = 128
FORMAT, DIRECTORY, REGULAR = 0xF000, 0x4000, 0x8000
DIRECT, INDIRECT = 12, 3
CHUNK = 512
"""Bytes of a directory that its entries never leave."""
CLASSES = ("superblock", "bitmaps", "inodes", "data", "directories", "indirect", "data area", "mixed")
"""`mixed` are requests that reach over more than one; bitmaps are the cylinder groups with their counts."""
(SUPERBLOCK, BITMAPS, INODES, DATA, DIRECTORIES, INDIRECTS, AREA, MIXED) = range(len(CLASSES))
COLUMNS = ("op", "class", "requests", "bytes", "bytes_mean", "addresses", "alone_share", "response_mean_ms")


@dataclass(frozen=True)
class Layout:
    """A superblock's numbers: fragments, but for `ncg`, `ipg` and the sizes in bytes of a block and a fragment."""

    sblkno: int
    cblkno: int
    iblkno: int
    dblkno: int
    size: int
    ncg: int
    bsize: int
    fsize: int
    frag: int
    csaddr: int
    cssize: int
    ipg: int
    fpg: int


def layout(image: Path) -> Layout:
    """The layout of the file system in an image."""
    try:
        with image.open("rb") as file:
            file.seek(SUPER_OFFSET)
            raw = file.read(SUPER_BYTES)
    except OSError as error:
        raise ResultError(f"image {image}: {error.strerror}; --keep-disk of spindle try leaves one") from None
    words = struct.unpack(f"<{len(raw) // 4}I", raw[: len(raw) & ~3])
    if len(raw) < SUPER_BYTES or words[-1] != MAGIC:
        raise ResultError(f"image {image}: no UFS1 superblock at byte {SUPER_OFFSET}; give the image of a UFS cell")
    return Layout(**{name: words[at] for name, at in FIELDS.items()})


def regions(about: Layout) -> np.ndarray:
    """The class of each fragment, as far as its address says it."""
    codes = np.full(about.ncg * about.fpg, AREA, dtype=np.int8)
    groups = codes.reshape(about.ncg, about.fpg)
    groups[:, about.sblkno : about.cblkno] = SUPERBLOCK
    groups[:, about.cblkno : about.iblkno] = BITMAPS
    groups[:, about.iblkno : about.dblkno] = INODES
    codes[: about.sblkno] = SUPERBLOCK
    # The counts of all groups are written along with the superblock.
    codes[about.csaddr : about.csaddr + -(-about.cssize // about.fsize)] = SUPERBLOCK
    return codes[: about.size]


def inodes(image: Path, about: Layout) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Mode, size and block pointers of each directory and regular file in the image."""
    room = about.ipg * INODE_BYTES
    with image.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        for group in range(about.ncg):
            begin = (group * about.fpg + about.iblkno) * about.fsize
            if begin >= end:
                break
            try:
                if os.lseek(file.fileno(), begin, os.SEEK_DATA) >= begin + room:
                    continue
            except OSError:
                break
            file.seek(begin)
            raw = file.read(room)
            for at in range(0, len(raw) - INODE_BYTES + 1, INODE_BYTES):
                mode = raw[at] | raw[at + 1] << 8
                if mode & FORMAT in (DIRECTORY, REGULAR):
                    (size,) = struct.unpack_from("<Q", raw, at + 8)
                    yield mode, size, struct.unpack_from(f"<{DIRECT + INDIRECT}i", raw, at + 40)


def is_directory(raw: bytes) -> bool:
    """Whether this is CHUNK bytes of a directory: entries that fill it exactly, each with a printable name."""
    at = 0
    if len(raw) < CHUNK:
        return False
    while at + 8 <= len(raw):
        _, length, _, name = struct.unpack_from("<IHBB", raw, at)
        if length < 8 + name or length % 4 or at + length > CHUNK:
            return False
        text = raw[at + 8 : at + 8 + name]
        if b"\0" in text or b"/" in text or (name and not text.isascii()):
            return False
        at += length
    return at == CHUNK


def contents(image: Path, about: Layout, touched: np.ndarray) -> np.ndarray:
    """The class of each fragment of a disk as a run left it; `touched` are the fragments that are asked about."""
    codes = regions(about)
    owned = np.zeros(len(codes), dtype=bool)

    def take(block: int, count: int, code: int) -> None:
        if 0 < block < len(codes):
            codes[block : block + count] = code
            owned[block : block + count] = True

    with image.open("rb") as file:

        def pointers(block: int) -> tuple[int, ...]:
            file.seek(block * about.fsize)
            return struct.unpack(f"<{about.bsize // 4}i", file.read(about.bsize))

        def tree(block: int, depth: int, code: int) -> None:
            take(block, about.frag, INDIRECTS)
            for below in pointers(block):
                if below > 0:
                    if depth:
                        tree(below, depth - 1, code)
                    else:
                        take(below, about.frag, code)

        for mode, size, blocks in inodes(image, about):
            code = DIRECTORIES if mode & FORMAT == DIRECTORY else DATA
            for number, block in enumerate(blocks[:DIRECT]):
                left = min(about.bsize, size - number * about.bsize)
                if left > 0:
                    take(block, -(-left // about.fsize), code)
            for depth, block in enumerate(blocks[DIRECT:]):
                if block > 0:
                    tree(block, depth, code)
        for fragment in np.unique(touched[(codes[touched] == AREA) & ~owned[touched]]).tolist():
            file.seek(fragment * about.fsize)
            codes[fragment] = DIRECTORIES if is_directory(file.read(CHUNK)) else DATA
    return codes


def fragments(found: pd.DataFrame, about: Layout) -> np.ndarray:
    """All fragments that some request touches."""
    per = about.fsize // trace.SECTOR_BYTES
    first = found.lbn.to_numpy() // per
    count = (found.lbn + found.sectors - 1).to_numpy() // per - first + 1
    steps = np.arange(count.sum()) - np.repeat(count.cumsum() - count, count)
    every = np.unique(np.repeat(first, count) + steps)
    return every[every < about.size]


def classes(found: pd.DataFrame, codes: np.ndarray, about: Layout) -> np.ndarray:
    """The class of each request."""
    per = about.fsize // trace.SECTOR_BYTES
    last = np.minimum((found.lbn + found.sectors - 1).to_numpy() // per, len(codes) - 1)
    first = np.minimum(found.lbn.to_numpy() // per, last)
    changes = np.concatenate([[0], np.cumsum(codes[1:] != codes[:-1])])
    return np.where(changes[first] == changes[last], codes[first], MIXED)


def table(found: pd.DataFrame, codes: np.ndarray, about: Layout) -> list[dict]:
    """One row for each operation and class that occurs, in the order of CLASSES."""
    found = traces.in_order(found[found.op != "F"])
    found = found.assign(code=classes(found, codes, about), kind=np.where(found.op == "R", "read", "write"))
    rows = []
    for (kind, code), part in found.groupby(["kind", "code"]):
        count, size = len(part), int(part.sectors.sum()) * trace.SECTOR_BYTES
        waited = int((part.acknowledged_ns - part.arrival_ns).sum())
        rows.append({
            "op": kind, "class": CLASSES[code], "requests": count, "bytes": size, "bytes_mean": round(size / count),
            "addresses": part.lbn.nunique(), "alone_share": round(int(part.alone.sum()) / count, 3),
            "response_mean_ms": round(waited / count / 1e6, 3),
        })  # fmt: skip
    return rows


def read(path: Path) -> pd.DataFrame:
    """Requests of a trace: of a result, or as spindle try keeps it, which is the cell before its check."""
    if path.read_bytes()[:1] != b"#":
        return traces.frame(traces.text_of(path))
    cells = trace.split(path.read_text())
    return traces.frame(next(iter(cells.values())))


def main(argv: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="analysis.ufs_blocks", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--image", type=Path, required=True, help="the disk as the run left it, or its empty file system"
    )
    parser.add_argument("--from-ns", type=int, default=0, help="only requests that arrive at this time or later")
    parser.add_argument("--until-ns", type=int, help="only requests that arrive before")
    parser.add_argument("--regions", action="store_true", help="do not look at the contents of the image")
    parser.add_argument("trace", type=Path, help="io.trace, compressed or not")
    options = parser.parse_args(argv)
    try:
        about = layout(options.image)
        found = read(options.trace)
        found = found[found.arrival_ns >= options.from_ns]
        if options.until_ns is not None:
            found = found[found.arrival_ns < options.until_ns]
        codes = regions(about) if options.regions else contents(options.image, about, fragments(found, about))
    except (ResultError, trace.TraceError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(",".join(COLUMNS))
    for row in table(found, codes, about):
        print(",".join(str(row[name]) for name in COLUMNS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
