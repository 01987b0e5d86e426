# SPDX-License-Identifier: MIT
"""A cache of directory blocks, on a few names."""

from pathlib import Path

import pytest

from analysis import directory_cache
from analysis.errors import ResultError

SPOOL = [f"spool create g{group}/{number} 100" for group in (1, 2, 3) for number in range(600)]
"""Three directories of 600 names of one to three digits: 12 bytes each, so just below a block."""


def test_names_never_cross_a_chunk() -> None:
    directories = directory_cache.Directories()
    for number in range(100, 141):
        directories.add(f"g/{number}")
    # 40 entries of 12 bytes behind the 24 of `.` and `..` end at 504; the next does not fit before 512.
    assert directories.places["g/139"] == 492
    assert directories.places["g/140"] == 512
    assert directories.bytes_of("g") == 1024


@pytest.mark.parametrize(("mib", "expected"), [(1, 3), (0, 6)])
def test_what_does_not_fit_is_read_again(mib: int, expected: int) -> None:
    done = directory_cache.operations([*SPOOL, *[f"unbatch create g{n}/x 1" for n in (1, 2, 3, 1, 2, 3)]])
    assert directory_cache.reads(done, mib << 20) == {"unbatch": expected, "expire": 0}


def test_a_removal_stops_at_the_name() -> None:
    spool = [f"spool create g/{number:08} 1" for number in range(1000)]
    first, last = (directory_cache.operations([*spool, f"expire remove g/{n:08}"]) for n in (0, 999))
    assert directory_cache.reads(first, 1 << 20)["expire"] == 1
    assert directory_cache.reads(last, 1 << 20)["expire"] == 3


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path = tmp_path / "trace.txt"
    path.write_text("\n".join([*SPOOL, "unbatch create g1/x 1", "metric groups 3"]))
    assert directory_cache.main([str(path), "1"]) == 0
    assert capsys.readouterr().out.splitlines() == ["mib,unbatch,expire,sum", "1,1,0,1"]
    path.write_text("nothing")
    assert directory_cache.main([str(path), "1"]) == 1
    with pytest.raises(ResultError, match="netnews --print"):
        directory_cache.operations([])
