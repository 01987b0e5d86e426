# SPDX-License-Identifier: MIT
"""Dynamic volumes in a real guest: the kernel's parser finds what our writer wrote, ldmtool assembles it, and data
written through it lie on the member disks where the layout says, with parity where there is some."""

import dataclasses
import functools
import hashlib
import operator
import os

import pytest

from lab.cell import attempt, boot, job, paths, trace
from lab.cell.errors import EnvironmentMissing
from lab.volumes.ldm import database, volumes
from lab.volumes.ldm.layout import DATA_START, SECTOR

pytestmark = pytest.mark.lab

DRIVE = "ultrastar-36zx"
STRIPE = 64 << 10
STRIPES = 150
"""Stripe units to write: several rows of every array, and no whole number of them."""


@pytest.fixture(scope="module")
def built():
    """The built lab; skips where it is not there."""
    build = paths.build()
    try:
        boot.require_built(attempt.run_of(attempt.parse(["--array", "ldm-striped-2", "--", "true"])), build)
    except EnvironmentMissing as reason:
        (pytest.fail if os.environ.get("SPINDLE_NO_SKIP") else pytest.skip)(str(reason))
    return build


def simple(unit, _count):
    """Disk, and stripe unit on it, of a volume's stripe unit."""
    return 0, unit


def striped(unit, count):
    return unit % count, unit // count


def raid5(unit, count):
    """Left-symmetric: parity moves one disk to the left each row, data begin behind it."""
    row, place = divmod(unit, count - 1)
    parity = count - 1 - row % count
    return (parity + 1 + place) % count, row


PLACES = {"simple": simple, "striped": striped, "mirrored": simple, "raid5": raid5}


def in_shell(*commands):
    """A job's line for commands with pipes; what a job says is split at blanks."""
    return "exec sh -c " + ";".join(commands).replace(" ", "${IFS}")


def unit_at(file, number):
    """A stripe unit of a member disk."""
    file.seek(DATA_START * SECTOR + number * STRIPE)
    return file.read(STRIPE)


