# SPDX-License-Identifier: MIT
"""The I/O trace."""

import dataclasses
import json

import jsonschema
import pytest

from lab.cell import trace
from lab.cell.paths import ROOT

MARK = "# cell a seed 1 now_ns 1000 start_delay_ns 0"
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
        requests=3,
        reads=2,
        writes=0,
        fua_writes=0,
        flushes=1,
        read_bytes=16384,
        write_bytes=0,
        request_bytes_mean=8192.0,
        read_share=1.0,
        read_hits=1,
        cached_write_share=None,
        sequential_share=1.0,
        seek_distance_mean_lbn=0.0,
        seek_distance_median_lbn=0.0,
        response_mean_ns=150,
        response_p95_ns=200,
        busy_share=0.75,  # the flush arrives 100 ns after the last read
        queue_depth_mean=1.0,  # (100 + 200 + 100) / 400
        queue_depth_max=2,
        drain_ns=0,
    )


def test_trace_summary_drain():
    summary = trace.summarize(trace.parse(trace.split(LINES)["b"]))
    assert (summary.write_bytes, summary.drain_ns) == (8192, 500)
    assert (summary.seek_distance_mean_lbn, summary.sequential_share) == (None, None)


MIXED = """disk0 R 100 8 0 0 0 10 10 1 miss
disk0 W 108 8 0 10 40 60 90 2 cached
disk0 U 50 8 1 12 20 70 70 2 through
disk0 F 0 0 0 80 80 200 200 1 -
disk0 W 0 16 0 300 300 301 350 1 cached
"""


def test_trace_summary_mixed():
    """Served 100-107, 50-57, 108-115, 0-15: distances 58, 50, 116."""
    summary = trace.summarize(trace.parse(MIXED))
    assert (summary.requests, summary.reads, summary.writes) == (5, 1, 3)
    assert (summary.fua_writes, summary.flushes) == (1, 1)
    assert (summary.request_bytes_mean, summary.read_share) == (5120.0, 0.25)
    assert (summary.seek_distance_mean_lbn, summary.seek_distance_median_lbn) == (74.667, 58.0)
    assert (summary.sequential_share, summary.cached_write_share) == (0.0, 0.666667)
    assert (summary.response_mean_ns, summary.response_p95_ns) == (30, 58)  # 10, 50, 58, 1: 119 / 4 = 29.75
    assert summary.busy_share == round((10 + 60 + 120 + 1) / 301, 6)


@pytest.mark.parametrize(("count", "rank"), [(1, 1), (17, 17), (19, 19), (20, 19), (21, 20), (40, 38), (100, 95)])
def test_trace_percentile_is_by_nearest_rank(count, rank):
    """The least of them that no fewer than 95 % do not exceed."""
    lines = [f"disk0 R 0 8 0 0 0 {10 * at} {10 * at} 1 miss\n" for at in range(1, count + 1)]
    assert trace.summarize(trace.parse("".join(lines))).response_p95_ns == 10 * rank


def test_trace_summary_of_flushes_only_has_no_means():
    summary = trace.summarize(trace.parse("disk0 F 0 0 0 5 5 5 5 1 -\n"))
    assert (summary.requests, summary.flushes, summary.queue_depth_mean) == (1, 1, 1.0)
    assert summary.request_bytes_mean is summary.read_share is summary.response_mean_ns is summary.busy_share is None


@pytest.mark.parametrize("text", [MIXED, "disk0 F 0 0 0 5 5 5 5 1 -\n"])
def test_trace_summary_fits_the_schema_of_results(text):
    schema = json.loads((ROOT / "config/schemas/result.schema.json").read_text())
    known = schema["properties"]["metrics"]["properties"]
    for name, value in dataclasses.asdict(trace.summarize(trace.parse(text))).items():
        jsonschema.validate(value, known[name] | {"$defs": schema["$defs"]})


def test_trace_summary_does_not_depend_on_the_order_of_lines():
    requests = trace.parse(MIXED)
    assert trace.summarize(requests[::-1]) == trace.summarize(requests)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "begins with 'nothing'"),
        ("# spindle-trace/2\n", "spindle-trace/2"),
        (f"{trace.HEADER}\n{MARK}\n{MARK}\n", "line 3: cell 'a' begins twice"),
        (f"{trace.HEADER}\n# cell a seed 1\n{MARK}\n", "line 2: a torn or damaged `# cell` line: '# cell a seed 1'"),
    ],
)
def test_trace_split_refuses(text, message):
    with pytest.raises(trace.TraceError, match=message):
        trace.split(text)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("disk0 R 0 8", "4 fields, not 11"),
        ("disk0 R x 8 0 10 10 20 20 1 miss", "lbn is no number"),
        ("disk0 R 1_0 8 0 10 10 20 20 1 miss", "lbn is no number"),
        ("disk0 R \u0663 8 0 10 10 20 20 1 miss", "lbn is no number"),
        ("disk0 R 0 8 0 10 10 20 20 - miss", "depth is no number"),
        ("disk0 R 0 8 0 10 10 20 20 1 mis", "a field that the model does not write"),
        ("disk0 R 0 8 0 10 10 20 20 1 miss\x1e", "a field that the model does not write"),
        ("disk0 R 0 8 0 10 10 20 20 1 miss\r", "a field that the model does not write"),
        ("", "1 fields, not 11"),
        ("# ", "a comment that neither model nor driver write"),
        ("#", "a comment that neither model nor driver write"),
        ("# cell", "a torn or damaged `# cell` line: '# cell'"),
        ("disk0 R 0 8 0 10 10 20 - 1 mis", "a field that the model does not write"),
        ("#drained 1 commands now_ns 5", "a comment that neither model nor driver write"),
        ("# drained 0 commands now_ns 5", "a torn or damaged `# drained` line"),
        ("# array disk0 now_ns 5 failed m1 state", "a torn or damaged `# array` line"),
        ("disk0 X 0 8 0 10 10 20 20 1 miss", "unknown operation 'X'"),
        ("disk0 R 0 8 0 10 30 20 20 1 miss", "not in order"),
    ],
)
def test_trace_parse_refuses(line, message):
    with pytest.raises(trace.TraceError, match=f"line 1: .*{message}"):
        trace.parse(line + "\n")


