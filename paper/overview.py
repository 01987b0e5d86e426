# SPDX-License-Identifier: MIT
"""The overview of all papers of a profile, as LaTeX and as data.

    python -m paper.overview --profile quick --results results/quick --summary results/quick/summary.json --out TEX

Beside the LaTeX it draws figures/<paper>.pdf for each paper that has a number to compare.

Everything comes from the papers' own summary.json and reference.json. Counted are the numbers that a paper prints, not
those of tables of ours; within a factor is counted only of numbers that can be compared with the paper's. Numbers from
the reference are another run's: the paper's report prints them because this profile has not measured them at the
paper's size. They are in no other count.
"""

import argparse
import sys
from pathlib import Path

from analysis import command, numbers, origins, papers
from analysis.entries import NOT_RUN
from analysis.summary import glance
from paper import distance, tex

SCHEMA = "spindle-overview/2"
NEAR, FAR = 1.25, 2.0
"""Factors within which numbers are counted."""
BAR_MM = 32
"""Length of a bar that stands for all printed numbers."""


def counted(rows: list[dict]) -> dict:
    """How many numbers there are, how many were reproduced, and how near those are."""
    about = glance(rows)
    offs = [numbers.off(row["ratio"]) for row in rows if row["ratio"] is not None]
    return {name: about[name] for name in ("numbers", "reproduced", "failed", "compared", "median")} | {
        "within_1.25": sum(off <= NEAR for off in offs), "within_2": sum(off <= FAR for off in offs),
    }  # fmt: skip


def verdicts(claims: list[dict]) -> dict:
    """How many claims have each verdict, as summary.json names them."""
    named = (("true", True), ("false", False), (NOT_RUN, NOT_RUN))
    return {name: sum(claim["verdict"] is value or claim["verdict"] == value for claim in claims)
            for name, value in named}  # fmt: skip


def describe(paper: papers.Paper, found: dict, reference: dict) -> dict:
    """One paper's line of summary.json, from its summary.json and reference.json."""
    rows = {table: [row for row in found["numbers"] if row["table"] == table] for table in paper.printed}
    lacking = {table: reference["lacking"].get(table, 0) for table in rows}
    tried = [claim for claim in found["claims"] if claim["reference_verdict"] is not None]
    return {
        "paper": paper.id, "title": paper.about["title"], "authors": paper.about["authors"],
        "report": f"{paper.id}/report.pdf", "summary": f"{paper.id}/summary.json", **counted(found["numbers"]),
        "from_reference": sum(lacking.values()), "origins": found["origins"],
        "claims": verdicts(found["claims"]), "claims_from_reference": len(tried),
        "tables": [{"table": table, **counted(part), "from_reference": lacking[table]} for table, part in rows.items()],
    }  # fmt: skip


def bar(count: dict) -> list[tuple[str, str]]:
    """A bar for the printed numbers: the colour and the length in mm of each part, the nearest first."""
    parts = (
        ("neartint", count["within_1.25"]),
        ("fartint", count["within_2"] - count["within_1.25"]),
        ("beyondtint", count["compared"] - count["within_2"]),
        ("alonetint", count["reproduced"] - count["compared"]),
        ("lackingtint", count["numbers"] - count["reproduced"]),
    )
    every = max(count["numbers"], 1)
    return [(colour, numbers.fixed(BAR_MM * part / every, 2)) for colour, part in parts if part]


def shown(count: dict) -> dict:
    """Counts for a reader."""
    median = "--" if count["median"] is None else numbers.fixed(count["median"], 2)
    # Points in names are no business of a template's.
    return count | {"median": median, "bar": bar(count), "near": count["within_1.25"], "far": count["within_2"]}


def context(profile: str, commit: str, described: list[dict]) -> dict:
    """What the template sees."""
    listed = [
        shown(one) | {"tables": [shown(table) | {"label": table_label(table["table"])} for table in one["tables"]]}
        for one in described
    ]
    seen = [name for name in origins.ORIGINS if any(name in one["origins"] for one in described)]
    return {
        "profile": profile, "commit": commit[:12], "papers": listed, "seen": seen, "means": origins.ORIGINS,
        "measured": any(one["origins"].get(name) for one in described for name in origins.HERE),
    }  # fmt: skip


def table_label(name: str) -> str:
    """`table5` as `Table 5`; other names as they are."""
    number = name.removeprefix("table")
    return f"Table {number}" if number.isdigit() else name.capitalize()


def made(args: argparse.Namespace) -> str:
    """The LaTeX; the data are written on the way."""
    read = [
        [command.read_json(args.results / paper.id / name) for name in ("summary.json", "reference.json")]
        for paper in papers.every()
    ]
    found = [describe(paper, *files) for paper, files in zip(papers.every(), read, strict=True)]
    command.put(args.summary, command.as_json({"schema": SCHEMA, "profile": args.profile, "papers": found}))
    seen = context(args.profile, args.commit, found)
    for one, paper, (rows, _) in zip(seen["papers"], papers.every(), read, strict=True):
        picture = args.out.parent / "figures" / f"{paper.id}.pdf"
        labels = {table: table_label(table) for table in paper.printed}
        one["figure"] = f"figures/{picture.name}" if distance.draw(rows["numbers"], labels, picture) else ""
    return tex.render([tex.HERE], "overview.tex.j2", seen)


def main(argv: list[str] | None = None) -> int:
    """Command line; see the module's text."""
    parser = command.parser(__doc__, "profile", "results", "out")
    parser.add_argument("--summary", type=Path, required=True, help="where the data go")
    parser.add_argument("--commit", default="", help="commit of the source, for the title")
    return command.finish(
        "paper.overview", parser.parse_args(argv), made, made_by="a paper's summary.json and reference.json"
    )


if __name__ == "__main__":
    sys.exit(main())
