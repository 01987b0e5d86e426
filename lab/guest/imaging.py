# SPDX-License-Identifier: MIT
"""What the guest's image and the workloads' images are made with: static C programs, erofs, both by the toolchain of
the locks. The bytes do not depend on host, directory, user, umask, time zone, locale or date."""

import os
from pathlib import Path

from lab.guest import toolchain
from lab.guest.host import MTIME, REPOSITORY

C_FLAGS = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-s",
           "-ffile-prefix-map=.=", "-Wl,--build-id=none"]  # fmt: skip

COMMON = "workloads/common"
"""Headers that all our programs may include."""


def sources() -> list[Path]:
    """Return the files of the repository that decide how an image is made of what is put into it."""
    return [Path(__file__).resolve(), *toolchain.sources()]


def compile_program(source: Path, target: Path, *options: str) -> str:
    """Compile one of our own C programs, static and without traces of the host's paths; return what the compiler says.

    A program of several files has a folder of its stem beside SOURCE: all *.c in it are linked in.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    include = os.path.relpath(REPOSITORY / COMMON, source.parent)
    parts = sorted(f"{source.stem}/{part.name}" for part in (source.parent / source.stem).glob("*.c"))
    chain = toolchain.current()
    said = chain.run(
        [
            "gcc",
            *C_FLAGS,
            f"-I{include}",
            *chain.includes(),
            *options,
            "-o",
            str(target),
            source.name,
            *parts,
            "-lpthread",
        ],
        cwd=source.parent,
    )
    target.chmod(0o755)
    return said


def make_erofs(root: Path, image: Path, uuid: str) -> None:
    """Write a folder as a read-only erofs image, all owned by root and of one time."""
    toolchain.current().run(
        ["mkfs.erofs", "--quiet", "-x-1", f"-T{MTIME}", f"-U{uuid}", "--all-root", str(image), str(root)]
    )
