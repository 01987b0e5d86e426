# SPDX-License-Identifier: MIT
"""The host's programs, run in a fixed environment: what fetches and unpacks packages, never what makes an image."""

import errno
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

# One fixed time for every file; any would do. The paper's prices are of this day.
MTIME = 974851200  # 2000-11-22T00:00:00Z

NO_SPACE = os.strerror(errno.ENOSPC)


class BuildError(Exception):
    """The image cannot be built; the message says what, where and the next step."""


class HostError(BuildError):
    """What the host lacks: a program, space or network. Another version of a package would not help."""


def build_folder() -> Path:
    """Return the folder of built things; SPINDLE_BUILD moves it."""
    return Path(os.environ.get("SPINDLE_BUILD", REPOSITORY / "build")).absolute()


def no_space(where: str) -> str:
    """Return the message for a full disk."""
    return f"{where}: {NO_SPACE}; free some, then give the same command again"


def run(command: list[str], cwd: Path | None = None, first: Path | None = None) -> str:
    """Run a program in a fixed environment and return its standard output. Programs in FIRST come before the host's."""
    path = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"
    environment = {
        "PATH": f"{first}:{path}" if first else path,
        "LC_ALL": "C",
        "TZ": "UTC",
        "SOURCE_DATE_EPOCH": str(MTIME),
    }
    try:
        done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    except FileNotFoundError:
        raise HostError(f"the tool {command[0]} is missing; envs/ lists the Debian packages the build needs") from None
    if done.returncode != 0:
        said = done.stderr.strip() or done.stdout.strip()
        if NO_SPACE in said:
            raise HostError(no_space(f"`{Path(command[0]).name}` below {build_folder()}"))
        raise BuildError(f"`{' '.join(command)}` failed:\n{said}")
    return done.stdout


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def one_message(name: str, main: Callable[[], None], *errors: type[Exception]) -> None:
    """Run a program's MAIN; what goes wrong is one message that begins with NAME, and exit status 1."""
    try:
        main()
    except (BuildError, *errors) as error:
        sys.exit(f"{name}: {error}")
    except OSError as error:
        full = error.errno == errno.ENOSPC
        sys.exit(f"{name}: {no_space(str(error.filename or build_folder())) if full else error}")
