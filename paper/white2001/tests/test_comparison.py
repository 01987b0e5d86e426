# SPDX-License-Identifier: MIT
"""The report's sections on deviations, reference numbers and small cells, from invented results."""

import json

import pytest

from analysis import deviations, papers, reference
from paper import comparison_page
from paper.white2001 import tables as white
from paper.white2001.tests import pipeline, synthetic


@pytest.fixture(scope="module")
def listed(tmp_path_factory):
    path = tmp_path_factory.mktemp("listed") / "deviations.yaml"
    path.write_text(synthetic.TINY)
    return path


def written(root, listed, committed, **wanted):
    """The report's parts from invented results and this reference."""
    reference.write(committed, root / "reference")
    return pipeline.run(root, listed=listed, seeds=1, **wanted)


@pytest.fixture(scope="module")
def without(tmp_path_factory, listed):
    """Nothing run, and the reference has three of Table 6's numbers, and one row of Table 7."""
    committed = reference.Reference()
    for key, seconds in ((("scsi", "64", "both", "ffs", "postmark", ""), 800),
                         (("scsi", "64", "both", "softupdates", "postmark", ""), 170),
                         (("scsi", "64", "both", "ffs", "ssh", ""), 50)):  # fmt: skip
        committed.put(*reference.lines_of(synthetic.macro_result(key, seconds, 1)))
    for side, rate in (("ide", 20), ("scsi", 25)):
        system = white.table7_system("hardware", side)
        committed.put(*reference.lines_of(synthetic.raw_of(system, "write", "sequential", rate, 1)))
    root = tmp_path_factory.mktemp("without")
    return written(root, listed, committed, missing=("ide-", "scsi-"))


def test_comparison_without_results_shows_the_reference_as_such(without):
    table = (without / "tables/reference.table6.tex").read_text()
    assert "Table 6, reference numbers:" in table
    assert "Not measured by this report's profile" in table
    assert "identity " in table and "made from qemu" in table
    assert r"\label{tab:table6}" not in table
    own = (without / "tables/table6.tex").read_text()
    assert "3 of the numbers that are missing here stand among the reference numbers" in own
    page = (without / "comparison.tex").read_text()
    assert r"\input{tables/reference.table6.tex}" in page
    assert r"\input{tables/reference.filesystems.tex}" not in page
    assert "This profile has measured none of them." in page


def test_report_counts_the_numbers_of_the_reference_by_themselves(without):
    """Table 6's number for SSH has no ratio, as another package is built."""
    text = (without / "report.tex").read_text()
    here, there = text.split("With reference numbers, where this profile has none at the paper's size", 1)
    line = "Table 6 & 160 & {} & {} &"
    assert line.format(0, 0) in here
    assert line.format(3, 2) in there
    assert "Table 5 &" not in there.partition(r"\bottomrule")[0]
    assert "in the place of those that this profile lacks or has measured smaller, 4 numbers can be compared" in here


def test_comparison_phases_come_from_the_reference_where_nothing_ran(without):
    table = (without / "tables/postmark.tex").read_text()
    line = next(line for line in table.splitlines() if line.startswith(" & SCSI & 64"))
    assert line.count(r"\tnote{R}") == 2
    assert line.count("{--}") == 0
    assert "Over the 2 numbers here" in table
    assert r"\textsuperscript{R}" in table
    with_default = next(line for line in table.splitlines() if r"10\,000 bytes" in line)
    assert with_default.count("{--}") == 2 * 5
    assert "stand among the reference numbers" not in table


@pytest.mark.slow
def test_comparison_with_small_cells_has_the_phases_of_the_reference(tmp_path, listed):
    committed = reference.Reference()
    key = ("scsi", "64", "both", "ffs", "postmark", "")
    committed.put(*reference.lines_of(synthetic.macro_result(key, 800, 1)))
    made = written(tmp_path, listed, committed, scales={"softupdates.postmark": 0.5, "ffs.postmark": 0.5})
    table = (made / "tables/postmark.tex").read_text()
    assert table.count(r"{\tnote{R}}") == 2
    assert "at scale 0.5 of the paper's size" in table


def test_comparison_without_results_shows_the_arrays_of_the_reference(without):
    table = (without / "tables/reference.table7.tex").read_text()
    assert "Table 7, reference numbers:" in table
    assert r"\label{tab:table7}" not in table and "Odd cells" not in table
    line = next(line for line in table.splitlines() if " & Sequential & 15.1 & 20.0" in line)
    assert line.endswith(r"& -133 & -25 \\")
    assert "{Ref.}" in table
    own = (without / "tables/table7.tex").read_text()
    assert "3 of the numbers that are missing here stand among the reference numbers" in own
    assert "{Ref.}" not in own and "Odd cells" in own
    assert r"\input{tables/reference.table7.tex}" in (without / "comparison.tex").read_text()


def test_comparison_explains_from_the_reference(without):
    page = (without / "comparison.tex").read_text()
    assert r"\subsection*{Tiny \& wrong}" in page
    assert r"Because of 100 \% of it." in page
    assert "6 & SCSI PostMark" not in page
    assert "FFS SCSI PostMark & 32/64 tags, both & 387\\,s" in page
    assert "\\emph{the reference has no writes of it}" in page
    assert page.count(r"\tnote{R}") >= 4
    assert "neither measured here nor in the reference" in page
    assert "FFS/Soft Updates SCSI PostMark" in page.partition("Not explained")[2]


@pytest.mark.slow
def test_comparison_with_all_results_needs_no_reference(tmp_path, listed):
    made = written(tmp_path, listed, reference.Reference(), scales={"softupdates.sdet": 0.5, "ffs.sdet": 0.5})
    page = (made / "comparison.tex").read_text()
    assert "None are kept with this source yet." in page
    assert r"reference.table6.tex" not in page
    small = page.partition(r"\label{sec:scaled}")[2]
    assert small.count("FFS/Soft Updates IDE SDET & ") == 8
    assert " & 0.5 & " in small
    assert "stand among the reference" not in (made / "tables/table6.tex").read_text()
    off = json.loads((made / "deviations.json").read_text())
    assert off["off"] == sum(len(part["rows"]) for part in off["unexplained"]) + off["explained"][0]["off"]
    assert {q["of"] for q in off["unexplained"]} <= {deviations.NUMBER, *papers.paper("white2001").quotients}


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (4.4217, "4.42"), (223846, "223846"), (55.41, "55.4"), (0.0123, "0.012")]
)
def test_comparison_short_numbers(value, text):
    assert comparison_page.short(value) == text


def test_comparison_damaged_data_is_one_message(tmp_path, capsys):
    (tmp_path / "x.json").write_text("{}")
    name = str(tmp_path / "x.json")
    arguments = ["--paper", "white2001", "--deviations", name, "--reference", name, "--out", str(tmp_path / "x.tex")]
    assert comparison_page.main(arguments) == 1
    assert "make it again" in capsys.readouterr().err
