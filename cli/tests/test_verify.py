# SPDX-License-Identifier: MIT
"""Proof by sample, with a QEMU that only pretends: what is equal, different, moved, and not as it was built."""

import json

import pytest

from analysis import papers, reference, verified, verify
from cli.main import main
from lab.cell import built, catalogue, cells, determinism, identity, paths, run
from lab.cell.errors import EnvironmentMissing, SpindleError

PAPER = papers.every()[0]
CELL = "scsi-virtio.ultrastar-36zx.t64.both.ffs.postmark-x0.05.s01"
OTHER = "scsi-virtio.ultrastar-36zx.t64.both.ffs.sdet-20-x0.05.s01"


def with_images(build):
    """The images that the two cells start from, as if they were made."""
    for name in (CELL, OTHER):
        for path in identity.image_paths(build, identity.start_of(cells.run("smoke", name))):
            path.parent.mkdir(exist_ok=True)
            path.touch()


@pytest.fixture
def taken(lab, tmp_path, monkeypatch):
    """A reference freshly taken from two cells of the smoke profile; returns its folder."""
    monkeypatch.setenv("FAKE_REQUESTS", "16")
    with_images(lab)
    for name in (CELL, OTHER):
        run.serve("smoke", name)
    place = tmp_path / "reference"
    monkeypatch.setattr(reference, "planned", lambda paper: frozenset({CELL, OTHER}))
    monkeypatch.setattr(reference, "evidence_alone", lambda paper: frozenset())
    assert reference.take_all(PAPER, "smoke", place) == 0
    return place


def ends(taken, *words):
    """Exit status of `spindle verify` with this reference."""
    return main(["verify", "--reference", str(taken), "--paper", PAPER.id, *words])


def verdicts(taken, patterns=(CELL,)):
    found = verify.population(patterns, PAPER.id, taken)
    done = verify.Verification(1, found.entries)
    verify.verify(done, found.references)
    return done.verdicts


def test_verify_equal(taken, tmp_path, capsys):
    assert ends(taken, "--out", str(tmp_path / "out.json")) == 0
    printed = capsys.readouterr()
    assert f"2 of 2: {verify.drawn(verify.population((), PAPER.id, taken).entries, 1)[1].cell} ..." in printed.err
    assert printed.err.count("equal: numbers and trace are equal") == 2
    assert "all: 2 of 2 cells from the same inputs are equal; these are all cells there are" in printed.out
    written = json.loads((tmp_path / "out.json").read_text())
    assert [one["outcome"] for one in written["cells"]] == ["equal", "equal"]
    assert written["strata"][-1]["differ_share_at_most"] == 0


def test_verify_a_result_that_lies_here(taken, capsys):
    here = ["verify", "--paper", PAPER.id, "--profile", "smoke", "--cells"]
    assert main([*here, CELL]) == 0
    assert "equal: numbers and trace are equal" in capsys.readouterr().err
    assert main([*here, "ide*"]) == 1
    assert "error: results/smoke: there is no finished cell that fits ide*; " in capsys.readouterr().err


def test_verify_says_what_a_sample_proves(taken, capsys):
    assert ends(taken, "--sample", "1") == 0
    assert "1 of 1 cells from the same inputs are equal; so at most 95.0% of its 2 cells can differ" in (
        capsys.readouterr().out
    )


@pytest.mark.parametrize("column", ["trace_sha256", "metrics_sha256", "elapsed_ns"])
def test_verify_different_from_equal_inputs_is_an_error(taken, capsys, column):
    committed = reference.read(taken)
    committed.cells[CELL][column] = committed.cells[CELL][column][::-1]
    reference.write(committed, taken)
    assert ends(taken) == 1
    printed = capsys.readouterr()
    assert f"error: {CELL}: DIFFERENT from equal inputs: " in printed.err
    assert column.removesuffix("_sha256") in printed.err
    assert "all: 1 of 2 cells from the same inputs are equal" in printed.out


def test_verify_finds_a_machine_that_measures_otherwise(taken, monkeypatch):
    """Nothing that is hashed has changed, and the result is another: that is what a sample is for."""
    monkeypatch.setenv("FAKE_NS", "1000001")
    (verdict,) = verdicts(taken)
    assert verdict.outcome == verify.DIFFERENT
    assert "its trace is another" in verdict.differences
    assert verdict.differences[0] == "elapsed_ns is 1000001, not 1000000"


