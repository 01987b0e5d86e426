# SPDX-License-Identifier: MIT
"""The agent as an ordinary program of a POSIX system and of Windows: a job from a file, the report read by the lab."""

import signal
import subprocess

import pytest

from lab.cell import agent, job
from lab.guest.tests import platforms

ECHO = {"posix": "echo", "windows": "cmd /c echo"}
FAIL = {"posix": "sh -c false", "windows": "cmd /c exit 1"}
LINE_LEN_MAX = 4096
"""As in agent/platform.h."""
LEAVE = {"posix": "sh leave", "windows": "cmd /c start /b ping -n 30 127.0.0.1"}


@pytest.fixture(scope="session", params=["posix", pytest.param("windows", marks=pytest.mark.slow)])
def spindle_agent(request, tmp_path_factory):
    return platforms.build(request.param, "spindle-agent", tmp_path_factory.mktemp("agent"))


POSIX = pytest.mark.parametrize("spindle_agent", ["posix"], indirect=True)
"""For what is asked of the agent by the means of a POSIX system."""


def do(spindle_agent, folder, *lines: str, options: tuple[str, ...] = ()) -> tuple[agent.Report, bytes]:
    """The report on a job of these lines, and what then is in the control sector."""
    disk, port = folder / "job.img", folder / "report"
    disk.write_bytes(job.job_disk("\n".join(["spindle-job 1", *lines]) + "\n"))
    port.touch()
    words = ["--job", spindle_agent.path(disk), "--report", spindle_agent.path(port), *options]
    done = spindle_agent.run(*words)
    assert done.stderr == "", done
    return agent.parse(port.read_text()), disk.read_bytes()[:512].rstrip(b"\0")


def test_a_whole_job(spindle_agent, tmp_path):
    echo = ECHO[spindle_agent.platform]
    report, control = do(
        spindle_agent, tmp_path, "cell one 7", f"exec {echo} metric answer 42", f"exec {echo} phase a 1 2", "end",
        "cell two 8", f"exec {echo} words of its own", "end", "cell shutdown 1", "end", "poweroff",
    )  # fmt: skip
    assert (report.done, report.problem, list(report.cells)) == (True, None, ["one", "two", "shutdown"])
    assert report.cells["one"].metrics == {"answer": 42}
    assert report.cells["one"].phases == [{"name": "a", "begin_ns": 1, "end_ns": 2}]
    assert [cell.ended for cell in report.cells.values()] == [True] * 3
    assert report.cells["two"].said == ["words of its own"]
    assert report.cells["two"].exit_status == 0
    assert control == b"end"


def test_a_failure_ends_its_cell_only(spindle_agent, tmp_path):
    report, _ = do(
        spindle_agent, tmp_path, "cell one 7", f"exec {FAIL[spindle_agent.platform]}",
        f"exec {ECHO[spindle_agent.platform]} metric never 1", "end", "cell two 8",
        f"exec {ECHO[spindle_agent.platform]} metric then 2", "end", "poweroff",
    )  # fmt: skip
    assert report.done
    assert "exit status 1" in report.cells["one"].problem
    assert (report.cells["one"].metrics, report.cells["one"].ended) == ({}, True)
    assert (report.cells["two"].metrics, report.cells["two"].problem) == ({"then": 2}, None)


def test_a_program_that_is_not_there(spindle_agent, tmp_path):
    report, _ = do(spindle_agent, tmp_path, "cell one 7", "exec no-such-program", "end", "poweroff")
    assert "cannot start no-such-program" in report.cells["one"].errors[0]
    assert report.cells["one"].exit_status == 127


def test_processes_left_behind(spindle_agent, tmp_path):
    (tmp_path / "leave").write_text("sleep 30 &\n")
    line = LEAVE[spindle_agent.platform].replace("leave", str(tmp_path / "leave"))
    report, _ = do(spindle_agent, tmp_path, "cell one 7", f"exec {line}", "end", "poweroff")
    assert "left processes behind; they were killed" in report.cells["one"].problem


def test_a_workload_is_found_in_its_folder(spindle_agent, tmp_path):
    folder = tmp_path / "workloads" / "rawio"
    folder.mkdir(parents=True)
    platforms.build(spindle_agent.platform, "rawio", folder)
    disk = tmp_path / "disk"
    with disk.open("wb") as file:
        file.truncate(1 << 26)
    report, _ = do(
        spindle_agent, tmp_path, "workload rawio", "cell one 7",
        f"exec rawio --device {spindle_agent.path(disk)} --op read --pattern random --seed 7 --children 1", "end",
        "poweroff", options=("--workloads", spindle_agent.path(tmp_path / "workloads")),
    )  # fmt: skip
    assert (report.done, report.problem, report.cells["one"].problem) == (True, None, None)
    assert report.cells["one"].metrics["bytes"] == 10485760


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("workload rawio", "workload rawio: the agent was started without --workloads"),
        ("nonsense", 'job: unknown command "nonsense"'),
        ("modules sd_mod", "modules: this system loads none by name (sd_mod)"),
        ("end", 'job: "end" outside a cell'),
    ],
)
def test_a_failure_outside_a_cell_ends_the_run(spindle_agent, tmp_path, line, message):
    report, _ = do(spindle_agent, tmp_path, line, "poweroff")
    assert (report.done, report.problem) == (False, f"the guest reports: {message}")


