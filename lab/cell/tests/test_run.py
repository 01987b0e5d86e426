# SPDX-License-Identifier: MIT
"""The runner, with a QEMU that only pretends."""

import collections
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
import zstandard

from lab.cell import boot, cells, evidence, identity, judge, paths, run, store
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


def test_run_drained_commands_spoil_what_comes_after(lab):
    """virtio-scsi and megasas reset without a word from the guest's kernel."""
    done = outcome(lab, "drained")
    found = [result["reason"] for result in done.results.values()]
    first = next(number for number, name in enumerate(done.results) if "read-random" in name)
    assert first > 0 and set(found[:first]) == {None}
    at_ns = int(re.search(r"# drained 3 commands now_ns (\d+)", list(done.traces.values())[first])[1])
    assert set(found[first:]) == {f"the guest reset the disk while 3 commands were outstanding, at {at_ns} ns"}


def test_run_flushes_are_no_number(lab):
    results = by_pattern(outcome(lab, "flush"))
    reason = "the disk saw 1 flushes, but the assumption `flushes` is 0"
    assert results["rawio-read-random"]["reason"] == reason
    assert results["rawio-read-sequential"]["status"] == "ok"


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("unknown-comment", r"line \d+: a comment that neither model nor driver write: '# cel one'"),
        ("torn-mark", r"line \d+: a torn or damaged `# drained` line: '# drained 3 comm'"),
    ],
)
def test_run_trace_that_cannot_be_trusted_fails_all(lab, mode, said):
    reasons = {result["reason"] for result in outcome(lab, mode).results.values()}
    assert len(reasons) == 1 and re.fullmatch(said, *reasons)


def test_run_garbage_in_a_trace_fails_its_cell(lab):
    results = by_pattern(outcome(lab, "garbage"))
    assert results["rawio-read-random"]["reason"] == "line 3: 5 fields, not 11: 'disk0 R 1 \ufffd\ufffd\\x00 0'"
    assert results["rawio-write-random"]["status"] == "ok"


def test_run_torn_line_fails_its_cell(lab):
    results = by_pattern(outcome(lab, "torn"))
    assert results["rawio-read-sequential"]["status"] == "ok"
    assert "SIGKILL" in results["rawio-read-random"]["reason"]


@pytest.mark.parametrize(
    ("mode", "state", "ended"),
    [
        ("degraded", "degraded", "m1 failed at {} ns; it ended degraded"),
        ("rebuilding", "rebuilding", "m1 failed at {} ns; it ended while a spare was being rebuilt"),
        ("rebuilt", "whole", "m1 failed at {} ns; it ended whole"),
        ("data-lost", "lost", "m1 failed at {} ns, m2 failed at {} ns; it lost data"),
    ],
)
def test_run_with_a_lost_member_has_no_number(lab, mode, state, ended):
    """The guest sees one disk that serves all; the model says in the trace what became of the array."""
    (lab / "mode").write_text(mode)
    work = lab / "work"
    work.mkdir()
    one = cells.run("smoke", "scsi-virtio.deskstar-75gxp.raid5-ide-8.t64.both")
    results = run.execute(one, lab, work, lambda line: None).results
    for result in results.values():
        assert result["status"] == "failed" and result["metrics"] is None
        assert result["array_state"]["state"] == state
        times = [failure["at_ns"] for failure in result["array_state"]["failed"]]
        assert result["reason"] == "array 'raid5-ide-8' lost members: " + ended.format(*times)


def test_run_half_a_line_of_the_agent_does_not_end_the_supervisor(lab):
    states = [result["status"] for result in outcome(lab, "half-line").results.values()]
    assert states == [*["ok"] * 11, "failed"], "the run's report is damaged, and so its last cell may be"


MODES = [
    *("", "no-start", "bad-option", "panic", "reset", "io-error", "hang", "crash", "shallow", "workload-fails"),
    *("lost-line", "drained", "garbage", "unknown-comment", "torn-mark", "torn", "flush", "rebuilt", "damaged"),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("run_id", [RUN, "scsi-virtio.ultrastar-36zx.t64.both.ffs.postmark-x0.05.s01"])
def test_run_result_is_derived_again_from_its_folder(lab, monkeypatch, mode, run_id):
    """By property: every cell of the pretended lab, however it went wrong."""
    monkeypatch.setenv("FAKE_REQUESTS", "64")
    if "postmark" in run_id:
        start = identity.start_of(cells.run("smoke", run_id))
        for path in identity.image_paths(lab, start):
            path.parent.mkdir(exist_ok=True)
            path.touch()
    (lab / "mode").write_text(mode)
    run.serve("smoke", run_id)
    for cell in cells.run("smoke", run_id).cells:
        folder = paths.ROOT / paths.cell_dir("smoke", cell.id)
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        again = judge.derive(cell, evidence.unpack(cell.id, files))
        assert store.result_text(again).encode() == files["result.json"]
        assert store.read_result(folder) == again


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
    with pytest.raises(EnvironmentMissing, match=r"qemu-system-x86_64: missing; run `make lab`"):
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
    assert sorted(path.name for path in folder.iterdir()) == sorted(store.FILES)
    assert {"command", "console.log", "evidence.json", "io.trace", "report.txt", "result.json"} == set(store.FILES)
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
