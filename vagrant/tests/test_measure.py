# SPDX-License-Identifier: MIT
"""A machine's disk on the lab's QEMU: it stands where the prepared guest would."""

import shutil

import pytest

from lab.cell import attempt, identity, job
from vagrant import measure

WORDS = ["--guest", measure.GUEST, "--workload", "rawio", "--", "op=read", "pattern=random"]


def test_the_disk_takes_the_guests_place(tmp_path):
    if not shutil.which("qemu-img"):
        pytest.skip("qemu-img is not installed")
    disk, place = tmp_path / "disk", tmp_path / "place"
    disk.write_bytes(b"spindle".ljust(1 << 20, b"\0"))
    one = attempt.run_of(attempt.parse(WORDS))
    measure.stand_in(one, disk, tmp_path / "build", place)
    assert (place / one.guest.thing / job.SYSTEM_FILE).read_bytes() == disk.read_bytes()
    command = job.qemu_command(one, str(place), "/scratch", identity.kernel_append())
    assert command[command.index("-L") + 1] == str(place / one.guest.thing / "firmware")
    assert "-kernel" not in command


def test_a_disk_that_is_not_there(capsys, tmp_path):
    assert measure.main(["--disk", str(tmp_path / "none")]) == 1
    assert "there is no such file" in capsys.readouterr().err
