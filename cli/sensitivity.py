# SPDX-License-Identifier: MIT
"""Which of a paper's claims have another verdict if an assumption is another.

Profile `sensitivity` measures the cells that a claim names, once as shipped and once under each alternative; this
command reads what is there. With --table it prints a table under the alternatives that name it, with --sheet it makes
the sheet again that the profile measures.

\b
    spindle run --profile sensitivity --minutes 110
    spindle sensitivity PAPER --out claims.md
    spindle sensitivity PAPER --table table5 --out table5.md
"""

from pathlib import Path

import click

from cli import options


@click.command("sensitivity", help=__doc__)
@click.argument("paper", type=options.PAPER)
@click.option("--out", type=options.FILE, help="Markdown file to write")
@click.option("--csv", type=options.FILE, help="the same with what each verdict is from")
@click.option("--table", help="print this table instead of the verdicts")
@click.option("--sheet", is_flag=True, help="make the paper's sheet sensitivity.csv again")
def command(paper: str, out: Path | None, csv: Path | None, table: str | None, sheet: bool) -> int:
    if sheet == bool(out):
        raise click.UsageError("give --out, or --sheet alone")
    from analysis import papers, sensitivity
    from analysis.command import put
    from lab.cell import paths

    about = papers.paper(paper)
    if sheet:
        sensitivity.write_sheet(about, about.folder / sensitivity.SHEET)
        return 0
    frame = sensitivity.measured(about, paths.ROOT / "results" / sensitivity.PROFILE)
    out.parent.mkdir(parents=True, exist_ok=True)
    if table:
        put(out, sensitivity.table_under(about, frame, table))
        return 0
    found = sensitivity.tried(about, frame)
    put(out, sensitivity.readable(about, found))
    if csv:
        sensitivity.write_csv(found, csv)
    return 0
