# SPDX-License-Identifier: MIT
"""What `spindle show` and `spindle status` print, of a lab that only pretends."""

import json

import pytest

from cli.main import main
from lab.cell import cells, identity, paths, planning, run

RUN = "ide-piix.deskstar-75gxp.tnone.both"
CELL = f"{RUN}.rawio-read-random.s01"
PAPER = cells.PAPERS[0]


@pytest.fixture
def measured(lab, monkeypatch):
    """One run of the smoke profile."""
    monkeypatch.setenv("FAKE_REQUESTS", "16")
    monkeypatch.setenv("COLUMNS", "300")
    run.serve("smoke", RUN)
    return lab


def test_show_cell(measured, capsys):
    assert main(["show", "cell", "--profile", "smoke", CELL]) == 0
    printed = capsys.readouterr().out
    for words in ("ide-piix", "op=read pattern=random", "rate_mb_s", "what lies here", f"results/smoke/cells/{CELL}"):
        assert words in printed
    assert f"spindle verify --profile smoke --cells {CELL}" in printed


def test_show_cell_of_another_state_says_so(measured, monkeypatch, capsys):
    monkeypatch.setattr(identity, "kernel_append", lambda: "console=ttyS0 mitigations=on")
    assert main(["show", "cell", "--profile", "smoke", CELL]) == 0
    assert "another cell than lies here" in capsys.readouterr().out


def test_show_cell_that_was_not_measured(measured, capsys):
    other = next(one.id for one in cells.cells("smoke") if one.run != RUN)
    assert main(["show", "cell", "--profile", "smoke", other]) == 1
    printed = capsys.readouterr().err
    assert printed.endswith(f"there is no result; `spindle run --profile smoke {other}` measures it\n")


@pytest.mark.parametrize("what", [CELL, "file"])
def test_show_trace_of_a_cell_and_of_a_file(measured, capsys, what):
    if what == "file":
        what = str(paths.ROOT / paths.cell_dir("smoke", CELL) / "io.trace")
    assert main(["show", "trace", "--profile", "smoke", "--lines", "2", what]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if " disk0 " in line]) == 2
    assert any(line.split() == ["reads", "16"] for line in lines)
    assert main(["show", "trace", "--profile", "smoke", "--all", what]) == 0
    assert capsys.readouterr().out.count("\ndisk0 R ") == 16


def test_show_trace_that_is_none_is_one_message(measured, tmp_path, capsys):
    (tmp_path / "bad").write_text("disk0 R one\n")
    assert main(["show", "trace", str(tmp_path / "bad")]) == 1
    assert capsys.readouterr().err.startswith(f"error: {tmp_path / 'bad'}: ")


def number(ratio):
    return {"table": "t", "row": "r", "column": "c", "unit": "s", "published": "2", "reproduced": ratio and 2 * ratio,
            "ratio": ratio, "reason": None if ratio else "not run", "cells": [CELL]}  # fmt: skip


def test_show_paper_and_claims(measured, capsys):
    assert main(["show", "paper"]) == 0
    assert PAPER in capsys.readouterr().out
    assert main(["show", "paper", PAPER, "--profile", "smoke"]) == 1
    assert f"`spindle report --profile smoke --paper {PAPER}` makes it" in capsys.readouterr().err
    path = paths.ROOT / "results/smoke" / PAPER / "summary.json"
    path.parent.mkdir(parents=True)
    claims = [{"id": "a-claim", "statement": "Disks are slow.", "verdict": "holds", "because": "seen"}]
    path.write_text(json.dumps({"numbers": [number(1.0), number(1.8), number(None)], "claims": claims}))
    assert main(["show", "paper", PAPER, "--profile", "smoke", "--off", "1.5"]) == 0
    printed = capsys.readouterr().out
    row = next(line.split() for line in printed.splitlines() if line.startswith("all"))
    assert row[1:] == ["3", "2", "0", "1.40", "50%", "50%", "100%"]
    assert CELL in printed and "1.80" in printed and "1.00" not in printed
    assert main(["show", "claim", PAPER, "--profile", "smoke"]) == 0
    assert "Disks are slow." in capsys.readouterr().out
    assert main(["show", "claim", PAPER, "a-clam", "--profile", "smoke"]) == 1
    assert "did you mean 'a-claim'" in capsys.readouterr().err


def test_status_counts_what_is_done_to_measure_again_and_left(measured, monkeypatch, capsys):
    total = len(cells.cells("smoke"))
    assert main(["status", "--profile", "smoke"]) == 0
    printed = capsys.readouterr().out
    row = next(line.split() for line in printed.splitlines() if line.startswith(PAPER))
    assert row[1:] == ["6", "0", "0", str(total - 6)]
    assert f"1 of {len(cells.runs('smoke'))} runs are there, at least " in printed
    monkeypatch.setattr(planning.Plan, "stale", lambda self, one: ["model"] if one.id == RUN else [])
    assert main(["status", "--profile", "smoke", "--cells"]) == 0
    printed = capsys.readouterr().out
    row = next(line.split() for line in printed.splitlines() if line.startswith(PAPER))
    assert row[1:] == ["0", "0", "6", str(total - 6)]
    assert "made with another model" in printed


def test_show_machine_has_its_numbers_with_their_sources(capsys):
    assert main(["show", "machine", "pentium2-333"]) == 0
    lines = capsys.readouterr().out.splitlines()
    memory = next(line for line in lines if line.startswith("memory_mib"))
    assert memory.split()[1] == "128" and "Table 4" in memory
    assert any(line.startswith("an instruction a clock") and "between 2 and 4 ns" in line for line in lines)
