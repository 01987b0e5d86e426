# SPDX-License-Identifier: MIT
"""What make's targets do first, what they call, what holds locks, and what installs nothing."""

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


ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
"""Not of the make that runs these tests."""


def checkout(path: Path) -> None:
    """A checkout whose programs only say what they are asked."""
    shutil.copy(ROOT / "Makefile", path)
    script(path / "envs/bootstrap", 'echo "bootstrap $*"')
    script(path / "bin/python", 'echo "$@"')


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


@pytest.mark.parametrize(
    ("words", "called"),
    [
        (["report"], "report --profile quick"),
        (["report", "PROFILE=smoke", "PAPER=first2000"], "report --profile smoke --paper first2000"),
        (["part", "PROFILE=full"], "run --profile full --minutes 110"),
        (["part", "MINUTES=5", "TARGET=first_repetition"], "run --profile quick --minutes 5 first_repetition"),
    ],
)
def test_make_installs_and_calls_the_command(tmp_path, words, called):
    checkout(tmp_path)
    done = make(tmp_path, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    installed, command = done.stdout.splitlines()
    assert installed.startswith("bootstrap build")
    assert command == f"-m cli {called}"


@pytest.mark.parametrize("target", ["import", "export"])
def test_make_import_and_export_install_nothing(tmp_path, target):
    checkout(tmp_path)
    done = make(tmp_path, target, "FILE=two words.tar.zst", "PROFILE=full")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == [
        "bootstrap --paths",
        "bootstrap --installed",
        f"-m cli {target} --profile full two words.tar.zst",
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
