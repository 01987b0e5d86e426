# SPDX-License-Identifier: MIT
"""The claims' language, and the claims of the paper on its own numbers."""

import pytest

from analysis import claims, white2001
from analysis.errors import ClaimError
from analysis.tables import ROOT

LISTED = claims.read(ROOT / "paper" / "white2001" / "claims.yaml")


def published_rows(scale=None):
    rows = []
    for table in ("table4", "table5"):
        for p in white2001.printed(table):
            value = float(p.value)
            ours = None if scale is None else value * scale(p)
            rows.append(
                {
                    "table": table,
                    "row": p.row,
                    "column": p.column,
                    "published": value,
                    "reproduced": ours,
                    "reason": "not run",
                }
            )
    return rows


def lookup(table, row, column):
    return {"a": 2.0, "b": 4.0, "c": 8.0}[column]


@pytest.mark.parametrize("claim", LISTED, ids=lambda claim: claim.id)
def test_claims_hold_on_the_papers_numbers(claim):
    assert claims.judge(claim, published_rows(lambda p: 1))["published_verdict"] is True
    assert claims.judge(claim, published_rows(lambda p: 1))["verdict"] is True


@pytest.mark.parametrize("claim", LISTED, ids=lambda claim: claim.id)
def test_claims_without_numbers_are_not_run(claim):
    found = claims.judge(claim, published_rows())
    assert found["verdict"] == "not run"
    assert found["because"].startswith("needs table")


def test_claims_false_when_the_numbers_turn():
    rows = published_rows(lambda p: 0.3 if p.column == "ide" else 1)
    found = claims.judge(next(c for c in LISTED if c.id == "ide-faster-sequential"), rows)
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
        ('mean(cells("t", "r", "{a,b}"))', 3.0),
    ],
)
def test_claims_expressions(expression, value):
    assert claims.evaluate(expression, {}, lookup) == value


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


def test_claims_misspelt_key_is_named(tmp_path):
    path = tmp_path / "claims.yaml"
    path.write_text("claims:\n  - {id: a, statment: b, where: c, quantities: {}, holds: '1 > 0'}\n")
    with pytest.raises(ClaimError, match="'statement' is missing"):
        claims.read(path)
