# SPDX-License-Identifier: MIT
"""Tables and report from invented results (synthetic.py): golden LaTeX, and the PDF's text."""

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from paper import build, render, view
from paper.white2001 import views
from paper.white2001.tests import pipeline

GOLDEN = Path(__file__).parent / "golden"
WANTED = {
    "seeds": 2,
    "missing": ("scsi-virtio.ultrastar-36zx.t128.none.",),
    "failed": {
        "ide-ahci.deskstar-75gxp.t4.disk.rawio-write-random": "guest panicked: 100 % {of} it_",
        "scsi-virtio.ultrastar-36zx.t64.none.rawio-read-random.s02": "depth 60 below 64",
        "scsi-virtio.ultrastar-36zx.t8.none.ffs.netnews": "guest panicked",
        "ide-piix.deskstar-75gxp.tnone.disk.softupdates.ssh.s02": "fsck found errors",
    },
    "scales": {"softupdates.netnews": 0.25},
}
needs_tex = pytest.mark.skipif(
    not (shutil.which("latexmk") and shutil.which("pdftotext")), reason="latexmk or pdftotext is not installed"
)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return pipeline.run(tmp_path_factory.mktemp("paper"), **WANTED)


@pytest.fixture(scope="module")
def pdf(results):
    build.build(results / "report.tex", results / "report.pdf", results / "report.log")
    return results / "report.pdf"


@pytest.mark.parametrize("table", pipeline.TABLES)
def test_render_golden(results, table, request):
    made = (results / "tables" / f"{table}.tex").read_text()
    path = GOLDEN / f"{table}.tex"
    if request.config.getoption("--golden", default=False):
        path.parent.mkdir(exist_ok=True)
        path.write_text(made)
    assert made == path.read_text(), f"{path} differs; look, then run pytest with --golden"


def test_render_failed_missing_and_partial_are_marked(results):
    text = (results / "tables" / "table5.tex").read_text()
    assert r"{\failed\tnote{a}}" in text
    assert r"\textsuperscript{a}\,failed: guest panicked: 100 \% \{of\} it\_." in text
    assert "1 of 2 failed: depth 60 below 64" in text
    assert text.count(r"{--\tnote{c}}") == 6
    assert r"\textsuperscript{c}\,not run." in text
    assert text.count(r"\questioned ") == 36


def test_render_table6_marks_what_does_not_compare(results):
    text = (results / "tables" / "table6.tex").read_text()
    assert text.count(r"SSH\tnote{a}") == 2
    assert r"\textsuperscript{a}\,another package on another system: not comparable" in text
    assert r"950 & {\failed\tnote{b}}" in text
    assert r"\textsuperscript{d}\,at scale 0.25 of the paper's size: only ratios between columns compare." in text
    assert len(re.findall(r"\{\\tnote\{d\}\} & [0-9.]+ & \{--\}", text)) == 20
    assert "1 of 2 failed: fsck found errors" in text
    assert text.count("not supported}") == 4 * 2 * 4
    assert text.count("$n$ = 2 repetitions") == 2


def test_render_table7_says_whether_its_percentages_follow(results, tmp_path):
    folder = results / "tables"
    assert "The paper's 22 percentages all follow from its own rates and times." in (folder / "table7.tex").read_text()
    wrong = (folder / "table7.csv").read_text().replace("ffs.sdet,hardware.diff,%,100", "ffs.sdet,hardware.diff,%,50")
    (tmp_path / "table7.csv").write_text(wrong)
    text = render.render_table("white2001", "table7", "quick", tmp_path / "table7.csv")
    assert r"do not follow from its own numbers: hardware ffs.sdet (50, computed 100)." in text


def test_render_scaling_puts_both_papers_side_by_side(results):
    text = (results / "tables" / "scaling.tex").read_text()
    four = next(line for line in text.splitlines() if line.startswith("4 & "))
    assert re.search(r"& 87 \{\\tnote\{\w\}\} & 3\.63 ", four)
    assert r"83.6*" in text
    assert "IDE read 4, IDE write" in text


