# SPDX-License-Identifier: MIT
"""Claims under alternatives: which cells are measured, which stand in for which, and what turns."""

from dataclasses import replace

import pytest

from analysis import entries, load, papers, sensitivity
from analysis.errors import TableError
from lab.cell import cells, config, sheets

PAPER = papers.paper(papers.papers.ids()[0])
KNOWN = sensitivity.alternatives(PAPER)


@pytest.fixture
def few(monkeypatch):
    """Only some of the alternatives, for the time it takes."""
    some = [one for one in KNOWN if one.id in ("cpu-2ns", "span-4gib", "read-ahead-aborts", "name-lookup-shared")]
    monkeypatch.setattr(sensitivity, "alternatives", lambda paper: some)


def frame(changed=None, without=()):
    """All cells of the profile, every one with rate and time 1 or what `changed` says of it."""
    planned = [cell for cell in cells.paper_cells(sensitivity.PROFILE, PAPER.id) if cell.id not in without]
    made = sensitivity.frame_of(planned)
    value = [(changed or (lambda cell: 1.0))(cell) for cell in planned]
    return made.assign(
        status="ok", reason="", guest="linux", rate_mb_s=value, elapsed_ns=[1e9 * number for number in value]
    )


def verdicts(found, claim):
    return {item["alternative"]: item for item in found if item["claim"] == claim}


def test_sheet_is_what_claims_and_alternatives_make():
    written = config.read_sheet(PAPER.folder / sensitivity.SHEET)
    made = [row for line in sensitivity.sheet_rows(PAPER) for row in sheets.expand(line)]
    assert [row for _, row in written] == made, f"spindle sensitivity {PAPER.id} --sheet"


def test_table_under_alternatives_has_each_number_that_one_of_them_may_change():
    def rate(cell):
        return 3.0 if "drive.queue_window_commands=16" in cell.set else 5.0

    text = sensitivity.table_under(PAPER, frame(rate), "table5")
    columns = [word.strip() for word in text.splitlines()[0].split("|")]
    asked = next(line for line in text.splitlines() if line.startswith("| t64.disk | scsi.read.random |"))
    said = dict(zip(columns, (word.strip() for word in asked.split("|")), strict=True))
    assert (said[sensitivity.AS_IS], said["window-16"], said["window-32"]) == ("5", "3", "5")
    # with 64 tags a window of 64 is no other, and random requests read nothing ahead
    assert (said["window-64"], said["host-first"]) == (".", ".")
    with pytest.raises(TableError, match="no alternative names table 'table6'"):
        sensitivity.table_under(PAPER, frame(), "table6")
    with pytest.raises(TableError, match="has no table 'table66'; did you mean 'table6'"):
        sensitivity.table_under(PAPER, frame(), "table66")


def test_at_least_ten_alternatives_each_change_cells_of_the_profile():
    planned = cells.paper_cells(sensitivity.PROFILE, PAPER.id)
    assert len(KNOWN) >= 10
    assert {" ".join(cell.set) for cell in planned if cell.set} == {
        one.words(drive) for one in KNOWN for drive in {cell.drive for cell in planned}
    }
    # each has its cell without, to be compared with
    plain = sensitivity.as_shipped(PAPER)
    made = {one.under(cell).id for one in KNOWN for cell in plain if one.changes(cell)}
    assert {cell.id for cell in planned if cell.set} <= made


def test_an_alternative_leaves_what_a_row_sets_itself_unless_it_sets_the_same(few):
    one = next(one for one in KNOWN if one.id == "cpu-2ns")
    plain = sensitivity.as_shipped(PAPER)[0]
    for own, both in (
        ((), ("cpu_ns_per_instruction=2",)),
        (("write_cache=false",), ("write_cache=false", "cpu_ns_per_instruction=2")),
        (("cpu_ns_per_instruction=4", "memory_mib=64"), ("memory_mib=64", "cpu_ns_per_instruction=2")),
    ):
        assert one.under(replace(plain, set=own)).set == both


@pytest.mark.slow
def test_claims_turn_where_the_cells_under_an_alternative_say_so(few):
    one = next(one for one in KNOWN if one.id == "span-4gib")

    def rate(cell):
        fast = cell.controller.startswith("scsi") and "pattern=random" in cell.words
        return 2.0 if fast and " ".join(cell.set) != one.words(cell.drive) else 1.0

    found = verdicts(sensitivity.tried(PAPER, frame(rate)), "scsi-faster-random")
    assert found[sensitivity.AS_IS]["verdict"] is True
    assert (found[one.id]["verdict"], found[one.id]["turns"]) == (False, True)
    assert (found["cpu-2ns"]["verdict"], found["cpu-2ns"]["turns"]) == (True, False)
    assert found["read-ahead-aborts"]["verdict"] is True
    assert found["name-lookup-shared"]["verdict"] == sensitivity.UNTOUCHED


@pytest.mark.slow
def test_claims_lack_what_was_not_measured_under_an_alternative(few):
    gone = {cell.id for cell in cells.paper_cells(sensitivity.PROFILE, PAPER.id)
            if cell.set == ("cpu_ns_per_instruction=2",) and "pattern=random" in cell.words}  # fmt: skip
    found = verdicts(sensitivity.tried(PAPER, frame(without=gone)), "scsi-faster-random")
    assert found["cpu-2ns"]["verdict"] == entries.NOT_RUN
    assert found["span-4gib"]["verdict"] is False


@pytest.mark.slow
def test_readable_counts_what_turns_and_what_fails_everywhere(few):
    text = sensitivity.readable(PAPER, sensitivity.tried(PAPER, frame()))
    assert "| scsi-faster-random | does not |" in text
    assert "turn." in text.splitlines()[-1]
    assert "0 could be tested" in sensitivity.readable(PAPER, sensitivity.tried(PAPER, load.load([])))


def test_alternatives_have_names_of_their_own(monkeypatch):
    twice = config.read_yaml(PAPER.folder / sensitivity.ABOUT, "sensitivity")
    twice["alternatives"] = [twice["alternatives"][0]] * 2
    monkeypatch.setattr(config, "read_yaml", lambda path, schema: twice)
    with pytest.raises(TableError, match="'cpu-2ns' stands there twice"):
        sensitivity.alternatives(PAPER)
