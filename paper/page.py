# SPDX-License-Identifier: MIT
"""The report as pages for a browser, beside the PDF: no server, no network.

    python -m paper.page paper --paper PAPER --profile quick --results results/quick --out .../PAPER/report.html
    python -m paper.page overview --profile quick --results results/quick --out results/quick/report.html

A paper's page has its tables with each number's distance from the paper as a colour, its claims, and what explains the
distances. A click on a number opens its cells: the files of paper.cell_page, which lie in PAPER/page/ and are loaded
then. What all pages share lies in page/ (rule page_parts). The same results give the same bytes.
"""

import argparse
import json
import sys
from pathlib import Path

import jinja2
from markupsafe import Markup

from analysis import claims, command, entries, load, numbers, origins, papers, reference
from paper import cell_page, overview, tex
from paper.view import views

TEMPLATES = Path(__file__).resolve().parent / "html"
DENSE = 0.4
"""Share of a table's places that have a number, from which on it is shown as a grid of rows and columns."""
STEPS = ((1.1, "same"), (1.25, "near"), (2.0, "off"))
"""Up to which factor a number has which colour; beyond the last it is `far`."""
FAR = "far"
NOTHING = "–"
DIGITS = 4
"""Significant digits of numbers that the paper does not print."""


def environment() -> jinja2.Environment:
    """Templates of pages. All values are escaped, and an undefined one is an error."""
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    env.filters["script"] = script_json
    return env


