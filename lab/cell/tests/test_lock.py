# SPDX-License-Identifier: MIT
"""Two real processes at one build directory and its results: who waits, who is refused, what a SIGKILL leaves."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab.cell import lock, paths
from lab.cell.errors import AlreadyRunning

ROOT = Path(__file__).resolve().parents[3]
HOLDER = """
import sys, time
from pathlib import Path
from lab.cell import lock, paths
paths.ROOT = Path(sys.argv[1])
paths.BUILD = Path(sys.argv[1]) / "build"
{body}
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A checkout with nothing in it."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(paths, "BUILD", tmp_path / "build")
    monkeypatch.setattr(lock, "POLL_S", 0.02)
    return tmp_path


def start(here, body, **more):
    """Another process at work in that checkout."""
    text = HOLDER.format(body=body)
    return subprocess.Popen(
        [sys.executable, "-c", text, str(here)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, **more,
    )  # fmt: skip


@contextmanager
def other(here, arguments, **more):
    """Another process that holds something until its input ends."""
    body = f"with lock.hold({arguments}):\n    print('held', flush=True)\n    sys.stdin.read()"
    process = start(here, body, **more)
    try:
        assert process.stdout.readline() == "held\n", process.stderr.read()
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()


def test_lock_second_report_is_refused_and_told_by_whom(here):
    with other(here, "'results', alone=True, what='report of profile quick'") as process:
        who = rf"report of profile quick \(process {process.pid}, since \d\d:\d\d\)"
        with pytest.raises(AlreadyRunning, match=who), lock.hold("results", alone=True, what="report of profile full"):
            pass
        with pytest.raises(AlreadyRunning, match=who), lock.hold("results", what="export"):
            pass
    with lock.hold("results", alone=True, what="report of profile full"):
        pass


def test_lock_goes_with_a_killed_holder(here):
    with other(here, "'results', 'qemu', alone=True, what='report'") as process:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        with lock.hold("results", "qemu", alone=True, what="the next report", refuse=True):
            assert [said.split(" (")[0] for said in lock.holders("qemu")] == ["the next report"]
    assert lock.holders("qemu") == []


def test_lock_builder_waits_for_a_boot_and_is_told_for_whom(here):
    with other(here, "'qemu', 'guest', what='attempt'") as boot:
        builder = start(
            here, "with lock.hold('qemu', alone=True, what='build of QEMU'):\n    print('built', flush=True)"
        )
        said = builder.stderr.readline()
        assert re.fullmatch(
            rf"build of QEMU: qemu: waiting for: attempt \(process {boot.pid}, since \d\d:\d\d\)\n", said
        )
        with lock.hold("qemu", what="another boot", refuse=True):
            pass
        assert builder.poll() is None
        boot.stdin.close()
        assert builder.communicate(timeout=20) == ("built\n", "")


def test_lock_boot_waits_for_a_builder(here):
    with other(here, "'qemu', alone=True, what='build of QEMU'") as builder:
        boot = start(here, "with lock.hold('guest', 'qemu', what='run'):\n    print('booted', flush=True)")
        assert "waiting for: build of QEMU" in boot.stderr.readline()
        builder.stdin.close()
        assert boot.communicate(timeout=20)[0] == "booted\n"


def test_lock_waiting_says_so_again(here, monkeypatch, capfd):
    monkeypatch.setattr(lock, "AGAIN_S", 0.1)
    with other(here, "'qemu', what='attempt'") as boot:
        ender = subprocess.Popen(["sh", "-c", f"sleep 0.5; kill {boot.pid}"])
        with lock.hold("qemu", alone=True, what="build"):
            ender.wait()
    assert 2 <= capfd.readouterr().err.count("build: qemu: waiting for: attempt") <= 6


def test_lock_report_waits_for_an_export(here):
    with other(here, "'results', what='export'") as export:
        report = start(here, "with lock.hold('results', alone=True, what='report'):\n    print('began', flush=True)")
        assert "report: results: waiting for: export" in report.stderr.readline()
        export.stdin.close()
        assert report.communicate(timeout=20)[0] == "began\n"


def test_lock_children_go_on_under_their_report(here):
    """A run takes part in its report's lock, as deep as it likes; nobody else does."""
    run = HOLDER.format(body="with lock.hold('results', 'qemu', alone=True, what='run'):\n    print('ran', flush=True)")
    report = f"""
import subprocess
lock.keep("results", "qemu", alone=True, what="report")
command = [sys.executable, "-c", {run!r}, sys.argv[1]]
print(subprocess.run(["sh", "-c", 'exec "$@"', "sh", *command], capture_output=True, text=True))
"""
    done = start(here, report).communicate(timeout=30)
    assert "stdout='ran\\n', stderr=''" in done[0], done


def test_lock_run_of_a_killed_report_keeps_the_next_one_out(here):
    body = "lock.keep('results', alone=True, what='run one')\nprint('runs', flush=True)\nsys.stdin.read()"
    run = HOLDER.format(body=body)
    report = f"""
import subprocess
lock.keep("results", alone=True, what="report")
subprocess.run([sys.executable, "-c", {run!r}, sys.argv[1]])
"""
    process = start(here, report)
    assert process.stdout.readline() == "runs\n"
    process.kill()
    process.wait()
    with pytest.raises(AlreadyRunning, match=r"what a killed command started is still at work: run one \(process "):
        lock.keep("results", alone=True, what="next report")
    with pytest.raises(AlreadyRunning, match="run one"):
        lock.keep("results", what="export")
    process.stdin.close()
    for _ in range(500):
        if not lock.holders("results", kind="within"):
            break
        time.sleep(0.02)
    with lock.hold("results", alone=True, what="next report"):
        pass


def test_lock_child_of_a_dead_report_does_not_begin(here, monkeypatch):
    record = here / "results/.locks/results.holder-1-gone"
    monkeypatch.setenv(lock.HOLDS, f'[["{here}/results/.locks", "results", true, "{record}"]]')
    with pytest.raises(AlreadyRunning, match=r"the command that started this \(run\) has ended"):
        lock.keep("results", alone=True, what="run")


def test_lock_child_knows_the_build_directory_behind_a_link(here, monkeypatch):
    """It would else wait for its own parent."""
    (here / "build").mkdir()
    (here / "link").symlink_to(here / "build")
    with lock.hold("qemu", alone=True, what="build of QEMU"):
        child = start(
            here, "with lock.hold('qemu', alone=True, what='same', build=Path(sys.argv[1]) / 'link'): print('in')"
        )
        assert child.communicate(timeout=20) == ("in\n", "")


def test_lock_child_cannot_build_what_its_parent_uses(here):
    with lock.hold("qemu", what="attempt"):
        child = start(here, "lock.keep('qemu', alone=True, what='build of QEMU')")
        assert "must have it alone, and the command that started it only shares it" in child.communicate(timeout=20)[1]


def test_lock_taken_twice_in_one_process(here):
    with lock.hold("qemu", "guest", what="attempt"):
        with lock.hold("qemu", what="boot"):
            pass
        assert len(lock.holders("qemu")) == 1
    assert lock.holders("qemu") == []
    assert lock.HOLDS not in os.environ


def test_lock_two_checkouts_share_a_build_directory(here, monkeypatch):
    """Their results are their own; what is built is not."""
    with other(here, "'results', 'qemu', alone=True, what='report'"):
        monkeypatch.setattr(paths, "ROOT", here / "second")
        with lock.hold("results", alone=True, what="report"):
            pass
        with pytest.raises(AlreadyRunning, match="report"):
            lock.keep("qemu", what="attempt", refuse=True)


@pytest.mark.parametrize(
    "held", ["'results', what='export'", "'qemu', what='attempt'", "'venv', alone=True, what='boot'"]
)
def test_lock_clean_is_refused_by_whoever_is_at_work(here, held):
    with (
        other(here, held),
        pytest.raises(AlreadyRunning, match="wait for it or end it"),
        lock.hold("clean", "results", alone=True, what="make clean", refuse=True),
    ):
        pass
    with lock.hold("clean", "results", alone=True, what="make clean", refuse=True):
        pass


def test_lock_survives_the_removal_of_its_folder(here):
    """`rm -rf results` while a report is at work: who comes next opens new files, and the old lock counts no more."""
    with lock.hold("results", alone=True, what="report"):
        for path in (here / "results/.locks").iterdir():
            path.unlink()
    with lock.hold("results", alone=True, what="report"):
        pass


def test_scratch_sweep_leaves_what_is_at_work(here):
    """`make report` removed the scratch folder of an attempt at work."""
    body = "with lock.scratch('attempt') as folder:\n    print(folder, flush=True)\n    sys.stdin.read()"
    attempt, killed = start(here, body), start(here, body)
    kept, left = Path(attempt.stdout.readline().strip()), Path(killed.stdout.readline().strip())
    (kept / "disk.img").write_text("data")
    (here / "build/run/tmpold").mkdir()
    assert lock.sweep() == ["tmpold"]
    killed.kill()
    killed.wait()
    assert lock.sweep() == [left.name]
    assert (kept / "disk.img").exists() and not left.exists()
    attempt.communicate()
    assert not kept.exists()


def test_scratch_is_not_swept_while_it_is_made(here):
    """Many make folders while one sweeps: nobody loses one."""
    body = """
for _ in range(200):
    with lock.scratch("run") as folder:
        (folder / "file").write_text("x")
        assert (folder / "file").exists()
print("done")
"""
    busy = [start(here, body) for _ in range(3)]
    while any(process.poll() is None for process in busy):
        lock.sweep()
    for process in busy:
        assert process.communicate()[0] == "done\n"


def command(here, *words):
    """The command line, in a checkout of its own."""
    folder = here / "lab/cell"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("__init__", "cell/__init__", "cell/errors", "cell/lock", "cell/paths"):
        (here / f"lab/{name}.py").write_bytes((ROOT / f"lab/{name}.py").read_bytes())
    environment = {"PATH": os.environ["PATH"]}
    return subprocess.Popen(
        [sys.executable, "-m", "lab.cell.lock", *words], cwd=here, env=environment, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_lock_command_holds_as_long_as_what_it_runs(here):
    held = command(here, "--alone", "--what", "make report", "results", "--", "sh", "-c", "echo held; read end; exit 7")
    assert held.stdout.readline() == "held\n"
    refused = command(here, "--alone", "--what", "make part", "results", "--", "true").communicate()[1]
    assert f"make report (process {held.pid}, since" in refused
    held.communicate("end\n")
    assert held.returncode == 7
    inner = ["--alone", "--what", "run", "results", "--", "echo", "inner"]
    nested = command(
        here, "--alone", "--what", "make report", "results", "--", sys.executable, "-m", "lab.cell.lock", *inner
    )
    assert nested.communicate() == ("inner\n", "")


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--what", "x", "results", "--"], 2, "which command?"),
        (["--what", "x", "../etc", "--", "true"], 2, "'../etc' is no name of a lock"),
        (["--what", "x", "results", "--", "no-such-program"], 127, "error: no-such-program: No such file"),
    ],
)
def test_lock_command_wrong(here, words, status, said):
    process = command(here, *words)
    assert said in process.communicate()[1]
    assert process.returncode == status


