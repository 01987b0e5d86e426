# SPDX-License-Identifier: MIT
"""Figure 2 from invented traces with known bursts and bands."""

from itertools import pairwise

import pandas as pd
import pytest

from analysis import traces, write_pattern
from paper.white2001 import figure_cells, traced
from paper.white2001.tests import synthetic_traces as invented

SECOND = write_pattern.SECOND_NS


def values(entries):
    return {(e.published.row, e.published.column): e.reproduced for e in entries}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    ids = [invented.write_postmark(folder, name) for name in figure_cells.WRITES_FILE_SYSTEMS]
    return traced.build_writes(folder, ids)


def test_bursts_every_30_s_are_found_and_rise(built):
    found = values(built[0])
    for name, seconds in (("ffs", 340), ("softupdates", 170), ("ntfs", 220)):
        assert found[name, "bursts"] == (seconds - 1) // invented.BURST_S
        assert found[name, "burst_spacing_median_s"] == invented.BURST_S
        assert found[name, "burst_rising_share"] == 1
        assert found[name, "period_s"] == invented.BURST_S
        assert found[name, "period_correlation"] > 0.8
        assert found[name, "run_s"] == invented.PHASES_S[name][1]


def test_horizontal_lines_are_ffs_synchronous_writes(built):
    found = values(built[0])
    synchronous = 340 * 40
    assert found["ffs", "horizontal_lines"] == invented.GROUPS
    assert found["ffs", "writes"] == synchronous + 11 * invented.BURST_WRITES
    assert found["ffs", "horizontal_share"] == synchronous / found["ffs", "writes"]
    assert found["ffs", "single_block_alone_share"] == found["ffs", "alone_share"] == found["ffs", "horizontal_share"]
    assert found["softupdates", "horizontal_share"] == found["softupdates", "alone_share"] == 0


def trace_of(*rows):
    names = ("arrival_ns", "acknowledged_ns", "depth", "lbn")
    return pd.DataFrame([dict(zip(names, row, strict=True), op="W", sectors=16) for row in rows])


def test_a_write_is_alone_if_nothing_comes_before_it_is_done():
    # By acknowledgement, as in a trace: one alone, three handed over at one time, one that is overtaken by the next.
    frame = trace_of((0, 9, 1, 5), (20, 29, 2, 2), (20, 39, 1, 1), (20, 49, 3, 3), (60, 79, 1, 6), (70, 89, 2, 7))
    found = write_pattern.writes(frame, 0)
    assert found.lbn.tolist() == [5, 1, 2, 3, 6, 7]
    assert found.alone.tolist() == [True, False, False, False, False, False]
    assert write_pattern.writes(frame.iloc[:1], 0).alone.tolist() == [True]


def test_a_line_is_written_more_often_than_the_write_back():
    def found(every_s, count):
        return pd.DataFrame({"arrival_ns": [n * every_s * SECOND for n in range(count)], "lbn": 7, "sectors": 16})

    assert len(write_pattern.lines(found(10, 5))) == 1
    assert len(write_pattern.lines(found(10, 4))) == 0
    assert len(write_pattern.lines(found(11, 50))) == 0
    assert len(write_pattern.lines(found(1, 50).assign(sectors=17))) == 0


def test_bands_add_up(built):
    found = values(built[0])
    for name in figure_cells.WRITES_FILE_SYSTEMS:
        rows = [row for row in built[1] if row["row"] == name]
        assert len(rows) == write_pattern.BANDS
        assert sum(row["writes"] for row in rows) == found[name, "writes"]
        assert all(a["lbn_end"] == b["lbn_begin"] for a, b in pairwise(rows))


def test_the_log_is_the_densest_band(built):
    begin, end = built[2]["ntfs"]["magnified"]["lbn"]
    assert begin <= 1_000_000 and 1_004_096 <= end <= 1_004_096 + 2 * write_pattern.BIN_SECTORS
    run = built[2]["ntfs"]["phases"][1]
    times = built[2]["ntfs"]["magnified"]["ns"]
    assert run["begin_ns"] <= times[0] < times[1] <= run["end_ns"] + write_pattern.WINDOW_NS


@pytest.mark.parametrize("every", [7, 15, 30, 60])
def test_period_is_the_spacing_of_bursts(every):
    arrivals = [s * SECOND + i for s in range(0, 300, every) for i in range(50)]
    frame = pd.DataFrame({"arrival_ns": arrivals, "lbn": 0, "sectors": 16, "alone": False})
    lag, height = write_pattern.period(frame, 0, 300 * SECOND)
    assert lag == every
    assert height > 0.9


def test_period_is_seen_through_a_trend_and_a_background():
    arrivals = [s * SECOND + i for s in range(240) for i in range(100 + s // 2 + (s * 7919) % 13)]
    arrivals += [s * SECOND + 500 + i for s in range(0, 240, 30) for i in range(300)]
    frame = pd.DataFrame({"arrival_ns": sorted(arrivals), "lbn": 0, "sectors": 16, "alone": True})
    lag, height = write_pattern.period(frame, 0, 240 * SECOND)
    assert lag == 30
    assert height > 0.5


def test_no_period_in_steady_or_missing_writes():
    steady = pd.DataFrame({"arrival_ns": [s * SECOND for s in range(100)], "lbn": 0, "sectors": 16, "alone": False})
    assert write_pattern.period(steady, 0, 100 * SECOND) is None
    assert write_pattern.period(steady.iloc[:0], 0, 100 * SECOND) is None
    assert write_pattern.period(steady.iloc[:1], 0, 3 * SECOND) is None


def test_build_says_what_is_missing(tmp_path):
    ids = [invented.write_postmark(tmp_path, "ffs", failed="the guest's kernel panicked")]
    entries, rows, panels = traced.build_writes(tmp_path, ids)
    assert {name: panel["reason"] for name, panel in panels.items()} == {
        "ffs": "failed: the guest's kernel panicked", "softupdates": "not run", "ntfs": "not run"
    }  # fmt: skip
    assert rows == []
    assert {entry.reproduced for entry in entries} == {None}
    assert len(entries) == len(figure_cells.WRITES_FILE_SYSTEMS) * len(write_pattern.UNITS)


def test_writes_leave_out_what_came_before_the_first_phase(tmp_path):
    name = invented.write_postmark(tmp_path, "ffs")
    frame = traces.read(tmp_path / "cells" / name)
    later = write_pattern.writes(frame, invented.BEGIN_NS + 100 * SECOND)
    assert later.arrival_ns.min() >= invented.BEGIN_NS + 100 * SECOND
    assert later.arrival_ns.is_monotonic_increasing
