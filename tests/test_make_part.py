# SPDX-License-Identifier: MIT
"""`make part` ends well when its time is up, and not when Snakemake fails."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("snakemake", "code"),
    [("exit 0", 0), ("exit 1", 2), ("trap 'exit 1' TERM; sleep 60 & wait", 0), ("kill -TERM $$", 0), ("exit 77", 2)],
    ids=["done", "error", "time is up", "stopped", "other error"],
)
def test_make_part_status(tmp_path, snakemake, code):
    shutil.copy(ROOT / "Makefile", tmp_path)
    script(tmp_path / "envs/bootstrap", "exit 0")
    script(tmp_path / "bin/python", 'echo "$@"')
    script(tmp_path / "bin/snakemake", f"echo 'Select jobs to execute'\n{snakemake}")
    # A part of a minute: MINUTES and timeout's unit make 0.02m.
    command = ["make", "part", "BIN=bin", "MINUTES=0.02"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Select jobs" not in done.stdout
    assert ("lab.cell.failures --profile quick --count" in done.stdout) is (code == 0)