def test_verify_names_a_constant_that_was_changed_in_a_drive(taken, lab):
    file = catalogue.CATALOGUE / "drives" / "ultrastar-36zx.toml"
    file.write_text(file.read_text().replace("256", "255"))
    with_images(lab)
    (verdict,) = verdicts(taken)
    assert verdict.outcome == verify.MOVED
    assert "drive (drives/ultrastar-36zx)" in verdict.moved
    assert not verdict.differences
    assert "numbers and trace are equal" in verdict.words()


def test_verify_names_a_guest_flag_that_was_changed(taken, lab, monkeypatch):
    monkeypatch.setattr(identity, "kernel_append", lambda: "console=ttyS0 mitigations=on")
    with_images(lab)
    (verdict,) = verdicts(taken)
    assert verdict.outcome == verify.MOVED
    assert any(name.startswith("cell (QEMU's command, kernel command line") for name in verdict.moved)


def test_verify_moved_inputs_and_other_numbers_are_no_error(taken, lab, monkeypatch, capsys):
    monkeypatch.setattr(identity, "kernel_append", lambda: "console=ttyS0 mitigations=on")
    monkeypatch.setenv("FAKE_NS", "1000001")
    with_images(lab)
    assert ends(taken) == 0
    assert "all: the inputs of 2 moved; 0 of them are equal all the same" in capsys.readouterr().out


def test_verify_refuses_a_qemu_that_was_patched_after_its_label_was_taken(taken, lab, capsys):
    program = lab / "qemu" / "qemu-system-x86_64"
    program.write_text(program.read_text() + "# patched\n")
    assert ends(taken) == 1
    assert f"{program}: it is not the file that was built here" in capsys.readouterr().err
    # Also where somebody made the notes of what was compared agree with it.
    seen = json.loads((lab / "qemu" / built.SEEN).read_text())
    name = "qemu/qemu-system-x86_64"
    wanted = built.receipt("qemu", lab)["files"][name]
    built.write_json(lab / "qemu" / built.SEEN, seen | {name: [wanted, *built.signature(program)]})
    built.check("qemu", lab)
    built._HASHES.clear()
    with pytest.raises(EnvironmentMissing, match="it is not the file that was built here"):
        verdicts(taken)


def test_verify_refuses_what_was_built_from_other_sources(taken, monkeypatch):
    real = built.sources
    monkeypatch.setattr(built, "sources", lambda name: "0" * 64 if name == "guest" else real(name))
    with pytest.raises(EnvironmentMissing, match="it was built from other sources than lie here now"):
        verdicts(taken)


def test_verify_without_kept_traces_says_so(taken, capsys):
    committed = reference.read(taken)
    for line in committed.cells.values():
        line |= dict.fromkeys(reference.HASHES, "")
    reference.write(committed, taken)
    assert ends(taken) == 0
    printed = capsys.readouterr()
    assert "the numbers are equal; the reference has no trace of it" in printed.err
    assert "of 2 the reference has the numbers only, not the trace" in printed.out


def test_verify_a_cell_that_fails_from_equal_inputs_is_an_error(taken, lab, capsys):
    (lab / "mode").write_text("panic")
    assert ends(taken, "--cells", CELL) == 1
    assert f"error: {CELL}: FAILED: the guest's kernel panicked" in capsys.readouterr().err


def test_verify_counts_what_was_begun(taken, monkeypatch, capsys):
    real, begun = determinism.execute, []

    def execute(one, build, say):
        begun.append(one.id)
        if len(begun) == 2:
            raise KeyboardInterrupt
        return real(one, build, say)

    monkeypatch.setattr(determinism, "execute", execute)
    assert ends(taken) == 130
    printed = capsys.readouterr()
    assert "all: 1 of 2 cells from the same inputs are equal" in printed.out
    assert "stopped" in printed.err


