# SPDX-License-Identifier: MIT
"""What the patched UFS does, seen at the disk: FFS's synchronous writes, none before the syncer comes on the stand-in
for Soft Updates, directories spread over the groups, data in large requests, and who waits for whom in directories."""

import dataclasses

import pytest

from lab.cell import attempt, boot, cells, identity, images, job, paths, settings, trace
from lab.cell.errors import EnvironmentMissing

pytestmark = pytest.mark.lab

DRIVE = "ultrastar-36zx"
SECOND_NS = 1_000_000_000
GROUP_SECTORS = 65536
"""32 MiB, as ufs-newfs makes them."""
INODES_A_GROUP = 7936
BLOCK, FRAGMENT = 16, 2
"""Sectors of a block and of a fragment."""
GROUP_INODES = range(64, 2048)
"""Sectors of the inodes within a group."""
NAMES = [f"f{number}" for number in range(10)]
DIRECTORIES = [f"m{number:02}" for number in range(100)]

STEPS = {
    "prepare": ["mkdir /mnt/d"],
    "create": [f"touch {' '.join(f'/mnt/d/{name}' for name in NAMES)}"],
    "link": ["ln /mnt/d/f0 /mnt/d/g0"],
    "symlink": ["ln -s f0 /mnt/d/s0"],
    "rename": ["mv /mnt/d/g0 /mnt/d/h0"],
    "unlink": ["rm /mnt/d/h0"],
    "empty": [f"rm {' '.join(f'/mnt/d/{name}' for name in NAMES)}"],
    # longer than 12 blocks, all together below what makes Linux write at once
    "data": [f"dd if=/bin/busybox of=/mnt/d/{name} bs=204800 count=1" for name in NAMES[:3]],
    "full": [f"rm {' '.join(f'/mnt/d/{name}' for name in NAMES[:3])}"],
    "mkdir": [f"mkdir {' '.join(f'/mnt/{name}' for name in DIRECTORIES)}"],
    "rmdir": ["rmdir /mnt/m99"],
    "list": ["ls -1 -i -d " + " ".join(f"/mnt/{name}" for name in DIRECTORIES[:-1])],
    "small": ["dd if=/bin/busybox of=/mnt/d/small bs=40960 count=1"],
    "wait": ["sleep 45"],
    "unmount": ["umount /mnt"],
}


def carried_out(mode, tmp_path_factory):
    """Carry out the steps; returns requests and what was said, by step."""
    build = paths.build()
    cell = cells.Cell(
        paper=cells.PAPERS[0], controller="scsi-virtio", drive=DRIVE, tags="32", scheduler="both", file_system=mode,
        workload="steps", words=(), scale="1", seed=1, tables=(),
    )  # fmt: skip
    lines = [job.mount_line(settings.Settings(cells.PAPERS[0]), mode, "/dev/sda")]
    for step, commands in STEPS.items():
        lines += [f"cell {step} 1", *(f"exec {command}" for command in commands), "end"]
    lines += ["cell check 1", "exec ufs-check /dev/sda", "end"]
    one = cells.Run("steps", cell.paper, cell.controller, DRIVE, cell.tags, (cell,), tuple(lines))
    try:
        boot.require_built(one, build)
        images.ensure(identity.Image(mode, DRIVE), build)
    except EnvironmentMissing as reason:
        pytest.skip(str(reason))
    left = boot.boot(one, build, tmp_path_factory.mktemp(mode), lambda _: None)
    assert left.problem is None, left.problem
    failed = {
        label: said for label, said in left.report.cells.items() if said.problem or said.exit_status not in (0, None)
    }
    assert not failed
    said = {step: left.report.cells[step].said for step in [*STEPS, "check"]}
    return {step: trace.parse(left.traces[step]) for step in STEPS}, said


@pytest.fixture(scope="module")
def ffs(tmp_path_factory):
    return carried_out("ffs", tmp_path_factory)


@pytest.fixture(scope="module")
def soft(tmp_path_factory):
    return carried_out("softupdates", tmp_path_factory)


def writes(requests):
    return [request for request in requests if request.op == "W"]


def kinds(requests):
    """Each write: I, a block of inodes; D, anything else."""
    return "".join("I" if request.lbn % GROUP_SECTORS in GROUP_INODES else "D" for request in writes(requests))


def test_ffs_writes_inode_then_name(ffs):
    requests, _ = ffs
    # a directory of 512 bytes has room for all of them
    assert kinds(requests["create"]) == "ID" * len(NAMES)
    assert {request.sectors for request in writes(requests["create"])} == {BLOCK, FRAGMENT}
    assert kinds(requests["link"]) == "ID"
    assert kinds(requests["symlink"]) == "ID"


def test_ffs_renames_in_three_writes(ffs):
    requests, _ = ffs
    assert kinds(requests["rename"]) == "IDD"


def test_ffs_removes_name_then_what_the_inode_holds(ffs):
    requests, _ = ffs
    assert kinds(requests["unlink"]) == "D"
    assert kinds(requests["empty"]) == "D" * len(NAMES)
    assert kinds(requests["full"]) == "DI" * 3
    assert kinds(requests["rmdir"]) == "DI"


