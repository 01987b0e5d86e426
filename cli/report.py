# SPDX-License-Identifier: MIT
"""Measure what is missing and make the reports.

Builds the lab first where something of it is missing. After an interruption of any kind the same command goes on where
it was. A cell that failed is printed as such; the command then ends with status 1 and names it.

\b
    spindle report --profile smoke
    spindle report --paper PAPER
"""

import click

from cli import options


@click.command("report", help=__doc__)
@options.profile()
@click.option("--paper", type=options.PAPER, help="only this one's report; default: all papers")
def command(profile: str, paper: str | None) -> int:
    from lab.cell import progress, workflow

    workflow.require_installed()
    with options.progress(lambda: progress.time_left(profile)) as (say, _):
        without = workflow.report(profile, paper, say)
    return 1 if without else 0
