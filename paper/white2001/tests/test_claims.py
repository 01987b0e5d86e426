# SPDX-License-Identifier: MIT
"""The claims' language, and the claims of the paper on its own numbers."""

import random

import pytest

from analysis import claims, load, papers
from analysis.errors import ClaimError
from analysis.open_numbers import OPEN, SIGNED, Span
from paper.white2001 import tables as white

LISTED = claims.read(papers.paper("white2001").claims)
NOT_BORNE_OUT = {
    "seek-ratio-36-and-43", "apps-scsi-faster-always", "tags-help-ide-random", "peak-220-at-4-tags",
    "ide-random-read-half-of-scsi", "apps-host-disk-alike", "host-beats-disk-apps", "disk-beats-host-netnews-12",
    "disk-beats-host-sdet-ssh-less", "ide-disk-scheduler-idle-apps", "su-disks-close-every-row",
    "array-hardware-ide-beats-scsi-disk-writes", "array-hardware-ide-beats-scsi-raid", "arrays-similar",
    "array-ide-raid-controllers-cheaper",
}  # fmt: skip
"""Claims of the paper that its own tables do not bear out."""
NOT_PRINTED = {"ntfs-ide-10-faster", "ntfs-ide-not-slower", "journals-comparable", "su-delete-phase-faster"}
"""Claims on numbers that the paper does not print."""


def row(table, p, ours, scale=1, published=True):
    return {
        "table": table, "row": p.row, "column": p.column, "published": float(p.value) if published else None,
        "reproduced": ours, "reason": "not run" if ours is None else None, "scale": scale,
    }  # fmt: skip


def published_rows(factor=None, scale=lambda p: 1):
    """Rows whose reproduced numbers are the published ones times `factor`, at `scale`."""
    rows = []
    for table in ("table1", "table3", "table4", "table5", "table6", "table7"):
        for p in white.printed(table):
            ours = None if factor is None else float(p.value) * factor(p)
            rows.append(row(table, p, ours, scale(p)))
    ours = [entry.published for entry in white.filesystems(load.load([]), {})]
    return rows + [row("filesystems", p, None if factor is None else 100.0, 1, False) for p in ours]


def named(claim_id):
    return next(claim for claim in LISTED if claim.id == claim_id)


READING = "postmark-transactions"


def read_otherwise(rows, factor):
    """The rows, with PostMark's seconds times `factor` under the paper's other reading."""
    return [
        row | {"readings": {READING: row["reproduced"] * factor(row)}}
        if "postmark" in (row["row"] + row["column"]) and row["reproduced"] is not None else row
        for row in rows
    ]  # fmt: skip


def lookup(table, row, column):
    return {"a": 2.0, "b": 4.0, "c": 8.0}[column]


def test_claims_of_the_paper_are_all_there():
    assert len(LISTED) == 92
    assert {claim.id for claim in LISTED} >= NOT_BORNE_OUT | NOT_PRINTED


@pytest.mark.parametrize("claim", LISTED, ids=lambda claim: claim.id)
def test_claims_on_the_papers_numbers(claim):
    found = claims.judge(claim, published_rows(lambda p: 1))
    pinned = None if claim.id in NOT_PRINTED else claim.id not in NOT_BORNE_OUT
    assert found["published_verdict"] is pinned
    if pinned is not None:
        assert found["verdict"] is pinned
    if not pinned:
        assert found["note"], "say why"


@pytest.mark.parametrize("claim", LISTED, ids=lambda claim: claim.id)
def test_claims_without_numbers_are_not_run(claim):
    found = claims.judge(claim, published_rows())
    assert found["verdict"] == "not run"
    assert found["because"].startswith(("needs table", "needs filesystems"))


def test_claims_on_unprinted_numbers_have_our_verdict_only():
    found = claims.judge(named("ntfs-ide-10-faster"), published_rows(lambda p: 1))
    assert (found["verdict"], found["published_verdict"]) == (False, None)
    assert (found["because"], found["published"]) == ("SCSI over IDE 1.00", "")


def test_claims_compare_ratios_at_a_smaller_scale():
    rows = published_rows(lambda p: 0.1, lambda p: 0.1 if p.column.endswith("postmark") else 1)
    found = claims.judge(named("ffs-over-su-postmark"), rows)
    assert found["verdict"] is True
    assert found["because"].startswith("FFS over Soft Updates IDE 2.27 to 2.51 (paper 2.27 to 2.51)")
    assert claims.judge(named("disk-beats-host-3-12-ffs"), rows)["verdict"] is True


