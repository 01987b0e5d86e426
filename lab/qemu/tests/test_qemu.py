# SPDX-License-Identifier: MIT
"""The block driver's messages and the patch series. Needs the built QEMU and its patched source."""

import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.lab

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
BUILD = Path(os.environ.get("SPINDLE_BUILD", ROOT / "build"))
QEMU = BUILD / "qemu" / "qemu-system-x86_64"
SOURCE = BUILD / "qemu" / "work" / "source"


def test_options_messages():
    """Each bad option gets one clear message. SPINDLE_BLESS=1 rewrites options.out."""
    if not QEMU.exists():
        pytest.skip(f"{QEMU} is not built; `make lab` builds it")
    command = ["sh", HERE / "options.sh", QEMU, ROOT / "lab" / "disk" / "catalogue"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    golden = HERE / "options.out"
    if os.environ.get("SPINDLE_BLESS"):
        golden.write_text(said, encoding="utf-8")
    assert said == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("patch", sorted(HERE.parent.glob("patches/*.patch")), ids=lambda path: path.stem)
def test_patch_checkpatch(patch):
    """The series is clean under QEMU's own checker."""
    if not SOURCE.exists():
        pytest.skip(f"{SOURCE} is missing; `lab/qemu/build.sh --source` makes it")
    checker = SOURCE / "scripts" / "checkpatch.pl"
    done = subprocess.run(["perl", checker, "--no-tree", patch], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "0 errors, 0 warnings" in done.stdout, done.stdout


def test_driver_checkpatch():
    """The driver is clean under QEMU's own checker."""
    if not SOURCE.exists():
        pytest.skip(f"{SOURCE} is missing; `lab/qemu/build.sh --source` makes it")
    checker = SOURCE / "scripts" / "checkpatch.pl"
    command = ["perl", checker, "--no-tree", "-f", HERE.parent / "block" / "spindle.c"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "0 errors, 0 warnings" in done.stdout, done.stdout
