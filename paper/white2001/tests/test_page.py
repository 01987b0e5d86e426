# SPDX-License-Identifier: MIT
"""The paper's page from invented results: what stands in it, and how it behaves in a browser."""

import json
import re
import shutil
import time
from pathlib import Path

import plotly
import pytest

from analysis import command
from paper import overview, page
from paper.tests import chromium
from paper.white2001.tests import pipeline, synthetic_traces

FAILED = "ide-ahci.deskstar-75gxp.t4.disk.rawio-write-random"
MISSING = "ide-ahci.deskstar-75gxp.t32.host"
POSTMARK = "number/table6/t32-64.both/ffs.scsi.postmark"
PARTS = (*(page.TEMPLATES / f"page.{kind}" for kind in ("css", "js")),
         Path(plotly.__file__).parent / "package_data" / "plotly.min.js")  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The paper's folder of results, below one with spaces in its name, with its page and that of all papers."""
    root = tmp_path_factory.mktemp("a report & more")
    own = pipeline.run(root, drawn=False, seeds=1, missing=(MISSING,), failed={FAILED: "guest panicked </script>"})
    synthetic_traces.write_postmark(own.parent, "ffs", "64")
    pipeline.pages(root, own)
    described = overview.describe(pipeline.ABOUT, *(command.read_json(own / f"{name}.json")
                                                    for name in ("summary", "reference")))  # fmt: skip
    (own.parent / "summary.json").write_text(json.dumps({"papers": [described]}))
    given = ["--profile", "quick", "--results", str(own.parent), "--out", str(own.parent / "report.html")]
    assert page.main(["overview", *given]) == 0
    (own.parent / "page").mkdir()
    for path in PARTS:
        shutil.copy(path, own.parent / "page")
    return own


def data_of(made):
    text = (made / "report.html").read_text()
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text)[1])


def test_page_has_every_number(made):
    summary = json.loads((made / "summary.json").read_text())
    there = {(one["table"], one["row"], one["column"]): one for one in data_of(made)["numbers"]}
    for one in [*summary["numbers"], *summary["extra"]]:
        found = there[one["table"], one["row"], one["column"]]
        assert (found["ratio"], found["cells"], found["unit"]) == (one["ratio"], one["cells"], one["unit"])


def test_page_leads_from_each_number_to_files_that_are_there(made):
    numbers = data_of(made)["numbers"]
    known = {path.stem for path in (made / "page").iterdir()}
    assert {cell for one in numbers for cell in one["cells"]} <= known
    text = (made / "report.html").read_text()
    links = re.findall(r'href="#(number/[^"]*)"', text)
    assert len(set(links)) == len(numbers)


def test_page_says_what_failed_and_what_is_missing(made):
    text = (made / "report.html").read_text()
    assert "guest panicked </script>" not in text
    assert "1 cell failed." in text and f'href="#cell/{FAILED}.s01"' in text
    of = {(one["row"], one["column"]): one["origin"] for one in data_of(made)["numbers"] if one["table"] == "table5"}
    assert of["t4.disk", "ide.write.random"] == "failed"
    assert of["t32.host", "ide.read.random"] == "not here"
    assert of["t32.both", "ide.read.random"] == "measured here"


def test_page_grids_have_the_words_of_the_printed_tables(made):
    text = (made / "report.html").read_text()
    heads = re.findall(r"<tr><th>([^<]*)</th>", text)
    wanted = {"Both, no tags", "Disk only, 32 tags", "Both, 32/64 tags", "SDET on Soft Updates", "NetNews", "ReiserFS"}
    assert wanted <= set(heads)
    assert not [head for head in heads if re.search(r"^t\w+\.\w+$", head)]
    assert "<th>Soft Updates<br>SCSI<br>PostMark</th>" in text


