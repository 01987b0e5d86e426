# SPDX-License-Identifier: MIT
"""The runner, with a QEMU that only pretends."""

import collections
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
import zstandard

from lab.cell import boot, cells, paths, run
from lab.cell.errors import EnvironmentMissing

RUN = "scsi-virtio.ultrastar-36zx.t32.both"
REPOSITORY = run.__file__.rsplit("/lab/cell/", 1)[0]


def outcome(lab, mode="", stall_s=30.0):
    (lab / "mode").write_text(mode)
    work = lab / "work"
    work.mkdir()
    return run.execute(cells.run("smoke", RUN), lab, work, lambda line: None, stall_s)


def by_pattern(result):
    return {name.split(".")[4]: value for name, value in result.results.items()}


def test_run_ok(lab):
    results = outcome(lab).results
    assert [result["cell"]["workload"] for result in results.values()] == ["rawio"] * 6 + ["fio"] * 6
    assert {result["status"] for result in results.values()} == {"ok"}
    first = next(iter(results.values()))
    assert first["metrics"]["rate_mb_s"] == 8.192
    assert first["metrics"]["queue_depth_max"] == 32
    assert 31 < first["metrics"]["queue_depth_mean"] <= 32


def test_run_results_name_no_path(lab):
    done = outcome(lab)
    for text in (done.command, json.dumps(done.results)):
        assert str(lab) not in text


def test_run_panic_is_quoted(lab):
    done = outcome(lab, "panic")
    reasons = {result["reason"] for result in done.results.values()}
    assert reasons == {
        "the guest's kernel panicked: 'Kernel panic - not syncing: VFS: Unable to mount root fs'; see console.log"
    }
    assert done.timing.total_s < 20


def test_run_hang_keeps_what_was_measured(lab):
    results = by_pattern(outcome(lab, "hang"))
    assert results["rawio-read-sequential"]["status"] == "ok"
    assert "limit of virtual time was reached" in results["rawio-read-random"]["reason"]
    assert "limit of virtual time was reached" in results["rawio-write-sequential"]["reason"]


def test_run_reset_of_a_port_spoils_what_comes_after(lab):
    done = outcome(lab, "reset")
    found = [result["reason"] for result in done.results.values()]
    first = next(number for number, name in enumerate(done.results) if "read-random" in name)
    assert first > 0 and set(found[:first]) == {None}
    assert set(found[first:]) == {
        "the guest reset the disk's port: 'ata1.00: exception Emask 0x0 SAct 0x30000 SErr 0x0 action 0x6 frozen': "
        "a command took longer than its time-out; see console.log"
    }


def test_run_io_error_of_the_guest_is_no_number(lab):
    result = by_pattern(outcome(lab, "io-error"))["rawio-read-random"]
    assert result["metrics"] is None
    assert result["reason"] == (
        "the guest had an I/O error: 'I/O error, dev sda, sector 2659296 op 0x1:(WRITE) flags 0x8800 phys_seg 1 prio "
        "class 2': a disk failed, or a command took longer than its time-out; see console.log"
    )


def test_run_crash_names_signal(lab):
    assert "SIGABRT" in by_pattern(outcome(lab, "crash"))["rawio-read-random"]["reason"]


def test_run_exit_status_and_stderr(lab):
    reason = by_pattern(outcome(lab, "bad-option"))["rawio-read-random"]["reason"]
    assert reason.startswith("QEMU exited with status 1: qemu-system-x86_64: -blockdev topology=work/topology.toml: ")


def test_run_standing_still_is_ended(lab):
    reason = by_pattern(outcome(lab, "stand-still", stall_s=1.0))["rawio-read-random"]["reason"]
    assert "no sign of life from the guest or its disks for 1 s" in reason


def test_run_shallow_queue_is_no_number(lab):
    result = by_pattern(outcome(lab, "shallow"))["rawio-read-random"]
    assert result["metrics"] is None
    assert result["reason"] == (
        "tags 32: the disk saw never more than 31 commands at once, but its queue was to hold 32"
    )


def test_run_workload_failure(lab):
    reason = by_pattern(outcome(lab, "workload-fails"))["rawio-write-random"]["reason"]
    assert reason == "the workload exited with status 1: rawio: /dev/sda: Input/output error"


def test_run_lost_line_fails_its_cell_only(lab):
    results = by_pattern(outcome(lab, "lost-line"))
    assert results["rawio-read-sequential"]["status"] == "ok"
    assert results["rawio-write-sequential"]["status"] == "ok"
    assert "missing or damaged" in results["rawio-read-random"]["reason"]


def test_run_missing_qemu(lab):
    (lab / "qemu" / "qemu-system-x86_64").unlink()
    with pytest.raises(EnvironmentMissing, match=r"qemu-system-x86_64: missing; run `make report`"):
        outcome(lab)


def test_run_full_disk_is_refused_before_start(lab, monkeypatch):
    usage = collections.namedtuple("usage", "total used free")(10 << 30, 10 << 30, 5 << 20)
    monkeypatch.setattr(boot.shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(EnvironmentMissing, match=r"the disk is full: 124 MiB are needed, 5 MiB are free"):
        outcome(lab)


def test_run_serve_leaves_whole_cells(lab):
    (lab / "mode").write_text("")
    for _ in range(2):  # the second replaces the first
        run.serve("smoke", RUN)
    cell = cells.run("smoke", RUN).cells[0]
    folder = paths.ROOT / paths.cell_dir("smoke", cell.id)
    assert sorted(path.name for path in folder.iterdir()) == ["command", "console.log", "io.trace", "result.json"]
    trace = zstandard.ZstdDecompressor().decompress((folder / "io.trace").read_bytes()).decode()
    assert trace.splitlines()[1].startswith(f"# cell {cell.id} seed 1 ")
    assert not [path for path in folder.parent.iterdir() if path.name.startswith(".")]
    timing = json.loads((paths.ROOT / paths.timing_path("smoke", RUN)).read_text())
    assert timing["total_s"] > 0
    assert len(timing["cells_s"]) == 12


def test_run_killed_parent_leaves_no_child(lab):
    """SIGKILL to the runner alone: the kernel ends QEMU."""
    (lab / "mode").write_text("stand-still")
    work = lab / "work"
    work.mkdir()
    program = (
        "import os, subprocess, sys; from lab.cell import boot\n"
        "subprocess.Popen([sys.executable, '-c', 'import os, time; print(os.getpid(), flush=True); time.sleep(600)'],"
        " preexec_fn=boot.die_with_parent(os.getpid())).wait()"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    for _ in range(100):
        if not os.path.exists(f"/proc/{child}"):
            return
        with open(f"/proc/{child}/stat", encoding="utf-8") as stat:
            if stat.read().split()[2] == "Z":
                return
        time.sleep(0.05)
    pytest.fail("the child outlived its parent")


def test_run_time_left_counts_the_markers_of_a_script(lab):
    """A scripted boot with several markers printed a negative time."""
    one = cells.run("smoke", RUN)
    assert boot.markers(one) == len(one.cells)
    script = ("cell a 1", "end", "cell b 1", "end", "cell c 1", "end", "cell check 1", "end")
    assert boot.markers(replace(one, script=script)) == 3
