# SPDX-License-Identifier: MIT
"""The agent's report."""

import random
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


def test_agent_fail_behind_a_cell_is_not_the_cells():
    report = agent.parse(log("cell a", "exit 0", "end a", "fail no disk sda"))
    assert (report.problem, report.cells["a"].problem) == ("the guest reports: no disk sda", None)


def test_agent_phase_ends_behind_its_begin():
    report = agent.parse(log("cell a", "out phase create 5 5", "out phase read 9 8", "exit 0", "end a"))
    assert report.cells["a"].phases == [{"name": "create", "begin_ns": 5, "end_ns": 5}]
    assert "without a begin and an end: 'phase read 9 8'" in report.cells["a"].problem


def test_agent_metric_twice_is_refused():
    report = agent.parse(log("cell a", "out metric bytes 1", "out metric bytes 2", "exit 0", "end a"))
    assert "twice" in report.cells["a"].problem


@pytest.mark.parametrize(
    "line",
    [
        "out metric bytes \u00b2",
        "out phase a \u00b2 5",
        "out phase a 1 \u00b2",
        "exit \u00b2",
        f"out metric bytes {'9' * 5000}",
    ],
)
def test_agent_numbers_are_plain_digits(line):
    """int() raises on a superscript that isdigit() takes, and on thousands of digits."""
    cell = agent.parse(log("cell a", line, "end a")).cells["a"]
    assert cell.exit_status == -1 or "without a" in cell.problem


def test_agent_cell_twice_is_refused():
    report = agent.parse(log("cell a", "exit 0", "end a", "cell a", "exit 0", "end a", "done"))
    assert report.cells["a"].problem == "the agent began the cell twice"


def test_agent_lines_of_a_cell():
    text = log("hello 1 6.1.0", "cell a", "exit 0", "end a", "cell b", "exit 0", "end b", "done")
    assert agent.lines_of(text, "a") == "".join(line + "\n" for line in text.split("\n")[1:4])
    assert agent.lines_of(text, "c") == ""


def mutated(chance: random.Random, text: bytes) -> bytes:
    """A report that something went wrong with."""
    data = bytearray(text)
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(data) + 1)
        end = min(len(data), at + chance.randrange(1, 40))
        way = chance.randrange(6)
        if way == 0:
            data[at:end] = b""
        elif way == 1:
            data[at:at] = chance.randbytes(chance.randrange(1, 20))
        elif way == 2:
            data[at:at] = data[chance.randrange(len(data) + 1) :][:60]
        elif way == 3 and data:
            data[at % len(data)] ^= 1 << chance.randrange(8)
        elif way == 4:
            data = data[:at]
        else:
            data[at:at] = "\u00b2\u0663\u2028\x85".encode() + chance.choice([b"\n", b" ", b"@spindle ", b"9" * 5000])
    return bytes(data)


def test_agent_10000_mutated_reports_never_raise():
    """Half of them with sums that fit, so that what is wrong with the words is reached, too."""
    chance = random.Random(5)
    words = ["hello 1 6.1.0", "cell a", "out metric elapsed_ns 5", "out phase create 1 2", "err no", "exit 0", "end a"]
    good = log(*words, "cell b", "fail x", "exit -1", "end b", "done").encode()
    payloads = "\n".join([*words, "cell b", "fail x", "exit -1", "end b", "done"]).encode()
    for number in range(10_000):
        if number % 2:
            text = log(*mutated(chance, payloads).decode(errors="replace").split("\n"))
        else:
            text = mutated(chance, good).decode(errors="replace")
        report = agent.parse(text)
        for name, cell in report.cells.items():
            assert agent.lines_of(text, name)
            assert all(0 <= value < 10**18 for value in cell.metrics.values())
            assert all(phase["begin_ns"] <= phase["end_ns"] for phase in cell.phases)
