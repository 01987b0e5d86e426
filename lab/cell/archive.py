# SPDX-License-Identifier: MIT
"""Carry finished results from one checkout to another, in one file.

    spindle export --profile full part1.tar.zst [--cells 'scsi-*.postmark.*']
    spindle import --profile full part1.tar.zst [...]

An archive is a zstd-compressed tar: manifest.json, with size and SHA-256 of every file, and then the folders of
finished cells. It has one form: the same results give the same bytes, and other bytes are no archive.

Import takes an archive as a whole or refuses it as a whole. Before anything is put in place every file must be the one
that the manifest names, and every result.json must follow from its cell's report and trace, byte for byte. Of an
archive that is whole, cells are left out that are none of the profile's, or that were made from other inputs than those
that are built here; a good result that is there already stays.

Whoever forges report, trace, result and manifest so that they agree is not found out this way. Running the cell again
is the only thing that helps against that.
"""

import errno
import hashlib
import json
import os
import re
import shutil
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import BinaryIO

import zstandard

from lab.cell import boot, cells, config, evidence, judge, lock, paths, run, store, trace
from lab.cell.errors import EnvironmentMissing, SpindleError

SCHEMA = "spindle-archive/1"
MANIFEST = "manifest.json"
ZSTD_LEVEL = 3
"""Traces are compressed already."""
CHUNK_BYTES = 1 << 20
"""What the compressor is given at a time, on both sides: the compressed form must not depend on it."""
BLOCK_BYTES = tarfile.BLOCKSIZE
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=-]{0,250}")
DIGEST = re.compile(r"[0-9a-f]{64}")

MOST_CELLS = 50_000
MOST_BYTES = 64 << 30
"""Of all members."""
MOST_MANIFEST_BYTES = 64 << 20
MOST_RATIO = 1000
"""Unpacked bytes for each byte of the archive; reports and consoles repeat from cell to cell, and shrink to little."""
MOST_WINDOW_BYTES = 1 << 23
FRAME_HEADER_BYTES = 18
"""Most that the header of a zstd frame takes."""
MOST_FILE_BYTES = {
    "command": 1 << 20,
    "console.log": 64 << 20,
    "evidence.json": 4 << 20,
    "io.trace": 1 << 30,
    "report.txt": 64 << 20,
    "result.json": 4 << 20,
}


class ArchiveError(SpindleError):
    """An archive that is refused as a whole."""


class _Damaged(Exception):
    """Why a file is no archive, for the message."""


def _padding(size: int) -> bytes:
    return bytes(-size % BLOCK_BYTES)


def _header(name: str, size: int) -> bytes:
    """The one header of a member: a regular file without owner and time."""
    entry = tarfile.TarInfo(name)
    entry.size = size
    return entry.tobuf(tarfile.PAX_FORMAT)


def _tail(before: int) -> bytes:
    """The end of a tar of which so many bytes are written: two empty blocks, and what fills the last record."""
    return bytes(2 * BLOCK_BYTES + -(before + 2 * BLOCK_BYTES) % tarfile.RECORDSIZE)


@dataclass(frozen=True)
class Member:
    """A cell's file as the manifest has it."""

    cell: str
    name: str
    size: int
    sha256: str

    @property
    def path(self) -> str:
        """Its name in the archive."""
        return f"{self.cell}/{self.name}"


def manifest_text(members: list[Member]) -> bytes:
    """The one form of manifest.json."""
    listed: dict[str, dict] = {}
    for member in members:
        listed.setdefault(member.cell, {})[member.name] = {"size": member.size, "sha256": member.sha256}
    found = [{"id": name, "files": files} for name, files in listed.items()]
    return (json.dumps({"schema": SCHEMA, "count": len(found), "cells": found}, indent=1) + "\n").encode()


