# SPDX-License-Identifier: MIT
"""Arrays in a real guest, software and hardware: contents survive a failed disk, two failed disks are no result."""

import dataclasses
import hashlib

import pytest

from lab.cell import attempt, boot, cells, filesystems, job, paths, run, trace, volumes
from lab.cell.errors import EnvironmentMissing

pytestmark = pytest.mark.lab

MEMBER_KIB = 16 << 10
"""Of each disk, the array has the first so many: a rebuild of a whole one would take an hour."""
STRESS = f"exec fs-stress --dir {job.MOUNT_POINT} --seed 1 --operations 300 --files 60 --max-bytes 131072"
FILE_SYSTEM = "ext2"
SUM = "exec md5sum /dev/md0"
REGION = "/run/region"
REGION_MIB = 56
BLOCKS = 12288
"""Of a hardware array, a file system has the first 48 MiB; its rebuild begins there."""
REBUILD_S = 20
"""At rebuild_kib_s = 10240 a spare has by then at least its part of the file system, and by far not its whole."""
SMALL, SMALL_S = "ibm-0663", 4000
"""A drive of 1 GB, and when its rebuild is surely over."""
SETTLE = ("exec sleep 1", "end")
"""md writes its superblocks a little later; a marker wants all disks idle."""


@pytest.fixture(scope="module")
def built():
    """The built lab; skips where it is not there."""
    build = paths.build()
    try:
        boot.require_built(attempt.run_of(attempt.parse(["--array", "md-raid1-2", "--", "true"])), build)
    except EnvironmentMissing as reason:
        pytest.skip(str(reason))
    return build


def boot_array(build, work, array, script):
    """Boot with the disks of an array, and let the guest carry out these lines."""
    one = attempt.run_of(attempt.parse(["--array", array, "--", "true"]))
    return boot.boot(dataclasses.replace(one, script=tuple(script)), build, work, lambda line: None)


def on_files(command, options="rw", device="/dev/md0"):
    """Mount, do something to the files, unmount. To verify them, read-only: else the device's sum would change."""
    mount = f"exec mount -t {FILE_SYSTEM} -o {options} {device} {job.MOUNT_POINT}"
    return [mount, f"{STRESS} {command}", f"exec umount {job.MOUNT_POINT}"]


@pytest.mark.parametrize(("kind", "count"), [("md-raid1", 2), ("md-raid5", 3)])
def test_array_keeps_what_it_was_given(built, tmp_path, kind, count):
    """The last disk is the replacement."""
    array = volumes.software(f"{kind}-{count + 1}")
    disks = [f"{volumes.LINKS}/disk{number}" for number in range(count + 1)]
    small = dataclasses.replace(array, count=count)
    make, assemble, check, stop = (
        [f"exec {line}" for line in small.commands(lines, 64)]
        for lines in (small.volume.make, small.volume.assemble, small.volume.check, small.volume.stop)
    )
    make = [line.replace(" --level", f" --size={MEMBER_KIB} --level") for line in make]
    check = [line.replace(" 64", f" {MEMBER_KIB >> 10}") for line in check]
    start = assemble[0].replace(disks[0], disks[count])
    about = filesystems.file_system(FILE_SYSTEM)
    settings = job.set_lines(list(small.volume.settings))
    script = [
        *("cell make 1", "exec modprobe ext4", *stop, f"exec mdadm --zero-superblock {' '.join(disks)}", *make),
        *("wait_disk md0", *settings, *(f"exec {line.format(device='/dev/md0')}" for line in about.make), "end"),
        *("cell write 1", *on_files("--write"), *check, SUM, *stop, "end"),
        *("cell again 1", *assemble, "wait_disk md0", *settings, *on_files("--verify", "ro"), SUM, "end"),
        *("cell fail 1", f"exec mdadm /dev/md0 --fail {disks[0]}", *SETTLE),
        *("cell remove 1", f"exec mdadm /dev/md0 --remove {disks[0]}", *SETTLE),
        *("cell degraded 1", *check, "end"),
        *("cell without 1", *on_files("--verify", "ro"), SUM, "end"),
        *("cell rebuild 1", f"exec mdadm /dev/md0 --add {disks[count]}", "exec mdadm --wait /dev/md0", *SETTLE),
        *("cell rebuilt 1", *on_files("--verify", "ro"), *check, SUM, "end"),
        # What md's check is worth: one disk no longer agrees with the others.
        *("cell differs 1", *stop, f"exec dd if=/dev/zero of={disks[1]} bs=64k count=64 conv=notrunc,fsync", "end"),
        *("cell found 1", start, "wait_disk md0", *check, "end"),
    ]
    left = boot_array(built, tmp_path, f"{kind}-{count + 1}", script)
    said = left.report.cells
    assert left.report.done, left.problem
    sums = {}
    for label in ("make", "fail", "remove", "rebuild", "differs"):
        assert said[label].problem is None, (label, said[label])
    for label in ("write", "again", "without", "rebuilt"):
        assert said[label].problem is None, (label, said[label])
        sums[label] = next(line for line in said[label].said if line.endswith("/dev/md0")).split()[0]
    assert len(set(sums.values())) == 1, sums
    assert "exit status 1" in said["found"].problem and "sectors differ" in said["found"].errors[-1]
    assert "exit status 1" in said["degraded"].problem and "lacks disks" in said["degraded"].errors[-1]
    written = [request for request in trace.parse(left.traces["rebuild"]) if request.op == "W"]
    replaced = sum(request.sectors for request in written if request.device == f"disk{count}")
    assert replaced >= MEMBER_KIB * 2 * 9 // 10


