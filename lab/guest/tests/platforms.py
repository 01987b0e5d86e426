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
WINE_SERVER = "/usr/lib/wine/wineserver64"
WINE_STAYS_S = 120
"""So long wine's own processes stay after a program has ended."""


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


def start_wine(program: Program) -> None:
    """Start wine's own processes, which stay for the programs that follow.

    The first program would start them and the last one's end would stop them. They write to the standard error of the
    program that started them, and on a busy machine one of them may crash while it stops. Here nobody reads what they
    write.
    """
    silence = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    (build_folder() / "wine").mkdir(parents=True, exist_ok=True)
    # It ends with status 2 where one is at work already.
    subprocess.run([WINE_SERVER, f"-p{WINE_STAYS_S}"], env=environment(), check=False, **silence)
    # The first start of all makes the folder, which takes a while.
    subprocess.run([*program.words, "--help"], env=environment(), timeout=300, check=True, **silence)


def build(platform: str, name: str, folder: Path) -> Program:
    """One of our programs for a platform; skips the test where this machine cannot make it or run it."""
    if not shutil.which(portable.COMPILERS[platform]):
        pytest.skip(f"{portable.COMPILERS[platform]} is not installed")
    if platform == "windows" and not Path(WINE).exists():
        pytest.skip("wine is not installed")
    source = portable.REPOSITORY / portable.PROGRAMS[name]
    program = Program(platform, portable.compile_for(platform, source, folder / name))
    if platform == "windows":
        start_wine(program)
    return program
