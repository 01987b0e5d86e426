# SPDX-License-Identifier: MIT
"""What is left of what was asked for."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lab.cell import boot, cells, paths, progress, step

SNAKEFILE = """
from pathlib import Path
from lab.cell import paths, progress

paths.ROOT = Path.cwd()

onstart:
    progress.begin("smoke")

rule some:
    input:
        "one.txt",

for name in ("one", "two"):

    rule:
        name:
            f"run_{name}"
        input:
            progress.asked_for(name),
        output:
            f"{name}.txt",
        shell:
            "touch {output}"
"""


def put(root, run, total_s):
    """A finished run's results and time."""
    for cell in run.cells:
        path = root / paths.result_path("smoke", cell.id)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    path = root / paths.timing_path("smoke", run.id)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"total_s": total_s}))


def test_progress_counts_what_was_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(progress.os, "cpu_count", lambda: 2)
    runs = list(cells.runs("smoke").values())
    assert progress.time_left("smoke") == f"0 of {len(runs)} runs of profile smoke are there"
    put(tmp_path, runs[0], 1200)
    put(tmp_path, runs[1], 1200)
    assert progress.time_left("smoke").startswith(f"2 of {len(runs)} runs of profile smoke are there, at least ")
    monkeypatch.setattr(progress, "ASKED", {run.id for run in runs[1:5]})
    progress.begin("smoke")
    assert progress.time_left("smoke") == "1 of 4 runs asked for are there, at least 35 min left"
    for run in runs[2:5]:
        put(tmp_path, run, 60)
    assert progress.time_left("smoke") == "4 of 4 runs asked for are there"


def test_progress_guesses_by_runs_of_the_same_workload(tmp_path, monkeypatch):
    """A mean over all runs said a minute of an hour of SSH, behind many short runs."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(progress.os, "cpu_count", lambda: 2)
    kinds: dict[frozenset, list[cells.Run]] = {}
    for one in cells.runs("smoke").values():
        kinds.setdefault(progress.kind(one), []).append(one)
    short, long = sorted(kinds.values(), key=len)[-2:]
    put(tmp_path, short[0], 60)
    put(tmp_path, long[0], 1200)
    for asked, minutes in ((short[1:3], 1), (long[1:3], 20), ((short[1], long[1]), 10)):
        monkeypatch.setattr(progress, "ASKED", {one.id for one in asked})
        progress.begin("smoke")
        assert progress.time_left("smoke") == f"0 of 2 runs asked for are there, about {minutes} min left"
    [new] = next(found for found in kinds.values() if len(found) == 1)
    monkeypatch.setattr(progress, "ASKED", {new.id})
    progress.begin("smoke")
    assert progress.time_left("smoke").startswith("0 of 1 runs asked for are there, at least "), "it is the first"


def test_progress_guesses_by_the_number_of_cells(tmp_path, monkeypatch):
    """A run of SQLIO has from one to 86 cells."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    runs = [one for one in cells.runs("quick").values() if {cell.workload for cell in one.cells} == {"sqlio"}]
    few, many = min(runs, key=lambda one: len(one.cells)), max(runs, key=lambda one: len(one.cells))
    path = tmp_path / paths.timing_path("quick", few.id)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"total_s": 3.0 * len(few.cells)}))
    assert len(many.cells) > 10 * len(few.cells)
    assert progress.guess("quick", [many], runs) == (3.0 * len(many.cells), True)


def test_progress_what_does_not_hold_is_not_there(tmp_path, monkeypatch):
    """Regression: results of other inputs counted as done, and the time left as nothing."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(progress.os, "cpu_count", lambda: 2)
    runs = list(cells.runs("smoke").values())[:3]
    for one in runs[:2]:
        put(tmp_path, one, 1200)
    monkeypatch.setattr(progress, "ASKED", {one.id for one in runs})
    progress.begin("smoke", {runs[0].id: ["model"], "of another target": ["model"]})
    assert progress.time_left("smoke") == "1 of 3 runs asked for are there, at least 30 min left"
    assert progress.served("smoke", runs[0].id) == "2 of 3 runs asked for are there, at least 20 min left"
    found = progress.left("smoke", stale={runs[1].id: ["model"]})
    assert (found.there, found.runs, found.asked) == (1, len(cells.runs("smoke")), False)


@pytest.mark.slow
def test_progress_snakemake_plans_before_it_starts(tmp_path):
    """Only the runs of the target are noted, in the process that writes the list."""
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    root = Path(__file__).resolve().parents[3]
    for target, listed in (("some", "one\n"), ("two.txt", "two\n"), ("some two.txt", "one\ntwo\n")):
        command = [Path(sys.executable).with_name("snakemake"), "--cores", "1", "--forceall", *target.split()]
        done = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin",
                              "HOME": str(tmp_path)}, capture_output=True, text=True, check=False)  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        lines = (tmp_path / "results/smoke/asked.txt").read_text().splitlines()
        assert lines == [f"asked {name}" for name in listed.split()]


def test_progress_a_trace_that_is_being_written_says_how_far_the_run_is(tmp_path):
    path = tmp_path / "io.trace"
    path.write_text("# spindle-trace/1\ndisk0 R 1 8 0 5 6 7000000000 7 1 miss\ndisk0 R 1 8 0 5 6 8000")
    assert boot.reached_ns(path) == 7_000_000_000
    said = []
    supervisor = boot.Supervisor(tmp_path, 1, said.append)
    supervisor._beat(supervisor.began + boot.BEAT_S - 1)
    supervisor._beat(supervisor.began + 2 * boot.BEAT_S)
    supervisor._beat(supervisor.began + 2 * boot.BEAT_S + 1)
    assert said == ["7 s of virtual time after 2 min"]
    path.write_text("# spindle-trace/1\n")
    assert boot.reached_ns(path) is None


def test_progress_a_long_step_says_each_minute_that_it_is_at_work(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(step, "AGAIN_S", 0.2)
    command = ["sh", "-c", "echo 'at 3 s of virtual time'; sleep 1"]
    assert step.run("image x", "10 min", tmp_path / "image.log", command) == 0
    assert "image x: at work for 0 min: at 3 s of virtual time" in capfd.readouterr().err
