# SPDX-License-Identifier: MIT
"""What is off, what explains it, and what the evidence is computed from."""

import pytest

from analysis import deviations, entries, load, papers, phase_traffic, reference, scaled
from analysis.errors import ClaimError, DeviationError
from lab.cell.errors import ConfigError
from paper.white2001 import tables as white
from paper.white2001.tests import synthetic, synthetic_traces
from paper.white2001.tests.synthetic import TINY

PAPER = papers.paper("white2001")
OWN, REFERENCE = deviations.OWN, deviations.REFERENCE


def rows(table, values, tmp_path, scale=1):
    """Table data with these numbers of ours, the rest not run."""
    found = []
    for printed in white.printed(table):
        value = values.get((printed.row, printed.column))
        made = {"reproduced": value, "n": 1, "scale": scale} if value else {"reason": "not run"}
        found.append(entries.Entry(printed, comparable=not printed.column.endswith(("ssh", "diff")), **made))
    entries.write(found, tmp_path / f"{table}.csv")
    return entries.read(tmp_path / f"{table}.csv")


def found(own, other=None):
    return {
        (q.of, q.row, q.column): q
        for q in deviations.quantities(PAPER.quotients, {"table6": own}, {"table6": other} if other else {})
    }


def test_deviations_numbers_and_quotients(tmp_path):
    row = "t32-64.both"
    values = {(row, "ffs.scsi.postmark"): 774, (row, "softupdates.scsi.postmark"): 332, (row, "ffs.scsi.ssh"): 40,
              (row, "ffs.ide.ssh"): 80}  # fmt: skip
    made = found(rows("table6", values, tmp_path))
    assert made.keys() == {
        ("number", row, "ffs.scsi.postmark"), ("number", row, "softupdates.scsi.postmark"),
        ("ffs/softupdates", row, "scsi.postmark"), ("ide/scsi", row, "ffs.ssh"),
    }  # fmt: skip
    assert made["number", row, "ffs.scsi.postmark"].off
    quotient = made["ffs/softupdates", row, "scsi.postmark"]
    assert quotient.published == pytest.approx(387 / 166)
    assert quotient.ratio == pytest.approx(1)
    assert made["ide/scsi", row, "ffs.ssh"].off


def test_deviations_quotient_takes_both_from_one_place(tmp_path):
    row = "t32-64.both"
    over, under = (row, "ffs.scsi.postmark"), (row, "softupdates.scsi.postmark")
    name = ("ffs/softupdates", row, "scsi.postmark")
    own, other = rows("table6", {over: 400}, tmp_path), rows("table6", {under: 100}, tmp_path)
    assert name not in found(own, other)
    other = rows("table6", {over: 300, under: 100}, tmp_path)
    made = found(own, other)
    assert (made[name].origin, made[name].reproduced) == (REFERENCE, 3)
    assert made["number", *over].origin == OWN
    assert not found(rows("table6", {over: 400, under: 100}, tmp_path, scale=0.05))


def test_deviations_table4_has_ide_over_scsi(tmp_path):
    own = rows("table4", {("postmark", "ide"): 500, ("postmark", "scsi"): 100}, tmp_path)
    made = deviations.quantities(PAPER.quotients, {"table4": own}, {})
    quotient = next(q for q in made if q.of == "ide/scsi")
    assert (quotient.row, quotient.column, quotient.reproduced) == ("postmark", "", 5)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[1.2, 4]", "[0.9, 4]", "ratio .0.9, 4. of row .* has no direction"),
        ("[1.2, 4]", "[4, 1.2]", "ratio .4, 1.2. of row .* has no direction"),
        ("[1.2, 4]", "[1.2]", "deviations.0.where.0.ratio"),
        (
            "fs_name_lookup=shared",
            "fs_name_lookup=exclusive",
            "no sheet has the cell 'scsi-virtio.*exclusive.*evidence.csv a row for it; did you mean",
        ),
        ("column: ffs.*", "column: ffss.*", "deviation 'tiny': no number of table6 fits"),
        (
            "of: number",
            "of: numbr",
            "numbr of table6 is not compared; paper.yaml compares number, ffs/",
        ),
        ("table: table6", "table: table5", "number of table5 is not compared; .* of table4, table6, table7"),
        ("value: writes", "value: writs", "deviation 'tiny': 'writs' is no measure"),
        ("value: writes", "value: 5", "deviations.0.evidence"),
        ("value: writes", "value: cell(1, 2, 3)", "does not belong into evidence"),
        ("value: writes", "value: writes ** 2", "'writes [*][*] 2' is not allowed"),
        ("value: writes", "value: trace_bursts_x", "'trace_bursts_x' is no measure"),
        ("value: writes", "value: 1 +", "expression '1 [+]'"),
        ("title: Tiny", "titel: Tiny", "unknown key 'deviations.0.titel'"),
    ],
)
def test_deviations_file_is_checked(tmp_path, old, new, message):
    path = tmp_path / "deviations.yaml"
    assert old in TINY
    path.write_text(TINY.replace(old, new))
    with pytest.raises((DeviationError, ConfigError, ClaimError), match=message):
        deviations.read(path, "white2001")


