# SPDX-License-Identifier: MIT
"""The clock that finds a process which stands still: it counts no second in which the process could not have worked."""

from lab.cell import boot


def test_patience_counts_neither_starvation_nor_a_stopped_host(monkeypatch):
    now, starved = {"s": 100.0}, {"s": 7.0}
    monkeypatch.setattr(boot.time, "monotonic", lambda: now["s"])
    monkeypatch.setattr(boot, "starved_s", lambda pid: starved["s"])
    patience = boot.Patience(1)
    now["s"] += 3
    assert patience() == 3
    # Waited for a processor.
    now["s"] += 4
    starved["s"] += 3
    assert patience() == 4
    # Everything was stopped, whoever looks as well.
    now["s"] += 900
    assert patience() == 4 + boot.Patience.LONGEST_S
    # A process that has ended waits no more.
    now["s"] += 1
    starved["s"] = 0.0
    assert patience() == 10


def test_patience_of_a_process_that_there_is_not():
    assert boot.starved_s(2**22 + 1) == 0.0
