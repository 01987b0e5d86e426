# SPDX-License-Identifier: MIT
"""Measures of one phase, on a trace of a few requests."""

from pathlib import Path

import pytest

from analysis import measures, phase_traffic
from analysis.errors import ResultError
from analysis.tests.small_ufs import FSIZE, GROUP, INODE
from lab.cell import evidence, trace

PER = FSIZE // trace.SECTOR_BYTES
PHASES = [
    {"name": "create", "begin_ns": 0, "end_ns": 100},
    {"name": "run", "begin_ns": 100, "end_ns": 1_000_000_000},
]
LINES = [
    f"disk0 W {INODE * PER} 2 0 50 50 90 90 1 through",
    "m0 R 4000 16 0 110 110 120 120 1 miss",
    "disk0 R 2000 16 0 200 200 2000200 2000200 1 miss",
    "disk0 R 3000 16 0 5000000 5000000 9000000 - 1 hit",
    f"disk0 W {INODE * PER} 2 1 6000000 9000000 9100000 9100000 2 through",
    f"disk0 W {GROUP * PER} 2 0 20000000 20000000 20100000 20100000 1 through",
    "disk0 F 0 0 0 30000000 30000000 30000000 - 1 -",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "cell"
    found.mkdir()
    text = "\n".join([trace.HEADER, "# cell cell seed 1 now_ns 0 start_delay_ns 0", *LINES]) + "\n"
    (found / "io.trace").write_bytes(evidence.compress(text))
    return found


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("phase_run_reads", 2),
        ("phase_run_writes", 2),
        ("phase_run_read_hits", 1),
        # The second read has a write beside it.
        ("phase_run_reads_alone", 1),
        ("phase_run_read_response_mean_ms", 3.0),
        ("phase_create_writes", 1),
        ("phase_create_inode_writes", 1),
        ("phase_run_inode_writes", 1),
        ("phase_run_bitmap_writes", 1),
    ],
)
def test_a_phase_counts_what_arrived_in_it(folder: Path, image: Path, name: str, value: float) -> None:
    found = phase_traffic.measures(folder, PHASES, {name, "elapsed_s"}, image=lambda _: image)
    assert found == {name: pytest.approx(value)}
    assert measures.known(name)
    assert measures.from_trace({name})


def test_what_a_cell_does_not_have_is_left_out(folder: Path) -> None:
    assert phase_traffic.measures(folder, PHASES, {"phase_delete_reads", "phase_create_read_response_mean_ms"}) == {}
    assert not measures.known("phase_run_sleeps")


def test_a_missing_image_is_named(folder: Path) -> None:
    with pytest.raises(ResultError, match="no sheet has this cell"):
        phase_traffic.measures(folder, PHASES, {"phase_run_inode_writes"})


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("scsi-virtio.ultrastar-36zx.t64.both.ffs.postmark.s01", "from which it started, is not here"),
        ("scsi-virtio.ultrastar-36zx.md-raid0-4.t64.both.ffs.postmark.s01", "lies on an array"),
    ],
)
def test_an_image_that_is_not_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cell: str, message: str) -> None:
    monkeypatch.setattr(phase_traffic.identity, "image_paths", lambda build, image: [tmp_path / "none.img"])
    with pytest.raises(ResultError, match=message):
        phase_traffic.image_of(cell)
