# SPDX-License-Identifier: MIT
"""The files of a finished cell: their one form on disk, and how they are put in place whole."""

import json
import shutil
from pathlib import Path

import zstandard

from lab.cell import boot, cells

ZSTD_LEVEL = 10


def result_text(result: dict) -> str:
    """The one form of result.json."""
    return json.dumps(result, indent=1) + "\n"


def compress(lines: str) -> bytes:
    """The one form of io.trace."""
    return zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=True).compress(lines.encode())


def put_in_place(folder: Path, files: dict[str, bytes]) -> None:
    """Put a cell's result in place, whole; an older one is replaced."""
    partial = folder.with_name(f".{folder.name}.new")
    old = folder.with_name(f".{folder.name}.old")
    for leftover in (partial, old):
        shutil.rmtree(leftover, ignore_errors=True)
    partial.mkdir(parents=True)
    for name in sorted(files):
        (partial / name).write_bytes(files[name])
    if folder.exists():
        folder.rename(old)
    partial.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def write_cell(folder: Path, result: dict, lines: str, console: str, command: str) -> None:
    """Put a measured cell's result in place, whole."""
    files = {
        "io.trace": compress(lines),
        "console.log": console.encode(),
        "command": command.encode(),
        "result.json": result_text(result).encode(),
    }
    put_in_place(folder, files)


def write_timing(path: Path, run: cells.Run, timing: boot.Timing) -> None:
    """Host seconds of a run, for the lab page's note on cost only."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = {
        "schema": "spindle-timing/1",
        "run": run.id,
        "boot_s": timing.boot_s,
        "cells_s": timing.cells_s,
        "shutdown_s": timing.shutdown_s,
        "total_s": timing.total_s,
    }
    partial = path.with_name(f".{path.name}.new")
    partial.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    partial.replace(path)
