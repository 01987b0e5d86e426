# SPDX-License-Identifier: MIT
"""Traces as data frames."""

import json

import pytest
import zstandard

from analysis import traces
from analysis.errors import ResultError
from analysis.settings import System
from analysis.tests import invented
from lab.cell import trace

LINES = f"""{trace.HEADER}
# cell a seed 1 now_ns 0 start_delay_ns 0
disk0 R 0 16 0 1000 1000 1100 1090 1 miss
disk0 R 16 16 1 1000 1100 1200 - 2 hit
disk0 F 0 0 0 1300 1300 1400 1400 1 -
disk0 U 99999999 8 0 9007199254740995 9007199254740997 9007199254740999 9007199254740999 1 through
# power cut now_ns 5 lost_writes 0 lost_sectors 0
"""


def test_frame_has_what_parse_finds():
    found = traces.frame(LINES)
    assert tuple(found.columns) == traces.COLUMNS
    rows = [
        trace.Request(
            *(None if name == "medium_ns" and value is traces.pd.NA else value for name, value in row.items())
        )
        for row in found.to_dict("records")
    ]
    assert rows == trace.parse(LINES)


def test_frame_of_a_trace_without_requests_is_empty():
    assert traces.frame(f"{trace.HEADER}\n").empty


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("disk0 R 0 8", "4 fields, not 11"),
        ("disk0 R 0 8 0 10 10 20 20 1", "10 fields, not 11"),
        ("disk0 R 0 8 0 10 10 20 20 1 miss more", "12 fields, not 11"),
        ("disk0 R 0 8 0 10 10 20 20 1 miss more and more", "14 fields, not 11"),
        ("disk0 R x 8 0 10 10 20 20 1 miss", "lbn is no number"),
        ("disk0 R 0 8 0 10 10 20 x 1 miss", "medium_ns is no number"),
        ("disk0 R 0 8 0 1.5 10 20 20 1 miss", "arrival_ns is no number"),
        ("disk0 R 0 8 0 10 10 20 20 1 mis", "a field that the model does not write"),
        ("disk0 X 0 8 0 10 10 20 20 1 miss", "unknown operation 'X'"),
        ("disk0 R 0 8 0 10 30 20 20 1 miss", "not in order"),
    ],
)
def test_frame_refuses_what_parse_refuses(line, message):
    text = LINES + line + "\n"
    with pytest.raises(trace.TraceError, match=f"line 8: .*{message}"):
        traces.frame(text)
    with pytest.raises(trace.TraceError, match=message):
        trace.parse(text)


def test_read_names_the_file(tmp_path):
    with pytest.raises(ResultError, match=r"io\.trace: No such file.*run it again"):
        traces.read(tmp_path)
    (tmp_path / "io.trace").write_bytes(b"not zstd")
    with pytest.raises(ResultError, match=r"io\.trace: .*run it again"):
        traces.read(tmp_path)
    (tmp_path / "io.trace").write_bytes(zstandard.compress(b"disk0 R\n"))
    with pytest.raises(ResultError, match=r"io\.trace: line 1: 2 fields"):
        traces.read(tmp_path)


def test_cell_says_why_there_is_nothing(tmp_path):
    assert traces.cell(tmp_path, None).reason == "not run"
    with pytest.raises(ResultError, match="`spindle run "):
        traces.cell(tmp_path, "x")
    system = System("ide-piix", "none", "both", "deskstar-75gxp")
    found = invented.raw_of(system, "read", "random", 1.0, 1)
    name = invented.put(tmp_path, found, "the guest's kernel panicked")
    assert traces.cell(tmp_path, name).reason == "failed: the guest's kernel panicked"
    (tmp_path / "cells" / name / "result.json").write_text(json.dumps([1]))
    with pytest.raises(ResultError, match="it is no result"):
        traces.cell(tmp_path, name)
