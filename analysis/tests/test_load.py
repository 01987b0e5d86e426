# SPDX-License-Identifier: MIT
"""Reading results: what is kept, and what is refused with which message."""

import json

import pytest

from analysis import load
from analysis.errors import ResultError
from analysis.settings import System
from analysis.tests import invented

FAILED = "ide-piix.deskstar-75gxp.tnone.both.rawio-read-random.s01"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder, ids = tmp_path_factory.mktemp("results"), []
    for scheduler in ("both", "disk", "host", "none"):
        system = System("ide-piix", "none", scheduler, "deskstar-75gxp")
        found = invented.raw_of(system, "read", "random", 1.0, 1)
        ids.append(invented.put(folder, found, "guest panicked" if found["id"] == FAILED else None))
    return folder, ids


def test_load_keeps_failed_cells(results):
    frame = load.load_cells(*results)
    assert len(frame) == len(results[1])
    failed = frame[frame.status == "failed"]
    assert list(failed.id) == [FAILED]
    assert list(failed.reason) == ["guest panicked"]
    assert set(frame.scheduler) == {"both", "disk", "host", "none"}


def test_load_nothing_has_the_columns():
    assert list(load.load([]).columns) == load.COLUMNS


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.update(extra=1), "'extra' was unexpected"),
        (lambda r: r["metrics"].pop("requests"), "'requests' is a required property"),
        (lambda r: r["clock"].update(kind="host"), "$.clock.kind"),
        (lambda r: r.update(id="other"), "is of cell 'other'"),
    ],
)
def test_load_refuses(results, tmp_path, change, message):
    folder, ids = results
    result = json.loads((folder / "cells" / ids[-1] / "result.json").read_text())
    change(result)
    path = tmp_path / ids[-1] / "result.json"
    path.parent.mkdir()
    path.write_text(json.dumps(result))
    with pytest.raises(ResultError) as error:
        load.load([path])
    assert message in str(error.value)
    assert str(path) in str(error.value)


def test_load_missing_file_says_how_to_make_it(tmp_path):
    with pytest.raises(ResultError, match="`spindle run "):
        load.load([tmp_path / "none" / "result.json"])