def test_claims_not_measured_are_tested_on_the_reference():
    claim = named("ffs-over-su-postmark")
    small = published_rows(lambda p: 1, lambda p: 0.1 if p.column == "softupdates.ide.postmark" else 1)
    found = claims.judge(claim, small, claims.completed(small, published_rows(lambda p: 1)))
    assert (found["verdict"], found["reference_verdict"]) == ("not run", True)
    assert found["because"].startswith("mixes scales")
    assert found["reference_because"].startswith("FFS over Soft Updates IDE 2.27 to 2.51 (paper 2.27 to 2.51)")
    other = published_rows(lambda p: 10 if p.column.startswith("soft") else 1)
    found = claims.judge(claim, published_rows(), claims.completed(published_rows(), other))
    assert (found["verdict"], found["reference_verdict"]) == ("not run", False)


def test_claims_take_a_number_of_the_reference_only_where_one_lacks():
    lacks = "softupdates.ide.postmark"
    ours = [one | ({"reproduced": None} if one["column"] == lacks else {}) for one in published_rows(lambda p: 1)]
    theirs = published_rows(lambda p: 10)
    wanted = [other if own["column"] == lacks else own for own, other in zip(ours, theirs, strict=True)]
    assert claims.completed(ours, theirs) == wanted != ours


def test_claims_that_were_measured_leave_the_reference_alone():
    claim = named("ffs-over-su-postmark")
    ours = published_rows(lambda p: 1)
    found = claims.judge(claim, ours, claims.completed(ours, published_rows(lambda p: 10)))
    assert (found["verdict"], found["reference_verdict"], found["reference_because"]) == (True, None, "")
    assert claims.judge(claim, published_rows())["reference_verdict"] is None


def test_claims_on_postmarks_seconds_have_a_verdict_for_each_reading():
    claim, known = named("ffs-over-su-postmark"), papers.paper("white2001").readings
    rows = read_otherwise(published_rows(lambda p: 1), lambda row: 0.5 if row["column"].startswith("ffs") else 1)
    found = claims.judge(claim, rows, rows, known)
    [other] = found["readings"]
    assert (found["verdict"], other["verdict"], other["reading"]) == (True, False, READING)
    assert other["because"].startswith("FFS over Soft Updates IDE 1.14 to 1.26 (paper 2.27 to 2.51)")
    assert (other["label"], other["reference_verdict"]) == ("PostMark's transactions alone", None)
    assert claims.judge(named("ide-faster-sequential"), rows, rows, known)["readings"] == []


def test_claims_under_another_reading_are_tested_on_the_reference_too():
    claim, known = named("ffs-over-su-postmark"), papers.paper("white2001").readings
    reference = read_otherwise(published_rows(lambda p: 1), lambda row: 0.5 if row["column"].startswith("ffs") else 1)
    found = claims.judge(claim, published_rows(), claims.completed(published_rows(), reference), known)
    [other] = found["readings"]
    assert (found["verdict"], found["reference_verdict"]) == ("not run", True)
    assert (other["verdict"], other["reference_verdict"]) == ("not run", False)


def test_claims_lack_a_number_that_a_reading_lacks():
    rows = [row | ({"readings": {READING: None}} if row["column"] == "ffs.ide.postmark" else {})
            for row in published_rows(lambda p: 1)]  # fmt: skip
    [other] = claims.judge(named("ffs-over-su-postmark"), rows, rows, papers.paper("white2001").readings)["readings"]
    assert other["verdict"] == "not run"
    assert other["because"].endswith(f"ffs.ide.postmark: no such number under {READING}")


def test_claims_that_mix_scales_are_not_run():
    rows = published_rows(lambda p: 1, lambda p: 0.1 if p.column == "softupdates.ide.postmark" else 1)
    found = claims.judge(named("ffs-over-su-postmark"), rows)
    assert found["verdict"] == "not run"
    assert found["because"] == (
        "mixes scales: table6 tnone.both softupdates.ide.postmark is compared with another cell, at scales 1 and 0.1"
    )
    assert found["published_verdict"] is True


@pytest.mark.parametrize(
    "holds",
    ["q < 800", "q + 1 > 0", "-q < 0", "min(q, 2) > 1", "mean(cells({0})) > 0", "above(cells({0}), 1) > 0", "not q"],
)
def test_claims_never_use_a_scaled_number_alone(holds):
    cell = '"table6", "tnone.both", "ffs.ide.postmark"'
    claim = claims.Claim("x", "", "", {"q": f"cell({cell})"}, holds.format(cell))
    found = claims.judge(claim, published_rows(lambda p: 1, lambda p: 0.25))
    assert found["verdict"] == "not run"
    assert "postmark ran at scale 0.25, where only ratios" in found["because"]


