# SPDX-License-Identifier: MIT
"""How many directory blocks a news server would read if so many MiB of directories stayed in memory.

    netnews --print --seed 1 > trace.txt
    python -m analysis.directory_cache trace.txt 1 2 4 8 16

FreeBSD of 2000 kept directories in a small part of its buffer cache (vfs.vmiodirenable was off, tuning(7)); the guest
keeps them in all of its memory. This replays the operations of the workload netnews on a cache of directory blocks
that drops what was used least recently. It begins empty, with the spool's directories as the spool's articles left
them. A create or link reads a directory to its end, for the name may be there; a removal reads it up to the name.
Names are never moved. Buffers are as long as the directory reaches into their block, in steps of CHUNK.
"""

import argparse
import sys
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from analysis.errors import ResultError

BLOCK = 8192
CHUNK = 512
"""An entry never crosses this, and a directory grows by it."""
EMPTY = 24
"""Entries of `.` and `..`."""
MEASURED = ("unbatch", "expire")


def entry_bytes(name: str) -> int:
    """Length of a directory entry."""
    return (8 + len(name) + 1 + 3) & ~3


@dataclass
class Directories:
    """Where each name is."""

    used: dict[str, int] = field(default_factory=lambda: defaultdict(lambda: EMPTY))
    places: dict[str, int] = field(default_factory=dict)

    def add(self, path: str) -> None:
        """A name behind all others."""
        folder, _, name = path.rpartition("/")
        at, length = self.used[folder], entry_bytes(name)
        if at // CHUNK != (at + length - 1) // CHUNK:
            at = -(-at // CHUNK) * CHUNK
        self.places[path] = at
        self.used[folder] = at + length

    def bytes_of(self, folder: str) -> int:
        """Its size."""
        return -(-self.used[folder] // CHUNK) * CHUNK


@dataclass
class Cache:
    """Directory blocks, the least recently used first."""

    room: int
    used: int = 0
    blocks: OrderedDict = field(default_factory=OrderedDict)

    def touch(self, key: tuple[str, int], size: int) -> bool:
        """Use a block of this size; whether it had to be read."""
        before = self.blocks.pop(key, None)
        self.blocks[key] = size
        self.used += size - (before or 0)
        while self.used > self.room:
            self.used -= self.blocks.popitem(last=False)[1]
        return before is None


def operations(lines: list[str]) -> list[tuple[str, str, str]]:
    """Phase, operation and path of each line of a printed trace; its summary is passed over."""
    words = [line.split() for line in lines]
    found = [(word[0], word[1], word[2]) for word in words if len(word) > 2 and word[0] in ("spool", *MEASURED)]
    if not found:
        raise ResultError("no operation in it; give what `netnews --print --seed 1` prints")
    return found


def reads(done: list[tuple[str, str, str]], room: int) -> dict[str, int]:
    """Directory blocks read in each measured phase with so many bytes of cache."""
    directories, cache = Directories(), Cache(room)
    found = dict.fromkeys(MEASURED, 0)
    for phase, operation, path in done:
        if phase in found:
            folder = path.rpartition("/")[0]
            size = directories.bytes_of(folder)
            end = directories.places.get(path, 0) + 1 if operation == "remove" else size
            for block in range(-(-end // BLOCK)):
                found[phase] += cache.touch((folder, block), min(BLOCK, size - block * BLOCK))
        if operation != "remove":
            directories.add(path)
    return found


def main(argv: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="analysis.directory_cache", description=__doc__.splitlines()[0])
    parser.add_argument("trace", type=Path, help="what `netnews --print` printed")
    parser.add_argument("mib", type=int, nargs="+", help="MiB of directories that stay in memory")
    options = parser.parse_args(argv)
    try:
        done = operations(options.trace.read_text(encoding="utf-8").splitlines())
    except (OSError, UnicodeDecodeError, ResultError) as error:
        print(f"error: {options.trace}: {error}", file=sys.stderr)
        return 1
    print("mib", *MEASURED, "sum", sep=",")
    for mib in options.mib:
        found = reads(done, mib << 20)
        print(mib, *found.values(), sum(found.values()), sep=",")
    return 0


if __name__ == "__main__":
    sys.exit(main())
