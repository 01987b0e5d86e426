# SPDX-License-Identifier: MIT
"""fio-mix on the host: its options; its phases where fio is installed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[1]
MIXES = ["varmail", "fileserver", "postmark", "netnews"]


def fio_mix(folder: Path, *options: str, path: str = "") -> subprocess.CompletedProcess:
    folder.mkdir(exist_ok=True)
    environment = {**os.environ, "PATH": f"{path}{os.environ['PATH']}"}
    command = ["sh", str(HERE / "fio-mix.sh"), "--dir", str(folder), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--seed", "1", "--mix", "oltp"], "--mix is 'oltp'"),
        (["--seed", "1x", "--mix", "varmail"], "--seed is '1x'"),
        (["--seed", "1", "--mix", "varmail", "--scale", "2"], "--scale is 2"),
        (["--seed", "1", "--mix", "varmail", "--scale", "0"], "--scale is 0"),
        (["--seed", "1", "--mix"], "--mix needs a value"),
        (["--speed", "1"], "no option '--speed'"),
    ],
)
def test_bad_option_is_named(tmp_path, options, message):
    done = fio_mix(tmp_path / "work", *options)
    [said] = done.stderr.splitlines()
    assert done.returncode != 0 and said.startswith("fio-mix: ") and message in said


def test_directory_must_be_empty(tmp_path):
    (tmp_path / "file").touch()
    assert "give an empty one" in fio_mix(tmp_path, "--seed", "1", "--mix", "varmail").stderr


def test_every_mix_has_a_job_file_with_its_sections():
    for mix in MIXES:
        text = (HERE / "share" / f"{mix}.fio").read_text(encoding="utf-8")
        sections = [line[1:-1] for line in text.splitlines() if line.startswith("[")]
        assert sections in (["global", "create", "fill", "run", "delete"], ["global", "create", "fill", "delete"])


@pytest.mark.skipif(not shutil.which("fio"), reason="fio is not installed here; it is in the guest")
@pytest.mark.parametrize("mix", MIXES)
def test_mix_runs_and_deletes_what_it_made(tmp_path, mix):
    stopwatch = tmp_path / "stopwatch"
    common = HERE.parent / "common"
    subprocess.run(["gcc", "-std=gnu11", "-o", stopwatch, f"-I{common}", common / "stopwatch.c"], check=True)
    results = []
    for number in range(2):
        work = tmp_path / f"work{number}"
        done = fio_mix(work, "--seed", "3", "--mix", mix, "--scale", "0.005", path=f"{tmp_path}:")
        assert done.returncode == 0, done.stderr
        rows = [line.split() for line in done.stdout.splitlines()]
        assert [row[1] for row in rows if row[0] == "phase"][:2] == ["create", "fill"]
        results.append({row[1]: int(row[2]) for row in rows if row[0] == "metric"})
        assert not [path for path in work.rglob("*") if path.is_file()]
    assert results[0]["files"] == results[1]["files"]
    assert results[0]["elapsed_ns"] > 0
    if mix in ("postmark", "netnews"):  # the others run for a time
        assert results[0]["written_bytes"] == results[1]["written_bytes"] > 0
