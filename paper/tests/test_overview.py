# SPDX-License-Identifier: MIT
"""The overview of all papers, from an invented summary of each."""

import json
import shutil
import subprocess

import pytest

from analysis import papers
from paper import build, overview

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
        claims = [{"verdict": verdict} for verdict in (True, True, False, "not run")]
        (tmp_path / paper.id).mkdir()
        (tmp_path / paper.id / "summary.json").write_text(json.dumps({"numbers": rows, "claims": claims}))
    given = ["--profile", "quick", "--results", str(tmp_path), "--summary", str(tmp_path / "summary.json")]
    assert overview.main([*given, "--out", str(tmp_path / "report.tex")]) == 0
    return tmp_path


def test_overview_counts(made):
    listed = json.loads((made / "summary.json").read_text())["papers"]
    assert [one["paper"] for one in listed] == [paper.id for paper in papers.every()]
    for one in listed:
        assert (one["numbers"], one["reproduced"], one["compared"]) == (4, 3, 3)
        assert (one["within_1.25"], one["within_2"], one["median"]) == (1, 2, 1.0)
        assert one["claims"] == {"true": 2, "false": 1, "not run": 1}
        assert one["tables"][0]["numbers"] == 4


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
