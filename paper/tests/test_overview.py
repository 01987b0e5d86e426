# SPDX-License-Identifier: MIT
"""The overview of all papers, from an invented summary of each."""

import json
import shutil
import subprocess

import pytest

from analysis import papers
from paper import build, overview, page

RATIOS = (1.0, 1.3, 0.4, None)


@pytest.fixture
def made(tmp_path):
    """results/quick with summaries; returns the folder."""
    for paper in papers.every():
        rows = [
            {"table": paper.printed[0], "row": str(at), "column": "x", "ratio": ratio, "reason": "not run",
             "reproduced": ratio}
            for at, ratio in enumerate(RATIOS)
        ]  # fmt: skip
        claims = [{"verdict": verdict, "reference_verdict": None} for verdict in (True, True, False, "not run")]
        claims.append({"verdict": "not run", "reference_verdict": True})
        (tmp_path / paper.id).mkdir()
        found = {"numbers": rows, "claims": claims, "origins": {"measured here": 3, "not here": 1}}
        (tmp_path / paper.id / "summary.json").write_text(json.dumps(found))
        lacking = {paper.printed[0]: 1, **dict.fromkeys(paper.extra[:1], 7)}
        (tmp_path / paper.id / "reference.json").write_text(json.dumps({"lacking": lacking}))
    given = ["--profile", "quick", "--results", str(tmp_path), "--summary", str(tmp_path / "summary.json")]
    assert overview.main([*given, "--out", str(tmp_path / "report.tex")]) == 0
    return tmp_path


def test_overview_counts(made):
    listed = json.loads((made / "summary.json").read_text())["papers"]
    assert [one["paper"] for one in listed] == [paper.id for paper in papers.every()]
    for one in listed:
        assert (one["numbers"], one["reproduced"], one["compared"]) == (4, 3, 3)
        assert (one["within_1.25"], one["within_2"], one["median"]) == (1, 2, 1.0)
        assert one["claims"] == {"true": 2, "false": 1, "not run": 2}
        assert one["tables"][0]["numbers"] == 4


def test_overview_says_what_comes_from_the_reference(made):
    """Only of tables that the paper prints, and beside the other counts."""
    for one in json.loads((made / "summary.json").read_text())["papers"]:
        assert (one["from_reference"], one["claims_from_reference"]) == (1, 1)
        assert [table["from_reference"] for table in one["tables"]] == [1] + [0] * (len(one["tables"]) - 1)
        tex = (made / "report.tex").read_text()
        first = overview.table_label(one["tables"][0]["table"])
        assert f"The report of \\texttt{{{one['paper']}}} prints reference numbers, marked as such" in tex
        assert f"at the paper's size: 1 of {first}." in tex
        assert "that were not run, but have a verdict by reference numbers: 1." in tex


def test_overview_without_reference_numbers_says_nothing_of_them(made):
    for paper in papers.every():
        (made / paper.id / "reference.json").write_text(json.dumps({"lacking": {}}))
        summary = json.loads((made / paper.id / "summary.json").read_text())
        kept = [claim for claim in summary["claims"] if claim["reference_verdict"] is None]
        (made / paper.id / "summary.json").write_text(json.dumps(summary | {"claims": kept}))
    given = ["--profile", "quick", "--results", str(made), "--summary", str(made / "summary.json")]
    assert overview.main([*given, "--out", str(made / "report.tex")]) == 0
    assert "From another run." not in (made / "report.tex").read_text()


def test_overview_counts_where_numbers_are_from(made):
    one = json.loads((made / "summary.json").read_text())["papers"][0]
    assert one["origins"] == {"measured here": 3, "not here": 1}
    tex = (made / "report.tex").read_text()
    assert "Measured here & 3" in tex and "Nothing was measured here yet" not in tex


def test_overview_of_nothing_measured_says_so(made):
    for paper in papers.every():
        path = made / paper.id / "summary.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"origins": {"reference": 4}}))
    given = ["--profile", "quick", "--results", str(made), "--summary", str(made / "summary.json")]
    assert overview.main([*given, "--out", str(made / "report.tex")]) == 0
    assert "Nothing was measured here yet" in (made / "report.tex").read_text()
    assert page.main(["overview", *given[:4], "--out", str(made / "report.html")]) == 0
    assert "Nothing was measured here yet" in (made / "report.html").read_text()


def test_overview_without_a_summary_is_one_message(tmp_path, capsys):
    given = ["--profile", "quick", "--results", str(tmp_path), "--summary", str(tmp_path / "summary.json")]
    assert overview.main([*given, "--out", str(tmp_path / "report.tex")]) == 1
    assert "summary.json" in capsys.readouterr().err
    assert not (tmp_path / "report.tex").exists()


@pytest.mark.skipif(not shutil.which("pdfinfo") or not shutil.which("latexmk"), reason="latexmk is not installed")
def test_overview_has_two_pages(made):
    build.build(made / "report.tex", made / "report.pdf", made / "report.log")
    about = subprocess.run(["pdfinfo", made / "report.pdf"], capture_output=True, text=True, check=True).stdout
    assert "Pages:           2" in about
    assert "Overfull" not in (made / "report.log").read_text()
