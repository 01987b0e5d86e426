# SPDX-License-Identifier: MIT
"""Changes of the code that once survived a reading of all tests: each has the test that notices it."""

import json
from dataclasses import replace

import pytest

from lab.cell import archive, built, cells, evidence, identity, judge, paths, run, store, trace
from lab.cell.agent import CellReport, Report

PROFILE = "smoke"
RUN = "ide-piix.deskstar-75gxp.tnone.both"
LABELS = {label: "0" * 64 for thing in built.THINGS.values() for label in thing.labels}


def test_controllers_part_of_the_identity_has_its_bus(monkeypatch):
    one = cells.run(PROFILE, RUN)
    assert identity.topology_names(one)["controller"] == ["buses/ata-100", f"controllers/{one.controller}"]
    before = identity.of_run(one, LABELS)
    values = identity.catalogue_digests
    monkeypatch.setattr(identity, "catalogue_digests", lambda run: values(run) | {"buses/ata-100": "another"})
    after = identity.of_run(one, LABELS)
    assert {identity_moved(before[name], after[name]) for name in before} == {("controller",)}


def identity_moved(before, after):
    return tuple(identity.moved(after, {"identity": before}))


def test_reader_has_all_that_judges(monkeypatch):
    """The judge, how it learns what the agent said, what the disk did, what its members did, and what is kept."""
    assert sorted(identity.READER) == [
        f"lab/cell/{name}.py" for name in ("agent", "evidence", "judge", "members", "trace")
    ]
    whole = identity.reader()
    for name in identity.READER:
        rest = tuple(other for other in identity.READER if other != name)
        with monkeypatch.context() as patch:
            patch.setattr(identity, "READER", rest)
            assert identity.reader() != whole, name


def test_lost_members_leave_no_number():
    marks = tuple(
        trace.ArrayMark(now_ns=now, array="disk0", event=event, unit=unit, state=state)
        for now, event, unit, state in [(5, "failed", "m1", "degraded"), (9, "filled", "m1", "whole")]
    )
    state = judge.array_state(marks)
    assert state == {"state": "whole", "failed": [{"member": "m1", "at_ns": 5}]}
    assert judge.array_reason("raid1-2", state) == ("array 'raid1-2' lost members: m1 failed at 5 ns; it ended whole")
    assert judge.array_state(marks[1:]) is None


@pytest.mark.parametrize("state", trace.STATES)
def test_cell_of_an_array_that_lost_members_has_no_metrics(monkeypatch, state):
    """Whatever became of the array, and although the cell ran to its end."""
    monkeypatch.setattr(judge, "_verdict", lambda cell, facts: ({"rate_mb_s": 1.0}, None))
    cell = replace(cells.run(PROFILE, RUN).cells[0], array="raid1-2")
    lost = trace.ArrayMark(now_ns=5, array="disk0", event="failed", unit="m1", state=state)
    metrics, reason = judge.verdict(cell, judge.Facts(Report(), "", array=(lost,)))
    assert metrics is None and reason.startswith("array 'raid1-2' lost members: m1 failed at 5 ns; ")
    assert judge.verdict(cell, judge.Facts(Report(), ""))[1] is None


@pytest.mark.parametrize("op", ["read", "write"])
@pytest.mark.parametrize("off", [-512, 512])
def test_bytes_moved_are_compared(op, off):
    cell = next(one for one in cells.run(PROFILE, RUN).cells if one.parameters["op"] == op)
    other = "write" if op == "read" else "read"
    seen = {f"{op}_bytes": 4096 + off, f"{other}_bytes": 4096}
    summary = replace(SUMMARY, **seen)
    with pytest.raises(ValueError, match=f"moved 4096 bytes, but the disk saw {4096 + off}"):
        judge.check_moved(cell, {"bytes": 4096}, summary)
    judge.check_moved(cell, {"bytes": 4096}, replace(summary, **{f"{op}_bytes": 4096}))
    said = CellReport(metrics={"elapsed_ns": 1, "bytes": 4096, "requests": 1, "children": 1, "concurrent_max": 64})
    with pytest.raises(ValueError, match="but the disk saw"):
        judge.raw_metrics(cell, said, summary)


SUMMARY = trace.summarize(trace.parse(trace.HEADER + "\ndisk R 0 8 0 5 5 5 5 1 -\n"))


@pytest.fixture
def finished(lab, monkeypatch):
    """The files of a finished cell, and its id."""
    monkeypatch.setenv("FAKE_REQUESTS", "16")
    run.serve(PROFILE, RUN)
    name = cells.run(PROFILE, RUN).cells[0].id
    return name, archive.read_files(paths.ROOT / paths.cell_dir(PROFILE, name))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda result, other: result | {"id": other}, "it is of cell"),
        (lambda result, other: result | {"status": "failed", "reason": "x", "metrics": None}, "the cell failed"),
        (lambda result, other: result | {"identity": result["identity"] | {"guest": "0" * 64}}, "its identity is not"),
    ],
    ids=["another cell's id", "failed", "another identity"],
)
def test_archive_refuses_a_result_that_is_not_its_cells(finished, change, said):
    name, files = finished
    archive.agree(name, files)
    other = cells.run(PROFILE, RUN).cells[1].id
    changed = store.result_text(change(json.loads(files[store.RESULT]), other)).encode()
    with pytest.raises(evidence.EvidenceError, match=said):
        archive.agree(name, files | {store.RESULT: changed})
