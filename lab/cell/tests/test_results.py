# SPDX-License-Identifier: MIT
"""What happens to results between reports: identity, retry, failures, locks, comparison."""

import json
import os
import subprocess
import sys

import pytest

from lab.cell import cells, determinism, failures, lock, paths, retry, run, step
from lab.cell.errors import ConfigError

ROOT = paths.ROOT
RUN = "ide-piix.deskstar-75gxp.tnone.both"


def serve(lab, mode):
    (lab / "mode").write_text(mode)
    run.serve("smoke", RUN)


def test_retry_drops_failed_cells(lab):
    serve(lab, "hang")
    dropped = retry.sweep(paths.ROOT / "results" / "smoke")
    assert [name.split(".")[4] for name, _ in dropped] == [
        "rawio-read-random",
        "rawio-write-interleave",
        "rawio-write-random",
        "rawio-write-sequential",
    ]
    assert len(list((paths.ROOT / "results/smoke/cells").iterdir())) == 2


def test_retry_keeps_what_is_whole_and_drops_leftovers(lab):
    serve(lab, "")
    (paths.ROOT / "results/smoke/cells/.half.new").mkdir()
    # Whether it holds is decided by its identity, when the report is planned.
    (lab / "guest" / "vmlinux").write_text("another kernel")
    assert retry.sweep(paths.ROOT / "results" / "smoke") == []
    assert not (paths.ROOT / "results/smoke/cells/.half.new").exists()
    assert len(list((paths.ROOT / "results/smoke/cells").iterdir())) == 6


@pytest.mark.parametrize("text", ["", "\0\1", "[]", "{}", '"ok"', "null"])
def test_retry_drops_what_cannot_be_read(lab, text):
    serve(lab, "")
    first = next((paths.ROOT / "results/smoke/cells").iterdir())
    (first / "result.json").write_text(text)
    assert retry.sweep(paths.ROOT / "results" / "smoke") == [(first.name, "its result is not readable")]


def test_failures_names_cells(lab, capsys):
    serve(lab, "workload-fails")
    assert failures.tell("smoke") > 0
    printed = capsys.readouterr().err
    assert f"failed: {RUN}.rawio-read-random.s01: the workload exited with status 1" in printed
    assert f"of {len(cells.cells('smoke'))} cells have no number" in printed


def test_failures_of_one_paper(lab, capsys):
    paper = cells.PAPERS[0]
    assert failures.tell("smoke", paper) > 0
    assert f"of {len(cells.paper_cells('smoke', paper))} cells have no number" in capsys.readouterr().err
    with pytest.raises(ConfigError, match=f"known are: {', '.join(cells.PAPERS)}"):
        failures.tell("smoke", "nobody2000")


def test_report_leaves_the_scratch_folder_of_an_attempt_at_work(lab):
    """`make report` removed it; the attempt then died of a missing file."""
    with lock.scratch("attempt") as folder:
        (paths.build() / "run" / "left-by-a-killed-run").mkdir()
        retry.prepare("smoke")
        assert os.listdir(folder.parent) == [folder.name]


def test_report_is_refused_while_another_is_made(lab, capsys):
    held = lock.HOLDS
    with lock.hold("results", alone=True, what="report of profile quick"):
        entries = os.environ.pop(held)
        code = (
            "import sys\nfrom lab.cell import paths, retry\nfrom pathlib import Path\npaths.ROOT = Path(sys.argv[1])\n"
        )
        code += "paths.BUILD = Path(sys.argv[2])\nretry.prepare('smoke')"
        done = subprocess.run(
            [sys.executable, "-c", code, str(paths.ROOT), str(lab)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        os.environ[held] = entries
    assert done.returncode == 1
    assert "AlreadyRunning: these results: in use: report of profile quick (process " in done.stderr


def test_determinism_same_bytes(lab, monkeypatch):
    (lab / "mode").write_text("")
    requests, found = determinism.check(cells.run("smoke", RUN), [lab])
    assert (requests, found) == (6 * 1280, [])


def test_determinism_names_first_difference(lab, tmp_path):
    (lab / "mode").write_text("")
    one = determinism.execute(cells.run("smoke", RUN), lab)
    name = next(iter(one.traces))
    two = run.Outcome(
        one.results, {**one.traces, name: one.traces[name].replace(" 48 16 ", " 49 16 ")}, "", "", one.timing
    )
    (difference,) = determinism.differences(one, two)
    assert difference.startswith(f"{name}: io.trace: line 6: 'disk0 R 48 16")


def test_step_shows_the_end_of_a_failure(tmp_path, capfd):
    command = [sys.executable, "-c", "print('the cause'); raise SystemExit(3)"]
    assert step.run("QEMU", "4 min", tmp_path / "logs" / "qemu.log", command) == 1
    printed = capfd.readouterr().err
    assert "QEMU: about 4 min" in printed
    assert "| the cause" in printed
    assert "failed with status 3" in printed


def test_step_missing_program(tmp_path, capfd):
    assert step.run("QEMU", "4 min", tmp_path / "qemu.log", ["no-such-program"]) == 1
    assert "no-such-program: No such file or directory; `make doctor`" in capfd.readouterr().err


def test_run_command_line_unknown_run():
    done = subprocess.run(
        [sys.executable, "-m", "lab.cell.run", "--profile", "smoke", "--run", "ide-piix"],
        cwd=retry.__file__.rsplit("/lab/cell/", 1)[0],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_result_text_is_json(lab):
    serve(lab, "")
    path = paths.ROOT / paths.result_path("smoke", cells.run("smoke", RUN).cells[0].id)
    assert json.loads(path.read_text())["schema"] == "spindle-result/2"
