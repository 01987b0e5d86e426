# SPDX-License-Identifier: MIT
"""Measure a cell, a table, or rows of a paper's sheet.

WHAT is the id of a cell or of a run, a pattern on ids of cells (in quotes), or PAPER.TABLE; without it, all cells of
the profile. With --minutes no run begins after that time; the same command goes on later.

\b
    spindle run ide-piix.deskstar-75gxp.tnone.both.rawio-read-random.s01
    spindle run PAPER.table5
    spindle run '*.ffs.postmark.s01' --profile full --minutes 110
    spindle run --where workload=sdet --where file_system=ffs
"""

import click

from cli import options


def values(ctx: click.Context, param: click.Parameter, words: tuple[str, ...]) -> dict[str, str]:
    """COLUMN=VALUE, each."""
    if wrong := next((word for word in words if "=" not in word), None):
        raise click.BadParameter(f"{wrong!r} has no value; write COLUMN=VALUE, e.g. workload=sdet", ctx, param)
    return dict(word.split("=", 1) for word in words)


@click.command("run", help=__doc__)
@options.profile()
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), help="begin no run after this time")
@click.option("--where", multiple=True, metavar="COLUMN=VALUE", callback=values,
              help="cells with this value (a pattern) in that column of the sheet; may be repeated")  # fmt: skip
@click.argument("what", nargs=-1, type=options.CELL)
def command(profile: str, minutes: float | None, where: dict[str, str], what: tuple[str, ...]) -> int:
    from lab.cell import progress, workflow

    workflow.require_installed()
    targets = workflow.targets(profile, list(what), where)
    with options.progress(lambda: progress.time_left(profile)) as (say, _):
        workflow.measure(profile, targets, minutes, say)
    return 0
