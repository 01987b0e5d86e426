# SPDX-License-Identifier: MIT
"""Carry finished results from one checkout to another, in one file.

    python -m lab.cell.archive export --profile full part1.tar.zst [--cells 'scsi-*.postmark.*']
    python -m lab.cell.archive import --profile full part1.tar.zst [...]

An archive holds the folders of finished cells (result.json, io.trace, console.log, command); the same results give the
same bytes. Import takes a cell only if it is one of the profile's, whole, and made from the very sources that lie
here (its identity); what it leaves out is listed with the reason. A result that is there already stays.
"""

import argparse
import io
import json
import sys
import tarfile
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

import zstandard

from lab.cell import cells, config, identity, lock, paths, store
from lab.cell.errors import SpindleError

FILES = ("command", "console.log", "io.trace", "result.json")
ZSTD_LEVEL = 3
"""Traces are compressed already."""


def export(profile: str, target: Path, pattern: str = "*") -> int:
    """Write the finished cells whose id fits a shell's pattern, whole or not at all; returns how many."""
    partial = target.with_name(f".{target.name}.new")
    count = 0
    with (
        open(partial, "wb") as file,
        zstandard.ZstdCompressor(level=ZSTD_LEVEL).stream_writer(file) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        for cell in sorted(cells.cells(profile), key=lambda cell: cell.id):
            folder = paths.ROOT / paths.cell_dir(profile, cell.id)
            if not fnmatchcase(cell.id, pattern) or not (folder / "result.json").is_file():
                continue
            if json.loads((folder / "result.json").read_text(encoding="utf-8"))["status"] != "ok":
                continue
            for name in FILES:
                data = (folder / name).read_bytes()
                entry = tarfile.TarInfo(f"{cell.id}/{name}")
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
            count += 1
    partial.replace(target)
    return count


def why_not(one: cells.Run, cell: cells.Cell, files: dict[str, bytes]) -> str | None:
    """Why a cell of an archive cannot be taken; None if it can."""
    missing = [name for name in FILES if name not in files]
    if missing:
        return f"{missing[0]} is missing"
    try:
        result = json.loads(files["result.json"])
        config.check(result, "result", cell.id)
    except (ValueError, SpindleError):
        return "its result.json does not fit the schema"
    if result["id"] != cell.id or result["status"] != "ok":
        return "it is no finished result of this cell"
    other = identity.other_inputs(one, cell, result)
    if other:
        return f"it was made from another version of: {', '.join(other)}"
    return None


def take(profile: str, source: Path) -> tuple[int, int, Counter]:
    """Put an archive's cells in place; returns how many were taken, how many were there, and why others were not."""
    known = {cell.id: (one, cell) for one in cells.runs(profile).values() for cell in one.cells}
    taken, there, refused = 0, 0, Counter()

    def finish(name: str, files: dict[str, bytes]) -> None:
        nonlocal taken, there
        if name not in known:
            refused[f"it is not a cell of profile {profile}"] += 1
            return
        folder = paths.ROOT / paths.cell_dir(profile, name)
        if (folder / "result.json").is_file():
            there += 1
            return
        reason = why_not(*known[name], files)
        if reason:
            refused[reason] += 1
            return
        store.put_in_place(folder, files)
        taken += 1

    try:
        with (
            open(source, "rb") as file,
            zstandard.ZstdDecompressor().stream_reader(file) as unpacked,
            tarfile.open(fileobj=unpacked, mode="r|") as tar,
        ):
            current, files = None, {}
            for entry in tar:
                parts = PurePosixPath(entry.name).parts
                if len(parts) != 2 or parts[1] not in FILES or not entry.isfile():
                    raise SpindleError(f"{source}: {entry.name!r} does not belong into an archive of results")
                if parts[0] != current and current is not None:
                    finish(current, files)
                    files = {}
                current = parts[0]
                files[parts[1]] = tar.extractfile(entry).read()
            if current is not None:
                finish(current, files)
    except OSError as error:
        raise SpindleError(f"{source}: {error.strerror or error}") from error
    except (tarfile.TarError, zstandard.ZstdError) as error:
        raise SpindleError(f"{source}: not a whole archive of results ({error}); export it again") from error
    return taken, there, refused


def main(argv: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="lab.cell.archive", description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("export", "import"))
    parser.add_argument("--profile", required=True, help="smoke, quick or full")
    parser.add_argument("--cells", default="*", help="export only cells whose id fits this shell pattern")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="archive, e.g. part1.tar.zst")
    options = parser.parse_args(argv)
    writes = options.action == "import"
    try:
        lock.keep(lock.RESULTS, alone=writes, what=f"{options.action} of profile {options.profile}")
        if not writes:
            if len(options.files) != 1:
                raise SpindleError("export writes one file")
            count = export(options.profile, options.files[0], options.cells)
            print(f"{options.files[0]}: {count} cells, {options.files[0].stat().st_size >> 20} MiB", file=sys.stderr)
            return 0
        status = 0
        for source in options.files:
            taken, there, refused = take(options.profile, source)
            print(f"{source}: {taken} cells taken, {there} were there already", file=sys.stderr)
            for reason, count in refused.most_common():
                print(f"{source}: {count} left out: {reason}", file=sys.stderr)
                status = 1
        return status
    except SpindleError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
