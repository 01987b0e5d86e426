#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build the real filebench from a release archive that the user supplies, and read what it prints.

    python -m workloads.filebench.real

Debian has no package of it. workloads/filebench/real.lock, which is not in git, holds one line: the path of a
release archive (filebench-1.4.9.x or 1.5-alpha, .tar.gz) and its SHA-256. Without that file nothing is built.
The result is build/filebench-real/<sha256>/bin/filebench.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LOCK = HERE / "real.lock"
BREAKDOWN = re.compile(r"^(\S+)\s+(\d+)ops\s", re.MULTILINE)


class RealError(Exception):
    """The real filebench cannot be had; the message says why and what to do."""


class NotSupplied(RealError):
    """Nobody has supplied a release archive, which is no error of anyone."""


def read_lock(lock: Path = LOCK) -> tuple[Path, str]:
    """The archive's path and SHA-256."""
    if not lock.is_file():
        raise NotSupplied(
            f"no release archive of filebench is supplied: workloads/filebench/{lock.name} with one line "
            "`PATH SHA256` is missing (see the README there)"
        )
    lines = [line for line in lock.read_text(encoding="utf-8").splitlines() if line.strip() and line[0] != "#"]
    words = lines[0].rsplit(maxsplit=1) if len(lines) == 1 else []
    if len(words) != 2 or not re.fullmatch("[0-9a-f]{64}", words[1]):
        raise RealError(f"{lock}: this is not one line `PATH SHA256`, the sum in 64 small hexadecimal digits")
    return Path(words[0]), words[1]


def build(target: Path, lock: Path = LOCK) -> Path:
    """Check the archive, build it below target unless that was done, and return the program."""
    archive, wanted = read_lock(lock)
    if not archive.is_file():
        raise RealError(f"{lock}: there is no file {archive}; correct the path")
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != wanted:
        raise RealError(f"{archive} has SHA-256 {found}, {lock} says {wanted}; nothing of it was run")
    done = target / wanted
    program = done / "bin" / "filebench"
    if program.is_file():
        return program
    scratch = target / f".{wanted}.tmp"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)

    def run(command: list[str], folder: Path) -> None:
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if ran.returncode:
            shutil.rmtree(done, ignore_errors=True)
            raise RealError(f"`{' '.join(command)}` of {archive} failed:\n{(ran.stderr or ran.stdout).strip()}")

    run(["tar", "-xf", str(archive.absolute()), "--no-same-owner"], scratch)
    folders = [path.parent for path in sorted(scratch.glob("*/configure"))]
    if len(folders) != 1:
        raise RealError(f"{archive} has no configure script in its one folder; is it a release archive?")
    for command in (["./configure", f"--prefix={done}"], ["make"], ["make", "install"]):
        run(command, folders[0])
    shutil.rmtree(scratch)
    if not program.is_file():
        raise RealError(f"{archive} installed no bin/filebench")
    return program


def read_breakdown(text: str) -> dict[str, int]:
    """How often each flowop was done, from the per-operation breakdown that filebench prints at the end."""
    _, found, rest = text.partition("Per-Operation Breakdown")
    counts = {match[1].replace("-", "_"): int(match[2]) for match in BREAKDOWN.finditer(rest)}
    if not found or not counts:
        raise RealError(f"filebench printed no per-operation breakdown:\n{text.strip()}")
    return counts


def main() -> int:
    """Command line."""
    target = Path(os.environ.get("SPINDLE_BUILD", HERE.parents[1] / "build")).absolute() / "filebench-real"
    try:
        print(build(target))
    except NotSupplied as reason:
        print(f"filebench: skipped: {reason}")
    except RealError as error:
        print(f"filebench: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
