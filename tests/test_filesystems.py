# SPDX-License-Identifier: MIT
"""Every file system in a real guest: what fs-stress gave it is there after a fresh mount, and its check can fail."""

import dataclasses
import os

import pytest

from lab.cell import attempt, boot, catalogue, filesystems, identity, images, job, paths, trace
from lab.cell.errors import EnvironmentMissing

pytestmark = pytest.mark.lab

STRESS = f"exec fs-stress --dir {job.MOUNT_POINT} --seed 1 --operations 800 --files 150 --max-bytes 131072"
UNMOUNT = f"exec umount {job.MOUNT_POINT}"
BLOCK = 4096
DAMAGE = {
    "ext2": (3, 1),  # The first bitmap. (Bad group descriptors alone are taken from a backup, with exit status 0.)
    "ext3-ordered": (3, 1),
    "ntfs": (5, 1),  # Records 4 to 7 of the MFT: the root folder is one.
    "reiserfs": (17, 1),  # The first bitmap.
    "xfs": (0, 1),  # Superblock and headers of the first group.
}
"""Where each check has something to find: first block to overwrite, and how many. Once for each tool."""


@pytest.fixture(scope="module")
def built():
    """The built lab; skips where it is not there."""
    build = paths.build()
    try:
        boot.require_built(attempt.run_of(attempt.parse(["--", "true"])), build)
    except EnvironmentMissing as reason:
        pytest.skip(str(reason))
    return build


def stressed(build, work, name, controller="scsi-virtio", drive="ultrastar-36zx"):
    """Boot; write, unmount, mount, verify, remove, unmount, check, damage, check; returns what that left."""
    images.ensure(identity.Image(name, drive), build)
    one = attempt.run_of(attempt.parse(["--fs", name, "--controller", controller, "--drive", drive, "--", "true"]))
    device = f"/dev/{catalogue.controller(controller).disk}"
    mount = job.mount_line(name, device)
    check = f"exec {filesystems.file_system(name).check.format(device=device)}"
    script = [f"cell {attempt.LABEL} 1", mount, f"{STRESS} --write", UNMOUNT, "end"]
    script += ["cell verify 1", mount, f"{STRESS} --remove", UNMOUNT, "end"]
    script += [f"cell {job.CHECK_LABEL} 1", check, "end"]
    if name in DAMAGE:
        first, blocks = DAMAGE[name]
        overwrite = f"exec dd if=/dev/zero of={device} bs={BLOCK} seek={first} count={blocks} conv=notrunc,fsync"
        script += ["cell damaged 1", overwrite, check, "end"]
    return boot.boot(dataclasses.replace(one, script=tuple(script)), build, work, lambda line: None)


def judge(left, name):
    """What must be true of every run."""
    said = left.report.cells
    assert left.report.done, left.problem
    for label in (attempt.LABEL, "verify", job.CHECK_LABEL):
        assert said[label].problem is None, (label, said[label])
    assert said["verify"].metrics["files"] > 50
    assert "error" not in left.console.lower(), left.console
    assert {request.op for request in trace.parse(left.traces[attempt.LABEL])} == {"R", "W"}, "no flush is to be sent"
    if name in DAMAGE:
        assert "exit status" in (said["damaged"].problem or ""), f"the check of {name} finds no damage"


@pytest.mark.parametrize("name", filesystems.names())
def test_file_system_keeps_what_it_was_given(built, tmp_path, name):
    judge(stressed(built, tmp_path, name), name)


def test_ntfs_on_the_larger_drive(built, tmp_path):
    judge(stressed(built, tmp_path, "ntfs", "ide-ahci", "deskstar-75gxp"), "ntfs")


def data(path):
    """Offset and content of every block that is not all zeros; the file is sparse and as large as a drive."""
    with open(path, "rb") as file:
        end = 0
        while True:
            try:
                start = os.lseek(file.fileno(), end, os.SEEK_DATA)
            except OSError:
                return
            end = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            for offset in range(start, end, BLOCK):
                block = os.pread(file.fileno(), BLOCK, offset)
                if any(block):
                    yield offset, block


@pytest.mark.parametrize("name", ["ext3-ordered", "ntfs", "reiserfs"])
def test_image_is_the_same_when_made_again(built, tmp_path, name):
    """Their tools draw numbers that no option sets: a magic number of the journal, a volume's serial number."""
    made = []
    for again in ("one", "two"):
        build = tmp_path / again
        build.mkdir()
        for part in ("qemu", "guest", "disk"):
            (build / part).symlink_to(built / part)
        made += images.make(identity.Image(name, "ultrastar-36zx"), build)
    assert list(data(made[0])) == list(data(made[1]))
