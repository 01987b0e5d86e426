# SPDX-License-Identifier: MIT
"""The paper's printed numbers, its sheet, and what is made of them."""

import csv
import hashlib
import re

import pandas as pd
import pytest
import yaml

from analysis import claims, load, papers, summary
from analysis.entries import GIVEN, MARKS, NOT_RUN, read_marked, write
from analysis.settings import System
from lab.cell import cells, sweep
from paper import view
from paper.chung2000 import figures, quantities, tables, views

PAPER = papers.paper("chung2000")
PLACES = [*(f"Table {n}" for n in (1, 2, *range(4, 12))), *(f"Figure {n}" for n in range(1, 39))]


@pytest.fixture(scope="module")
def nothing():
    return pd.DataFrame([], columns=load.COLUMNS)


def frame(rates: dict[str, float]) -> pd.DataFrame:
    """Invented results of cells of the quick profile: a rate in 10^6 bytes a second for each id that contains a key."""
    rows = []
    for cell in cells.paper_cells("quick", PAPER.id):
        if "by" in cell.parameters:
            continue
        rate = next((rate for key, rate in rates.items() if key in cell.id), 1.0)
        words = [*sorted(cell.parameters.items()), *cell.settings.overrides.items()]
        row = dict.fromkeys(load.COLUMNS)
        row |= {name: getattr(cell, name) for name in (*System._fields, "file_system", "workload", "seed", "id")}
        row |= {"status": "ok", "reason": "", "guest": "linux", "scale": 1.0, "rate_mb_s": rate}
        row |= {name: cell.parameters.get(name, "") for name in load.PARAMETERS}
        row |= dict.fromkeys(load.LATENCIES, 2_000_000)
        # 50 us a request and half a us for each KiB.
        row |= {"requests": 1000, "elapsed_ns": 10**9}
        row |= {load.PROCESSOR: 1000 * (50_000 + 500 * int(cell.parameters["kib"]))}
        rows.append(row | {"parameters": " ".join(f"{name}={value}" for name, value in words)})
    return pd.DataFrame(rows, columns=load.COLUMNS)


def built(data: pd.DataFrame, table: str) -> dict:
    return {(e.published.row, e.published.column): e for e in tables.TABLES[table](frame=data, drives={})}


def test_published_numbers_have_a_place_and_a_mark():
    found = [one for table in tables.PRINTED for one in read_marked(PAPER.published / f"{table}.csv")]
    assert len(found) >= 250
    assert {one.mark for one in found} == set(MARKS)
    # Where the paper has two numbers, both are called so, and the place of the other stands there.
    assert all(one.number.questioned == (one.mark == "conflicting") for one in found)
    assert all(";" in one.where or " has " in one.where for one in found if one.mark == "conflicting")


def test_published_numbers_stand_in_the_other_papers_table_as_they_do_here():
    """What another paper's table of several disks takes from this one is no second reading."""
    here = {
        (float(one.number.value)) for table in tables.PRINTED for one in read_marked(PAPER.published / f"{table}.csv")
    }
    there = read_marked(PAPER.published / "beside.scaling.csv")
    assert len(there) == 43
    # 84 MB/s is of other SCSI controllers, which no table has.
    assert [one.number.value for one in there if float(one.number.value) not in here] == ["84"]


def test_places_are_all_tables_and_figures(nothing):
    found = built(nothing, "places")
    assert [row for row, _ in found] == PLACES
    assert {entry.reason for entry in found.values()} == {"reproduced", "in part", "given", "out"}
    words = view.words(PAPER.id, "places")
    lacking = [place for place in PLACES if words[place, "state"] == "out"]
    assert all(re.search("the lab has no|network", words[place, "why"]) for place in lacking)


def test_numbers_without_points_say_why(nothing):
    """Only what a point stands behind may be called not run."""
    for table in tables.PRINTED:
        for key, entry in built(nothing, table).items():
            assert entry.reason.startswith(NOT_RUN) == ((table, *key) in quantities.SOURCES) or entry.reproduced, key
            assert entry.reason


def test_numbers_that_are_given_are_not_reproduced():
    data = frame({})
    for table in tables.PRINTED:
        found = built(data, table)
        for one in read_marked(PAPER.published / f"{table}.csv"):
            if one.mark == "given":
                entry = found[one.number.row, one.number.column]
                assert entry.reproduced is None and entry.reason.startswith(GIVEN)