def test_ffs_makes_directories_in_four_writes(ffs):
    requests, _ = ffs
    # inode, inode with its block, block, name; and the root's inode where its names need another 512 bytes
    first, later, entry = (512 - 24 - 12) // 12, 512 // 12, 12
    grown = -(-(len(DIRECTORIES) - first) // later)
    assert entry * later <= 512
    assert len(writes(requests["mkdir"])) == 4 * len(DIRECTORIES) + grown


def test_ffs_waits_for_one_write_at_a_time(ffs):
    requests, _ = ffs
    for step in ("create", "empty", "full", "mkdir"):
        assert {request.depth for request in writes(requests[step])} == {1}


def test_ffs_writes_indirect_block_at_once_and_data_later(ffs):
    requests, _ = ffs
    # three creates, each with one indirect block of 8 KiB
    assert kinds(requests["data"]) == "IDD" * 3
    assert [request.sectors for request in writes(requests["data"])[2::3]] == [BLOCK] * 3


def test_soft_updates_stand_in_writes_nothing_before_the_syncer(soft):
    requests, _ = soft
    quick = [step for step in STEPS if step not in ("wait", "unmount")]
    assert {step: len(writes(requests[step])) for step in quick} == dict.fromkeys(quick, 0)
    late = writes(requests["wait"])
    before = max(request.arrival_ns for step in quick for request in requests[step])
    assert late and min(request.arrival_ns for request in late) - before > 25 * SECOND_NS


@pytest.mark.parametrize("mode", ["ffs", "soft"])
def test_directories_are_spread_one_to_a_group(mode, request):
    _, said = request.getfixturevalue(mode)
    numbers = [int(line.split()[0]) for line in said["list"]]
    # the root is in group 0, /mnt/d in group 1
    assert [number // INODES_A_GROUP for number in numbers] == list(range(2, 101))


@pytest.mark.parametrize("mode", ["ffs", "soft"])
def test_data_goes_out_in_one_request(mode, request):
    requests, _ = request.getfixturevalue(mode)
    assert 80 in {item.sectors for item in writes(requests["wait"])}


@pytest.mark.parametrize("mode", ["ffs", "soft"])
def test_nothing_is_flushed_and_all_is_consistent(mode, request):
    requests, said = request.getfixturevalue(mode)
    assert not [item for step in STEPS for item in requests[step] if item.op == "F"]
    assert "clean" in said["check"][0]


MS_NS = 1_000_000
TICK_NS = 4 * MS_NS
"""Debian's kernel looks every so long whose turn it is (CONFIG_HZ=250)."""


def looked_up(mode, name_lookup, tmp_path_factory):
    """The metrics of lab/guest/stress/lookups.c, by step: a writer and a bystander with a walker and without, and the
    storm; and what the check says of the file system afterwards."""
    build = paths.build()
    words = ["--fs", mode, "--set", f"fs_name_lookup={name_lookup}", "--", "true"]
    one = attempt.run_of(attempt.parse(words))
    try:
        boot.require_built(one, build)
        images.ensure(identity.start_of(one), build)
    except EnvironmentMissing as reason:
        pytest.skip(str(reason))
    steps = {
        "walker": "--mode wait --walker",
        "alone": "--mode wait",
        "storm": "--mode storm --count 400 --processes 12",
    }
    lines = [job.mount_line(one.settings, mode, job.device(one))]
    for step, options in steps.items():
        lines += [f"cell {step} 1", f"exec mkdir /mnt/{step}", f"exec lookups --dir /mnt/{step} {options}", "end"]
    lines += ["cell check 1", "exec umount /mnt", f"exec ufs-check {job.device(one)}", "end"]
    work = tmp_path_factory.mktemp(f"{mode}-{name_lookup}")
    left = boot.boot(dataclasses.replace(one, script=tuple(lines)), build, work, lambda _: None)
    assert left.problem is None, left.problem
    said = left.report.cells
    assert not {step: said[step].problem for step in (*steps, "check") if said[step].problem}
    return {step: said[step].metrics for step in steps}, said["check"].said


@pytest.fixture(scope="module")
def exclusive(tmp_path_factory):
    return looked_up("ffs", "exclusive", tmp_path_factory)


def test_walker_that_waits_for_a_writer_holds_up_the_bystander(exclusive):
    metrics, _ = exclusive
    with_walker, alone = metrics["walker"], metrics["alone"]
    # a create writes inode and name, and each takes a good part of a revolution (6 ms)
    assert with_walker["walker_longest_ns"] > 2 * MS_NS
    assert with_walker["bystander_longest_ns"] > 2 * MS_NS
    assert alone["bystander_longest_ns"] < MS_NS


def test_bystander_waits_as_long_as_the_walker(exclusive):
    """One create, not several: who has waited is let through."""
    metrics, _ = exclusive
    longest = max(metrics["walker"][f"{who}_longest_ns"] for who in ("walker", "bystander"))
    assert longest < 2.5 * metrics["walker"]["writer_ns"] / 100


def test_directories_that_are_moved_about_are_waited_for_by_nobody_for_ever(exclusive):
    metrics, said = exclusive
    assert metrics["storm"]["processes_ended"] == 12
    assert "clean" in said[0]


def test_soft_updates_lock_directories_too_but_write_nothing_meanwhile(tmp_path_factory):
    metrics, said = looked_up("softupdates", "exclusive", tmp_path_factory)
    # no disk: the writer never sleeps, and the others wait for their turn on the only processor
    assert metrics["walker"]["bystander_longest_ns"] < TICK_NS
    assert metrics["walker"]["writer_ns"] < 100 * MS_NS
    assert metrics["storm"]["processes_ended"] == 12 and "clean" in said[0]


def test_linuxs_own_lookup_waits_for_nobody(tmp_path_factory):
    metrics, said = looked_up("ffs", "shared", tmp_path_factory)
    assert metrics["walker"]["walker_longest_ns"] < MS_NS
    assert metrics["walker"]["bystander_longest_ns"] < MS_NS
    assert "clean" in said[0]
