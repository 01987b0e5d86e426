# SPDX-License-Identifier: MIT
"""The sample of mutants and the interval that it gives; the mutants themselves take hours (`make mutants`)."""

import importlib.util
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