def hardware(monkeypatch, name, members):
    """Such an array, but of so many members and a spare."""
    array = dataclasses.replace(volumes.hardware(name), members=members, spares=1)
    monkeypatch.setattr(volumes, "hardware", lambda found, changes=None: array if found == name else None)
    text = job.hardware_text
    changed = f"\n[array.set]\nmembers = {members}\nspares = 1\n"
    monkeypatch.setattr(job, "hardware_text", lambda *given: text(*given) + changed)


@pytest.mark.parametrize(("name", "members"), [("raid5-ide-8", 7), ("twinstor-2", 2)])
def test_hardware_array_keeps_what_it_was_given(built, tmp_path, monkeypatch, name, members):
    """A member fails, the spare gets what it had, then another one fails; what the spare lacks yet is lost."""
    hardware(monkeypatch, name, members)
    one = attempt.run_of(attempt.parse(["--array", name, "--drive", "deskstar-75gxp", "--", "true"]))
    device = job.device(one)
    make = filesystems.file_system(FILE_SYSTEM).make
    copy = f"exec dd if={device} of={REGION} bs=1M count={REGION_MIB} iflag=direct"
    sums = [copy, f"exec md5sum {REGION}", "end"]
    script = [
        *("cell make 1", "exec modprobe ext4", *(f"exec {line.format(device=device)} {BLOCKS}" for line in make)),
        *("end", "cell write 1", *on_files("--write", "rw", device), *sums),
        # What comes in the first millisecond the member still does; then the spare begins.
        *("cell degraded 1", "exec sleep 0.01", *on_files("--verify", "ro", device), *sums),
        # Behind the file system, while the member is missing.
        "cell change 1",
        *(f"exec dd if={REGION} of={device} bs=64k count=64 seek=768 oflag=direct", *sums),
        *("cell rebuild 1", f"exec sleep {REBUILD_S}", "end"),
        *("cell rebuilt 1", "exec sleep 0.01", *on_files("--verify", "ro", device), *sums),
        *("cell beyond 1", f"exec dd if={device} of={REGION} bs=1M count=1 skip=20000 iflag=direct", "end"),
    ]
    faults = (("m1", "degraded", 1_000_000), ("m0", "rebuilt", 1_000_000))
    left = boot.boot(dataclasses.replace(one, script=tuple(script), faults=faults), built, tmp_path, lambda line: None)
    said = left.report.cells
    assert left.report.done, left.problem
    assert left.array_state["state"] == "lost"
    assert [failure["member"] for failure in left.array_state["failed"]] == ["m1", "m0"]
    assert said["make"].problem is None, said["make"]
    found = {}
    for label in ("write", "degraded", "change", "rebuilt"):
        assert said[label].problem is None, (label, said[label])
        found[label] = next(line for line in said[label].said if line.endswith(REGION)).split()[0]
    with open(tmp_path / "disk.img", "rb") as image:
        stored = hashlib.md5(image.read(REGION_MIB << 20)).hexdigest()
    assert found["write"] == found["degraded"] != found["change"] == found["rebuilt"] == stored, (found, stored)
    assert "exit status 1" in said["beyond"].problem
    assert "Input/output error" in said["beyond"].errors[-1]
    spare = f"m{members}"
    rebuilt = sum(r.sectors for r in trace.parse(left.traces["rebuild"]) if (r.device, r.op) == (spare, "U"))
    # At most what the controller may write in that time, and no less than all that the file system is on.
    assert BLOCKS * 8 // max(members - 1, 1) < rebuilt <= 10240 * 2 * (REBUILD_S + 1)
    lost = [r for r in trace.parse(left.traces["degraded"]) if r.device == "m1" and r.hit != "failed"]
    assert all(r.arrival_ns <= lost[0].arrival_ns + 2_000_000 for r in lost), lost


@pytest.mark.parametrize(("rest_s", "state"), [(5, "rebuilding"), (SMALL_S, "whole")])
def test_hardware_array_says_how_far_its_spare_is(built, tmp_path, monkeypatch, rest_s, state):
    """On the smallest drives of the catalogue, a spare is whole in an hour."""
    array = "raid5-scsi-8"
    hardware(monkeypatch, array, 3)
    monkeypatch.setattr(job, "time_limit_s", lambda one: 2 * SMALL_S)
    one = attempt.run_of(attempt.parse(["--array", array, "--drive", SMALL, "--", "true"]))
    script = ("cell rest 1", f"exec sleep {rest_s}", f"exec dd if={job.device(one)} of=/dev/null count=1", "end")
    one = dataclasses.replace(one, script=script, faults=(("m1", "rest", 1_000_000),))
    left = boot.boot(one, built, tmp_path, lambda line: None)
    assert left.report.done and left.report.cells["rest"].problem is None, left.report.cells["rest"]
    assert left.array_state["state"] == state


