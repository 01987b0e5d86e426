# SPDX-License-Identifier: MIT
"""Take finished results from files that `spindle export` made.

An archive is taken as a whole or refused as a whole. Cells are left out that were made from other inputs than those
that are built here.

\b
    spindle import --profile full part1.tar.zst part2.tar.zst
"""

from pathlib import Path

import click

from cli import options


@click.command("import", help=__doc__)
@options.profile()
@click.argument("files", nargs=-1, required=True, type=options.FILE)
def command(profile: str, files: tuple[Path, ...]) -> int:
    from lab.cell import archive

    return archive.take_all(profile, list(files))
