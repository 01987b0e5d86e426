# SPDX-License-Identifier: MIT
"""Reference numbers: taken, kept, compared, and made into tables."""

import json
import re

import pytest

from analysis import io_summary, load, papers, reference
from analysis.errors import ResultError, TableError
from lab.cell import identity, paths
from paper.white2001 import readable
from paper.white2001 import tables as white
from paper.white2001.tests import synthetic, synthetic_traces

PAPER = papers.paper("white2001")
FFS = ("scsi", "64", "both", "ffs", "postmark", "")
SOFT = ("scsi", "64", "both", "softupdates", "postmark", "")
SMALL = ("ide", "32", "both", "ffs", "sdet", "20")


def put(results, key, seconds, scale=1, **change):
    """A synthetic cell's result; returns its id."""
    result = synthetic.macro_result(key, seconds, 1, scale) | change
    path = results / "cells" / result["id"] / "result.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result))
    return result["id"]


@pytest.fixture
def results(tmp_path, monkeypatch):
    """results/full with two cells, whose sources are those that lie here."""
    monkeypatch.setattr(identity, "other_inputs", lambda run, cell, result: [])
    folder = tmp_path / "results" / "full"
    put(folder, FFS, 400)
    put(folder, SOFT, 200)
    return folder


@pytest.fixture
def arrays(tmp_path, monkeypatch):
    """results/full with Table 7, once."""
    monkeypatch.setattr(identity, "other_inputs", lambda run, cell, result: [])
    folder = tmp_path / "results" / "full"
    ids = synthetic.write(folder, seeds=1, missing=("ide-piix", "scsi-megasas"))
    return folder, [name for name in ids if "raid" in name]


def taken(results, wanted=None):
    made = reference.Reference()
    reference.take(PAPER, made, "full", results, wanted or {})
    return made


def test_reference_round_trip_and_same_bytes(results, tmp_path):
    made = taken(results)
    for name in ("one", "two"):
        reference.write(made, tmp_path / name, readable.READABLE)
    assert reference.read(tmp_path / "one") == made
    for name in (*reference.FILES, *readable.READABLE):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert reference.read(tmp_path / "none") == reference.Reference()


def test_reference_makes_the_same_table_as_the_results(results):
    ids = [path.name for path in (results / "cells").iterdir()]
    made = white.table6(taken(results).frame, {})
    assert made == white.table6(load.load_cells(results, ids), {})
    assert sum(entry.reproduced is not None for entry in made) == 2
    assert white.filesystems(reference.Reference().frame, {})[0].reason == "not run"


def test_reference_makes_the_same_table7_as_the_results(arrays):
    results, ids = arrays
    made = taken(results)
    table = white.table7(made.frame, {})
    assert table == white.table7(load.load_cells(results, ids), {})
    assert all(entry.reproduced is not None for entry in table)
    arrays_of = dict(zip(made.frame.id, made.frame.array, strict=True))
    assert {arrays_of[name] for entry in table for name in entry.cells} == {
        array for sides in white.ARRAYS.values() for array in sides.values()
    }
    raw = {name for entry in table for name in entry.cells if ".rawio-write-" in name}
    assert made.frame[made.frame.id.isin(raw)].rate_mb_s.gt(0).all()


def test_reference_tables_leave_out_cells_of_evidence(arrays):
    """They have the system, workload and parameters of a table's cell, and values of their own beside them."""
    made = taken(arrays[0])
    table = white.table7(made.frame, {})
    name = "scsi-virtio.ultrastar-36zx.raid5-scsi-8.t64.both.rawio-write-sequential.s01"
    other = name.replace(".both.", ".both+array.host_command_ns=0.")
    line = made.cells[name] | {"cell": other, "rate_mb_s": "1000"}
    made = reference.Reference(made.cells | {other: line}, made.phases)
    assert white.table7(reference.for_tables(PAPER.id, made), {}) == table
    assert "1000" not in readable.table7(made)
    with pytest.raises(TableError, match="host_command_ns=0"):
        white.table7(made.frame, {})


