# SPDX-License-Identifier: MIT
"""What the guest's image and the workloads' images are made with: host tools in a fixed environment, static C
programs, erofs. The bytes do not depend on directory, user, umask, time zone, locale or date."""

import hashlib
import os
import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

# One fixed time for every file; any would do. The paper's prices are of this day.
MTIME = 974851200  # 2000-11-22T00:00:00Z

C_FLAGS = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-s",
           "-ffile-prefix-map=.=", "-Wl,--build-id=none"]  # fmt: skip

COMMON = "workloads/common"
"""Headers that all our programs may include."""


class BuildError(Exception):
    """The image cannot be built; the message says what, where and the next step."""


def run(command: list[str], cwd: Path | None = None) -> str:
    """Run a host tool in a fixed environment and return its standard output."""
    environment = {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin",
        "LC_ALL": "C",
        "TZ": "UTC",
        "SOURCE_DATE_EPOCH": str(MTIME),
    }
    try:
        done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    except FileNotFoundError:
        raise BuildError(f"the tool {command[0]} is missing; envs/ lists the Debian packages the build needs") from None
    if done.returncode != 0:
        raise BuildError(f"`{' '.join(command)}` failed:\n{done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def tool_versions() -> dict[str, str]:
    """Return the host tools whose output ends up in an image."""
    libc = Path(run(["gcc", "-print-file-name=libc.a"]).strip())
    if not libc.is_absolute():
        raise BuildError("no static C library (libc.a); install the Debian package libc6-dev")
    return {
        "gcc": run(["gcc", "--version"]).splitlines()[0],
        "ld": run(["ld", "--version"]).splitlines()[0],
        "libc.a": sha256(libc),
        "mkfs.erofs": run(["dpkg-query", "--show", "erofs-utils"]).splitlines()[0],
    }


def compile_program(source: Path, target: Path) -> None:
    """Compile one of our own C programs, static and without traces of the host's paths.

    A program of several files has a folder of its stem beside SOURCE: all *.c in it are linked in.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    include = os.path.relpath(REPOSITORY / COMMON, source.parent)
    parts = sorted(f"{source.stem}/{part.name}" for part in (source.parent / source.stem).glob("*.c"))
    run(["gcc", *C_FLAGS, f"-I{include}", "-o", str(target), source.name, *parts, "-lpthread"], cwd=source.parent)
    target.chmod(0o755)


def make_erofs(root: Path, image: Path, uuid: str) -> None:
    """Write a folder as a read-only erofs image, all owned by root and of one time."""
    run(["mkfs.erofs", "--quiet", "-x-1", f"-T{MTIME}", f"-U{uuid}", "--all-root", str(image), str(root)])