def plain_size(manifest: bytes, members: list[Member]) -> int:
    """Bytes of the tar."""
    sizes = [(MANIFEST, len(manifest)), *((member.path, member.size) for member in members)]
    before = sum(len(_header(name, size)) + size + len(_padding(size)) for name, size in sizes)
    return before + len(_tail(before))


def plain(members: list[Member], read: Callable[[Member], bytes]) -> Iterator[bytes]:
    """The tar, in parts."""
    manifest, before = manifest_text(members), 0
    for name, size, data in (
        (MANIFEST, len(manifest), lambda: manifest),
        *((member.path, member.size, lambda member=member: read(member)) for member in members),
    ):
        for part in (_header(name, size), data(), _padding(size)):
            before += len(part)
            yield part
    yield _tail(before)


class Packer:
    """Compresses what is written to it into a file, in the one form."""

    def __init__(self, size: int, write: Callable[[bytes], object]) -> None:
        packer = zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=True, write_content_size=True)
        self._object = packer.compressobj(size=size)
        self._write = write
        self._left = bytearray()

    def write(self, data: bytes) -> None:
        """Add plain bytes."""
        self._left += data
        while len(self._left) >= CHUNK_BYTES:
            self._write(self._object.compress(bytes(self._left[:CHUNK_BYTES])))
            del self._left[:CHUNK_BYTES]

    def close(self) -> None:
        """There is no more."""
        self._write(self._object.compress(bytes(self._left)))
        self._write(self._object.flush())


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def read_files(folder: Path) -> dict[str, bytes]:
    """The files of a cell's folder."""
    try:
        return {name: (folder / name).read_bytes() for name in store.FILES}
    except OSError as error:
        raise evidence.EvidenceError(f"{Path(error.filename or folder).name}: {error.strerror or error}") from None


def agree(name: str, files: dict[str, bytes]) -> evidence.Evidence:
    """The evidence of a cell whose files agree with each other, as far as nothing is derived again. Raises SpindleError
    with what does not agree."""
    found = evidence.unpack(name, files)
    parts = trace.split(found.lines)
    if parts != {name: found.lines}:
        raise evidence.EvidenceError("io.trace: it is not of this cell")
    trace.parse(found.lines)
    try:
        result = json.loads(files[store.RESULT])
    except (ValueError, RecursionError):
        raise evidence.EvidenceError(f"{store.RESULT}: it is no JSON") from None
    config.check(result, "result", store.RESULT)
    if store.result_text(result).encode() != files[store.RESULT]:
        raise evidence.EvidenceError(f"{store.RESULT}: it is not in the one form that the lab writes")
    if result["id"] != name:
        raise evidence.EvidenceError(f"{store.RESULT}: it is of cell {result['id']!r}")
    if result["status"] != "ok":
        raise evidence.EvidenceError(f"{store.RESULT}: the cell failed, and archives hold finished cells")
    for key in ("identity", "read", "lock"):
        if result.get(key) != found.about[key]:
            raise evidence.EvidenceError(f"{store.RESULT}: its {key} is not the one that {evidence.NAME} has")
    return found


def follows(cell: cells.Cell, found: evidence.Evidence, result: bytes) -> None:
    """Refuse a result that does not follow from its cell's report and trace."""
    again = store.result_text(judge.derive(cell, found)).encode()
    if again != result:
        ours, theirs = json.loads(again), json.loads(result)
        # As text: 1 and 1.0 are equal and not the same.
        keys = [key for key in {**ours, **theirs} if json.dumps(ours.get(key)) != json.dumps(theirs.get(key))]
        reason = f" ({ours['reason']})" if ours["reason"] else ""
        raise evidence.EvidenceError(f"{store.RESULT}: it does not follow from report and trace: {keys[0]}{reason}")


