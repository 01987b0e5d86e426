# SPDX-License-Identifier: MIT
"""Snakemake as the commands call it: the lab first, the results locked, and how a part ends."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from lab.cell import cells, failures, lock, paths, retry, workflow
from lab.cell.errors import ConfigError, EnvironmentMissing, SpindleError

FIRST = cells.PAPERS[0]
CELL = "ide-piix.deskstar-75gxp.tnone.both.rawio-read-random.s01"


@pytest.fixture
def pretended(lab, monkeypatch):
    """A Snakemake that only notes what it is asked, and the file of these notes; QEMU is not built."""
    program = paths.ROOT / "snakemake"

    def write(text: str = "exit 0") -> None:
        program.write_text(
            f"#!/bin/sh\necho 'Select jobs to execute...'\necho \"$3\" >>{program}.asked\n"
            f"printf '%s' \"$SPINDLE_HOLDS\" >{program}.holds\n"
            f'case "$3" in lab) exit 0 ;; esac\n{text}\n'
        )
        program.chmod(0o755)

    write()
    monkeypatch.setattr(workflow, "program", lambda: str(program))
    monkeypatch.setattr(retry, "prepare", lambda profile: ["qemu"])
    monkeypatch.setattr(failures, "tell", lambda profile, paper: 0)
    held = set(lock._held)
    yield write
    for key in [key for key in lock._held if key not in held]:
        lock._let_go(key)


def asked() -> list[str]:
    return (paths.ROOT / "snakemake.asked").read_text().splitlines()


def test_report_builds_the_lab_first_and_holds_the_results_throughout(pretended, monkeypatch, capfd):
    assert workflow.report("smoke") == 0
    assert asked() == ["lab", "report"]
    assert '"results", true' in (paths.ROOT / "snakemake.holds").read_text()
    printed = capfd.readouterr().out
    assert "Select jobs" not in printed
    assert printed.endswith("and results/smoke/report.pdf\n")
    monkeypatch.setattr(retry, "prepare", lambda profile: [])
    assert workflow.report("smoke", FIRST) == 0
    assert asked()[2:] == [f"{FIRST}.report"]


def test_report_of_nothing_known_is_refused_before_anything_runs(pretended):
    with pytest.raises(ConfigError, match="'nobody2000' is unknown"):
        workflow.report("smoke", "nobody2000")
    with pytest.raises(ConfigError, match="did you mean 'smoke'"):
        workflow.report("smok")
    assert not (paths.ROOT / "snakemake.asked").exists()


def test_report_ends_where_the_lab_cannot_be_built(pretended):
    pretended("exit 3")
    (paths.ROOT / "snakemake").write_text('#!/bin/sh\necho "$3" >>snakemake.asked\nexit 3\n')
    with pytest.raises(SpindleError, match="the lab: Snakemake ended with status 3"):
        workflow.report("smoke")
    assert asked() == ["lab"]


@pytest.mark.parametrize(
    ("snakemake", "ends_well"),
    [
        ("exit 0", True),
        ("exit 1", False),
        ("trap 'exit 1' TERM; sleep 60 & wait", True),
        ("kill -TERM $$", True),
        ("exit 77", False),
    ],
    ids=["done", "error", "time is up", "stopped", "other error"],
)
def test_part_ends_well_when_its_time_is_up(pretended, snakemake, ends_well, capfd):
    pretended(snakemake)
    if ends_well:
        workflow.measure("smoke", [], minutes=0.02)
        assert f"of {len(cells.cells('smoke'))} cells have a number" in capfd.readouterr().err
    else:
        with pytest.raises(SpindleError, match="Snakemake ended with status"):
            workflow.measure("smoke", [], minutes=0.02)
    assert asked() == ["lab", "measured"]


def test_targets_are_cells_runs_patterns_and_names():
    result = paths.result_path("smoke", CELL)
    assert workflow.targets("smoke", [CELL]) == [result]
    run = workflow.targets("smoke", [CELL.rsplit(".", 2)[0]])
    assert result in run and len(run) > 1
    assert workflow.targets("smoke", ["ide-piix.*.rawio-read-random.s01", CELL]) == [result]
    assert workflow.targets("smoke", [f"{FIRST}.table5", "lab"]) == [f"{FIRST}.table5", "lab"]
    chosen = workflow.targets("smoke", [], {"controller": "ide-piix", "workload": "raw*"})
    assert result in chosen and all("ide-piix" in name for name in chosen)


@pytest.mark.parametrize(
    ("words", "where", "message"),
    [
        ([CELL.replace("piix", "pix")], {}, f"did you mean '{CELL}'"),
        (["*.no-such.*"], {}, "no cell of profile smoke fits this pattern"),
        ([CELL.replace("s01", "s02")], {}, "profile quick has it|profile full has it"),
        ([], {"work": "sdet"}, "did you mean 'workload'"),
        ([], {"workload": "sdt"}, "no cell of profile smoke has these values"),
    ],
)
def test_targets_that_are_not_there_are_refused(words, where, message):
    with pytest.raises(ConfigError, match=message):
        workflow.targets("smoke", words, where)


def test_another_python_than_the_locks_name_is_refused(lab, monkeypatch):
    root = Path(workflow.__file__).resolve().parents[2]
    (paths.ROOT / "envs").mkdir()
    for name in ("bootstrap", "requirements.lock"):
        shutil.copy(root / "envs" / name, paths.ROOT / "envs" / name)
    workflow.require_installed()
    monkeypatch.setattr(sys, "prefix", str(paths.build() / "venv"))
    with pytest.raises(EnvironmentMissing, match=r"^the locked Python is not in .*run 'make bootstrap'"):
        workflow.require_installed()


def test_snakemake_gets_sigterm_in_the_place_of_whoever_called_it(pretended):
    pretended(f"trap 'exit 9' TERM\n(sleep 1; kill -TERM {os.getpid()}) &\nsleep 60 & wait; wait")
    assert workflow.snakemake("smoke", "report") == 9


def test_slurm_adds_its_folder_to_the_profile(pretended, monkeypatch, tmp_path):
    (paths.ROOT / "snakemake").write_text(f'#!/bin/sh\necho "$@" >>{paths.ROOT}/snakemake.asked\n')
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.yaml").write_text("executor: slurm\n")
    monkeypatch.setenv(workflow.SLURM, str(tmp_path / "mine"))
    monkeypatch.setattr(workflow.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EnvironmentMissing, match="make slurm"):
        workflow.snakemake("smoke", "lab")
    monkeypatch.setattr(workflow.importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(workflow.shutil, "which", lambda name: None)
    with pytest.raises(EnvironmentMissing, match="no sbatch"):
        workflow.snakemake("smoke", "lab")
    monkeypatch.setattr(workflow.shutil, "which", lambda name: name)
    assert workflow.snakemake("smoke", "lab") == 0
    assert asked() == [f"--profile config/profiles/smoke lab --workflow-profile {tmp_path / 'mine'}"]