def test_page_claims_have_their_verdicts_and_tables(made):
    claims = json.loads((made / "summary.json").read_text())["claims"]
    text = (made / "report.html").read_text()
    rows = re.findall(r'<tr id="claim-[^"]*" data-verdict="([^"]*)" data-reference="[^"]*" data-tables="([^"]*)"', text)
    assert [verdict for verdict, _ in rows] == [page.verdict(claim["verdict"]) for claim in claims]
    assert all(tables for _, tables in rows)


@pytest.mark.slow
def test_page_has_the_same_bytes_again(made):
    def every():
        return {path.name: path.read_bytes() for path in (made / "report.html", *(made / "page").iterdir())}

    before = every()
    shutil.rmtree(made / "page")
    pipeline.pages(made.parents[2], made)
    assert every() == before


def test_page_fetches_nothing(made):
    for path in (made / "report.html", made.parent / "report.html", *PARTS[:2]):
        assert not re.search(r"""(src|href)=["']?(https?:)?//|url\(|@import|fetch\(""", path.read_text()), path


@pytest.mark.nightly
@pytest.mark.skipif(chromium.PROGRAM is None, reason="chromium is not installed")
def test_page_in_a_browser(made, tmp_path):
    """Opened from a folder with spaces in its name and clicked through: nothing on the console, nothing fetched."""
    began = time.monotonic()
    with chromium.Browser(tmp_path / "profile") as browser:
        browser.open(made.parent / "report.html")
        browser.click(f"h2 a[href='{pipeline.PAPER}/report.html']")
        browser.wait("document.querySelector('#strip .main-svg')", "the picture of all numbers")

        # Sorted by the paper's number: the largest first, then the smallest.
        first = "Number(document.querySelector('#far tbody tr').cells[2].textContent)"
        every = "[...document.querySelectorAll('#far tbody tr')].map(row => Number(row.cells[2].textContent))"
        for edge in ("max", "min"):
            browser.click("#far thead th:nth-child(3)")
            assert browser.run(f"{first} === Math.{edge}(...{every})")
        browser.run("document.querySelector('#table5').scrollIntoView()")
        browser.click("#table5 thead th:nth-child(4)")

        # Claims by verdict.
        verdicts = [page.verdict(one["verdict"]) for one in json.loads((made / "summary.json").read_text())["claims"]]
        choose = "document.querySelector('#claims [data-filter=verdict]')"
        browser.run(f"{choose}.value = 'does not hold'; {choose}.dispatchEvent(new Event('input'))")
        seen = browser.run("[...document.querySelectorAll('#claims tbody tr')].filter(row => !row.hidden).length")
        assert seen == verdicts.count("does not hold") > 0

        # From a number to the cell behind it, and into its trace.
        browser.click(f"#table6 a[href='#{POSTMARK}']")
        browser.wait("document.querySelector('#panel .requests .main-svg')", "the picture of a trace")
        text = browser.run("document.querySelector('#panel').textContent")
        for words in ("Table 6: SCSI, PostMark on FFS", "one of 2 is drawn", "spindle verify --profile quick --cells",
                      "create"):  # fmt: skip
            assert words in text
        wide = browser.run("document.querySelector('.requests').layout.xaxis.range.map(Number)")
        browser.drag(".requests .nsewdrag", (0.3, 0.3), (0.6, 0.6))
        browser.wait("document.querySelector('.requests').layout.xaxis.range[0] > 1", "the zoom")
        narrow = browser.run("document.querySelector('.requests').layout.xaxis.range.map(Number)")
        assert wide[0] < narrow[0] < narrow[1] < wide[1]
        browser.picture(tmp_path / "cell.png")
        browser.click("#close")
        browser.wait("document.querySelector('#panel').hidden", "the panel to close")

        # A cell that failed, by its address.
        browser.click(f"a[href='#cell/{FAILED}.s01']")
        browser.wait("document.querySelector('#panel').textContent.includes('guest panicked </script>')", "the reason")
        assert not browser.trouble
        assert not [address for address in browser.asked if not address.startswith(("file:", "data:", "blob:"))]
    print(f"nightly: pages opened and clicked through in Chromium in {time.monotonic() - began:.0f} s")