def test_numbers_behind_every_source_is_a_printed_number():
    printed = {(table, one.number.row, one.number.column)
               for table in tables.PRINTED for one in read_marked(PAPER.published / f"{table}.csv")}  # fmt: skip
    assert set(quantities.SOURCES) <= printed


def test_numbers_are_made_of_the_right_points():
    atlas = "quantum-atlas-10k.t64.both.sqlio-"
    data = frame({
        f"{atlas}read-random-8-1.": 110 * 8192e-6, f"{atlas}write-random-8-1.": 100 * 8192e-6,
        f"{atlas}read-sequential-64-2-970": 17 * 1.048576, f"{atlas}read-sequential-64-2.": 24 * 1.048576,
        f"{atlas}read-sequential-2-1.": 18.0, f"{atlas}read-random-1024-1.": 20 * 1.048576,
        f"{atlas}write-random-1024-1.": 10 * 1.048576, "t64.both+write_cache=false.sqlio-write-sequential-64-1.": 10.0,
        "md-raid0-4.t64.both.sqlio-read-sequential-256-8": 87 * 1.048576,
    })  # fmt: skip
    figures_of, table9, table10 = (built(data, table) for table in ("figures", "table9", "table10"))
    assert table9["atlas", "read"].reproduced == pytest.approx(110)
    assert table9["atlas", "per-kaps"].reproduced == pytest.approx(534 / 110)
    assert table10["atlas", "kaps"].reproduced == pytest.approx(105)
    assert table10["atlas", "maps"].reproduced == pytest.approx(15)
    assert built(data, "table6")["atlas", "inner"].reproduced == pytest.approx(17)
    assert figures_of["figure2", "atlas.inner-loss"].reproduced == pytest.approx(100 * 7 / 24)
    assert figures_of["figure2", "atlas.inner-loss"].ratio is None
    assert figures_of["figure15", "read.2.one-deep"].reproduced == pytest.approx(18 / 1.048576)
    assert figures_of["figure13", "write-uncached"].reproduced == pytest.approx(10 / 1.048576)
    assert figures_of["figure18", "four.read"].reproduced == pytest.approx(87)
    assert built(data, "text")["peak", "atlas.read"].reproduced == pytest.approx(24)


def test_numbers_full_rate_is_the_least_size_from_which_all_have_it():
    lct08 = "card-3w5400.quantum-fireball-lct08.t64.both.sqlio-read-sequential-"
    data = frame({f"{lct08}2-1.": 10.0, f"{lct08}4-1.": 19.0, f"{lct08}8-1.": 15.0, lct08: 19.0})
    assert built(data, "figures")["figure26", "one-deep.read.full"].reproduced == 16
    # Where the largest requests are slower, no size has it from there on.
    slow = frame({f"{lct08}256-1.": 10.0, lct08: 19.0})
    entry = built(slow, "figures")["figure26", "one-deep.read.full"]
    assert entry.reproduced is None and entry.reason == quantities.NEVER_FULL


def test_numbers_of_a_processor_are_fitted_and_have_no_ratio():
    found = built(frame({}), "figures")
    fixed, marginal = found["figure16", "basic.fixed"], found["figure16", "basic.marginal"]
    assert fixed.reproduced == pytest.approx(50) and marginal.reproduced == pytest.approx(0.5)
    assert fixed.ratio is None and fixed.reason.startswith(quantities.PROCESSOR)
    # 54 us for 8 KiB are 6.9 ms for each MiB; 82 us for 64 KiB, at 0.733 GHz.
    assert found["figure12", "unbuffered"].reproduced == pytest.approx(54 * 128 / 1000)
    assert built(frame({}), "table7")["dma", "clocks"].reproduced == pytest.approx(82_000 * 0.733 / 65536)
    assert built(frame({}), "table7")["dma", "processor"].reproduced == pytest.approx(100 * 0.082 / 2)


def test_runs_go_through_the_page_cache_or_past_it():
    """What is set for the page cache holds for a boot."""
    for run in cells.runs("full").values():
        if run.paper == PAPER.id:
            assert len({sweep.past_page_cache(cell.parameters) for cell in run.cells}) == 1