def test_reference_with_arrays_round_trip_and_check(arrays, tmp_path):
    results, _ = arrays
    made = taken(results)
    reference.write(made, tmp_path / "made")
    again = reference.read(tmp_path / "made")
    assert again == made
    found = reference.compare(again, reference.finished_results(PAPER, results))
    assert (found.same, found.differ, found.moved) == (len(made.cells), [], [])
    assert found.unknown == 0
    row = next(line for line in readable.table7(made).splitlines() if line.startswith("| write.random |"))
    assert re.fullmatch(r"\| write.random \| MB/s( \| -?[0-9.]+ / -?[0-9.]+){6} \|", row)


def test_reference_small_cells_are_in_no_readable_table(results):
    made = reference.Reference()
    system = white.table7_system("software", "scsi")
    made.put(*reference.lines_of(synthetic.macro_of(system, "ffs", "postmark", {}, 50, 1, 0.1)))
    assert white.table7(made.frame, {}) != white.table7(reference.Reference().frame, {})
    assert readable.table7(made) == readable.table7(reference.Reference())


def test_reference_of_two_states_says_so(results):
    made = taken(results)
    assert "states of the lab" not in readable.table6(made)
    older = dict(made.cells[put(results, FFS, 400)], input_model="0" * 12, identity="1" * 16)
    made.cells[older["cell"]] = older
    text = readable.table6(made)
    assert "The cells are of 2 states of the lab: 1 of qemu" in text
    assert len(made.describe()["inputs"]["model"]) == 2
    assert "states of the lab" not in reference.mixture(made.describe({older["cell"]}))


def test_reference_leaves_what_was_taken_from_another_state(results, monkeypatch):
    made = taken(results)
    monkeypatch.setattr(identity, "other_inputs", lambda run, cell, result: ["model"])
    assert reference.take(PAPER, made, "full", results, {}) == (0, [])


def test_reference_from_before_arrays_is_read(results, tmp_path):
    made = taken(results)
    reference.write(made, tmp_path / "old")
    lines = reference.read_lines(tmp_path / "old" / "cells.csv", reference.CELLS)
    columns = tuple(name for name in reference.CELLS if name not in reference.LATER)
    io_summary.write([{name: line[name] for name in columns} for line in lines], columns, tmp_path / "old/cells.csv")
    for line in made.cells.values():
        line |= dict.fromkeys(("input_reader", *reference.HASHES), "")
    assert reference.read(tmp_path / "old") == made


def test_reference_readable_table(results):
    text = readable.table6(taken(results))
    row = next(line for line in text.splitlines() if line.startswith("| t32-64.both |"))
    assert len(row.split("|")) == 1 + 1 + 8 + 1
    assert "376.1 / -" in text
    assert re.search(r"387 / \d+ \|$", row)
    assert "387 / -" in readable.table6(reference.Reference())


def test_reference_keeps_what_has_no_result_here(results):
    made = taken(results)
    gone = put(results, FFS, 1)
    before = made.cells[gone]
    (results / "cells" / gone / "result.json").unlink()
    assert reference.take(PAPER, made, "full", results, {}) == (1, [])
    assert made.cells[gone] == before


def test_reference_refuses_failed_and_stale_cells(results, monkeypatch):
    made = taken(results)
    before = dict(made.cells)
    failed = put(results, FFS, 1, status="failed", reason="guest panicked", metrics=None)
    monkeypatch.setattr(identity, "other_inputs", lambda run, cell, result: ["guest", "model"])
    stale = put(results, SOFT, 1)
    count, refused = reference.take(PAPER, made, "full", results, {})
    assert (count, made.cells) == (0, before)
    about = "stale: it was made from another version of guest, model"
    assert sorted(refused) == sorted([f"{failed}: failed: guest panicked", f"{stale}: {about}"])


def test_reference_takes_measures_that_evidence_wants(results):
    name = synthetic_traces.write_postmark(results, "ffs")
    made = taken(results, {name: {"elapsed_s", "writes", "trace_alone_share", "trace_no_such", "phase_run_s"}})
    assert made.measures.keys() == {name}
    assert made.measures[name].keys() == {"trace_alone_share"}
    known = made.measures_of(name)
    assert known["phase_run_s"] == synthetic_traces.PHASES_S["ffs"][1]
    assert 0 < known["trace_alone_share"] < 1 < known["writes"]


