# SPDX-License-Identifier: MIT
"""For tests of what an ordinary user does: a folder of that user's, and commands run as that user, also where the tests
run as root (then it is `nobody`)."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

NOBODY = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
FOLDERS = ("run", "config", "cache", "data")


class User:
    """An ordinary user with a home that is nobody else's; libvirt keeps its sockets and machines there."""

    def __init__(self, home: Path) -> None:
        self.home = home
        for name in FOLDERS:
            (home / name).mkdir(mode=0o700)
            if os.geteuid() == 0:
                shutil.chown(home / name, "nobody", "nogroup")

    def environment(self, **more: str) -> dict[str, str]:
        """Where libvirt's and others' files of this user are."""
        folders = {f"XDG_{name.upper()}_HOME": str(self.home / name) for name in FOLDERS[1:]}
        return {**os.environ, "HOME": str(self.home), "XDG_RUNTIME_DIR": str(self.home / "run"), **folders, **more}

    def words(self, *command: str | Path) -> list[str]:
        """A command as this user's."""
        return [*(NOBODY if os.geteuid() == 0 else []), *map(str, command)]

    def run(self, *command: str | Path, timeout: float = 300, **more: str) -> subprocess.CompletedProcess:
        """Run a command to its end."""
        return subprocess.run(
            self.words(*command), env=self.environment(**more), cwd=self.home, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip

    def require_access(self, path: Path) -> None:
        """Skip where this user cannot reach a file, such as a checkout in root's home."""
        if self.run("test", "-r", path).returncode:
            pytest.skip(f"an ordinary user cannot read {path}; give the checkout a place that all can read")


def make_user():
    """A user for one test module; the folder goes at the end. It is not in pytest's, which only its owner can enter."""
    home = Path(tempfile.mkdtemp(prefix="spindle-user-"))
    if os.geteuid() == 0:
        shutil.chown(home, "nobody", "nogroup")
    yield User(home)
    shutil.rmtree(home, ignore_errors=True)