def test_claims_false_when_the_numbers_turn():
    rows = published_rows(lambda p: 0.3 if p.column == "ide" else 1)
    found = claims.judge(named("ide-faster-sequential"), rows)
    assert found["verdict"] is False
    assert found["because"] == "IDE over SCSI 0.42 to 0.60 (paper 1.41 to 2.00)"


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ('cell("t", "r", "a")', 2.0),
        ('cells("t", "r", "{a,b}")', [2.0, 4.0]),
        ('cells("t", "{x,y}", "{a,b}")', [2.0, 4.0, 2.0, 4.0]),
        ('ratio(cells("t", "r", "{b,c}"), cell("t", "r", "a"))', [2.0, 4.0]),
        ('max(cells("t", "r", "{a,b,c}")) - 1', 7.0),
        ('1 < cell("t", "r", "a") <= 2 and not 3 < 2', True),
        ('1 < cell("t", "r", "a") < 2', False),
        ('2 < cell("t", "r", "a") < 3', False),
        ('mean(cells("t", "r", "{a,b}"))', 3.0),
        ('above(cells("t", "r", "{a,b,c}"), 3)', 2),
    ],
)
def test_claims_expressions(expression, value):
    assert claims.evaluate(expression, {}, lookup) == value


def without(rows, word):
    """The rows, without our numbers where row or column has the word."""
    return [
        one | ({"reproduced": None, "reason": "not run"} if word in one["row"] + one["column"] else {}) for one in rows
    ]


def test_open_numbers_leave_a_verdict_that_they_cannot_change():
    claim = named("ffs-over-su-postmark")
    slow = published_rows(lambda p: 3 if p.column == "ffs.ide.postmark" else 1)
    rows = without(slow, "softupdates.scsi.postmark")
    assert claims.tested(claim, rows)["verdict"] == "not run"
    found = claims.tested(claim, rows, whatever=True)
    assert found["verdict"] is False
    assert found["because"] == (
        "FFS over Soft Updates IDE 6.82 to 7.54 (paper 2.27 to 2.51); SCSI not run (paper 1.91 to 2.42)"
    )
    # the three other benchmarks are slower on the IDE array, so SSH does not matter
    slow = published_rows(lambda p: 2 if p.column == "software.ide" else 1)
    found = claims.tested(named("array-software-ffs-mostly-slower"), without(slow, "ssh"), whatever=True)
    assert found["verdict"] is True
    assert found["because"].endswith(" and 1 not run (paper 0.86 to 1.29)")


def test_open_numbers_of_a_difference_may_be_negative():
    rows = [{"table": "t", "row": "r", "column": column, "published": None, "reproduced": ours, "reason": "not run",
             "signed": True} for column, ours in (("three", None), ("four", -0.3))]  # fmt: skip
    quantities = {"three": 'cell("t", "r", "three")', "four": 'cell("t", "r", "four")'}
    claim = claims.Claim("fourth-adds-less", "", "", quantities, "four < three")
    assert claims.tested(claim, rows, whatever=True)["verdict"] == "not run"
    plain = [row | {"signed": False} for row in rows]
    assert claims.tested(claim, plain, whatever=True)["verdict"] is True


def test_open_numbers_that_decide_nothing_are_shown():
    assert claims.show(None) == claims.show(OPEN) == claims.show([OPEN, Span(1, 2)]) == "not run"
    assert claims.show([OPEN, 4.0, 8.0]) == "4.00 to 8.00 and 1 not run"


def test_claims_a_count_that_is_not_0_counts_as_true():
    claim = claims.Claim("x", "", "", {"q": 'above(cells("table6", "tnone.both", "ffs.ide.{sdet,postmark}"), 1)'}, "q")
    assert claims.tested(claim, published_rows(lambda p: 1))["verdict"] is True
    assert claims.tested(claim, published_rows(lambda p: 0))["verdict"] is False


def test_open_numbers_that_matter_leave_a_claim_not_run():
    rows = without(published_rows(lambda p: 1), "softupdates.scsi.postmark")
    found = claims.tested(named("ffs-over-su-postmark"), rows, whatever=True)
    assert found["verdict"] == "not run"
    assert found["because"] == "needs table6 tnone.both softupdates.scsi.postmark: not run"


@pytest.mark.parametrize("claim", LISTED, ids=lambda claim: claim.id)
def test_open_numbers_never_give_another_verdict_than_the_numbers(claim):
    everything = published_rows(lambda p: 1)
    for word in ("ssh", "netnews", "softupdates", "tnone", "ide", "random"):
        found = claims.tested(claim, without(everything, word), whatever=True)["verdict"]
        assert found in ("not run", claims.tested(claim, everything)["verdict"]), word


