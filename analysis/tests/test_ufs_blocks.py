# SPDX-License-Identifier: MIT
"""A small file system made here, fragment by fragment, and requests to its parts."""

from pathlib import Path

import numpy as np
import pytest

from analysis import traces, ufs_blocks
from analysis.errors import ResultError
from analysis.tests.small_ufs import BSIZE, COUNTS, FPG, GROUP, INODE, NCG, SUPER, directory
from lab.cell import trace

PLACES = {
    "superblock": [8, SUPER, COUNTS, FPG + SUPER], "bitmaps": [GROUP, FPG + GROUP], "inodes": [INODE, FPG + INODE + 8],
    "directories": [64, 72], "data": [80, FPG + 64, FPG + 408], "indirect": [FPG + 400],
}  # fmt: skip


def requests(*places: tuple[int, int]) -> str:
    """A trace that writes so many fragments at these, one after the other."""
    lines = [
        f"disk0 W {2 * at} {2 * count} 0 {100 * n} {100 * n} {100 * n + 50} {100 * n + 60} 1 cached"
        for n, (at, count) in enumerate(places)
    ]
    return "\n".join([trace.HEADER, "# cell x seed 1 now_ns 0 start_delay_ns 0", *lines, ""])


@pytest.mark.parametrize("name", PLACES)
def test_each_class_is_found(image: Path, name: str) -> None:
    about = ufs_blocks.layout(image)
    found = traces.frame(requests(*((at, 1) for at in PLACES[name])))
    codes = ufs_blocks.contents(image, about, ufs_blocks.fragments(found, about))
    assert [ufs_blocks.CLASSES[code] for code in ufs_blocks.classes(found, codes, about)] == [name] * len(PLACES[name])


def test_by_address_alone_the_data_area_is_one(image: Path) -> None:
    about = ufs_blocks.layout(image)
    found = traces.frame(requests((64, 1), (80, 8), (FPG + 400, 8), (FPG + 8, 8), (INODE, 8)))
    codes = ufs_blocks.classes(found, ufs_blocks.regions(about), about)
    assert codes.tolist() == [ufs_blocks.AREA] * 4 + [ufs_blocks.INODES]


def test_a_request_over_two_classes_is_mixed(image: Path) -> None:
    about = ufs_blocks.layout(image)
    found = traces.frame(requests((GROUP, 16), (INODE, 16)))
    codes = ufs_blocks.classes(found, ufs_blocks.regions(about), about)
    assert codes.tolist() == [ufs_blocks.MIXED, ufs_blocks.INODES]


def test_table_counts_bytes_addresses_and_lone_writes(image: Path) -> None:
    about = ufs_blocks.layout(image)
    found = traces.frame(requests((INODE, 8), (INODE, 8), (INODE + 8, 8)))
    (row,) = ufs_blocks.table(found, ufs_blocks.regions(about), about)
    assert row == {
        "op": "write", "class": "inodes", "requests": 3, "bytes": 3 * BSIZE, "bytes_mean": BSIZE, "addresses": 2,
        "alone_share": 1.0, "response_mean_ms": 0.0,
    }  # fmt: skip


def test_fragments_lists_each_once(image: Path) -> None:
    about = ufs_blocks.layout(image)
    found = traces.frame(requests((64, 3), (65, 3), (FPG * NCG - 1, 8)))
    assert np.array_equal(ufs_blocks.fragments(found, about), [64, 65, 66, 67, FPG * NCG - 1])


@pytest.mark.parametrize("raw", [b"", b"\0" * 512, b"text " * 103, directory(b".", b"..")[:100]])
def test_what_is_no_directory(raw: bytes) -> None:
    assert not ufs_blocks.is_directory(raw[:512])


def test_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.img"
    path.write_bytes(b"\0" * 20000)
    with pytest.raises(ResultError, match="no UFS1 superblock"):
        ufs_blocks.layout(path)
    with pytest.raises(ResultError, match="--keep-disk"):
        ufs_blocks.layout(tmp_path / "none.img")


def test_command_line(image: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path = tmp_path / "io.trace"
    path.write_text(requests((64, 1), (80, 8), (INODE, 8)))
    assert ufs_blocks.main(["--image", str(image), "--until-ns", "200", str(path)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert [line.split(",")[:3] for line in out[1:]] == [["write", "data", "1"], ["write", "directories", "1"]]
    assert ufs_blocks.main(["--image", str(tmp_path / "none"), str(path)]) == 1