@pytest.mark.parametrize(("seconds", "explained"), [(1000, True), (400 / 1.6, False), (400 * 4.5, False)])
def test_deviations_explain_a_direction_and_a_range(tmp_path, seconds, explained):
    listed = tmp_path / "deviations.yaml"
    listed.write_text(TINY)
    place = ("t32-64.both", "ffs.scsi.postmark")
    made = deviations.quantities(PAPER.quotients, {"table6": rows("table6", {place: seconds}, tmp_path)}, {})
    built = deviations.build(
        deviations.read(listed, "white2001"), made, {"table6"}, tmp_path, set(), reference.Reference()
    )
    assert built["off"] == 1
    assert (built["explained"][0]["off"], len(built["explained"][0]["beyond"])) == ((1, 0) if explained else (0, 1))
    assert len(built["unexplained"]) == (0 if explained else 1)


def test_deviations_repeated_id(tmp_path):
    path = tmp_path / "deviations.yaml"
    path.write_text(TINY + TINY.partition("deviations:\n")[2])
    with pytest.raises(DeviationError, match="stands there twice"):
        deviations.read(path, "white2001")


def test_deviations_committed_file_is_read():
    assert deviations.read(deviations.listed_path("white2001"), "white2001")


def test_deviations_evidence_says_where_it_is_from(tmp_path, monkeypatch):
    name = synthetic_traces.write_postmark(tmp_path, "ffs")
    item = {"what": "x", "unit": "s", "cell": name, "value": "trace_alone_share * elapsed_s / writes"}
    none = reference.Reference()
    here = deviations.evidence(item, tmp_path, {name}, none)
    assert (here["origin"], here["trace"], here["reason"]) == (OWN, True, "")
    assert here["value"] > 0
    assert deviations.evidence(item, tmp_path, set(), none)["reason"] == "neither measured here nor in the reference"
    line, phases = reference.lines_of(reference.finished_results(PAPER, tmp_path)[0])
    there = reference.Reference({name: line}, {name: phases}, {name: {"trace_alone_share": "0.5"}})
    made = deviations.evidence(item, tmp_path, set(), there)
    assert made["origin"] == REFERENCE
    assert made["value"] == pytest.approx(0.5 * int(line["elapsed_ns"]) / 1e9 / int(line["writes"]))
    lacks = reference.Reference({name: line}, {name: phases})
    assert deviations.evidence(item, tmp_path, set(), lacks)["reason"] == "the reference has no trace_alone_share of it"
    zero = deviations.evidence(item | {"value": "writes / (reads - reads)"}, tmp_path, {name}, none)
    assert (zero["value"], "division by zero" in zero["reason"]) == (None, True)
    monkeypatch.setattr(phase_traffic.identity, "image_paths", lambda build, image: [tmp_path / "none.img"])
    image = item | {"value": "phase_run_inode_writes"}
    assert "is not here" in deviations.evidence(image, tmp_path, {name}, none)["reason"]


def test_deviations_build_leaves_the_rest_unexplained(tmp_path):
    listed = tmp_path / "deviations.yaml"
    listed.write_text(TINY)
    row = "t32-64.both"
    values = {(row, "ffs.scsi.postmark"): 1000, (row, "softupdates.scsi.postmark"): 500, (row, "ffs.ide.sdet"): 380}
    made = deviations.quantities(PAPER.quotients, {"table6": rows("table6", values, tmp_path)}, {})
    built = deviations.build(
        deviations.read(listed, "white2001"), made, {"table6"}, tmp_path, set(), reference.Reference()
    )
    assert (built["compared"], built["off"]) == (4, 2)
    assert [(part["of"], part["column"]) for part in built["explained"][0]["spans"]] == [
        ("number", "ffs.scsi.postmark")
    ]
    assert [(part["of"], part["column"]) for part in built["unexplained"]] == [("number", "softupdates.scsi.postmark")]


def test_scaled_compares_quotients_only():

    def frame(scale, seconds):
        found = [synthetic.macro_result(("scsi", "64", "both", name, "postmark", ""), value, 1, scale)
                 for name, value in seconds.items()]  # fmt: skip
        return load.pd.DataFrame([load.flatten(result) for result in found], columns=load.COLUMNS)

    small, full = frame(0.05, {"ffs": 400, "softupdates": 200}), frame(1, {"ffs": 400, "softupdates": 100})
    none = frame(1, {})
    line, *others = scaled.build(PAPER, small, full)
    assert others == []
    assert (line["of"], line["column"], line["scale"]) == ("ffs/softupdates", "scsi.postmark", 0.05)
    assert (line["small_origin"], line["full_origin"]) == (OWN, REFERENCE)
    assert line["ratio"] == pytest.approx(0.5, rel=0.05)
    assert scaled.build(PAPER, small, none)[0]["full"] is None
    assert scaled.build(PAPER, none, full) == []
    half = load.pd.concat([frame(0.05, {"ffs": 400}), frame(0.02, {"softupdates": 200})])
    assert scaled.build(PAPER, half, full) == []
