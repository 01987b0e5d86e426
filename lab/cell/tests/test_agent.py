# SPDX-License-Identifier: MIT
"""The agent's report."""

import subprocess

import pytest

from lab.cell import agent


def log(*payloads, first=1):
    return "".join(
        f"@spindle {number} {agent.cksum(text.encode())} {text}\n" for number, text in enumerate(payloads, first)
    )


@pytest.mark.parametrize("data", [b"", b"a", b"hello 1 6.1.0", bytes(range(256)) * 3])
def test_agent_cksum_is_the_programs(data):
    printed = subprocess.run(["cksum"], input=data, capture_output=True, check=True).stdout
    assert agent.cksum(data) == int(printed.split()[0])


def test_agent_whole_report():
    text = log("hello 1 6.1.0", "cell a", "out metric elapsed_ns 5", "out info kernel x", "exit 0", "end a", "done")
    report = agent.parse(text.replace("\n", "\r\n"))
    assert report.done
    assert report.problem is None
    assert report.cells["a"] == agent.CellReport(
        metrics={"elapsed_ns": 5}, said=["info kernel x"], exit_status=0, ended=True
    )


def test_agent_wrong_sum_touches_its_cell():
    good = log("hello 1 6.1.0", "cell a", "out metric elapsed_ns 5", "exit 0", "end a", "cell b", "exit 0", "end b")
    report = agent.parse(good.replace("elapsed_ns 5", "elapsed_ns 6"))
    assert "damaged" in report.cells["a"].problem
    assert report.cells["b"].problem is None
    assert not report.done


def test_agent_gap_across_cells_touches_both():
    text = log("hello 1 6.1.0", "cell a") + log("end b", "done", first=9)
    report = agent.parse(text)
    assert not report.cells["a"].ended
    assert "missing" in report.cells["a"].problem


def test_agent_fail_outside_cell_is_the_runs():
    assert agent.parse(log("hello 1 6.1.0", "fail no disk sda")).problem == "the guest reports: no disk sda"


def test_agent_metric_twice_is_refused():
    report = agent.parse(log("cell a", "out metric bytes 1", "out metric bytes 2", "exit 0", "end a"))
    assert "twice" in report.cells["a"].problem
