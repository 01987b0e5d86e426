# SPDX-License-Identifier: MIT
"""What the picture of a trace is drawn from."""

import pytest

from analysis import picture, traces
from lab.cell import trace

MS = 1_000_000


def frame(*lines):
    return traces.frame("\n".join([trace.HEADER, *lines]) + "\n")


def test_picture_has_each_disk_from_the_first_arrival():
    drawn = picture.picture(frame(
        f"disk10 W 8 16 0 {5 * MS} {5 * MS} {6 * MS} {9 * MS} 1 cached",
        f"disk2 R 100 8 0 {3 * MS} {4 * MS} {7 * MS} {7 * MS} 1 miss",
        f"disk2 F 0 0 0 {7 * MS} {8 * MS} {9 * MS} - 1 -",
    ))  # fmt: skip
    assert (drawn["begin_ns"], drawn["requests"], drawn["step"]) == (3 * MS, 3, 1)
    first, second = drawn["disks"]
    assert (first["name"], second["name"]) == ("disk2", "disk10")
    assert (first["op"], first["hit"], first["begin_us"]) == ("RF", "m-", [1000, 4000])
    assert (first["waited_us"], first["served_us"], first["lbn"]) == ([1000, 1000], [3000, 1000], [100, 0])
    assert (second["sectors"], second["depth"], second["hit"]) == ([16], [1], "c")


def test_picture_depth_is_the_trace_summary():
    """Means over equal intervals have the mean of the whole trace, however requests overlap."""
    lines = [
        f"disk0 R {at} 8 0 {at * 370_001} {at * 370_001 + 5} {at * 370_001 + 1_700_003} - {min(at + 1, 5)} hit"
        for at in range(200)
    ]
    found = picture.picture(frame(*lines))["disks"][0]["over_time"]
    whole = trace.summarize(trace.parse("\n".join(lines) + "\n"))
    span_ns = 199 * 370_001 + 1_700_003
    kept_ns = found["width_us"] * 1000 * picture.BINS
    assert sum(found["depth"]) / picture.BINS * kept_ns / span_ns == pytest.approx(whole.queue_depth_mean, rel=0.01)
    assert max(found["most"]) == whole.queue_depth_max
    moved = sum(found["rate"]) * 1e6 * found["width_us"] / 1e6
    assert moved == pytest.approx(whole.read_bytes, rel=0.01)


def test_picture_keeps_every_nth_of_a_long_trace():
    lines = [f"disk0 W {at} 8 0 {at * MS} {at * MS} {at * MS + 1} {at * MS + 1} 1 cached" for at in range(25)]
    drawn = picture.picture(frame(*lines), limit=10)
    [disk] = drawn["disks"]
    assert (drawn["step"], drawn["requests"], disk["requests"]) == (3, 25, 25)
    assert disk["lbn"] == list(range(0, 25, 3))
    # Depth and rate are those of all requests.
    assert sum(value > 0 for value in disk["over_time"]["most"]) == 25


def test_picture_of_nothing_is_none():
    assert picture.picture(frame()) is None
