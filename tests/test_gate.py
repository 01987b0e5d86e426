# SPDX-License-Identifier: MIT
"""The gate: every test is in some part, a skip that is not on the list fails, two parts run side by side."""

import importlib.util
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def gate():
    """tests/gate.py, which is a program and no package."""
    spec = importlib.util.spec_from_file_location("spindle_gate", ROOT / "tests" / "gate.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def logs(gate, tmp_path, monkeypatch):
    monkeypatch.setattr(gate, "LOGS", tmp_path / "logs")
    return tmp_path / "logs"


def shell(gate, name, text, cores=1, **more):
    return gate.Part(name, ("check",), [["sh", "-c", text]], cores, **more)


def test_gate_names_are_one_and_what_they_wait_for_is_there(gate):
    table = gate.parts()
    names = [part.name for part in table]
    assert len(names) == len(set(names)) == len({part.slug for part in table})
    for number, part in enumerate(table):
        assert set(part.after) <= set(names[:number]), part.name
        assert part.sets and set(part.sets) <= set(gate.SETS)
        for chosen in part.sets:
            waits = [other for other in table if other.name in part.after]
            assert all(chosen in other.sets for other in waits), part.name


@pytest.mark.slow
def test_gate_has_every_python_test_once(gate, tmp_path):
    """What the parts of `make test` and `make nightly` collect is what there is, and nothing twice."""

    def collected(*words):
        command = [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-p", "no:cacheprovider", *words]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 5), done.stdout + done.stderr
        return {(name, int(count)) for name, count in re.findall(r"^(\S+\.py): (\d+)$", done.stdout, re.M)}

    sums = {}
    for part in gate.parts():
        for command in part.commands:
            if Path(str(command[0])).name == "pytest":
                words = [str(word) for word in command[1:] if word not in ("-s", "-rs")]
                for name, count in collected(*words):
                    sums[name] = sums.get(name, 0) + count
    assert sums == dict(collected())


REPORT = """<testsuites><testsuite>
<testcase file="lab/x/test_a.py" name="test_one"/>
<testcase file="lab/x/test_a.py" name="test_two"><skipped type="pytest.skip" message="no ed here"/></testcase>
<testcase file="lab/x/test_a.py" name="test_three"><skipped type="pytest.xfail" message="known"/></testcase>
</testsuite></testsuites>"""


def test_gate_skips_are_read_from_the_report(gate, tmp_path):
    (tmp_path / "report.xml").write_text(REPORT)
    assert gate.skips_of(tmp_path / "report.xml") == (3, [("lab/x/test_a.py::test_two", "no ed here")])


RUST = """running 3 tests
test [no measured traces: SPINDLE_TRACES names their folder] demerit ... ignored
test catalogue::each_entry ... ok
test slow_one ... ignored, takes an hour
test result: ok. 1 passed; 0 failed; 2 ignored"""


def test_gate_ignored_rust_tests_are_skips(gate):
    assert gate.rust_skips_of(RUST) == [
        ("demerit", "no measured traces: SPINDLE_TRACES names their folder"),
        ("slow_one", "takes an hour"),
    ]


def test_gate_fails_on_an_unlisted_rust_skip(gate, logs, monkeypatch):
    cargo = logs.parent / "cargo"
    cargo.write_text(f"#!/bin/sh\ncat <<'END'\n{RUST}\nEND\n")
    cargo.chmod(0o755)
    monkeypatch.setattr(gate, "BIN", logs.parent)
    outcome = gate.Gate("check", [gate.Part("rust", ("check",), [["cargo", "test"]], 1)], 2).run()["rust"]
    assert outcome.skipped == 2
    assert outcome.trouble.startswith("skipped, and not on the list in tests/skips.toml: demerit: no measured traces")


def test_gate_skip_must_be_on_the_list(gate):
    entries = [{"where": "lab/x/", "message": "no ed", "why": "because", "only": ["check"]}]
    assert gate.is_allowed(entries, "check", "lab/x/test_a.py::test_two", "no ed here")
    assert not gate.is_allowed(entries, "gate", "lab/x/test_a.py::test_two", "no ed here")
    assert not gate.is_allowed(entries, "check", "lab/y/test_a.py::test_two", "no ed here")
    assert not gate.is_allowed(entries, "check", "lab/x/test_a.py::test_two", "the lab is not built")


def test_gate_list_of_skips_is_well_formed(gate, tmp_path):
    for entry in gate.allowed_skips():
        assert len(entry["why"].split()) >= 6, entry
        assert set(entry.get("only", [])) <= set(gate.SETS)
    (tmp_path / "bad.toml").write_text('[[skip]]\nwhere = "x"\nmesage = "y"\nwhy = "z"\n')
    with pytest.raises(ValueError, match="mesage, message"):
        gate.allowed_skips(tmp_path / "bad.toml")


def test_gate_fails_on_an_unlisted_skip(gate, logs, capsys):
    """A real pytest with a test that skips itself."""
    test = logs.parent / "test_skips.py"
    test.write_text("import pytest\n\ndef test_it():\n    pytest.skip('not built')\n")
    command = [Path(sys.executable).with_name("pytest"), "-c", "/dev/null", "--rootdir", logs.parent, test]
    outcome = gate.Gate("check", [gate.Part("skipping", ("check",), [command], 1)], 2).run()["skipping"]
    assert (outcome.tests, outcome.skipped) == (1, 1)
    assert re.fullmatch(
        r"skipped, and not on the list in tests/skips.toml: \S*test_skips.py::test_it: .*", outcome.trouble
    )


def test_gate_missing_tool_is_a_skip(gate, logs):
    part = shell(gate, "some lint", "true", lacks="this machine has no such tool")
    assert "not on the list" in gate.Gate("check", [part], 2).run()["some lint"].trouble
    listed = shell(gate, "rust lint", "true", lacks="this Rust has no cargo clippy")
    assert gate.Gate("check", [listed], 2).run()["rust lint"].trouble is None


def test_gate_runs_small_parts_side_by_side_and_large_ones_alone(gate, logs):
    def stamps(name):
        return f"date +%s%N >{logs.parent}/{name}.begin; sleep 0.6; date +%s%N >{logs.parent}/{name}.end"

    def time_of(name):
        return int((logs.parent / name).read_text())

    todo = [shell(gate, name, stamps(name)) for name in ("a", "b")]
    todo += [shell(gate, "c", stamps("c"), cores=2), shell(gate, "d", stamps("d"), after=("c",))]
    began = time.monotonic()
    outcomes = gate.Gate("check", todo, 2).run()
    assert [outcome.trouble for outcome in outcomes.values()] == [None] * 4
    assert time.monotonic() - began < 4 * 0.6 + 3
    assert max(time_of("a.begin"), time_of("b.begin")) < min(time_of("a.end"), time_of("b.end"))
    assert max(time_of("a.end"), time_of("b.end")) < time_of("c.begin")
    assert time_of("c.end") < time_of("d.begin")


def test_gate_is_not_overtaken(gate, logs):
    """A small part does not begin before a large one that stands in front of it."""
    order = logs.parent / "order"
    todo = [
        shell(gate, "a", f"sleep 0.4; echo a >>{order}"),
        shell(gate, "b", f"echo b >>{order}", cores=2),
        shell(gate, "c", f"echo c >>{order}"),
    ]
    gate.Gate("check", todo, 2).run()
    assert order.read_text().split() == ["a", "b", "c"]


def test_gate_builds_the_lab_before_tests_that_use_what_it_fetched(gate):
    names = [part.name for part in gate.parts()]
    assert names.index(gate.LAB) < min(number for number, name in enumerate(names) if "tests" in name)


def test_gate_goes_on_after_a_failure_and_leaves_out_what_needs_it(gate, logs, capfd):
    todo = [
        shell(gate, "bad", "echo the cause; exit 3"),
        shell(gate, "needs it", "true", after=("bad",)),
        shell(gate, "good", "echo compared 5 files", figure="^compared"),
        gate.Part("absent", ("check",), [["no-such-program"]], 1),
    ]
    outcomes = gate.Gate("check", todo, 2).run()
    assert outcomes["bad"].trouble == "status 3: sh -c 'echo the cause; exit 3'"
    assert outcomes["needs it"].trouble == "not run, because 'bad' failed"
    assert outcomes["absent"].trouble.startswith("status 127")
    assert (outcomes["good"].trouble, outcomes["good"].figures) == (None, ["compared 5 files"])
    assert "| the cause" in capfd.readouterr().out


def test_gate_nightly_page_says_what_ran_on_which_commit(gate, monkeypatch):
    outcomes = {
        "faults": gate.Outcome(125.4, figures=["69 of 69 faults | caught"]),
        "tests": gate.Outcome(61, "status 1: pytest", tests=10, skipped=2),
    }
    page = gate.report_text("nightly", outcomes, "0123456789ab", 2)
    rows = {
        "faults": "| faults | passed | `0123456789ab` | 2 min 05 s | 69 of 69 faults \\| caught |",
        "tests": "| tests | **failed**: status 1: pytest | `0123456789ab` | 1 min 01 s | 10 tests, 2 skipped |",
    }
    assert gate.rows_in(page) == rows
    assert "on 2 cores. Of its 2 parts 1 passed." in page
    # mended, and run alone
    again = {"tests": gate.Outcome(70, tests=10, skipped=2)}
    rows["tests"] = "| tests | passed | `ba9876543210` | 1 min 10 s | 10 tests, 2 skipped |"
    monkeypatch.setattr(gate, "parts", lambda: [gate.Part("faults", ("nightly",), []), gate.Part("old", ("gate",), [])])
    page = gate.report_text("nightly", again, "ba9876543210", 2, page.replace("| tests |", "| old | x |\n| tests |"))
    assert gate.rows_in(page) == rows
    assert "Of its 2 parts 2 passed." in page
