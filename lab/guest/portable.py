# SPDX-License-Identifier: MIT
"""Our C programs for other systems than the lean guest: plain POSIX by this machine's compiler, Windows by Debian's
mingw-w64. Nothing that is built here is in a result's identity.

    python -m lab.guest.portable --platform windows --out FOLDER [PROGRAM ...]

FreeBSD has a compiler of its own; what it is to be called with stands in `flags("posix")`.
"""

import argparse
import shutil
from pathlib import Path

from lab.guest.host import REPOSITORY, BuildError, HostError, one_message, run
from lab.guest.imaging import COMMON

PROGRAMS = {
    "spindle-agent": "lab/guest/agent/agent.c",
    "rawio": "workloads/rawio/rawio.c",
    "postmark": "workloads/postmark/postmark.c",
}
ONLY_UNIX = ("postmark",)
"""Programs that need processes as POSIX has them."""
COMPILERS = {"linux": "gcc", "posix": "gcc", "windows": "x86_64-w64-mingw32-gcc"}
STRICT = ("-O2", "-Wall", "-Wextra", "-Werror", "-s")


def flags(platform: str) -> list[str]:
    """What a compiler is called with, but for files: POSIX is asked for by name, and ISO C with it."""
    if platform == "posix":
        return ["-std=c11", "-Wpedantic", "-DPLATFORM_POSIX", *STRICT]
    return ["-std=gnu11", "-static", *STRICT]


def compile_for(platform: str, source: Path, target: Path) -> Path:
    """Compile one program for a platform of COMPILERS; returns the file, which Windows wants to be called .exe."""
    compiler = COMPILERS[platform]
    if not shutil.which(compiler):
        raise HostError(f"there is no {compiler}: envs/bootstrap boxes installs Debian's")
    if platform == "windows":
        target = target.with_suffix(".exe")
    target.parent.mkdir(parents=True, exist_ok=True)
    libraries = [] if platform == "windows" else ["-lpthread"]
    command = [compiler, *flags(platform), f"-I{REPOSITORY / COMMON}", "-o", str(target), source.name, *libraries]
    run(command, cwd=source.parent)
    return target


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="lab.guest.portable", description=__doc__.splitlines()[0])
    parser.add_argument("--platform", required=True, choices=tuple(COMPILERS))
    parser.add_argument("--out", required=True, type=Path, metavar="FOLDER")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"of {', '.join(PROGRAMS)} (default: all)")
    options = parser.parse_args()
    every = [name for name in PROGRAMS if options.platform != "windows" or name not in ONLY_UNIX]
    for name in options.programs or every:
        if name not in every:
            raise BuildError(f"there is no program {name!r} for {options.platform}; there are {', '.join(every)}")
        print(compile_for(options.platform, REPOSITORY / PROGRAMS[name], (options.out / name).absolute()))


if __name__ == "__main__":
    one_message("portable", main)
