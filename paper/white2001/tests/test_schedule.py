# SPDX-License-Identifier: MIT
"""Figure 1 from invented schedules."""

import pandas as pd
import pytest

from paper.white2001 import figure_cells, schedule, traced
from paper.white2001.tests import synthetic_traces

MIDDLE = 17_921_824


def frame(order):
    """A trace whose requests were served in this order of (stream, offset); lines in the order of arrival."""
    rows = [
        {
            "op": "W",
            "lbn": stream * MIDDLE + 16 * offset,
            "sectors": 16,
            "start_ns": 100 * position,
            "acknowledged_ns": 100 * position,
        }
        for position, (stream, offset) in enumerate(order)
    ]
    return pd.DataFrame(sorted(rows, key=lambda row: row["lbn"]))


def turns(length, count):
    """`count` requests in turns of `length` of each stream."""
    return [
        (position // length % 2, position // (2 * length) * length + position % length) for position in range(count)
    ]


@pytest.mark.parametrize("length", [1, 2, 7, 20])
def test_schedule_finds_turns(length):
    found = schedule.schedule(frame(turns(length, 160)))
    assert list(zip(found.stream, found.offset, strict=True)) == turns(length, 160)
    values = schedule.measures(found)
    assert values["run_length_mean_requests"] == values["run_length_max_requests"] == length
    runs = (found.steady[1] - 1) // length - found.steady[0] // length
    assert values["sequential_share"] == (79 - runs) / 79


def test_schedule_table_reads_as_the_paper_does():
    found = schedule.schedule(frame(turns(1, 400)))
    steps = schedule.table(found)
    assert [step["first"] for step in steps] == ["N+50", "51", "N+51", "52", "N+52", "53"]
    assert {step["requests"] for step in steps} == {1}
    steps = schedule.table(schedule.schedule(frame(turns(10, 400))))
    assert (steps[0]["first"], steps[0]["last"], steps[0]["requests"], steps[0]["rising"]) == ("N+50", "N+59", 10, True)


def test_schedule_of_one_stream_has_no_second():
    found = schedule.schedule(frame([(0, offset) for offset in range(40)]))
    # The widest gap is no gap: all addresses follow one another.
    assert schedule.measures(found)["sequential_share"] == pytest.approx(1.0)


def test_build_says_what_is_missing(tmp_path):
    ran = synthetic_traces.write_interleave(tmp_path, "none", 20)
    failed = synthetic_traces.write_interleave(tmp_path, "4", 2, failed="depth 3 below 4")
    entries, panels = traced.build_schedule(tmp_path, [ran, failed])
    assert {name: panel["reason"] for name, panel in panels.items()} == {
        "none": "", "4": "failed: depth 3 below 4", "32": "not run", "64": "not run", "128": "not run"
    }  # fmt: skip
    assert panels["none"]["measures"]["run_length_mean_requests"] == 20
    rows = {(entry.published.row, entry.published.column): entry for entry in entries}
    assert len(rows) == len(figure_cells.SCHEDULE_TAGS) * len(schedule.UNITS)
    assert rows["tnone.host", "run_length_mean_requests"].reproduced == 20
    assert rows["t4.host", "rate_mb_s"].reproduced is None