def collect(profile: str, pattern: str) -> tuple[list[Member], list[tuple[str, str]]]:
    """The files of the finished cells whose id fits a shell's pattern, and which finished cells are left out, why."""
    members, left_out = [], []
    for cell in sorted(cells.cells(profile), key=lambda cell: cell.id):
        folder = paths.ROOT / paths.cell_dir(profile, cell.id)
        if not fnmatchcase(cell.id, pattern):
            continue
        try:
            if store.read_result(folder)["status"] != "ok":
                continue
            files = read_files(folder)
            follows(cell, agree(cell.id, files), files[store.RESULT])
        except store.NoResult:
            continue
        except (SpindleError, trace.TraceError) as error:
            left_out.append((cell.id, str(error)))
            continue
        members += [Member(cell.id, name, len(files[name]), _sha256(files[name])) for name in store.FILES]
    return members, left_out


def export(profile: str, target: Path, pattern: str = "*") -> tuple[int, list[tuple[str, str]]]:
    """Write the finished cells whose id fits a shell's pattern, whole or not at all; returns how many there are, and
    which finished cells were left out, why."""
    members, left_out = collect(profile, pattern)
    if not members:
        first = f"; {left_out[0][0]}: {left_out[0][1]}" if left_out else ""
        raise SpindleError(
            f"{target}: nothing to export: no finished cell of profile {profile} fits {pattern!r}{first}"
        )

    def read(member: Member) -> bytes:
        data = (paths.ROOT / paths.cell_dir(profile, member.cell) / member.name).read_bytes()
        if _sha256(data) != member.sha256:
            raise SpindleError(f"{member.path}: it changed while it was exported; give the same command again")
        return data

    partial = target.with_name(f".{target.name}.new")
    try:
        with open(partial, "wb") as file:
            packer = Packer(plain_size(manifest_text(members), members), file.write)
            for part in plain(members, read):
                packer.write(part)
            packer.close()
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        next_step = "make room and give the same command again" if full else "write it elsewhere"
        raise SpindleError(f"{target}: it cannot be written: {error.strerror or error}; {next_step}") from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
    return len(members) // len(store.FILES), left_out


