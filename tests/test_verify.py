# SPDX-License-Identifier: MIT
"""`spindle verify` with the real lab: equal here; a fault planted in a copy of the checkout is found and named."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from analysis import reference, verify
from lab.cell import boot, built, catalogue, cells, determinism, paths
from lab.cell.errors import EnvironmentMissing

pytestmark = pytest.mark.lab

CELL = next(iter(cells.runs("smoke").values())).cells[0].id


@pytest.fixture(scope="module")
def taken(tmp_path_factory):
    """A reference of one cell, measured just now; returns its folder."""
    one = cells.up_to(CELL)
    try:
        boot.require_built(one, paths.build())
    except EnvironmentMissing as reason:
        pytest.skip(str(reason))
    result = determinism.execute(one, paths.build()).results[CELL]
    assert result["status"] == "ok", result["reason"]
    made = reference.Reference()
    made.put(*reference.lines_of(result))
    place = tmp_path_factory.mktemp("reference")
    reference.write(made, place)
    return place


@pytest.fixture
def checkout(tmp_path):
    """A copy of what is committed, which uses the things that are built here."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=paths.ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (paths.ROOT / name).is_file():
            target = tmp_path / "checkout" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(paths.ROOT / name, target)
    return tmp_path / "checkout"


def spindle_verify(checkout: Path, taken: Path, build: Path | None = None) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "cli", "verify", "--reference", str(taken), "--cells", CELL],
        cwd=checkout, env={**os.environ, "SPINDLE_BUILD": str(build or paths.build())}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


def test_verify_real_cell_is_equal(taken):
    found = verify.population((CELL,), None, taken)
    done = verify.Verification(1, found.entries)
    verify.verify(done, found.references)
    assert [one.words() for one in done.verdicts] == ["equal: numbers and trace are equal"]


def test_verify_finds_a_constant_changed_in_a_drive(taken, checkout):
    drive = cells.up_to(CELL).drive
    file = checkout / catalogue.entry_path("drives", drive).relative_to(paths.ROOT)
    text = file.read_text()
    begin = text.index("[rpm]")
    end = text.index("\n", text.index("value", begin))
    file.write_text(text[:begin] + "[rpm]\nvalue = 5400" + text[end:])
    done = spindle_verify(checkout, taken)
    assert f"inputs moved: drive (drives/{drive}); elapsed_ns is " in done.stderr, done.stderr
    assert "its trace is another" in done.stderr
    assert "the inputs of 1 moved; 0 of them are equal all the same" in done.stdout
    assert done.returncode == 0


def test_verify_finds_a_flag_changed_in_the_guest(taken, checkout):
    flags = checkout / "lab" / "guest" / "cmdline"
    flags.write_text(flags.read_text().replace("mitigations=off", "mitigations=auto"))
    done = spindle_verify(checkout, taken)
    assert done.returncode == 1
    assert "guest: it was built from other sources than lie here now (lab/guest," in done.stderr, done.stderr


def test_verify_finds_a_qemu_patched_after_its_label_was_taken(taken, checkout, tmp_path):
    build = tmp_path / "build"
    build.mkdir()
    for part in paths.build().iterdir():
        if part.name != "qemu":
            (build / part.name).symlink_to(part)
    (build / "qemu").mkdir()
    for name in (built.RECEIPT, built.SEEN, "qemu-system-x86_64"):
        if (paths.build() / "qemu" / name).exists():
            shutil.copy2(paths.build() / "qemu" / name, build / "qemu" / name)
    program = build / "qemu" / "qemu-system-x86_64"
    with open(program, "r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)[0]
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last ^ 1]))
    done = spindle_verify(checkout, taken, build)
    assert done.returncode == 1
    assert f"error: {program}: it is not the file that was built here" in done.stderr, done.stderr