def test_verify_goes_on_behind_what_was_measured_here_before(taken, monkeypatch, capsys):
    assert ends(taken, "--sample", "1") == 0
    # Who measures the first one again finds it different; the second one is, and stays so.
    monkeypatch.setenv("FAKE_NS", "1000001")
    capsys.readouterr()
    assert ends(taken, "--resume") == 1
    printed = capsys.readouterr()
    assert printed.err.count("measured here before: equal: numbers and trace are equal") == 1
    assert "all: 1 of 2 cells from the same inputs are equal" in printed.out
    monkeypatch.delenv("FAKE_NS")
    assert ends(taken, "--resume") == 1
    assert "DIFFERENT from equal inputs: it was so when it was measured here before" in capsys.readouterr().err
    assert ends(taken) == 0


def test_verify_measures_again_what_was_measured_in_another_lab(taken, lab, monkeypatch, capsys):
    assert ends(taken) == 0
    monkeypatch.setattr(identity, "kernel_append", lambda: "console=ttyS0 mitigations=on")
    with_images(lab)
    capsys.readouterr()
    assert ends(taken, "--resume") == 0
    printed = capsys.readouterr()
    assert "measured here before" not in printed.err
    assert "all: the inputs of 2 moved; 2 of them are equal all the same" in printed.out
    committed = reference.read(taken)
    committed.cells[CELL]["elapsed_ns"] = "7"
    reference.write(committed, taken)
    assert ends(taken, "--resume") == 0
    assert capsys.readouterr().err.count("measured here before") == 1


def test_verify_that_lacks_something_amid_says_what_it_had(taken, monkeypatch, capsys):
    real, begun = determinism.execute, []

    def execute(one, build, say):
        begun.append(one.id)
        if len(begun) == 2:
            raise EnvironmentMissing("the disk is full")
        return real(one, build, say)

    monkeypatch.setattr(determinism, "execute", execute)
    assert ends(taken) == 1
    printed = capsys.readouterr()
    assert "all: 1 of 2 cells from the same inputs are equal" in printed.out
    assert "--resume goes on" in printed.out and "the disk is full" in printed.err
    assert ends(taken, "--resume") == 0
    assert len(begun) == 3


def test_verify_resumes_no_comparison_with_a_profile(taken, capsys):
    assert main(["verify", "--resume", "--profile", "smoke"]) == 2
    assert "leave out --profile" in capsys.readouterr().err


def test_verify_minutes_begin_no_further_cell(taken, capsys):
    assert ends(taken, "--minutes", "0.0001") == 0
    printed = capsys.readouterr()
    assert "2: " not in printed.err
    assert "1 of 1 cells" in printed.out


def test_verify_order_depends_on_the_seed_alone(taken):
    entries = [verify.Entry(PAPER.id, f"cell{number}", "x", None) for number in range(50)]
    one, two = verify.drawn(entries, 1), verify.drawn(entries, 2)
    assert one != two and sorted(map(id, one)) == sorted(map(id, two))
    assert verify.drawn(entries[::-1], 1) == one
    assert verify.drawn(entries[:20], 1) == [entry for entry in one if entry in entries[:20]]


def test_verify_unknown_cells_are_named(taken):
    with pytest.raises(SpindleError, match=f"did you mean '{CELL}'"):
        verify.population((CELL[:-1],), PAPER.id, taken)
    committed = reference.read(taken)
    gone = "scsi-virtio.ultrastar-36zx.t7.both.ffs.postmark.s01"
    committed.cells[gone] = committed.cells[CELL] | {"cell": gone}
    reference.write(committed, taken)
    assert verify.population((), PAPER.id, taken).gone == [gone]


@pytest.mark.parametrize(
    ("begun", "different", "most"),
    # Clopper and Pearson's upper limits at 95 %, one-sided: 1 - 0.05^(1/n) without a difference.
    [(1, 0, 0.95), (10, 0, 0.258866), (59, 0, 0.049508), (10, 1, 0.394163), (10, 10, 1.0), (20, 2, 0.282619)],
)
def test_verify_share_at_most(begun, different, most):
    assert verify.share_at_most(begun, different) == pytest.approx(most, abs=1e-6)


