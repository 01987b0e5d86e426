# SPDX-License-Identifier: MIT
"""Figures 1 and 2 and the I/O summary as pictures and LaTeX, from invented traces."""

import csv
import re
import shutil
import subprocess

import pytest

from analysis import io_summary, load
from lab.cell import trace
from paper import build, trace_page
from paper.white2001 import figure_cells, trace_figures
from paper.white2001.tests import pipeline, synthetic_traces

needs_pdftotext = pytest.mark.skipif(not shutil.which("pdftotext"), reason="pdftotext is not installed")
SCSI = synthetic_traces.SCSI


def made(root, ids):
    """Pictures, data and page of these cells below root; returns the paper's folder there."""
    root.mkdir(exist_ok=True)
    (root / "cells.txt").write_text("\n".join(ids))
    pipeline.draw_traces(root, ["--results", str(root), "--cells", str(root / "cells.txt")])
    return root / pipeline.PAPER


def invented(root):
    ids = [synthetic_traces.write_postmark(root, name) for name in figure_cells.WRITES_FILE_SYSTEMS]
    ids += [synthetic_traces.write_interleave(root, tags, length) for tags, length in (("none", 40), ("128", 1))]
    return [*ids, synthetic_traces.write_interleave(root, "4", 30, failed="depth 3 below 4")]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    root = tmp_path_factory.mktemp("traces")
    return made(root, invented(root))


def words(path):
    done = subprocess.run(["pdftotext", "-layout", path, "-"], capture_output=True, text=True, check=True)
    return re.sub(r"\s+", " ", done.stdout)


def test_pictures_are_the_same_bytes_twice(results, tmp_path):
    again = made(tmp_path / "again", invented(tmp_path / "again"))
    paths = [p for p in sorted(results.rglob("*")) if p.suffix in (".pdf", ".csv", ".tex", ".json")]
    assert {"schedule.pdf", "writes.pdf", "figure2.bands.csv", "traces.tex"} <= {path.name for path in paths}
    for path in paths:
        assert path.read_bytes() == (again / path.relative_to(results)).read_bytes(), path.name
    for name in ("schedule", "writes"):
        assert b"CreationDate" not in (results / f"figures/{name}.pdf").read_bytes()


@needs_pdftotext
def test_pictures_say_what_they_show(results):
    text = words(results / "figures/writes.pdf")
    for word in ("FFS", "Soft Updates", "NTFS, magnified", "create", "run", "delete", "GB", "MB", "LBN above 999 424"):
        assert word in text, word
    text = words(results / "figures/schedule.pdf")
    for word in ("no tags", "4 tags", "128 tags", "N+", "order of service", "failed: depth 3 below 4"):
        assert word in text, word


@needs_pdftotext
def test_pictures_of_nothing_are_boxes(tmp_path):
    folder = made(tmp_path, []) / "figures"
    assert words(folder / "writes.pdf").count("not run") == 4
    assert words(folder / "schedule.pdf").count("not run") == 3


def test_page_prints_the_measures(results):
    text = (results / "traces.tex").read_text()
    assert r"\quad from one to the next, s (median) & 30.0 & 30.0 & 30.0 \\" in text
    assert "$T_1$ & $" in text
    assert "128 & 1.0 & 0.0 & 20.0" in text
    assert r"4 & -- & -- & -- & failed: depth 3 below 4 \\" in text


def test_page_of_nothing_says_so(tmp_path):
    text = (made(tmp_path, []) / "traces.tex").read_text()
    assert "FFS: not run. Soft Updates: not run. NTFS: not run." in text
    assert "This profile has no cell with a trace to sum up." in text


def test_limits_are_shared_where_ranges_are_alike():
    assert trace_figures.limits({"a": 100, "b": 60, "c": 40}) == {"a": 104, "b": 104, "c": 41.6}
    assert trace_figures.limits({}) == {}


def test_io_summary_of_a_result_is_that_of_its_trace(tmp_path):
    cell = synthetic_traces.write_postmark(tmp_path, "ntfs")
    line = io_summary.line(tmp_path, cell)
    path = tmp_path / "cells" / cell / "result.json"
    path.write_text(path.read_text().replace('"reads"', '"other"'))
    assert io_summary.line(tmp_path, cell) == line
    assert (line["file_system"], line["scheduler"], line["queue_depth_max"]) == ("ntfs", "both", "32")


def test_io_summary_keeps_failed_and_empty_cells(tmp_path):
    failed = synthetic_traces.write_postmark(tmp_path, "ffs", failed="the guest's kernel panicked")
    empty = synthetic_traces.put(
        tmp_path, f"{SCSI}.t4.host.rawio-read-random.s01",
        {"tags": "4", "host_scheduler": True, "disk_scheduler": False, "file_system": "raw", "workload": "rawio",
         "parameters": {"op": "read", "pattern": "random"}}, {}, [], None)  # fmt: skip
    rows = {row["cell"]: row for row in io_summary.build(tmp_path, [failed, empty])}
    assert (rows[failed]["reason"], rows[failed]["requests"]) == ("failed: the guest's kernel panicked", "")
    assert rows[empty]["reason"] == "the disk saw no request"
    assert [line["reason"] for line in trace_page.summary(list(rows.values()))][1].startswith("failed")


def test_io_summary_has_a_line_for_every_cell_and_all_sums(results):
    with (results / "tables/io-summary.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["file_system"] for row in rows] == ["ffs", "ntfs", "softupdates"]
    assert set(trace.Summary.__dataclass_fields__) < rows[0].keys()


@pytest.mark.skipif(not shutil.which("latexmk"), reason="latexmk is not installed")
@pytest.mark.slow
def test_report_builds_with_macro_cells(tmp_path):
    results = pipeline.run(tmp_path, seeds=1)
    cells = results.parent
    ids = [*(cells / "cells.txt").read_text().split(), *invented_macro(cells)]
    made(cells, ids)
    build.build(results / "report.tex", results / "report.pdf", results / "report.log")
    text = words(results / "report.pdf")
    for word in ("What the disk sees", "I/O summary", "PostMark", "Soft Updates", "vertical lines"):
        assert word in text, word


def invented_macro(results):
    names = figure_cells.WRITES_FILE_SYSTEMS
    return [synthetic_traces.write_postmark(results, name, failed="100 % {of} it_" if name == "ntfs" else None)
            for name in names]  # fmt: skip


def test_synthetic_results_are_the_schema_s(tmp_path):
    """What these tests are made from has the form of real results."""
    cell = synthetic_traces.write_postmark(tmp_path, "ffs")
    assert len(load.load_cells(tmp_path, [cell])) == 1
