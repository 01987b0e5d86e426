# SPDX-License-Identifier: MIT
"""For tests: our programs as each platform has them, and the words that start them here. Windows' run under wine."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.guest import portable
from lab.guest.host import build_folder

PARAMETERS = ("linux", "posix", pytest.param("windows", marks=pytest.mark.slow))
"""Platforms for tests to go through; wine takes seconds to start."""
WINE = "/usr/lib/wine/wine64"


@dataclass(frozen=True)
class Program:
    """A program that was built for one platform."""

    platform: str
    file: Path

    @property
    def words(self) -> list[str]:
        """What starts it."""
        return [WINE, str(self.file)] if self.platform == "windows" else [str(self.file)]

    def path(self, path: Path) -> str:
        """How it calls a file of this machine."""
        return f"z:{path}".replace("/", "\\") if self.platform == "windows" else str(path)

    def run(self, *words: str, timeout: float = 60) -> subprocess.CompletedProcess:
        """Run it to its end."""
        return subprocess.run(
            [*self.words, *map(str, words)],
            capture_output=True,
            text=True,
            timeout=timeout,
            env=environment(),
            check=False,
        )


def environment() -> dict[str, str]:
    """For wine: a folder of its own, made once in a build directory, and silence."""
    return {**os.environ, "WINEPREFIX": str(build_folder() / "wine"), "WINEDEBUG": "-all"}


def build(platform: str, name: str, folder: Path) -> Program:
    """One of our programs for a platform; skips the test where this machine cannot make it or run it."""
    if not shutil.which(portable.COMPILERS[platform]):
        pytest.skip(f"{portable.COMPILERS[platform]} is not installed")
    if platform == "windows":
        if not Path(WINE).exists():
            pytest.skip("wine is not installed")
        build_folder().mkdir(parents=True, exist_ok=True)
    source = portable.REPOSITORY / portable.PROGRAMS[name]
    program = Program(platform, portable.compile_for(platform, source, folder / name))
    if platform == "windows" and not (build_folder() / "wine" / "system.reg").exists():
        # The first start of all makes the folder, which takes a while.
        program.run("--help", timeout=300)
    return program