def test_render_volumes_has_quotients(results):
    text = (results / "tables" / "volumes.tex").read_text()
    assert text.count("Random write (MB/s)") == 3
    postmark = next(line for line in text.splitlines() if "PostMark on NTFS (s)" in line)
    assert re.search(r"& 9\.98 .*& 10\.16 .*& 1\.018 ", postmark)
    assert "at scale 0.1 of the paper's size" in text


def test_render_claims_say_what_the_paper_does_not_bear_out(results):
    text = (results / "report.tex").read_text()
    assert text.count(r"\notborneout{}") == 15
    assert "4 are about numbers that the paper does not print, and 15 are not borne out" in text


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({"table": "table6", "row": "t32-64.both", "column": "ffs.ide.sdet"},
         "Table 6: IDE, SDET on FFS, 32/64 tags, scheduler both"),
        ({"table": "table5", "row": "tnone.host", "column": "scsi.read.random"},
         "Table 5: SCSI, read random, no tags, scheduler host"),
        ({"table": "table7", "row": "ffs.sdet", "column": "hardware.ide"},
         "Table 7: IDE, SDET on FFS, hardware array"),
        ({"table": "table7", "row": "write.random", "column": "software.scsi"},
         "Table 7: SCSI, write random, software array"),
    ],
)  # fmt: skip
def test_view_label(row, text):
    assert views.label(row) == text


def test_render_unknown_table_is_one_message(tmp_path, capsys):
    arguments = ["table", "--paper", "white2001", "--profile", "quick", "--table", "table9"]
    assert render.main([*arguments, "--csv", "x.csv", "--out", str(tmp_path / "x.tex")]) == 1
    assert "table9: white2001 has controllers" in capsys.readouterr().err


@pytest.mark.slow
def test_render_is_deterministic(results, tmp_path):
    again = pipeline.run(tmp_path, **WANTED)
    for path in sorted(p for p in results.rglob("*") if p.suffix in (".csv", ".tex", ".json", ".pdf")):
        if path.name not in ("report.pdf",):
            assert path.read_bytes() == (again / path.relative_to(results)).read_bytes(), path.name


@needs_tex
@pytest.mark.slow
def test_pdf_has_every_row(pdf):
    text = subprocess.run(["pdftotext", "-layout", pdf, "-"], capture_output=True, text=True, check=True).stdout
    text = re.sub(r"\s+", " ", text.replace("ﬁ", "fi"))
    labels = [label for label, _ in views.TABLE2_ROWS] + list(views.TABLE3_ROWS.values())
    labels += [label for pair in views.APPLICATIONS.values() for label in pair if label]
    labels += list(views.SCHEDULERS.values()) + [f"Table {number}" for number in range(1, 8)]
    labels += [text for (_, column), text in view.words("white2001", "table1").items() if column == "model"]
    labels += ["Beneath Table 5", "scsi-megasas", "Stand-ins", "Assumptions", "failed", "6 cells failed"]
    labels += [*views.BENCHMARKS.values(), *views.FILE_SYSTEM_NAMES.values(), "Beneath Table 6", "not supported"]
    labels += [*views.KINDS.values(), "Beneath Table 7", "Disks side by side", "3ware 3W-6800"]
    assert [label for label in labels if label not in text] == []


@needs_tex
@pytest.mark.slow
def test_pdf_is_the_same_bytes_twice(pdf, results):
    build.build(results / "report.tex", results / "again.pdf", results / "again.log")
    digests = {hashlib.sha256(path.read_bytes()).hexdigest() for path in (pdf, results / "again.pdf")}
    assert len(digests) == 1
    assert str(results).encode() not in pdf.read_bytes()


@needs_tex
@pytest.mark.slow
def test_pdf_builds_with_nothing_run(tmp_path):
    everything = ("ide-", "scsi-")
    results = pipeline.run(tmp_path, missing=everything)
    build.build(results / "report.tex", results / "report.pdf", results / "report.log")
    assert (results / "report.pdf").stat().st_size > 0
