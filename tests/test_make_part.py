# SPDX-License-Identifier: MIT
"""What make's targets do first, what holds locks, what installs nothing; `make part` ends well when its time is up."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


PYTHON = """if [ "$2" = lab.cell.retry ]; then
    echo "$@" >>asked
    exec cat missing
fi
echo "$@"
if [ "$1 $2" = "-m lab.cell.lock" ]; then
    while [ "$1" != -- ]; do shift; done
    shift
    exec "$@"
fi"""
"""Says what it is asked; in the place of lab.cell.lock it becomes the command behind --, and in that of lab.cell.retry
it names what the file `missing` has."""
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
"""Not of the make that runs these tests."""


def checkout(path: Path, snakemake: str = "exit 0") -> None:
    """A checkout whose programs only pretend; QEMU is not built in it."""
    shutil.copy(ROOT / "Makefile", path)
    (path / "missing").write_text("qemu\n")
    script(path / "envs/bootstrap", 'echo "bootstrap $*"')
    script(path / "bin/python", PYTHON)
    script(path / "bin/snakemake", f"echo 'Select jobs to execute'\ncase \"$*\" in *lab) exit 0 ;; esac\n{snakemake}")


@pytest.mark.parametrize(
    ("snakemake", "code"),
    [("exit 0", 0), ("exit 1", 2), ("trap 'exit 1' TERM; sleep 60 & wait", 0), ("kill -TERM $$", 0), ("exit 77", 2)],
    ids=["done", "error", "time is up", "stopped", "other error"],
)
def test_make_part_status(tmp_path, snakemake, code):
    checkout(tmp_path, snakemake)
    # A part of a minute: MINUTES and timeout's unit make 0.02m.
    command = ["make", "part", "BIN=bin", "MINUTES=0.02"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Select jobs" not in done.stdout
    assert ("lab.cell.failures --profile quick --count" in done.stdout) is (code == 0)


def make(path: Path, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        ["make", "BIN=bin", *words],
        cwd=path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("target", ["report", "part"])
def test_make_builds_the_lab_first_and_holds_the_results_throughout(tmp_path, target):
    checkout(tmp_path)
    script(tmp_path / "bin/snakemake", 'echo "snakemake ${3}"')
    done = make(tmp_path, target, "PROFILE=smoke")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("bootstrap build")
    assert lines[1].startswith(f"-m lab.cell.lock --alone --what make {target} PROFILE=smoke results -- ")
    assert (tmp_path / "asked").read_text() == "-m lab.cell.retry --profile smoke\n"
    wanted = f"snakemake {'report' if target == 'report' else 'measured'}"
    assert lines[2:4] == ["snakemake lab", wanted]
    (tmp_path / "missing").write_text("")
    lines = make(tmp_path, target, "PROFILE=smoke").stdout.splitlines()
    assert lines[2] == wanted and "snakemake lab" not in lines


def test_make_report_of_one_paper(tmp_path):
    checkout(tmp_path)
    script(tmp_path / "bin/snakemake", 'echo "snakemake ${3}"')
    (tmp_path / "paper/first2000").mkdir(parents=True)
    (tmp_path / "paper/first2000/paper.yaml").touch()
    done = make(tmp_path, "report", "PAPER=first2000")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-4:] == [
        "snakemake lab",
        "snakemake first2000.report",
        "results/quick/first2000/report.pdf is ready",
        "-m lab.cell.failures --profile quick --paper first2000",
    ]
    done = make(tmp_path, "report", "PAPER=second2000")
    assert done.returncode == 2 and "snakemake" not in done.stdout
    assert "there is no paper 'second2000'; PAPER is one of: first2000" in done.stderr


@pytest.mark.parametrize("target", ["report", "part"])
def test_make_ends_where_the_lab_cannot_be_built(tmp_path, target):
    checkout(tmp_path)
    script(tmp_path / "bin/snakemake", 'echo "snakemake ${3}"; exit 1')
    done = make(tmp_path, target)
    assert done.returncode == 2
    assert done.stdout.count("snakemake lab") == 1
    assert "snakemake report" not in done.stdout and "snakemake measured" not in done.stdout


@pytest.mark.parametrize("target", ["import", "export"])
def test_make_import_and_export_install_nothing(tmp_path, target):
    checkout(tmp_path)
    done = make(tmp_path, target, "FILE=two words.tar.zst", "PROFILE=full")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == [
        "bootstrap --paths",
        "bootstrap --installed",
        f"-m lab.cell.archive {target} --profile full two words.tar.zst",
    ]


def test_make_every_target_looks_at_the_path_first():
    """What a target does first decides who refuses a path with a space in it."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    for name in re.search(r"^\.PHONY: (help .*)$", text, re.M)[1].split():
        if name != "help":
            recipe = re.search(rf"^(?:\w+ )*{name}(?: \w+)*:\n\t(.*)$", text, re.M)[1]
            assert recipe.startswith("@envs/bootstrap"), name


def test_make_clean_leaves_cache_and_locks_and_is_refused_by_whoever_is_at_work(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "envs").mkdir()
    shutil.copy(ROOT / "envs/bootstrap", tmp_path / "envs")
    (tmp_path / "lab/cell").mkdir(parents=True)
    for name in ("__init__", "cell/__init__", "cell/errors", "cell/lock", "cell/paths"):
        shutil.copy(ROOT / f"lab/{name}.py", tmp_path / f"lab/{name}.py")
    for name in ("build/cache", "build/qemu", "build/filesystems", "build/workloads", "results/smoke"):
        (tmp_path / name).mkdir(parents=True)
    words = ["--what", "attempt", "qemu", "--", "sh", "-c", "echo held; read end"]
    attempt = subprocess.Popen(
        [sys.executable, "-m", "lab.cell.lock", *words], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert attempt.stdout.readline() == "held\n"
    done = make(tmp_path, "clean")
    assert done.returncode == 2
    assert f"in use: attempt (process {attempt.pid}, since" in done.stderr
    assert (tmp_path / "build/qemu").exists()
    attempt.communicate("end\n")
    done = make(tmp_path, "clean")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "build").iterdir()) == ["cache", "locks"]
    assert [path.name for path in (tmp_path / "results").iterdir()] == [".locks"]