def test_reference_compare(results):
    made = taken(results)
    put(results, FFS, 400)
    moved = put(results, SOFT, 300, identity={name: "0" * 64 for name in (*load.IDENTITY, "reader")})
    put(results, SMALL, 10)
    found = reference.compare(made, reference.finished_results(PAPER, results))
    assert (found.shared, found.same, found.unknown, found.differ) == (2, 1, 1, [])
    assert [one["cell"] for one in found.moved] == [moved]
    assert found.moved[0]["ratio"] == pytest.approx(1.5)
    assert "qemu" in found.moved[0]["inputs"]
    wrong = put(results, FFS, 401)
    found = reference.compare(made, reference.finished_results(PAPER, results))
    assert found.same == 0
    assert found.differ[0].startswith(f"{wrong}: elapsed_ns is ")
    assert f"{wrong}: its phases are others" in found.differ
    assert found.differ[-1] == f"{wrong}: its metrics is another"


def test_reference_takes_and_checks_and_says_so(results, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(reference, "folder", lambda paper: tmp_path / "reference")
    monkeypatch.setattr(reference, "wanted_measures", lambda path: {})
    assert reference.take_all(PAPER, "full") == 0
    assert "2 cells taken; the reference has 2" in capsys.readouterr().out
    assert reference.check_all(PAPER) == 0
    assert "full: 2 cells have the reference's numbers, 0 moved, 0 differ" in capsys.readouterr().out
    put(results, FFS, 401)
    assert reference.check_all(PAPER) == 1
    assert "error: made from the same inputs, but" in capsys.readouterr().err
    put(results, FFS, 1, status="failed", reason="guest panicked", metrics=None)
    assert reference.take_all(PAPER, "full") == 1
    assert "refused: scsi-virtio" in capsys.readouterr().err


def test_reference_damaged_file_is_one_message(tmp_path):
    (tmp_path / "cells.csv").write_text("cell,value\n")
    with pytest.raises(ResultError, match=r"cells.csv:1: columns are not cell,guest"):
        reference.read(tmp_path)
    (tmp_path / "cells.csv").write_text(",".join(reference.CELLS) + "\na,b\n")
    with pytest.raises(ResultError, match=r"cells.csv:2: \d+ columns are expected"):
        reference.read(tmp_path)


def test_reference_committed_is_readable():
    made = reference.read(reference.folder("white2001"))
    assert made.phases.keys() <= made.cells.keys()
    assert made.measures.keys() <= made.cells.keys()
    for name, text in readable.READABLE.items():
        assert (reference.folder("white2001") / name).read_text() == text(made)


@pytest.mark.parametrize(
    ("cell", "kept"),
    [
        ("scsi-virtio.ultrastar-36zx.t64.both.ffs.postmark.s01", True),
        ("scsi-virtio.ultrastar-36zx.t64.both.ffs.postmark.s02", False),
        ("scsi-virtio.ultrastar-36zx.t64.both+write_cache=false+drive.read_segments=4.ffs.postmark.s01", False),
        ("scsi-virtio.ultrastar-36zx.t64.both.rawio-write-random.s01", True),
        ("scsi-virtio.deskstar-75gxp.raid5-ide-8.t64.both.rawio-write-random.s01", True),
        ("scsi-virtio.deskstar-75gxp.raid5-ide-8.t64.both+array.cache_kb=65536.rawio-write-random.s01", False),
        ("scsi-virtio.deskstar-75gxp.raid5-ide-8.t64.both+array.host_command_ns=0.rawio-write-sequential.s01", True),
    ],
)
def test_reference_keeps_sheet_and_evidence_once(cell, kept):
    assert (cell in reference.planned("white2001")) is kept


def test_reference_leaves_out_what_its_profile_no_longer_has(results):
    """Regression: a mean was of a new cell and of nine repetitions of an older state."""
    made = taken(results)
    kept, dropped = sorted(made.cells)
    phases = made.phases.get(kept)
    made.measures[dropped] = {"member_requests": "1"}
    assert made.keep_only({kept, "another"}) == 1
    assert (made.cells.keys(), made.phases.get(kept), made.measures) == ({kept}, phases, {})
    assert dropped not in made.phases
