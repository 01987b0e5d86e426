# SPDX-License-Identifier: MIT
"""LaTeX from data: one table, or the report around them.

python -m paper.render table --paper PAPER --table table5 --profile quick --csv CSV --out TEX
python -m paper.render table --paper PAPER --table table6 --profile quick --csv CSV --as-reference --out TEX
python -m paper.render report --paper PAPER --profile quick --summary JSON --lab JSON --out TEX
"""

import argparse
import sys
from pathlib import Path

from analysis import command, entries, numbers, origins, papers, reference, reference_page, summary
from analysis.claims import place
from paper import tex, validation
from paper.errors import RenderError
from paper.view import MISSING, Table, plain, views

WORST = 6
DENIED = 6
"""Claims that do not hold, on the report's first pages."""


def render_table(
    paper: str, table: str, profile: str, path: Path, beside: Path | None = None, as_reference: bool = False
) -> str:
    """One table's LaTeX from its CSV. `beside` is the same table made from the reference numbers."""
    about = papers.paper(paper)
    if table not in about.rendered:
        raise RenderError(f"--table {table}: {paper} has {', '.join(sorted(about.rendered))}")
    made_from = None
    if as_reference:
        ids = {cell for row in entries.read(path) for cell in row["cells"]}
        made_from = reference.read(reference.folder(paper)).describe(ids)
    elsewhere = reference_page.lacking(path, beside) if beside and table in about.shown else 0
    data = Table(path, paper, table, profile, made_from, elsewhere, beside)
    view = views(about).VIEWS.get(table)
    context = (view or plain)(data)
    # The notes are complete only now, when every entry has been formatted.
    template = f"{table}.tex.j2" if view else "table.tex.j2"
    return tex.render([about.folder, tex.HERE], template, context | {"table": data})


def formatted(group: dict, label: str = "") -> dict:
    """A glance's numbers as text."""
    percent = [
        MISSING[1:-1] if share is None else f"{numbers.fixed(100 * share, 0)}\\,\\%" for share in group["within"]
    ]
    median = "--" if group["median"] is None else numbers.fixed(group["median"], 2)
    return group | {"label": label, "median": median, "within": percent}


def report_context(paper: papers.Paper, profile: str, found: dict, lab: dict, commit: str) -> dict:
    """What the report's template sees."""
    rows, claims, config, own = found["numbers"], found["claims"], paper.about, views(paper)
    said = own.report(rows)
    instead = {place(row): row for row in found["instead"]}
    whole = [instead.get(place(row), row) for row in rows]
    said_of_whole = own.report(whole)
    worst = [
        {
            "label": own.label(row), "published": numbers.fixed(row["published"], 1),
            "reproduced": numbers.fixed(row["reproduced"], 1), "ratio": numbers.fixed(row["ratio"], 2),
            "questioned": row["questioned"],
        }
        for row in summary.worst(said.get("findings", rows), WORST)
    ]  # fmt: skip
    verdicts = {name: sum(c["verdict"] == value for c in claims)
                for name, value in (("true", True), ("false", False), ("not_run", "not run"))}  # fmt: skip
    depth = [
        {key: MISSING if value is None and key in ("read", "write") else "--" if value is None else value
         for key, value in line.items()}
        for line in lab["depth"]
    ]  # fmt: skip
    assumptions = [a | {"value": yaml_word(a["value"]), "unit": f" {a['unit']}" if is_number(a["value"]) else ""}
                   for a in config["assumptions"]]  # fmt: skip
    return {
        "paper": paper.id, "profile": profile, "title": config["title"], "authors": config["authors"],
        "commit": commit[:12], "tables": paper.rendered, "overall": formatted(summary.glance(rows)),
        **{name: formatted(summary.glance(part)) for name, part in said.get("glances", {}).items()},
        "origins": [(name, found["origins"][name], means) for name, means in origins.ORIGINS.items()
                    if name in found["origins"]],
        "groups": [formatted(summary.glance(part), label) for label, part in said["groups"]],
        "findings": formatted(summary.glance(said.get("findings", rows))),
        "whole": formatted(summary.glance(said_of_whole.get("findings", whole))),
        "whole_groups": [formatted(summary.glance(part), label)
                         for (label, part), (_, before) in zip(said_of_whole["groups"], said["groups"], strict=True)
                         if part != before],
        "factors": [f"{f:g}" for f in summary.WITHIN], "worst": worst,
        "claims": claims, "verdicts": verdicts, "shown_denied": DENIED,
        # What the paper's own numbers do not bear out says nothing of ours.
        "denied": [c for c in claims if c["verdict"] is False and c["published_verdict"] is not False],
        "failures": lab["failures"],
        "paper_verdicts": {name: sum(c["published_verdict"] is value for c in claims)
                           for name, value in (("true", True), ("false", False), ("unprinted", None))},
        "readings": readings_of(paper, claims),
        "whole_verdicts": {name: sum(value in (c["verdict"], c["reference_verdict"]) for c in claims)
                           for name, value in (("true", True), ("false", False))},
        "reference_verdicts": {name: sum(c["reference_verdict"] is value for c in claims)
                               for name, value in (("true", True), ("false", False))},
        "lab": lab | {"depth": depth}, "assumptions": assumptions, "stand_ins": config["stand_ins"],
        "measured": validation.measured(), "published": validation.published(),
    }  # fmt: skip


def readings_of(paper: papers.Paper, claims: list[dict]) -> list[dict]:
    """Of each other reading of the paper's numbers: how many claims are tried under it, and for how many it turns the
    verdict, here or on the reference. Readings that no claim is tried under are left out."""
    found = []
    for reading in paper.readings:
        tried = [(c, r) for c in claims for r in c["readings"] if r["reading"] == reading.name]
        turned = sum(any(c[key] != r[key] for key in ("verdict", "reference_verdict")) for c, r in tried)
        found.append({"label": reading.label, "claims": len(tried), "turned": turned})
    return [one for one in found if one["claims"]]


def is_number(value: object) -> bool:
    """True and false are switches, not numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def yaml_word(value: object) -> str:
    """A value as it stands in the config file."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:,}".replace(",", " ") if is_number(value) else str(value)


def made(args: argparse.Namespace) -> str:
    """The output's text."""
    if args.command == "table":
        return render_table(args.paper, args.table, args.profile, args.csv, args.reference, args.as_reference)
    paper = papers.paper(args.paper)
    found, lab = map(command.read_json, (args.summary, args.lab))
    context = report_context(paper, args.profile, found, lab, args.commit)
    return tex.render([paper.folder, tex.HERE], "report.tex.j2", context)


def main(argv: list[str] | None = None) -> int:
    """Command line; see the module's text."""
    parser = command.parser(__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    table = commands.add_parser("table", help="one table's .tex from its .csv")
    table.add_argument("--table", required=True)
    table.add_argument("--csv", type=Path, required=True)
    table.add_argument("--reference", type=Path, metavar="CSV", help="the table from the reference, if it is printed")
    table.add_argument("--as-reference", action="store_true", help="the CSV is made from the reference")
    report = commands.add_parser("report", help="the report's .tex")
    report.add_argument("--summary", type=Path, required=True)
    report.add_argument("--lab", type=Path, required=True, help="made by paper.lab")
    report.add_argument("--commit", default="", help="commit of the source, for the title")
    for one in (table, report):
        one.add_argument("--paper", required=True)
        one.add_argument("--profile", required=True)
        one.add_argument("--out", type=Path, required=True)
    return command.finish("paper.render", parser.parse_args(argv), made)


if __name__ == "__main__":
    sys.exit(main())