def rawio(build, work, array, faults, drive="ultrastar-36zx"):
    """Result of random reads on an array whose disks fail 50 ms after the cell's marker."""
    cell = cells.Cell(
        paper=cells.PAPERS[0],
        controller="scsi-virtio",
        drive=drive,
        array=array,
        tags="64",
        scheduler="both",
        file_system=cells.RAW,
        workload="rawio",
        words=("op=read", "pattern=random"),
        scale="1",
        seed=1,
        tables=(),
    )
    one = cells.Run(cell.run, cell.paper, cell.controller, cell.drive, cell.tags, (cell,))
    one = dataclasses.replace(one, faults=tuple((unit, cell.id, 50_000_000) for unit in faults))
    return run.execute(one, build, work, lambda line: None).results[cell.id]


@pytest.mark.parametrize("array", ["md-raid5-3", "ldm-mirrored-2"])
def test_array_with_a_failed_disk_is_found_at_the_end(built, tmp_path, array):
    """All reads are served, but a degraded array is not what was to be measured."""
    result = rawio(built, tmp_path, array, ["disk1"])
    assert result["status"] == "failed"
    assert f"{volumes.software(array).volume.device} lacks disks" in result["reason"]


@pytest.mark.parametrize(
    ("array", "faults"),
    [
        ("md-raid0-2", ["disk1"]),
        ("md-raid1-2", ["disk0", "disk1"]),
        ("md-raid5-3", ["disk0", "disk2"]),
        ("ldm-striped-2", ["disk1"]),
        ("ldm-mirrored-2", ["disk0", "disk1"]),
    ],
)
def test_array_that_lost_data_is_no_result(built, tmp_path, array, faults):
    result = rawio(built, tmp_path, array, faults)
    assert result["status"] == "failed"
    assert "exec rawio: exit status 1: rawio: child" in result["reason"]
    assert "Input/output error" in result["reason"]


@pytest.mark.parametrize(("array", "faults"), [("raid5-ide-8", ["m0", "m3"]), ("twinstor-2", ["m0", "m1"])])
def test_hardware_array_that_lost_data_is_no_result(built, tmp_path, array, faults):
    result = rawio(built, tmp_path, array, faults, "deskstar-75gxp")
    assert result["status"] == "failed"
    assert "exec rawio: exit status 1: rawio: child" in result["reason"]
    assert "Input/output error" in result["reason"]
    assert result["array_state"]["state"] == "lost"
    assert [failure["member"] for failure in result["array_state"]["failed"]] == faults


@pytest.mark.parametrize("name", ["raid5-ide-8", "twinstor-2"])
def test_hardware_array_with_a_failed_member_is_found_at_the_end(built, tmp_path, name):
    """As with md; the guest sees a disk that serves all, so that only topology and trace know."""
    result = rawio(built, tmp_path, name, ["m1"], "deskstar-75gxp")
    assert result["status"] == "failed" and result["metrics"] is None
    assert result["array_state"]["state"] == "degraded"
    assert result["reason"].startswith(f"array {name!r} lost members: m1 failed at ")
    assert result["reason"].endswith("; it ended degraded")


@pytest.mark.parametrize("faults", [["disk1"], ["disk0", "disk2"]])
def test_dynamic_raid5_hangs_and_says_why(built, tmp_path, faults):
    """Device-mapper has no place to note what failed (lab/volumes/README.md)."""
    result = rawio(built, tmp_path, "ldm-raid5-3", faults)
    assert result["status"] == "failed"
    assert result["reason"].startswith("the guest hung after 'md/raid:mdX: Disk failure on dm-")


def test_array_is_the_same_when_made_again(built, tmp_path):
    """Superblocks and timing, with eight disks behind two controllers."""
    traces, disks = [], []
    for again in ("one", "two"):
        work = tmp_path / again
        work.mkdir()
        one = attempt.run_of(
            attempt.parse(
                ["--array", "md-raid5-8", "--controller", "ide-ahci", "--drive", "deskstar-75gxp", "--", "true"]
            )
        )
        writes = "exec dd if=/dev/zero of=/dev/md0 bs=64k count=32 oflag=direct"
        left = boot.boot(
            dataclasses.replace(one, script=("cell write 1", writes, "end")), built, work, lambda line: None
        )
        assert left.report.done, left.problem
        traces.append(left.traces)
        disks.append([(work / name).stat().st_blocks for name in job.disk_files(one)])
        disks[-1] += [superblock(work / name) for name in job.disk_files(one)]
    assert traces[0] == traces[1]
    assert disks[0] == disks[1]


def superblock(path):
    """The end of a disk, where md's superblock lies."""
    with open(path, "rb") as disk:
        disk.seek(-(64 << 10), 2)
        return disk.read()
