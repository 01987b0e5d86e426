# SPDX-License-Identifier: MIT
"""The tables of Chung, Gray, Worthington and Horst, the numbers at their figures, and the sweeps behind all of them."""

import csv
from functools import partial

import pandas as pd

from analysis import papers
from analysis.entries import Entry, Published, read_marked
from paper.chung2000.quantities import PAPER, Points, marked, number, points_of_sheet

PRINTED = ("table1", "table2", "table4", "table5", "table6", "table7", "table8", "table9", "table10", "table11",
           "figures", "text")  # fmt: skip
"""Tables of printed numbers: the paper's own, the numbers at its figures, and those of its text that no figure has."""
PERCENTILES = ("p50", "p99")
"""Latencies that stand beside random rates."""


def printed(table: str, frame: pd.DataFrame, drives: dict) -> list[Entry]:
    """A table's printed numbers, each with ours or with the reason why there is none."""
    points = Points(frame)
    found = read_marked(papers.paper(PAPER).published / f"{table}.csv")
    return [marked(number(points, table, one), one) for one in found]


def places(frame: pd.DataFrame, drives: dict) -> list[Entry]:
    """Each table and figure of the paper, with what became of it; the words stand in published/places.text.csv."""
    path = papers.paper(PAPER).published / "places.text.csv"
    with path.open(newline="") as file:
        lines = [line for line in csv.DictReader(file) if line["column"] == "state"]
    return [Entry(Published(line["row"], "state", "", ""), reason=line["text"]) for line in lines]


def sweeps(frame: pd.DataFrame, drives: dict) -> list[Entry]:
    """Every point of the sheet: sequential rates in MiB/s by size and by place, random ones in requests a second by
    depth, with latencies; of files by how they were made; and what a request one deep costs the processor, in us."""
    points, entries = Points(frame), []
    for name, words in points_of_sheet():

        def made(line: str, column: str, unit: str, words=words, name=name, **more) -> Entry:
            return points.entry(Published(line, column, unit, ""), name, words, **more)

        if words["pattern"] == "random":
            line, column, kib = f"{name}.{words['op']}.random.{words['kib']}", f"d{words['depth']}", int(words["kib"])
            entries.append(made(line, column, "1/s", value=partial(per_s, kib)))
            entries += [made(line, f"{column}.{rank}", "ms", metric=f"latency_{rank}_ns", value=milliseconds)
                        for rank in PERCENTILES]  # fmt: skip
        elif "start_permille" in words:
            entries.append(made(f"{name}.{words['op']}.zones", words["start_permille"], "MiB/s"))
        elif "fill" in words:
            file = Published(f"{name}.{words['op']}.files", words["fill"], "MiB/s", "")
            entries.append(points.file(file, name, words))
        else:
            entries.append(made(f"{name}.{words['op']}.d{words['depth']}", words["kib"], "MiB/s"))
            if words["depth"] == "1":
                spent = Published(f"{name}.{words['op']}.processor", words["kib"], "us", "")
                entries.append(points.cost(spent, name, words))
    return entries


def per_s(kib: int, rate_mb_s: float) -> float:
    """Requests a second of a rate in 10^6 bytes a second."""
    return rate_mb_s * 1e6 / (kib << 10)


def milliseconds(ns: float) -> float | None:
    """Milliseconds of ns; None where there are none."""
    return None if pd.isna(ns) else float(ns) / 1e6


TABLES = {**{table: partial(printed, table) for table in PRINTED}, "places": places, "sweeps": sweeps}
