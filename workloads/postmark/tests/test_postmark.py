# SPDX-License-Identifier: MIT
"""The wrapper around PostMark: a real run where the guest's package has been fetched, and stand-ins that fail."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lab.guest.host import REPOSITORY
from lab.guest.imaging import compile_program
from lab.guest.tests import platforms

BUILD = Path(os.environ.get("SPINDLE_BUILD", REPOSITORY / "build"))
PHASES = ["setup", "create", "run", "delete", "cleanup"]

REPORT = """Time:
\\t1 seconds total

Files:
\\t15 created (15 per second)
\\t\\tCreation alone: 10 files (10 per second)
\\t\\tMixed with transactions: 5 files (5 per second)
\\t4 read (4 per second)
\\t6 appended (6 per second)
\\t15 deleted (15 per second)
\\t\\tDeletion alone: 10 files (10 per second)
\\t\\tMixed with transactions: 5 files (5 per second)

Data:
\\t1.00 kilobytes read (1.00 kilobytes per second)
\\t{written} written (1.00 megabytes per second)
"""


@pytest.fixture(scope="session", params=["guest", "posix"])
def wrapper(request, tmp_path_factory):
    """As the guest has it, and as a POSIX system without Linux's accounting would."""
    folder = tmp_path_factory.mktemp("postmark")
    if request.param == "posix":
        return platforms.build("posix", "postmark", folder / "posix").file
    compile_program(REPOSITORY / "workloads/postmark/postmark.c", folder / "postmark")
    return folder / "postmark"


@pytest.fixture(scope="session")
def postmark(tmp_path_factory):
    """The real PostMark: this machine's, or the one out of the guest's package."""
    if found := shutil.which("postmark"):
        return Path(found)
    packages = sorted(BUILD.glob("cache/debs/postmark_*_amd64.deb"))
    if not packages or not shutil.which("dpkg-deb"):
        pytest.skip("no PostMark here: neither installed nor in the guest's package cache")
    folder = tmp_path_factory.mktemp("package")
    subprocess.run(["dpkg-deb", "-x", packages[-1], folder], check=True)
    return folder / "usr/bin/postmark"


def run(wrapper, folder, program, *options: str) -> subprocess.CompletedProcess:
    folder.mkdir(exist_ok=True)
    command = [wrapper, "--dir", folder, "--seed", "7", "--scale", "0.01", "--program", program, *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def lines(done: subprocess.CompletedProcess, word: str) -> list[list[str]]:
    assert done.returncode == 0, done.stderr
    return [line.split()[1:] for line in done.stdout.splitlines() if line.startswith(word + " ")]


def metrics(done: subprocess.CompletedProcess) -> dict[str, int]:
    found = lines(done, "metric")
    assert len({name for name, _ in found}) == len(found)
    return {name: int(value) for name, value in found}


def test_phases_follow_each_other(wrapper, postmark, tmp_path):
    done = run(wrapper, tmp_path / "d", postmark)
    phases = {name: (int(begin), int(end)) for name, begin, end in lines(done, "phase")}
    assert list(phases) == PHASES
    times = [time for phase in phases.values() for time in phase]
    assert times == sorted(times)
    measured = metrics(done)
    assert measured["elapsed_ns"] == phases["delete"][1] - phases["create"][0]
    assert measured["elapsed_ns"] == sum(measured[f"{name}_ns"] for name in ("create", "run", "delete"))
    assert (measured["files_initial"], measured["transactions"], measured["subdirectories"]) == (250, 200, 2)
    assert list((tmp_path / "d").iterdir()) == []


def test_same_seed_same_report(wrapper, postmark, tmp_path):
    def counts(seed: str) -> dict[str, int]:
        found = metrics(run(wrapper, tmp_path / "d", postmark, "--seed", seed))
        return {name: value for name, value in found.items() if not name.endswith("_ns")}

    assert counts("7") == counts("7")
    assert counts("7") != counts("8")


def test_sizes(wrapper, postmark, tmp_path):
    """25 000 files of the paper's range are 400 MB, of PostMark's default 131 MB; writes are half as much again."""

    def mean(*options: str) -> float:
        found = metrics(run(wrapper, tmp_path / "d", postmark, "--scale", "0.04", *options))
        return found["written_bytes"] / found["files_created"]

    assert mean() == pytest.approx(16000 * 1.13, rel=0.05)
    assert mean("--sizes", "default") == pytest.approx(5250 * 1.13, rel=0.05)
    assert mean("--sizes", "1000-1000") == pytest.approx(1000, rel=0.02)


def stand_in(tmp_path, text: str, *, written: str = "20.00 kilobytes", really: int = 20480) -> Path:
    """A program that behaves like PostMark; TEXT stands where the transactions are."""
    program = tmp_path / "stand-in"
    report = REPORT.format(written=written).replace("\n", "\\n")
    program.write_text(
        f"""#!/bin/sh
printf 'PostMark\\npm>pm>Creating subdirectories...Done\\nCreating files...'
head -c {really} /dev/zero | cat >f
rm f
{text}
printf 'Done\\nDeleting files...Done\\nDeleting subdirectories...Done\\n'
head -c {really} /dev/zero >/dev/null
printf '{report}pm>'
"""
    )
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("printf \"Error: cannot open 's1/7' for writing\\n\"; sleep 20", r"PostMark says: Error: cannot open 's1/7'"),
        ("printf 'Done\\nPerforming transactions'; kill -9 $$", r"ended by signal 9"),
        ("printf 'Done\\nPerforming transactions'; exit 0", r"ended early; its last words: .*transactions"),
        ("printf 'Done\\nPerforming transactions...out of files!\\n'; sleep 20", r"PostMark says: out of files!"),
    ],
)
def test_its_errors_are_ours(wrapper, tmp_path, text, message):
    done = run(wrapper, tmp_path / "d", stand_in(tmp_path, text), "--scale", "0.0004")
    assert done.returncode == 1
    assert re.search(message, done.stderr.replace("\n", " "))
    assert not lines_of_metrics(done)