@pytest.mark.parametrize("claim", LISTED, ids=lambda claim: claim.id)
def test_open_numbers_leave_no_verdict_that_some_number_contradicts(claim):
    draw = random.Random(claim.id)
    used = claims.used(claim)
    rows = [row for row in published_rows(lambda p: draw.uniform(0.8, 1.25)) if claims.place(row) in used]
    for _ in range(10):
        gone = draw.sample(range(len(rows)), draw.randint(1, len(rows)))
        lacking = [row | ({"reproduced": None} if at in gone else {}) for at, row in enumerate(rows)]
        verdict = claims.tested(claim, lacking, whatever=True)["verdict"]
        if verdict == "not run":
            continue
        for _ in range(5):
            any_number = [row | ({"reproduced": draw.uniform(0.001, 100)} if at in gone else {})
                          for at, row in enumerate(rows)]  # fmt: skip
            assert claims.tested(claim, any_number)["verdict"] is verdict


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("min(open) > 3", None),
        ("min(open) > 4", False),
        ("max(open) > 7", True),
        ("max(open) > 8", None),
        ("max(open) < 8", False),
        ("above(open, 3) >= 2", True),
        ("above(open, 3) + above(open, 5) >= 3", True),
        ("above(open, 3) >= 3", None),
        ("above(open, 3) >= 4", False),
        ("mean(open) > 3", True),
        ("mean(open) > 5", None),
        ("max(ratio(open, 2)) >= 4", True),
        ("min(ratio(2, open)) > 0.25", False),
        ("max(open) > 8 and 1 > 2", False),
        ("max(open) > 8 or 1 < 2", True),
        ("max(open) > 8 or 1 > 2", None),
        ("not max(open) > 8", None),
        ("not max(open) > 7", False),
        ("-min(open) < 1", True),
        ("not above(open, 8)", None),
        ("above(open, 9) or 1 > 2", None),
        ("above(open, one) >= 1", None),
        ("8 / one > 1", None),
        ("8 * one >= 0", True),
        ("1 / (min(open) - 2) > 1", None),
        ("one - one > 1", None),
        ("ratio(min(open) - 5, 2) < 0", None),
        ("ratio(-3, one) < 0", None),
        ("signed > -1", None),
        ("max(signed, 4) > 3", True),
        ("mean(open) + signed > 0", None),
    ],
)
def test_open_numbers_in_expressions(expression, value):
    known = {"open": [OPEN, 4.0, 8.0], "one": OPEN, "signed": SIGNED}
    assert claims.evaluate(expression, known, lookup) is value


@pytest.mark.parametrize(
    "expression",
    ["__import__('os')", "(1).real", "[x for x in (1,)]", "open('x')", "unknown", "1 if 1 else 2", "min(1", "2 ** 9"],
)
def test_claims_refuse_anything_else(expression):
    with pytest.raises(ClaimError):
        claims.evaluate(expression, {}, lookup)


def test_claims_unknown_cell_is_named():
    claim = claims.Claim("x", "", "", {"q": 'cell("table5", "t5.both", "scsi.read.random")'}, "q > 1")
    with pytest.raises(ClaimError, match=r"claim 'x': cell \('table5', 't5.both'"):
        claims.judge(claim, published_rows())


ROOTED = """\
roots: {less: we did less}
claims:
  - {id: a, statement: a, where: b, root: less, quantities: {q: 'cell("table5", "t4.both", "scsi.read.random")'}, holds: q > HOLDS}
  - {id: b, statement: a, where: b, quantities: {q: 'cell("table5", "t4.both", "scsi.read.random")'}, holds: q > HOLDS}
"""  # noqa: E501


@pytest.mark.parametrize(("least", "roots"), [("9e9", ["we did less", claims.UNEXPLAINED]), ("0", ["", ""])])
def test_claims_that_fail_say_why_or_that_nobody_knows(tmp_path, least, roots):
    path = tmp_path / "claims.yaml"
    path.write_text(ROOTED.replace("HOLDS", least))
    rows = published_rows(lambda p: 1)
    assert [claims.judge(claim, rows)["root"] for claim in claims.read(path)] == roots


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [("root: less", "root: more", "root 'more' is none of those"), ("{less:", "{more: x, less:", "no claim names the")],
)
def test_claims_roots_are_checked(tmp_path, old, new, message):
    path = tmp_path / "claims.yaml"
    path.write_text(ROOTED.replace("HOLDS", "0").replace(old, new))
    with pytest.raises(ClaimError, match=message):
        claims.read(path)


def test_claims_misspelt_key_is_named(tmp_path):
    path = tmp_path / "claims.yaml"
    path.write_text("claims:\n  - {id: a, statment: b, where: c, quantities: {}, holds: '1 > 0'}\n")
    with pytest.raises(ClaimError, match="'statement' is missing"):
        claims.read(path)