class _Same:
    """A file that the bytes written to it must be those of."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, data: bytes) -> None:
        """The next bytes."""
        if self._file.read(len(data)) != data:
            raise _Damaged("it is not in the one form that the lab writes")

    def close(self) -> None:
        """There are no more."""
        if self._file.read(1):
            raise _Damaged("something stands behind its end")


class Reader:
    """The plain bytes of an archive, read once, in order, and compressed again to see that it has the one form."""

    def __init__(self, file: BinaryIO, again: BinaryIO, packed_bytes: int) -> None:
        head = file.read(FRAME_HEADER_BYTES)
        file.seek(0)
        about = zstandard.get_frame_parameters(head)
        self.size = about.content_size
        if self.size in (zstandard.CONTENTSIZE_UNKNOWN, zstandard.CONTENTSIZE_ERROR) or not about.has_checksum:
            raise _Damaged("its first bytes are not those of an archive of results")
        if self.size > min(MOST_BYTES, MOST_RATIO * packed_bytes):
            raise _Damaged(f"it would unpack to {self.size} bytes, which is more than the lab accepts")
        if about.window_size > MOST_WINDOW_BYTES:
            raise _Damaged("it would need more memory to unpack than the lab accepts")
        unpacker = zstandard.ZstdDecompressor(max_window_size=MOST_WINDOW_BYTES)
        self._reader = unpacker.stream_reader(file, read_across_frames=False, closefd=False)
        self._same = _Same(again)
        self._packer = Packer(self.size, self._same.write)

    def take(self, size: int) -> bytes:
        """The next bytes, just as many."""
        parts, left = [], size
        while left:
            part = self._reader.read(min(left, CHUNK_BYTES))
            if not part:
                raise _Damaged("it ends too early")
            parts.append(part)
            left -= len(part)
        data = b"".join(parts)
        self._packer.write(data)
        return data

    def expect(self, wanted: bytes, what: str) -> None:
        """The next bytes must be these."""
        if self.take(len(wanted)) != wanted:
            raise _Damaged(what)

    def close(self) -> None:
        """All was read."""
        if self._reader.read(1):
            raise _Damaged("something stands behind its end")
        self._packer.close()
        self._same.close()


def read_manifest(data: bytes) -> list[Member]:
    """The members that a manifest names, checked."""
    try:
        listed = json.loads(data)
        members = [
            Member(cell["id"], name, about["size"], about["sha256"])
            for cell in listed["cells"]
            for name, about in cell["files"].items()
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise _Damaged(f"its {MANIFEST} is no list of cells and files") from None
    for member in members:
        good = isinstance(member.cell, str) and ID.fullmatch(member.cell) and member.name in MOST_FILE_BYTES
        if not good or type(member.size) is not int or not isinstance(member.sha256, str):
            raise _Damaged(f"its {MANIFEST} names a file that no cell has")
        if not 0 <= member.size <= MOST_FILE_BYTES[member.name] or not DIGEST.fullmatch(member.sha256):
            raise _Damaged(f"its {MANIFEST} has a size or a sum of {member.path} that no file of a cell has")
    names = sorted({member.cell for member in members})
    if [(member.cell, member.name) for member in members] != [(name, file) for name in names for file in store.FILES]:
        raise _Damaged(f"its {MANIFEST} does not name just the files of its cells, in order")
    if not names or len(names) > MOST_CELLS or manifest_text(members) != data:
        raise _Damaged(f"its {MANIFEST} is not in the one form that the lab writes")
    return members


def unpack(source: Path, scratch: Path) -> list[str]:
    """Unpack an archive into an empty folder; returns its cells. Raises _Damaged if it is not whole in every byte."""
    packed_bytes = source.stat().st_size
    with open(source, "rb") as file, open(source, "rb") as again:
        reader = Reader(file, again, packed_bytes)
        # A longer header than one block has no manifest's name and size.
        block = reader.take(BLOCK_BYTES)
        try:
            first = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
        except (tarfile.TarError, ValueError):
            raise _Damaged("its first member is none") from None
        if first.size > MOST_MANIFEST_BYTES or first.size < 0 or _header(MANIFEST, first.size) != block:
            raise _Damaged(f"its first member is not {MANIFEST}")
        manifest = reader.take(first.size)
        reader.expect(_padding(first.size), f"something stands behind {MANIFEST}")
        members = read_manifest(manifest)
        if plain_size(manifest, members) != reader.size:
            raise _Damaged(f"it has another size than its {MANIFEST} says")
        boot.require_space(scratch, reader.size)
        before = len(block) + first.size + len(_padding(first.size))
        for member in members:
            head = _header(member.path, member.size)
            reader.expect(head, f"{member.path} is not where {MANIFEST} has it")
            data = reader.take(member.size)
            if _sha256(data) != member.sha256:
                raise _Damaged(f"{member.path} is not the file that {MANIFEST} names")
            reader.expect(_padding(member.size), f"something stands behind {member.path}")
            before += len(head) + member.size + len(_padding(member.size))
            folder = scratch / member.cell
            folder.mkdir(exist_ok=True)
            (folder / member.name).write_bytes(data)
        reader.expect(_tail(before), "something stands behind its last member")
        reader.close()
    return sorted({member.cell for member in members})


def made_here(one: cells.Run) -> dict[str, dict]:
    """Identity that each cell of a run would have here. Raises EnvironmentMissing where the lab is not built."""
    return {cell_id: made["identity"] for cell_id, made in run.made_of(one, paths.build()).items()}


def lies_there(folder: Path, result: bytes, here: dict) -> str | None:
    """Whether a good result lies in the place of a cell: `same`, `other` (of the same inputs, which must not be), or
    None where the archive's may be put."""
    try:
        there = store.read_result(folder)
    except SpindleError:
        return None
    if there["status"] != "ok" or there["identity"] != here:
        return None
    return "same" if store.result_text(there).encode() == result else "other"