def test_trace_torn_end_is_its_cells():
    text = LINES[:-4]
    parts = trace.split(text)
    assert len(trace.parse(parts["a"])) == 3
    with pytest.raises(trace.TraceError, match="line 3: it is torn, as its end is missing"):
        trace.parse(parts["b"])
    assert [mark.label for mark in trace.marks(text)] == ["a", "b"]
    torn_marker = LINES + "# cell c see"
    assert len(trace.parse(trace.split(torn_marker)["b"])) == 1, "the cell before has ended"
    assert len(trace.marks(torn_marker)) == 2


def test_trace_marks():
    text = f"""{trace.HEADER}
# drained 1 commands now_ns 7
{MARK}
disk0 R 0 16 0 1000 1000 1100 1090 1 miss
# array disk0 now_ns 1500 failed m1 state rebuilding
# array disk0 now_ns 1500 began m4 state rebuilding
# power cut now_ns 1600 lost_writes 0 lost_sectors 0
"""
    assert trace.marks(text) == [
        trace.DrainedMark(1, 7),
        trace.CellMark("a", 1000),
        trace.ArrayMark("disk0", 1500, "failed", "m1", "rebuilding"),
        trace.ArrayMark("disk0", 1500, "began", "m4", "rebuilding"),
    ]
    assert len(trace.parse(trace.split(text)["a"])) == 1
    with pytest.raises(trace.TraceError, match="line 6: a comment that neither"):
        trace.marks(text.replace("# array disk0 now_ns 1500 began", "# arrows"))


def test_trace_lines_that_are_shown_are_cut():
    """A wrong line may be as long as the file."""
    with pytest.raises(trace.TraceError) as error:
        trace.parse("#" + "x" * 500 + "\n")
    assert str(error.value).endswith(f": {'#' + 'x' * 119!r}")


@pytest.mark.parametrize(
    "one",
    [
        trace.CellMark("a", 1),
        trace.ArrayMark("disk0", 1, "failed", "m1", "lost"),
        trace.DrainedMark(1, 1),
        trace.parse("disk0 F 0 0 0 5 5 5 5 1 -\n")[0],
        trace.summarize(trace.parse("disk0 F 0 0 0 5 5 5 5 1 -\n")),
    ],
    ids=lambda one: type(one).__name__,
)
def test_trace_what_was_read_cannot_be_changed(one):
    """What is read once is handed to all who judge."""
    name = dataclasses.fields(one)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(one, name, None)


def test_trace_request_has_no_dictionary():
    """A trace has up to millions of them."""
    assert not hasattr(trace.parse("disk0 F 0 0 0 5 5 5 5 1 -\n")[0], "__dict__")


def test_trace_marks_where_the_header_is_missing():
    """Lines count from the first of the text, and none is left out."""
    assert trace.marks(f"{MARK}\n# drained 2 commands now_ns 1001\n") == [
        trace.CellMark("a", 1000),
        trace.DrainedMark(2, 1001),
    ]
    with pytest.raises(trace.TraceError, match="line 2: a comment that neither"):
        trace.marks("\n# arrows\n")


def test_trace_header_stands_once():
    with pytest.raises(trace.TraceError, match="line 2: a comment that neither"):
        trace.parse(f"{trace.HEADER}\n{trace.HEADER}\n")


def test_trace_split_counts_lines_without_anything():
    with pytest.raises(trace.TraceError, match="line 4: cell 'a' begins twice"):
        trace.split(f"{trace.HEADER}\n\n{MARK}\n{MARK}\n")


def test_trace_drained_before_it_was_acknowledged():
    """A write that was on the medium before the host was told leaves nothing to drain."""
    assert trace.summarize(trace.parse("disk0 W 0 8 0 10 10 30 20 1 through\n")).drain_ns == 0


def reads(begins, responses):
    """Reads one after the other, of 8 sectors each."""
    lines, now = [], 0
    for begin, response in zip(begins, responses, strict=True):
        lines.append(f"disk0 R {begin} 8 0 {now} {now} {now + response} {now + response} 1 miss\n")
        now += response
    return trace.summarize(trace.parse("".join(lines)))


def test_trace_hits_are_reads_that_the_cache_served_whole():
    served = [("R", "hit"), ("R", "hit"), ("R", "part"), ("W", "cached"), ("R", "miss"), ("R", "miss")]
    lines = [f"disk0 {op} 0 8 0 {n} {n} {n} {n} 1 {hit}\n" for n, (op, hit) in enumerate(served)]
    assert trace.summarize(trace.parse("".join(lines))).read_hits == 2


@pytest.mark.parametrize(
    ("distances", "median"), [([1, 9], 5.0), ([4, 2, 9], 4.0), ([9, 1, 3, 8], 5.5), ([9, 1, 4, 8, 2], 4.0)]
)
def test_trace_median_is_the_middle_or_between_the_two_in_the_middle(distances, median):
    begins = [0]
    for distance in distances:
        begins.append(begins[-1] + 8 + distance)
    assert reads(begins, [10] * len(begins)).seek_distance_median_lbn == median
