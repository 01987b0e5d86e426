# SPDX-License-Identifier: MIT
"""Results carried from one checkout to another."""

import json
import shutil

import pytest

from lab.cell import archive, cells, identity, paths, run
from lab.cell.errors import SpindleError

PROFILE, RUN = "smoke", "scsi-virtio.ultrastar-36zx.t32.both"


@pytest.fixture
def results(lab):
    """One finished run; returns the folder of its cells."""
    run.serve(PROFILE, RUN)
    return paths.ROOT / "results" / PROFILE / "cells"


def test_archive_round_trip_and_same_bytes(results, tmp_path):
    count = archive.export(PROFILE, tmp_path / "one.tar.zst")
    assert count == len(cells.run(PROFILE, RUN).cells)
    archive.export(PROFILE, tmp_path / "two.tar.zst")
    assert (tmp_path / "one.tar.zst").read_bytes() == (tmp_path / "two.tar.zst").read_bytes()
    before = {path.relative_to(results): path.read_bytes() for path in results.rglob("*") if path.is_file()}
    shutil.rmtree(results)
    assert archive.take(PROFILE, tmp_path / "one.tar.zst") == (count, 0, {})
    assert {path.relative_to(results): path.read_bytes() for path in results.rglob("*") if path.is_file()} == before
    assert archive.take(PROFILE, tmp_path / "one.tar.zst") == (0, count, {})


def test_archive_leaves_out_other_sources_and_failures(results, tmp_path, monkeypatch):
    first = next(iter(sorted(results.iterdir())))
    result = json.loads((first / "result.json").read_text())
    (first / "result.json").write_text(json.dumps(result | {"status": "failed", "reason": "x", "metrics": None}))
    count = archive.export(PROFILE, tmp_path / "one.tar.zst")
    assert count == len(cells.run(PROFILE, RUN).cells) - 1
    shutil.rmtree(results)
    real = identity.of_cell
    monkeypatch.setattr(identity, "of_cell", lambda *args: real(*args) | {"model": "0" * 64})
    taken, there, refused = archive.take(PROFILE, tmp_path / "one.tar.zst")
    assert (taken, there, dict(refused)) == (0, 0, {"it was made from another version of: model": count})


def test_archive_damaged(results, tmp_path):
    path = tmp_path / "one.tar.zst"
    archive.export(PROFILE, path)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(SpindleError, match="not a whole archive of results"):
        archive.take(PROFILE, path)
    with pytest.raises(SpindleError, match="No such file"):
        archive.take(PROFILE, tmp_path / "none.tar.zst")
