# SPDX-License-Identifier: MIT
"""The I/O trace."""

import pytest

from lab.cell import trace

LINES = f"""{trace.HEADER}
disk0 R 0 8 0 10 10 20 20 1 miss
# cell a seed 1 now_ns 1000 start_delay_ns 0
disk0 R 0 16 0 1000 1000 1100 1090 1 miss
disk0 R 16 16 1 1000 1100 1200 - 2 hit
disk0 F 0 0 0 1300 1300 1400 1400 1 -
# cell b seed 2 now_ns 2000 start_delay_ns 0
disk0 W 0 16 0 2000 2000 2100 2600 1 cached
"""


def test_trace_split_leaves_out_what_no_cell_did():
    parts = trace.split(LINES)
    assert list(parts) == ["a", "b"]
    assert [request.op for request in trace.parse(parts["a"])] == ["R", "R", "F"]


def test_trace_summary_reads():
    summary = trace.summarize(trace.parse(trace.split(LINES)["a"]))
    assert summary == trace.Summary(
        read_bytes=16384,
        write_bytes=0,
        queue_depth_mean=1.0,  # (100 + 200 + 100) / 400
        queue_depth_max=2,
        drain_ns=0,
        read_hits=1,
        flushes=1,
    )


def test_trace_summary_drain():
    summary = trace.summarize(trace.parse(trace.split(LINES)["b"]))
    assert (summary.write_bytes, summary.drain_ns) == (8192, 500)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "begins with 'nothing'"),
        ("# spindle-trace/2\n", "spindle-trace/2"),
        (f"{trace.HEADER}\n# cell a seed 1\n# cell a seed 1\n", "line 3: cell 'a' begins twice"),
    ],
)
def test_trace_split_refuses(text, message):
    with pytest.raises(trace.TraceError, match=message):
        trace.split(text)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("disk0 R 0 8", "4 fields, not 11"),
        ("disk0 R x 8 0 10 10 20 20 1 miss", "invalid literal"),
        ("disk0 X 0 8 0 10 10 20 20 1 miss", "unknown operation 'X'"),
        ("disk0 R 0 8 0 10 30 20 20 1 miss", "not in order"),
    ],
)
def test_trace_parse_refuses(line, message):
    with pytest.raises(trace.TraceError, match=f"line 1: .*{message}"):
        trace.parse(line)
