# SPDX-License-Identifier: MIT
"""Say what of a profile is done, at work and left.

A cell counts as done if it has a number that was made from what lies here. A cell of another state of the lab is
`to measure again`.

\b
    spindle status
    spindle status --profile full --cells
"""

import click

from cli import options


@click.command("status", help=__doc__)
@options.profile()
@click.option("--cells", is_flag=True, help="one line a cell")
def command(profile: str, cells: bool) -> int:
    from collections import Counter

    from lab.cell import config, status

    config.require_profile(profile)
    found = status.of_profile(profile)
    if cells:
        options.table(("cell", "state", "why"), [(one.cell.id, one.state, one.why) for one in found.cells])
    papers = sorted({one.cell.paper for one in found.cells})
    counted = Counter((one.cell.paper, one.state) for one in found.cells)
    rows = [[paper, *(counted[paper, state] for state in status.STATES)] for paper in papers]
    options.table(("paper", *status.STATES), rows, right=status.STATES)
    for line in found.running:
        click.echo(f"at work: {line}")
    for name in found.missing:
        click.echo(f"to build: {name}")
    runs = f"{found.left.there} of {found.left.runs} runs are there"
    if found.left.seconds is None:
        click.echo(f"{runs}; how long the rest takes is known once a run is done")
    else:
        click.echo(f"{runs}, {found.left.words}" if found.left.words else runs)
    return 0