def test_step_waits_on_the_terminal_and_not_in_its_log(here):
    with other(here, "'qemu', what='attempt'") as boot:
        body = """
from lab.cell import step
log = paths.ROOT / "log"
sys.exit(step.main(["--name", "QEMU", "--about", "1 s", "--alone", "qemu", "--log", str(log), "--", "echo", "made"]))
"""
        builder = start(here, body)
        assert "build of QEMU: qemu: waiting for: attempt (process " in builder.stderr.readline()
        boot.stdin.close()
        said = builder.communicate(timeout=20)[1]
    assert builder.returncode == 0, said
    assert "QEMU: done in" in said
    assert (here / "log").read_text() == "made\n"


def told(here, host, process="1"):
    """What a job is told of its holder, whose file nobody here has locked."""
    folder = lock.folder_of("results")
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / f"results.holder-{process}-abcdefgh"
    record.write_text(json.dumps({"what": "report", "process": int(process), "since": "12:00", "host": host}))
    return record, json.dumps([[str(folder), "results", True, str(record)]])


def test_job_on_another_machine_goes_by_its_holders_file(here, monkeypatch):
    """A kernel knows no process of another machine: there its file decides, and it is not taken for a dead one's."""
    record, holds = told(here, "another-machine")
    monkeypatch.setenv(lock.HOLDS, holds)
    with lock.hold("results", alone=True, what="run"):
        assert lock.holders("results", kind="within")
    assert record.exists()
    record.unlink()
    ended = pytest.raises(AlreadyRunning, match=r"the command that started this \(run\) has ended")
    with ended, lock.hold("results", alone=True, what="run"):
        pass


def test_on_its_own_machine_the_kernel_decides(here, monkeypatch):
    record, holds = told(here, socket.gethostname())
    monkeypatch.setenv(lock.HOLDS, holds)
    with pytest.raises(AlreadyRunning, match="has ended"), lock.hold("results", alone=True, what="run"):
        pass
    assert not record.exists()