def sort_out(profile: str, names: list[str], scratch: Path) -> tuple[list[str], int, Counter]:
    """Which cells of an unpacked archive are to be taken, how many are there, and why others are left out. Raises
    SpindleError if what a cell has does not agree."""
    known = {cell.id: (one, cell) for one in cells.runs(profile).values() for cell in one.cells}
    taken, there, left_out = [], 0, Counter()
    identities: dict[str, dict] = {}
    for name in names:
        files = read_files(scratch / name)
        try:
            found = agree(name, files)
            if name not in known:
                left_out[f"it is not a cell of profile {profile}"] += 1
                continue
            if name not in identities:
                identities |= made_here(known[name][0])
            here = identities[name]
            had = found.about["identity"]
            if other := sorted(key for key in {**here, **had} if here.get(key) != had.get(key)):
                left_out[f"it was made from another version of: {', '.join(other)}"] += 1
                continue
            follows(known[name][1], found, files[store.RESULT])
        except EnvironmentMissing as error:
            raise SpindleError(f"import compares what was built, and `make lab` builds it: {error}") from None
        except (SpindleError, trace.TraceError) as error:
            raise _Damaged(f"{name}: {error}") from None
        lies = lies_there(paths.ROOT / paths.cell_dir(profile, name), files[store.RESULT], here)
        if lies == "same":
            there += 1
        elif lies == "other":
            left_out["another result of the same inputs lies here; one of the two is wrong, so run the cell again"] += 1
        else:
            taken.append(name)
    return taken, there, left_out


def take(profile: str, source: Path) -> tuple[int, int, Counter]:
    """Put an archive's cells in place; returns how many were taken, how many were there, and why others were not.
    Raises ArchiveError, and has taken nothing, if the archive is not whole."""
    config.require_profile(profile)
    folder = paths.ROOT / paths.cell_dir(profile, "x").parent
    folder.mkdir(parents=True, exist_ok=True)
    # Beside the cells, so that they are moved and not copied; what a killed import leaves, the next report removes.
    scratch = Path(tempfile.mkdtemp(prefix=".import.", dir=folder))
    try:
        names = unpack(source, scratch)
        taken, there, left_out = sort_out(profile, names, scratch)
        old = scratch / ".old"
        old.mkdir()
        for name in taken:
            if (folder / name).exists():
                (folder / name).rename(old / name)
            (scratch / name).rename(folder / name)
    except _Damaged as error:
        raise ArchiveError(f"{source}: refused, nothing was taken: {error}; export it again") from None
    except zstandard.ZstdError as error:
        why = f"not a whole archive of results ({error})"
        raise ArchiveError(f"{source}: refused, nothing was taken: {why}; export it again") from None
    except OSError as error:
        raise SpindleError(f"{source}: {error.strerror or error} ({error.filename or folder})") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return len(taken), there, left_out


def give(profile: str, target: Path, pattern: str = "*") -> int:
    """Export, and say what was left out; returns the exit status."""
    with lock.hold(lock.RESULTS, what=f"export of profile {profile}"):
        count, left_out = export(profile, target, pattern)
    for name, why in left_out:
        print(f"{target}: left out: {name}: {why}", file=sys.stderr)
    print(f"{target}: {count} cells, {target.stat().st_size >> 20} MiB", file=sys.stderr)
    return 1 if left_out else 0


def take_all(profile: str, sources: list[Path]) -> int:
    """Import archives, each as a whole or not at all, and say what was left out; returns the exit status."""
    with lock.hold(lock.RESULTS, alone=True, what=f"import of profile {profile}"):
        return max([_take_one(profile, source) for source in sources], default=0)


def _take_one(profile: str, source: Path) -> int:
    try:
        taken, there, left_out = take(profile, source)
    except ArchiveError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{source}: {taken} cells taken, {there} were there already", file=sys.stderr)
    for reason, count in left_out.most_common():
        print(f"{source}: {count} left out: {reason}", file=sys.stderr)
    return 1 if left_out else 0