def test_verify_a_cell_of_the_device_runs_without_those_behind_it():
    whole = next(one for one in cells.runs("smoke").values() if len(one.cells) > 2)
    one = cells.up_to(whole.cells[1].id)
    assert one.cells[-1].id == whole.cells[1].id
    asked = identity.asked(cells.run("full", whole.id)) if whole.id in cells.runs("full") else identity.asked(whole)
    assert identity.asked(one)[whole.cells[1].id] == asked[whole.cells[1].id]


def test_verify_a_cell_has_before_it_what_its_own_profile_has():
    """The cross-check comes behind all repetitions, of which profiles have different numbers."""
    cell = next(cell.id for cell in cells.cells("smoke") if cell.workload == "fio" and cell.raw)
    smoke, full = (cells.up_to(cell, name) for name in ("smoke", "full"))
    assert len(smoke.cells) < len(full.cells)
    assert {one.id for one in smoke.cells} <= {one.id for one in cells.cells("smoke")}
    assert cells.up_to(cell, "none such") == full


def test_verify_keeps_what_it_found(taken, capsys):
    """One file with the last outcome of each cell; the same outcomes give the same bytes."""
    assert ends(taken) == 0
    place, committed = verified.path(), reference.read(taken)
    first = place.read_bytes()
    assert verified.proven(place, committed) == sorted([CELL, OTHER])
    one = verified.read(place)[CELL]
    assert (one["outcome"], one["equal"], one["trace"], one["moved"]) == ("equal", True, True, [])
    assert one["lab"]["qemu"] == committed.cells[CELL]["input_qemu"]
    assert ends(taken) == 0
    assert place.read_bytes() == first
    # Of a profile's own results nothing is kept, and a cell that has a result says what was found.
    place.unlink()
    assert main(["verify", "--paper", PAPER.id, "--profile", "smoke", "--cells", CELL]) == 0
    assert not place.exists()
    place.write_bytes(first)
    capsys.readouterr()
    assert main(["show", "cell", "--profile", "smoke", CELL]) == 0
    assert "equal, numbers and trace" in capsys.readouterr().out


def test_verified_holds_as_long_as_the_reference_has_the_same_numbers(taken):
    assert ends(taken, "--cells", CELL) == 0
    committed = reference.read(taken)
    committed.cells[CELL]["elapsed_ns"] = "7"
    assert verified.proven(verified.path(), committed) == []
    del committed.cells[CELL]
    assert verified.proven(verified.path(), committed) == []


def test_verified_keeps_cells_that_are_not_equal_and_does_not_count_them(taken, monkeypatch):
    monkeypatch.setenv("FAKE_NS", "1000001")
    assert ends(taken, "--cells", CELL) == 1
    one = verified.read(verified.path())[CELL]
    assert (one["outcome"], one["equal"]) == (verify.DIFFERENT, False)
    assert verified.proven(verified.path(), reference.read(taken)) == []


def test_a_reference_says_on_which_later_states_it_was_equal(taken, capsys):
    """Another QEMU moved the inputs of both cells; one line for each state, in the place of an older one on it."""
    words = ["reference", "--verified", "--paper", PAPER.id, "--out", str(taken)]
    assert main(words) == 1
    assert "nothing to note" in capsys.readouterr().err
    committed = reference.read(taken)
    for line in committed.cells.values():
        line |= {"identity": "0" * 16, "input_qemu": "0" * 12}
    reference.write(committed, taken)
    for cells_of in (["--cells", CELL], []):
        assert ends(taken, *cells_of) == 0
        assert main(words) == 0
    lines = verified.later(taken)
    assert [(line["cells"], line["equal"]) for line in lines] == [("2", "2")]
    assert lines[0]["qemu"] != "0" * 12
    assert "2 of 2 cells are equal on qemu" in capsys.readouterr().out


def test_verify_refuses_a_record_that_is_none(taken, capsys):
    verified.path().write_text("{")
    assert ends(taken) == 1
    assert "it is no record of `spindle verify`; remove it, and verify again" in capsys.readouterr().err


def test_verify_leaves_no_result(taken):
    before = sorted(str(path) for path in (paths.ROOT / "results").rglob("*"))
    verdicts(taken)
    assert sorted(str(path) for path in (paths.ROOT / "results").rglob("*")) == before