@pytest.mark.parametrize("array", ["ldm-simple-1", "ldm-striped-4", "ldm-mirrored-2", "ldm-raid5-4"])
def test_data_lie_where_they_should(built, tmp_path, array):
    kind, count = array.split("-")[1], int(array.split("-")[2])
    one = attempt.run_of(attempt.parse(["--array", array, "--drive", DRIVE, "--", "true"]))
    device = job.device(one)
    script = [
        f"cell {attempt.LABEL} 1",
        f"exec dd bs={STRIPE} count={STRIPES} if=/dev/urandom of={device} conv=fsync",
        "end",
    ]
    # Written again, in part and not in order: RAID 5 has to mend parity that is there.
    script += ["cell again 1"]
    for unit in (77, 3, 148):
        script.append(
            f"exec dd bs=4096 count=3 seek={unit * STRIPE // 4096 + 15} if=/dev/urandom of={device} conv=notrunc,fsync"
        )
    script += ["end", "cell read 1", in_shell("echo 3 >/proc/sys/vm/drop_caches")]
    script += [in_shell(f"head -c {STRIPES * STRIPE} {device}|sha256sum"), "end"]
    script += ["cell state 1", "exec grep -H . /sys/block/sda/sda1/start /sys/block/sda/sda1/size"]
    script += ["exec dmsetup table", "exec dmsetup status", "end"]
    check = [f"exec {line}" for line in (f"ldm-check {device}", "dmsetup remove_all")]
    script += [f"cell {job.CHECK_LABEL} 1", *check, "end"]
    left = boot.boot(dataclasses.replace(one, script=tuple(script)), built, tmp_path, lambda line: None)
    assert left.report.done, left.problem
    said = left.report.cells
    for label, about in said.items():
        assert about.problem is None, (label, about)
    disk = tmp_path / job.disk_files(one)[0]
    judge_state(kind, count, disk.stat().st_size // SECTOR, said["state"].said)
    found = judge_members(kind, count, [tmp_path / name for name in job.disk_files(one)])
    assert [line.split()[0] for line in said["read"].said] == [hashlib.sha256(found).hexdigest()]
    written = {request.device for request in trace.parse(left.traces[attempt.LABEL]) if request.op == "W"}
    assert written == {f"disk{number}" for number in range(count)}
    assert "error" not in left.console.lower(), left.console


def judge_state(kind, count, sectors, said):
    """The kernel's partitions and device-mapper's tables."""
    geometry = database.Geometry.of(sectors)
    share = volumes.plan(volumes.Request(kind), count, geometry.data_sectors).partitions[0]
    assert said[:2] == ["/sys/block/sda/sda1/start:63", f"/sys/block/sda/sda1/size:{share.sectors}"]
    name = "ldm_vol_Spindle-Dg0_Volume1: 0 "
    table, status = (line.removeprefix(name) for line in said if line.startswith(name))
    members = " ".join(f"8:{16 * number} 63" for number in range(count))
    parts = " ".join(f"- 253:{number}" for number in range(count))
    expected = {
        "simple": f"{share.sectors} linear {members}",
        "striped": f"{count * share.sectors} striped {count} 128 {members}",
        # md's RAID 1 has no stripe unit.
        "mirrored": f"{share.sectors} raid raid1 2 0 nosync {count} {parts}",
        "raid5": f"{(count - 1) * share.sectors} raid raid5_ls 2 128 nosync {count} {parts}",
    }
    assert table == expected[kind]
    if " raid " in table:
        assert f"{'A' * count} {share.sectors}/{share.sectors} idle 0" in status, "no resynchronisation"


def judge_members(kind, count, files):
    """What was written, put together from the member disks; copies and parity must agree with it."""
    disks = [open(file, "rb") for file in files]  # noqa: SIM115
    try:
        rows = 1 + max(PLACES[kind](unit, count)[1] for unit in range(STRIPES))
        units = [[unit_at(disk, row) for disk in disks] for row in range(rows)]
    finally:
        for disk in disks:
            disk.close()
    for row, content in enumerate(units):
        if kind == "mirrored":
            assert content[0] == content[1], row
        if kind == "raid5":
            numbers = [int.from_bytes(unit, "big") for unit in content]
            assert not functools.reduce(operator.xor, numbers), f"parity of row {row}"
    places = [PLACES[kind](unit, count) for unit in range(STRIPES)]
    return b"".join(units[row][disk] for disk, row in places)


def test_failed_disk_of_a_mirror_costs_no_data_and_is_told(built, tmp_path, monkeypatch):
    """A disk fails while the volume is read: what is read stays right, the check says what is gone, and without the
    disk the volume does not start as if it were whole."""
    one = attempt.run_of(attempt.parse(["--array", "ldm-mirrored-2", "--drive", DRIVE, "--", "true"]))
    device = job.device(one)
    text = job.topology_text
    fault = '\n[[fault]]\nunit = "disk1"\nmarker = "without"\nafter_marker_ns = 1000000\n'
    monkeypatch.setattr(job, "topology_text", lambda *given: text(*given) + fault)
    read = [in_shell("echo 3 >/proc/sys/vm/drop_caches"), in_shell(f"head -c {STRIPES * STRIPE} {device}|sha256sum")]
    script = (
        *("cell write 1", f"exec dd bs={STRIPE} count={STRIPES} if=/dev/urandom of={device} conv=fsync"),
        *(*read, f"exec ldm-check {device}", "end"),
        *("cell without 1", *read, "exec dmsetup status", "end"),
        *("cell check 1", f"exec ldm-check {device}", "end"),
        *("cell start 1", "exec dmsetup remove_all", f"exec ldm-assemble {device} /run/disk/disk0"),
        *(f"exec ldm-check {device}", "end"),
    )
    left = boot.boot(dataclasses.replace(one, script=script), built, tmp_path, lambda line: None)
    assert left.report.done, left.problem
    said = left.report.cells
    sums = []
    for label in ("write", "without"):
        assert said[label].problem is None, (label, said[label])
        sums += [line.split()[0] for line in said[label].said if line.endswith("  -")]
    assert len(sums) == 2 and sums[0] == sums[1]
    assert any(" AD " in line for line in said["without"].said), said["without"]
    assert "lacks disks or is not in step" in said["check"].errors[-1]
    assert "exit status 1" in said["start"].problem
