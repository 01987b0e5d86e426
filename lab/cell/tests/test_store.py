# SPDX-License-Identifier: MIT
"""What lies in the place of a result and is none: every reader says so and none crashes."""

import contextlib
import json
import random

import pytest

from analysis import load, traces
from analysis.errors import ResultError
from lab.cell import cells, failures, paths, progress, retry, run, store

RUN = "ide-piix.deskstar-75gxp.tnone.both"
CELL = f"{RUN}.rawio-read-random.s01"


@pytest.fixture
def folder(lab, monkeypatch):
    """The folder of a finished cell."""
    monkeypatch.setenv("FAKE_REQUESTS", "16")
    run.serve("smoke", RUN)
    return paths.ROOT / paths.cell_dir("smoke", CELL)


def put(folder, what):
    """Something else in the place of result.json."""
    path = folder / store.RESULT
    result = json.loads(path.read_text())
    path.unlink()
    if what == "folder":
        path.mkdir()
    elif what == "nowhere":
        path.symlink_to("none")
    elif isinstance(what, bytes):
        path.write_bytes(what)
    else:
        path.write_text(json.dumps(result | what))


@pytest.mark.parametrize(
    ("what", "why"),
    [
        (b"", "the file is empty"),
        (b"\x00\xff\xfe\x80" * 100, "it is no JSON"),
        (b"{", "it is no JSON"),
        (b"[" * 100_000, "it is "),
        (b"[1]", "it is no JSON object"),
        (b"null", "it is no JSON object"),
        (b"{}", "its schema is None, not"),
        ({"schema": "spindle-result/1"}, "its schema is 'spindle-result/1', not"),
        ({"id": "other"}, "it is of cell 'other'"),
        ({"id": 5}, "'id' is missing or of another type"),
        ({"cell": None}, "'cell' is missing or of another type"),
        ({"lock": [1]}, "'lock' is missing or of another type"),
        ({"status": "fine"}, "status, reason and metrics do not go together"),
        ({"metrics": None}, "status, reason and metrics do not go together"),
        ({"status": "failed"}, "status, reason and metrics do not go together"),
        ("folder", "Is a directory"),
        ("nowhere", "No such file"),
    ],
)
def test_store_readers_name_what_is_no_result(folder, what, why):
    put(folder, what)
    with pytest.raises(store.BadResult, match=why) as error:
        store.read_result(folder)
    assert str(folder / store.RESULT) in str(error.value) and "give the same command again" in str(error.value)
    found = dict(failures.failures("smoke"))
    assert why in found[CELL]
    assert len(found) == len(cells.cells("smoke")) - 5
    assert failures.tell("smoke") == len(found)
    assert "runs" in progress.time_left("smoke")
    results = paths.ROOT / "results" / "smoke"
    with pytest.raises(ResultError, match=why):
        load.checked(folder / store.RESULT)
    with pytest.raises(ResultError, match=why):
        traces.cell(results, CELL)
    assert retry.sweep(results) == [(CELL, "its result is not readable")]
    assert not folder.exists()


def test_store_no_result(folder):
    (folder / store.RESULT).unlink()
    with pytest.raises(store.NoResult, match="there is no result; `spindle run --profile smoke "):
        store.read_result(folder)
    assert dict(failures.failures("smoke"))[CELL] == "not run"


def test_store_put_in_place_leaves_nothing_of_an_older_result(folder):
    (folder / "older.log").touch()
    store.put_in_place(folder, {store.RESULT: b"{}"})
    assert [path.name for path in folder.iterdir()] == [store.RESULT]
    assert not [path for path in folder.parent.iterdir() if path.name.startswith(".")]


@pytest.mark.slow
def test_store_mutated_results_never_crash_a_reader(folder):
    chance = random.Random(7)
    path = folder / store.RESULT
    good = path.read_bytes()
    for _ in range(2000):
        data = bytearray(good)
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(data))
            data[at : at + chance.randrange(3)] = chance.randbytes(chance.randrange(3))
        path.write_bytes(data)
        with contextlib.suppress(store.BadResult):
            assert isinstance(store.read_result(folder), dict)
        retry.why_drop(folder)