def test_a_setting_is_read_back(spindle_agent, tmp_path):
    file = tmp_path / "setting"
    file.write_text("old")
    report, _ = do(spindle_agent, tmp_path, f"set {file} new", "poweroff")
    if spindle_agent.platform == "windows":
        assert "Windows has no such files; use exec with reg or diskpart" in report.problem
    else:
        assert (report.done, report.problem, file.read_text()) == (True, None, "new")


@POSIX
def test_a_setting_that_reads_otherwise_is_a_failure(spindle_agent, tmp_path):
    """As of a file of the kernel that takes a value and does something else."""
    (tmp_path / "setting").write_text("longer")
    report, _ = do(spindle_agent, tmp_path, f"set {tmp_path / 'setting'} new", "poweroff")
    assert report.problem == f'the guest reports: set {tmp_path / "setting"}: wrote "new", reads "newger"'


def test_the_command_at_the_end(spindle_agent, tmp_path):
    mark = spindle_agent.path(tmp_path / "ended")
    do(spindle_agent, tmp_path, "poweroff", options=("--end", f"echo over >{mark}"))
    assert (tmp_path / "ended").read_text().strip() == "over"


def script(folder, text):
    """A job's line that gives a text to the shell."""
    (folder / "script").write_text(text)
    return f"exec sh {folder / 'script'}"


@POSIX
def test_lines_of_output_without_an_end_or_too_long(spindle_agent, tmp_path):
    """The last line counts without its end, too; one that was cut says so, because its number may be another one."""
    line = script(tmp_path, f"printf 'metric a%0{LINE_LEN_MAX}d 12345\\n' 0\nprintf 'metric b 7'\n")
    report, _ = do(spindle_agent, tmp_path, "cell one 7", line, "end", "poweroff")
    cell = report.cells["one"]
    assert cell.metrics == {"b": 7}
    kept = LINE_LEN_MAX - len("metric a")
    assert cell.problem == f"the workload printed a metric twice or without a number: 'metric a{'0' * kept} [cut]'"


@POSIX
def test_a_signal_is_named(spindle_agent, tmp_path):
    report, _ = do(spindle_agent, tmp_path, "cell one 7", script(tmp_path, "kill -9 $$\n"), "end", "poweroff")
    assert report.cells["one"].exit_status == 128 + signal.SIGKILL
    assert "exec sh: killed by signal 9 (Killed)" in report.cells["one"].problem


def test_a_long_job_is_read_to_its_end(spindle_agent, tmp_path):
    """It is read page by page."""
    echo, words = ECHO[spindle_agent.platform], [f"{number}.{'x' * 300}" for number in range(40)]
    report, _ = do(spindle_agent, tmp_path, "cell one 7", *(f"exec {echo} {word}" for word in words), "end", "poweroff")
    assert (report.done, report.problem, report.cells["one"].said) == (True, None, words)


def test_a_job_without_its_end(spindle_agent, tmp_path):
    report, _ = do(spindle_agent, tmp_path, "cell one 7")
    assert not report.done and "ends without" in report.cells["one"].problem


def test_what_is_not_there(spindle_agent, tmp_path):
    done = spindle_agent.run("--job", "nowhere", "--report", spindle_agent.path(tmp_path / "none"))
    assert "no report port" in done.stderr and "No such file or directory" in done.stderr
    (tmp_path / "port").touch()
    spindle_agent.run("--job", "nowhere", "--report", spindle_agent.path(tmp_path / "port"))
    assert "no nowhere: No such file or directory" in agent.parse((tmp_path / "port").read_text()).problem
    assert spindle_agent.run("--job", "x").returncode == 2


def test_no_platform_but_linux_includes_a_header_of_linux():
    """What our programs name themselves; what the C library does below is its own affair."""
    folders = ["lab/guest/agent", "workloads/rawio", "workloads/postmark"]
    listed = subprocess.run(
        ["grep", "-rlE", r"#include <(linux|asm)/|_GNU_SOURCE", *folders],
        cwd=platforms.portable.REPOSITORY, capture_output=True, text=True, check=False,
    )  # fmt: skip
    names = {name.rsplit("/", 1)[1] for name in listed.stdout.split()}
    assert names == {"linux.h", "init.c"}
