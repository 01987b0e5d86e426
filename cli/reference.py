# SPDX-License-Identifier: MIT
"""Keep finished cells as reference numbers, or hold all results against them.

The numbers of cells that take hours are committed in paper/PAPER/reference, so that they can be read without
measuring. Taken are only cells that ended well and were made from what lies here; others are named.

\b
    spindle reference --check
    spindle reference --profile reference
    spindle reference --verified
"""

from pathlib import Path

import click

from cli import options


@click.command("reference", help=__doc__)
@options.profile(default=None, show_default=False, help="take the finished cells of this profile")
@click.option("--check", is_flag=True, help="compare the results of all profiles, and change nothing")
@click.option(
    "--verified", "again", is_flag=True, help="note on which states of the lab `spindle verify` found it equal"
)
@click.option("--paper", type=options.PAPER, help="this one alone; default: all papers")
@click.option("--out", type=options.FILE, help="another folder than paper/PAPER/reference; needs --paper")
def command(profile: str | None, check: bool, again: bool, paper: str | None, out: Path | None) -> int:
    if [check, again, bool(profile)].count(True) != 1:
        raise click.UsageError("give one of --profile, --check and --verified")
    if out is not None and paper is None:
        raise click.UsageError("--out is the folder of one paper's numbers; name it with --paper")
    from analysis import reference
    from lab.cell import config

    if again:
        return note_verified(reference.chosen(paper), out)
    if profile:
        config.require_profile(profile)
    status = [
        reference.check_all(one, out) if check else reference.take_all(one, profile or "", out)
        for one in reference.chosen(paper)
    ]
    return max(status, default=0)


def note_verified(papers: list, out: Path | None) -> int:
    """Put results/verified.json into the references of these papers; returns the exit status."""
    from analysis import reference, verified

    noted = 0
    for one in papers:
        place = out or reference.folder(one.id)
        for line in verified.take(verified.path(), reference.read(place), place):
            noted += 1
            state = ", ".join(f"{name} {line[name]}" for name in reference.STATE)
            click.echo(f"{one.id}: {line['equal']} of {line['cells']} cells are equal on {state}")
    if not noted:
        click.echo("nothing to note: `spindle verify` has measured no cell of the reference as it is now", err=True)
    return 0 if noted else 1