def test_sheet_points_share_a_boot_and_fit_its_job():
    from lab.cell import job

    for run in cells.runs("full").values():
        if run.paper == PAPER.id:
            assert len({cell.seed for cell in run.cells}) == 1
            assert len(job.job_text(run)) < job.JOB_TEXT_BYTES


def test_sheet_of_smoke_has_both_sides_of_the_crosscheck():
    found = cells.paper_cells("smoke", PAPER.id)
    fio = [cell for cell in found if "by" in cell.parameters]
    assert len(fio) == 4
    there = [cell.parameters for cell in found]
    assert all({k: v for k, v in cell.parameters.items() if k != "by"} in there for cell in fio)
    assert {cell.workload for cell in found} == {sweep.WORKLOAD}


def test_claims_are_tested_on_the_papers_own_numbers(nothing, tmp_path):
    """Those that its own numbers do not bear out say so in their notes."""
    rows = []
    for name, build in tables.TABLES.items():
        write(build(frame=nothing, drives={}), tmp_path / f"{name}.csv")
        rows += summary.rows_of(PAPER.id, tmp_path, (name,))
    found = [claims.judge(claim, rows) for claim in claims.read(PAPER.claims)]
    assert len(found) >= 40
    assert {one["verdict"] for one in found} == {NOT_RUN}
    against = {one["id"] for one in found if one["published_verdict"] is False}
    assert against == AGAINST
    assert all(one["note"] for one in found if one["questioned"] or one["id"] in against)


AGAINST = {"atlas-inner-35", "lct08-inner-40", "scsi-17-random", "scsi-12-sequential", "ide-25-per-dollar"}
"""Claims that the paper's own numbers do not bear out."""


@pytest.mark.slow
def test_pictures_are_drawn_from_what_there_is(nothing, tmp_path):
    for data in (nothing, frame({})):
        rows = {}
        for name, build in tables.TABLES.items():
            write(build(frame=data, drives={}), tmp_path / f"{name}.csv")
            rows[name] = summary.rows_of(PAPER.id, tmp_path, (name,))
        found = {"numbers": [row for name in PAPER.printed for row in rows[name]],
                 "extra": [row for name in PAPER.extra for row in rows[name]]}  # fmt: skip
        digests = []
        for _ in range(2):
            for name, draw in figures.FIGURES.items():
                draw(found, tmp_path / f"{name}.pdf")
            digests.append([hashlib.sha256((tmp_path / f"{name}.pdf").read_bytes()).hexdigest()
                            for name in figures.FIGURES])  # fmt: skip
        assert digests[0] == digests[1]


def test_rows_of_sweeps_are_taken_apart():
    assert views.split("atlas.2.read.d3") == ["atlas.2", "read", "d3"]
    assert views.split("lct08.twinstor.write.random.8") == ["lct08.twinstor", "write", "random", "8"]
    assert set(views.NAMES) == set(quantities.CONFIGURATIONS)


def test_assumptions_name_their_reason():
    about = yaml.safe_load((PAPER.folder / "paper.yaml").read_text())
    assert all(len(item["why"]) > 20 for item in about["assumptions"])
    with (PAPER.folder / "cells.csv").open(newline="") as file:
        assert {line["workload"] for line in csv.DictReader(file)} == {sweep.WORKLOAD}


def test_chung2000_names_are_words():
    """A reader meets no name of ours, and no two numbers of a table have the same words."""
    for path in PAPER.published.glob("*.csv"):
        if path.name.endswith(".text.csv") or path.stem not in PAPER.tables:
            continue
        with path.open(newline="") as file:
            rows = [entry | {"table": path.stem} for entry in csv.DictReader(file)]
        said = [views.label(row) for row in rows]
        assert len(set(said)) == len(said), path.name
        for row in rows:
            names = (views.row_words(path.stem, row["row"]), *views.column_words(path.stem, row["column"]))
            assert not [name for name in names if re.search(r"[a-z]\.[a-z0-9]|[a-z]-[a-z]", name)], row


def test_chung2000_tables_with_a_number_of_ours_are_made_from_cells():
    """Regression: Table 11's costs had their sources, and the table was made from the paper alone."""
    assert {table for table, *_ in quantities.SOURCES} <= set(PAPER.measured)
