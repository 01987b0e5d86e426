# SPDX-License-Identifier: MIT
"""The sample of mutants and the interval that it gives; the mutants themselves take hours (`make mutants`)."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).with_name("mutants.py")
SPEC = importlib.util.spec_from_file_location("mutants", PATH)
mutants = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(mutants)


@pytest.mark.parametrize(
    ("survived", "count", "low", "high"),
    [(0, 10, 0.0, 0.3085), (5, 100, 0.0164, 0.1128), (10, 10, 0.6915, 1.0)],
)
def test_interval_is_that_of_clopper_and_pearson(survived, count, low, high):
    """Values of published tables of the two-sided interval at 95 %."""
    assert mutants.interval(survived, count) == pytest.approx((low, high), abs=1e-4)


def test_larger_sample_contains_the_smaller_one():
    names = [f"a.rs:{line}:1: one" for line in range(100)]
    assert mutants.drawn(names, 1, 30) == mutants.drawn(names[::-1], 1, 60)[:30]
    assert mutants.drawn(names, 1, 30) != mutants.drawn(names, 2, 30)


def test_outcomes_of_other_code_are_begun_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(mutants, "HOME", tmp_path)
    outcomes = mutants.Outcomes.of("model", "1")
    outcomes.keep({"one": mutants.KILLED, "two": mutants.SURVIVED})
    assert mutants.Outcomes.of("model", "1").names(mutants.SURVIVED) == ["two"]
    assert mutants.Outcomes.of("model", "2").found == {}


def test_every_named_module_has_tests():
    for name, tests in mutants.MODULES.items():
        assert (mutants.ROOT / "lab" / "cell" / f"{name}.py").exists()
        assert all((mutants.ROOT / test).exists() for test in tests)


def test_notes_are_of_mutants_and_say_why():
    for name, why in mutants.notes().items():
        path, row, column, what = name.split(":", 3)
        # cargo-mutants names files from its crates' folder, and says what it did in words.
        rust = path.endswith(".rs")
        lines = (mutants.ROOT / ("lab/disk" if rust else "") / path).read_text(encoding="utf-8").splitlines()
        assert 0 < int(row) <= len(lines) and int(column) > 0, name
        operator, changed = what.split(" ", 2)[1:] if rust else what.split(":", 1)
        assert operator.strip() and changed.strip() and len(why) > 20, name


def test_changed_lines_are_those_that_differ():
    assert mutants.changed_lines("a\nb\nc\n", "a\n x  = 2\nc\n") == "x = 2"
    assert mutants.changed_lines("a\nb\nc\n", "a\nc\n") == ""


MODULE = """
def double(x):
    return 2 * x


def nobody_calls():
    return 1
"""
TESTS = """
import os
from pack import one

def test_double():
    assert one.double(2) == 4

def test_other():
    assert os.path.exists("pack")
"""
LEFT = "import subprocess\nsubprocess.Popen(['sleep', '987'])\n"


@pytest.mark.slow
def test_forked_outcomes_are_those_of_the_tests_that_call_a_function(tmp_path):
    """Also of a mutant that never ends, or that leaves a process behind: nothing is left of it."""
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n')
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack/__init__.py").touch()
    (tmp_path / "pack/one.py").write_text(MODULE)
    (tmp_path / "test_one.py").write_text(TESTS)
    asked = [
        (3, MODULE.replace("2 * x", "3 * x")),
        (3, MODULE.replace("2 * x", "x * 2")),
        (7, MODULE.replace("return 1", "return 2")),
        (3, MODULE.replace("return 2 * x", "while True: pass")),
        (1, "import no_such_module\n"),
        (1, LEFT + MODULE),
    ]
    words = ["pack/one.py", "test_one.py"]
    program = (
        f"import sys; sys.path.insert(0, {str(PATH.parent)!r})\nimport forked\nforked.LEAST_S = 1\nforked.main({words})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True,
        input="".join(json.dumps({"row": row, "source": source}) + "\n" for row, source in asked),
    )  # fmt: skip
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(one["failed"], one["tests"]) for one in found] == [
        ("test_one.py::test_double", 1),
        ("", 1),
        ("", 0),
        ("no end", 1),
        ("test_one.py", 2),
        ("", 2),
    ], done.stderr
    assert (tmp_path / "pack/one.py").read_text() == MODULE
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "sleep 987" not in listed
