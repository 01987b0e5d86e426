# SPDX-License-Identifier: MIT
"""What goes wrong inside a real guest, and on a real full disk: one clear message each, and no QEMU left."""

import subprocess

import pytest

from lab.cell import cells, identity, images, job, paths, run
from lab.cell.errors import EnvironmentMissing

RUN = "scsi-virtio.ultrastar-36zx.t32.both"
FS_RUN = "scsi-virtio.ultrastar-36zx.t64.both.ffs.postmark-x0.05.s01"


@pytest.fixture
def built():
    """The built lab; skips where it is not there."""
    build = paths.build()
    try:
        run.require_built(cells.run("smoke", RUN), build)
    except EnvironmentMissing as reason:
        pytest.skip(str(reason))
    return build


def with_first_command(monkeypatch, line):
    """Let each cell begin with something else."""
    lines = job.cell_lines
    monkeypatch.setattr(job, "cell_lines", lambda of_run, cell: [line, *lines(of_run, cell)[1:]])


def reasons(build, work, run_id=RUN):
    """Reasons of failure of all cells of the run, in order."""
    outcome = run.execute(cells.run("smoke", run_id), build, work, lambda line: None)
    return [result["reason"] for result in outcome.results.values()]


def test_guest_panic_is_named(built, tmp_path, monkeypatch):
    with_first_command(monkeypatch, "set /proc/sysrq-trigger c")
    found = reasons(built, tmp_path)
    assert all("the guest's kernel panicked: 'Kernel panic" in reason for reason in found), found


def test_guest_panic_on_a_file_system_is_named(built, tmp_path, monkeypatch):
    images.ensure(identity.start_of(cells.run("smoke", FS_RUN)), built)
    with_first_command(monkeypatch, "set /proc/sysrq-trigger c")
    (found,) = reasons(built, tmp_path, FS_RUN)
    assert "the guest's kernel panicked: 'Kernel panic" in found


def test_guest_hang_ends_at_the_limit_of_virtual_time(built, tmp_path, monkeypatch):
    with_first_command(monkeypatch, "exec sleep 1000000")
    found = reasons(built, tmp_path)
    assert all("the guest hung: the limit of virtual time was reached" in reason for reason in found), found


def test_full_disk_voids_the_run(built, tmp_path, monkeypatch):
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "spindle-test", tmp_path], capture_output=True)
    if mount.returncode != 0:
        pytest.skip("mounting a small file system needs root")
    try:
        monkeypatch.setattr(run, "require_space", lambda folder, needed_bytes: None)
        with pytest.raises(EnvironmentMissing, match=r"No space left on device.*make room"):
            reasons(built, tmp_path)
    finally:
        subprocess.run(["umount", "-l", tmp_path], check=True)
