# SPDX-License-Identifier: MIT
"""LaTeX from data: one table, or the report around them.

python -m paper.render table --paper white2001 --table table5 --profile quick --csv CSV --out TEX
python -m paper.render table --paper white2001 --table table6 --profile quick --csv CSV --as-reference --out TEX
python -m paper.render report --paper white2001 --profile quick --summary JSON --lab JSON --out TEX
"""

import argparse
import sys
from pathlib import Path

import yaml

from analysis import command, numbers, reference, reference_page, summary, table_names, tables
from analysis.tables import ROOT
from paper import tex, validation
from paper.errors import RenderError
from paper.view import MISSING, Table
from paper.white2001 import views

HERE = ROOT / "paper"
VIEWS = {"white2001": views}
WORST = 6


def render_table(
    paper: str, table: str, profile: str, path: Path, beside: Path | None = None, as_reference: bool = False
) -> str:
    """One table's LaTeX from its CSV. `beside` is the same table made from the reference numbers."""
    known = VIEWS[paper].VIEWS
    if table not in known:
        raise RenderError(f"--table {table}: {paper} has {', '.join(sorted(known))}")
    made_from = None
    if as_reference:
        ids = {cell for row in tables.read(path) for cell in row["cells"]}
        made_from = reference.read(reference.folder(paper)).describe(ids)
    elsewhere = reference_page.lacking(path, beside) if beside and table in table_names.SHOWN else 0
    data = Table(path, paper, table, profile, made_from, elsewhere, beside)
    context = known[table](data)
    # The notes are complete only now, when every entry has been formatted.
    return tex.render([HERE / paper], f"{table}.tex.j2", context | {"table": data})


def formatted(group: dict, label: str = "") -> dict:
    """A glance's numbers as text."""
    percent = [
        MISSING[1:-1] if share is None else f"{numbers.fixed(100 * share, 0)}\\,\\%" for share in group["within"]
    ]
    median = "--" if group["median"] is None else numbers.fixed(group["median"], 2)
    return group | {"label": label, "median": median, "within": percent}


def groups_of(rows: list[dict]) -> list[dict]:
    """The lines of `Reproduced at a glance`."""
    of = {table: [row for row in rows if row["table"] == table] for table in table_names.PRINTED}
    parts = {
        "table5": {side.upper(): lambda row, side=side: row["column"].startswith(side) for side in ("ide", "scsi")}
        | {"without what the authors doubt": lambda row: not row["questioned"]},
        "table6": {name: lambda row, part=part: row["column"].startswith(part)
                   for part, name in (("ffs", "FFS"), ("softupdates", "Soft Updates"))},
        "table7": {part: lambda row, part=part: row["column"].startswith(part) for part in ("software", "hardware")},
    }  # fmt: skip
    lines = []
    for table, found in of.items():
        name = f"Table {table.removeprefix('table')}"
        lines.append((name, found))
        lines += [(f"{name}, {part}", list(filter(wanted, found))) for part, wanted in parts.get(table, {}).items()]
    return [formatted(summary.glance(found), label) for label, found in lines]


def report_context(paper: str, profile: str, found: dict, lab: dict, config: dict, commit: str) -> dict:
    """What the report's template sees."""
    rows, claims = found["numbers"], found["claims"]
    table5, table6, table7 = (
        [row for row in rows if row["table"] == table] for table in ("table5", "table6", "table7")
    )
    worst = [
        {
            "label": VIEWS[paper].label(row), "published": numbers.fixed(row["published"], 1),
            "reproduced": numbers.fixed(row["reproduced"], 1), "ratio": numbers.fixed(row["ratio"], 2),
            "questioned": row["questioned"],
        }
        for row in summary.worst(table5 + table6 + table7, WORST)
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
        "paper": paper, "profile": profile, "title": config["title"], "commit": commit[:12],
        "overall": formatted(summary.glance(rows)), "table5": formatted(summary.glance(table5)),
        "table6": formatted(summary.glance(table6)), "table7": formatted(summary.glance(table7)),
        "groups": groups_of(rows), "factors": [f"{f:g}" for f in summary.WITHIN], "worst": worst,
        "claims": claims, "verdicts": verdicts, "failures": lab["failures"],
        "paper_verdicts": {name: sum(c["published_verdict"] is value for c in claims)
                           for name, value in (("true", True), ("false", False), ("unprinted", None))},
        "reference_verdicts": {name: sum(c["reference_verdict"] is value for c in claims)
                               for name, value in (("true", True), ("false", False))},
        "lab": lab | {"depth": depth}, "assumptions": assumptions, "stand_ins": config["stand_ins"],
        "measured": validation.measured(), "published": validation.published(),
    }  # fmt: skip


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
    config = yaml.safe_load((ROOT / "paper" / args.paper / "paper.yaml").read_text())
    found, lab = map(command.read_json, (args.summary, args.lab))
    context = report_context(args.paper, args.profile, found, lab, config, args.commit)
    return tex.render([HERE], "report.tex.j2", context)


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
        one.add_argument("--paper", required=True, choices=sorted(VIEWS))
        one.add_argument("--profile", required=True)
        one.add_argument("--out", type=Path, required=True)
    return command.finish("paper.render", parser.parse_args(argv), made)


if __name__ == "__main__":
    sys.exit(main())
