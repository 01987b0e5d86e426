# SPDX-License-Identifier: MIT
"""Machines: their entries, the papers that are of them, and rows that name one."""

import pytest

from lab.cell import config, machines, papers, settings
from lab.cell.errors import ConfigError

WITH_MACHINE = [name for name in papers.ids() if "machine" in config.paper(name)]


@pytest.mark.parametrize("name", machines.names())
def test_machine_has_a_source_for_each_number_and_a_speed_beside_its_clock(name):
    one = machines.machine(name)
    numbers = {key for key, value in one.data.items() if isinstance(value, int)}
    assert set(one.data["sources"]) == numbers | set(one.assumptions)
    fast_ns, slow_ns = one.speeds_ns
    assert fast_ns <= 1000 / one.data["clock_mhz"] <= slow_ns <= 2 * fast_ns
    assert one.assumptions["cpu_ns_per_instruction"] in one.speeds_ns
    assert set(one.speeds_ns) <= set(settings.CHOICES["cpu_ns_per_instruction"])


def test_machine_speeds_lie_beside_the_clock():
    assert [machines.machine(name).speeds_ns for name in ("pentium2-333", "pentium3-1000", "pentium3-733")] == [
        (2, 4), (1, 1), (1, 2)
    ]  # fmt: skip


@pytest.mark.parametrize("paper", WITH_MACHINE)
def test_machine_of_a_paper_has_the_paper_s_assumptions(paper):
    one = machines.machine(config.paper(paper)["machine"])
    assert {key: config.assumption(paper, key) for key in one.assumptions} == one.assumptions


def test_machine_of_a_row_stands_for_its_assumptions_and_the_row_s_own_count_more():
    paper = WITH_MACHINE[0]
    old = settings.Settings(paper, ("machine=pentium2-333",))
    assert (old.value("cpu_ns_per_instruction"), old.value("memory_mib")) == (4, 128)
    assert old.overrides["machine"] == "pentium2-333"
    for words in (("machine=pentium2-333", "memory_mib=64"), ("memory_mib=64", "machine=pentium2-333")):
        assert settings.Settings(paper, words).value("memory_mib") == 64


def test_machine_that_is_not_there_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match="row 3: set: machine 'pentium2-33' is not in lab/machines; did you mean"):
        settings.check(WITH_MACHINE[0], ("machine=pentium2-33",), "deskstar-75gxp", None, "row 3")
    with pytest.raises(ConfigError, match="nothing is called 'machin'; did you mean 'machine'"):
        settings.check(WITH_MACHINE[0], ("machin=pentium2-333",), "deskstar-75gxp", None, "row 3")
    settings.check(WITH_MACHINE[0], ("machine=pentium2-333",), "deskstar-75gxp", None, "row 3")
