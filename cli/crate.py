# SPDX-License-Identifier: MIT
"""Describe a report as a Workflow Run RO-Crate.

The crate says by which workflow the report was made, from which files, and what came out, so that repositories and
other programs can read it. It lies in results/PROFILE/crate with links to the files, or in DIR with copies of them.

\b
    spindle crate --profile smoke
    spindle crate --profile smoke --out smoke-crate
"""

from datetime import datetime
from pathlib import Path

import click

from cli import options


@click.command("crate", help=__doc__)
@options.profile()
@click.option("--out", type=options.FILE, metavar="DIR", help="a new folder, for copies of the files")
@click.option(
    "--date", type=click.DateTime(["%Y-%m-%d"]), metavar="YYYY-MM-DD", help="day of publication; default: the commit's"
)
def command(profile: str, out: Path | None, date: datetime | None) -> int:
    from lab.cell import config
    from paper import crate

    config.require_profile(profile)
    click.echo(crate.write(profile, out, date and f"{date:%Y-%m-%d}") / crate.METADATA)
    return 0