def script_json(data: object) -> Markup:
    """Data as JSON that can stand in a script element."""
    text = json.dumps(data, separators=(",", ":"))
    return Markup(text.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e"))


def shade(ratio: float | None) -> str:
    """The colour of a ratio: how far it is off, and to which side."""
    if ratio is None:
        return ""
    off = numbers.off(ratio)
    name = next((name for factor, name in STEPS if off <= factor), FAR)
    return name if name == STEPS[0][1] else f"{name} {'above' if ratio > 1 else 'below'}"


def shown(value: float | None, like: str = "") -> str:
    """A number with the digits that the paper prints in its place."""
    if value is None:
        return NOTHING
    return numbers.like(value, like) if like else f"{value:.{DIGITS}g}"


def title(paper: papers.Paper, table: str) -> str:
    """A table's name for a reader."""
    said = paper.tables[table].title
    return said or overview.table_label(table)


def number(paper: papers.Paper, table: str, own: dict, other: dict | None, origin: str) -> dict:
    """What the page knows of one number. `other` is the same entry made from the reference."""
    row = origins.printed(own, other)
    here = {"table": table, "row": own["row"], "column": own["column"]}
    ours = table in paper.extra
    said = views(paper)
    names = [said.row_words(table, own["row"]), ", ".join(said.column_words(table, own["column"]))]
    label = f"{title(paper, table)}: {', '.join(names)}" if ours else said.label(here)
    found = {
        **here, "label": label, "names": names, "unit": own["unit"], "printed": own["printed"],
        "value": shown(row["reproduced"], own["printed"]),
        "std": "" if row["std"] is None else f"{row['std']:.2g}", "n": row["n"], "ratio": row["ratio"],
        "off": None if row["ratio"] is None else round(numbers.off(row["ratio"]), 6), "shade": shade(row["ratio"]),
        "origin": origin, "reason": row["reason"], "cells": row["cells"],
        "stand_in": row["stand_in"], "questioned": own["questioned"],
        "readings": {name: shown(value, own["printed"]) for name, value in row["readings"].items()},
    }  # fmt: skip
    if row is not own:
        found |= {"own_value": shown(own["reproduced"], own["printed"]), "own_reason": own["reason"]}
        found |= {"own_cells": own["cells"]}
    return found


def numbers_of(paper: papers.Paper, folder: Path, summary: dict) -> dict[str, list[dict]]:
    """Each table's numbers; tables of words, and those whose data are not there, are left out."""
    origin = {claims.place(row): row["origin"] for row in (*summary["numbers"], *summary["extra"])}
    found = {}
    for name, table in paper.tables.items():
        if not (folder / f"{name}.csv").is_file():
            continue
        committed = {}
        if table.reference in (papers.FILLED, papers.SHOWN):
            rows = entries.read(folder / reference.table_file(name))
            committed = {(row["row"], row["column"]): row for row in rows}
        listed = [
            number(
                paper, name, row, committed.get((row["row"], row["column"])), origin[name, row["row"], row["column"]]
            )
            for row in entries.read(folder / f"{name}.csv")
        ]
        # A table of words has no number at all.
        if any(one["printed"] or one["value"] != NOTHING for one in listed):
            found[name] = listed
    return found


def grid(paper: papers.Paper, table: str, listed: list[dict]) -> dict | None:
    """A table's numbers by row and column, where most places have one; else None. Rows and columns have the words that
    the report prints."""
    rows, columns = (list(dict.fromkeys(one[key] for one in listed)) for key in ("row", "column"))
    if len(listed) < DENSE * len(rows) * len(columns) or len(columns) < 2:
        return None
    index = {(one["row"], one["column"]): one for one in listed}
    said = views(paper)
    lines = [
        {"row": said.row_words(table, row), "cells": [index.get((row, column)) for column in columns]} for row in rows
    ]
    return {"columns": [said.column_words(table, column) for column in columns], "lines": lines}


def explained(found: dict) -> list[tuple[dict, set[tuple[str, str, str]]]]:
    """The explanations of deviations.json, each with the numbers of tables that it is about."""
    return [
        (item, {(span["table"], row, span["column"]) for span in item["spans"] for row in span["rows"]
                if span["of"] == "number"})
        for item in found["explained"]
    ]  # fmt: skip


def verdict(value: bool | str | None) -> str:
    """A verdict for a reader."""
    return {True: "holds", False: "does not hold", None: ""}.get(value, entries.NOT_RUN)


def claims_of(paper: papers.Paper, judged: list[dict], known: set[tuple[str, str, str]]) -> list[dict]:
    """The claims with their verdicts, and the numbers that each is tested on."""
    used = {claim.id: sorted(claims.used(claim) & known) for claim in claims.read(paper.claims)}
    return [
        claim
        | {"here": verdict(claim["verdict"]), "reference": verdict(claim["reference_verdict"]),
           "paper_says": verdict(claim["published_verdict"]), "used": used.get(claim["id"], []),
           "tables": list(dict.fromkeys(place[0] for place in used.get(claim["id"], [])))}
        for claim in judged
    ]  # fmt: skip


def paper_context(paper: papers.Paper, profile: str, results: Path, commit: str) -> dict:
    """What a paper's page is made from."""
    folder = results / paper.id
    summary, off, lab = (command.read_json(folder / f"{name}.json") for name in ("summary", "deviations", "lab"))
    tables = numbers_of(paper, folder / "tables", summary)
    flat = [one for listed in tables.values() for one in listed]
    places = {claims.place(one): position for position, one in enumerate(flat)}
    why = explained(off)
    for position, one in enumerate(flat):
        one["id"] = position
        one["why"] = [at for at, (_, about) in enumerate(why) if claims.place(one) in about]
    printed = [one for one in flat if one["table"] in paper.printed]
    short = {name: overview.table_label(name) for name in tables}
    return {
        "paper": paper.id, "title": paper.about["title"], "authors": paper.about["authors"], "profile": profile,
        "commit": commit[:12], "origins": origins.ORIGINS, "count": summary["origins"], "printed": len(printed),
        "failures": lab["failures"], "steps": STEPS, "factor": off["factor"],
        "tables": [
            {"name": name, "title": title(paper, name), "short": short[name], "ours": name in paper.extra,
             "numbers": listed, "grid": grid(paper, name, listed),
             "units": list(dict.fromkeys(one["unit"] for one in listed if one["unit"]))}
            for name, listed in tables.items()
        ],
        "far": sorted((one for one in flat if one["off"] is not None), key=lambda one: -one["off"]),
        "claims": claims_of(paper, summary["claims"], set(places)), "places": places,
        "verdicts": [verdict(value) for value in (True, False, entries.NOT_RUN)],
        "explained": [item for item, _ in why],
        "data": {"profile": profile, "numbers": flat, "tables": short, "why": [item["title"] for item, _ in why],
                 "origins": origins.ORIGINS},
    }  # fmt: skip


def make_paper(args: argparse.Namespace) -> str:
    """A paper's page; the files of its cells are written on the way."""
    paper = papers.paper(args.paper)
    folder = args.results / paper.id
    context = paper_context(paper, args.profile, args.results, args.commit)
    ids = load.read_cell_list(folder / "cells" / "all.txt")
    kept = reference.read(reference.folder(paper.id))
    proven = command.read_json(folder / "reference.json")["verified"]
    cell_page.write(args.profile, args.results, ids, kept, folder / "page", proven)
    return tex.filled(environment(), "paper.html.j2", context)


def make_overview(args: argparse.Namespace) -> str:
    """The page of all papers, from the overview's summary.json."""
    found = command.read_json(args.results / "summary.json")
    context = overview.context(args.profile, args.commit, found["papers"])
    return tex.filled(environment(), "overview.html.j2", context)


def main(argv: list[str] | None = None) -> int:
    """Command line; see the module's text."""
    parser = command.parser(__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, make in (("paper", make_paper), ("overview", make_overview)):
        one = commands.add_parser(name, help=make.__doc__)
        if name == "paper":
            one.add_argument("--paper", required=True)
        one.add_argument("--profile", required=True)
        one.add_argument("--results", type=Path, required=True, help="results/<profile>")
        one.add_argument("--commit", default="", help="commit of the source, for the head")
        one.add_argument("--out", type=Path, required=True)
        one.set_defaults(make=make)
    args = parser.parse_args(argv)
    return command.finish("paper.page", args, args.make, made_by="a paper's summary.json, reference.json or lab.json")


if __name__ == "__main__":
    sys.exit(main())
