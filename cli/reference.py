# SPDX-License-Identifier: MIT
"""Keep finished cells as reference numbers, or hold all results against them.

The numbers of cells that take hours are committed in paper/PAPER/reference, so that they can be read without
measuring. Taken are only cells that ended well and were made from what lies here; others are named.

\b
    spindle reference --check
    spindle reference --profile reference
"""

from pathlib import Path

import click

from cli import options


@click.command("reference", help=__doc__)
@options.profile(default=None, show_default=False, help="take the finished cells of this profile")
@click.option("--check", is_flag=True, help="compare the results of all profiles, and change nothing")
@click.option("--paper", type=options.PAPER, help="this one alone; default: all papers")
@click.option("--out", type=options.FILE, help="another folder than paper/PAPER/reference; needs --paper")
def command(profile: str | None, check: bool, paper: str | None, out: Path | None) -> int:
    if check == bool(profile):
        raise click.UsageError("give --profile, or --check alone")
    if out is not None and paper is None:
        raise click.UsageError("--out is the folder of one paper's numbers; name it with --paper")
    from analysis import reference
    from lab.cell import config

    if profile:
        config.require_profile(profile)
    status = [
        reference.check_all(one, out) if check else reference.take_all(one, profile or "", out)
        for one in reference.chosen(paper)
    ]
    return max(status, default=0)