def lines_of_metrics(done: subprocess.CompletedProcess) -> list[str]:
    return [line for line in done.stdout.splitlines() if line.startswith("metric")]


def test_a_report_that_the_kernel_does_not_confirm(wrapper, tmp_path):
    """PostMark ignores what its writes return; the kernel's count shows it."""
    program = stand_in(tmp_path, "printf 'Done\\nPerforming transactions'", written="5.00 megabytes")
    done = run(wrapper, tmp_path / "d", program, "--scale", "0.0004")
    if wrapper.parent.name == "posix":
        assert "info unchecked this system does not count what PostMark wrote" in done.stdout
        return
    assert done.returncode == 1
    assert "says that it wrote 5242880 bytes, the kernel took" in done.stderr


def test_a_report_of_another_run(wrapper, tmp_path):
    program = stand_in(tmp_path, "printf 'Done\\nPerforming transactions'")
    done = run(wrapper, tmp_path / "d", program, "--scale", "0.01")
    assert done.returncode == 1
    assert "another number of files" in done.stderr


@pytest.mark.parametrize(
    ("options", "message", "status"),
    [
        (["--scale", "0"], "--scale 0: give a decimal above 0 and up to 1", 2),
        (["--scale", "1.1"], "--scale 1.1: give", 2),
        (["--scale", "0.0000001"], "at most 6 digits", 2),
        (["--seed", "-1"], "--seed -1: give a whole number", 2),
        (["--seed", "0"], "--seed 0: give a whole number from 1 to 2147483647", 2),
        (["--sizes", "big"], "--sizes big: give paper, default, or LOW-HIGH", 2),
        (["--sizes", "1x-10"], "--sizes 1x: give a whole number from 1", 2),
        (["--sizes", "20-10"], "--sizes 10: give a whole number from 20", 2),
        (["--files", "3"], "--files is no option", 2),
        (["--seed"], "--seed needs a value; give --seed N", 2),
        (["--dir", "/nonexistent"], "--dir /nonexistent: No such file", 1),
        (["--program", "/nonexistent"], "/nonexistent cannot be started", 1),
    ],
)
def test_bad_options(wrapper, tmp_path, options, message, status):
    done = run(wrapper, tmp_path / "d", "/bin/false", *options)
    assert done.returncode == status
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_directory_in_use(wrapper, tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d/lost+found").mkdir()
    (tmp_path / "d/.pmrc").touch()
    done = run(wrapper, tmp_path / "d", "/bin/false")
    assert "has '.pmrc' in it before the run" in done.stderr
