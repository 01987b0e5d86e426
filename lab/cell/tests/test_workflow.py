# SPDX-License-Identifier: MIT
"""Snakemake as the commands call it: the lab first, the results locked, and how a part ends."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from lab.cell import built, cells, failures, lock, paths, retry, workflow
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
    assert asked() == ["lab", "report", "report"]
    assert '"results", true' in (paths.ROOT / "snakemake.holds").read_text()
    printed = capfd.readouterr().out
    assert "Select jobs" not in printed
    assert printed.endswith("and results/smoke/report.pdf\n")
    monkeypatch.setattr(retry, "prepare", lambda profile: [])
    assert workflow.report("smoke", FIRST) == 0
    assert asked()[3:] == [f"{FIRST}.report"] * 2
    (paths.ROOT / "results/smoke").mkdir(exist_ok=True)
    for name in workflow.REPORT:
        (paths.ROOT / "results/smoke" / name).write_text("")
    assert workflow.report("smoke") == 0
    assert asked()[5:] == ["report"]


def test_build_builds_the_lab_and_measures_nothing(pretended, monkeypatch, capfd):
    monkeypatch.setattr(retry, "prepare", lambda profile: pytest.fail("results were dropped"))
    monkeypatch.setattr(retry, "to_build", lambda profile: ["qemu"])
    workflow.build("smoke")
    assert asked() == ["lab"]
    assert capfd.readouterr().out.endswith("the lab of profile smoke is built\n")
    assert '"results", true' in (paths.ROOT / "snakemake.holds").read_text()
    monkeypatch.setattr(retry, "to_build", lambda profile: [])
    workflow.build("smoke")
    assert asked() == ["lab"], "there is nothing to build"
    with pytest.raises(ConfigError, match="smokes"):
        workflow.build("smokes")


def test_build_missing_builds_only_what_was_never_built(pretended, lab):
    whole = [name for name in built.THINGS if built.receipt(name, lab)]
    workflow.build_missing("reference", whole, "verification")
    assert not Path(paths.ROOT / "snakemake.asked").exists(), "the pretended lab is whole"
    for name in ("disk", "workloads/filebench"):
        built.forget(name, lab)
    (lab / "qemu" / "qemu-system-x86_64").write_text("changed")
    pretended(f'echo "$*" >>{paths.ROOT}/calls')
    workflow.build_missing("reference", ["disk", "qemu", "workloads/filebench"], "verification")
    words = (paths.ROOT / "calls").read_text().split()
    receipts = [f"{paths.BUILD}/{name}/built.json" for name in ("disk", "workloads/filebench")]
    assert words == ["--profile", "config/profiles/reference", *receipts]
    assert '"results", true' in (paths.ROOT / "snakemake.holds").read_text()
    assert lock.RESULTS not in {name for _, name in lock._held}
    pretended("exit 1")
    with pytest.raises(SpindleError, match="verification: Snakemake ended with status 1"):
        workflow.build_missing("reference", ["disk"], "verification")


def test_report_is_made_first_and_after_each_batch(pretended, monkeypatch):
    """Twice the time is up, then all is done; the calls that only render are told so."""
    pretended(
        f'echo "$*" >>{paths.ROOT}/calls; case "$*" in *rendering=True*) exit 0 ;; esac\n'
        f"echo x >>{paths.ROOT}/batches; test $(wc -l <{paths.ROOT}/batches) -gt 2 && exit 0\n"
        "trap 'kill $!; exit 1' TERM; sleep 60 & wait"
    )
    monkeypatch.setattr(workflow, "BATCH_MINUTES", 0.01)
    assert workflow.report("smoke") == 0
    calls = (paths.ROOT / "calls").read_text().splitlines()
    assert ["rendering" in call for call in calls] == [True, False, True, False, True, False]


def test_report_that_is_told_to_end_begins_no_further_batch(pretended, monkeypatch):
    pretended(
        'case "$*" in *rendering=True*) exit 0 ;; esac\n'
        f"trap 'sleep 1; kill $!; exit 1' TERM\n(sleep 0.3; kill -TERM {os.getpid()}) &\nsleep 60 & wait; wait"
    )
    monkeypatch.setattr(workflow, "BATCH_MINUTES", 0.01)
    with pytest.raises(SpindleError, match="Snakemake ended with status 143"):
        workflow.report("smoke")
    assert asked() == ["lab", "report", "report"]


def test_report_that_fails_is_rendered_as_far_as_it_is(pretended):
    pretended('case "$*" in *rendering=True*) exit 0 ;; esac\nexit 1')
    with pytest.raises(SpindleError, match="Snakemake ended with status 1"):
        workflow.report("smoke")
    assert asked() == ["lab", "report", "report", "report"]


def test_report_in_which_nothing_was_measured_is_an_error(pretended, monkeypatch):
    every = len(cells.cells("smoke"))
    monkeypatch.setattr(failures, "tell", lambda profile, paper: every)
    with pytest.raises(SpindleError, match="nothing in it was measured here"):
        workflow.report("smoke")
    monkeypatch.setattr(failures, "tell", lambda profile, paper: every - 1)
    assert workflow.report("smoke") == every - 1


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
        ("trap 'kill $!; exit 1' TERM; sleep 60 & wait", True),
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


def test_runs_at_work_go_on_to_their_end_when_the_time_is_up(pretended):
    ended = paths.ROOT / "ended"
    pretended(f"(sleep 1; touch {ended}) &\ntrap 'wait; exit 1' TERM; wait")
    workflow.measure("smoke", [], minutes=0.005)
    assert ended.exists()


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
    pretended(f"trap 'kill $!; exit 9' TERM\n(sleep 1; kill -TERM {os.getpid()}) &\nsleep 60 & wait; wait")
    assert workflow.snakemake("smoke", "report") == workflow.STOPPED


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
