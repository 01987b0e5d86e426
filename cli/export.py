# SPDX-License-Identifier: MIT
"""Put finished results into one file.

Another checkout takes it with `spindle import`, if it was made from the same inputs.

\b
    spindle export --profile full part1.tar.zst
    spindle export --profile full postmark.tar.zst --cells '*.postmark.*'
"""

from pathlib import Path

import click

from cli import options


@click.command("export", help=__doc__)
@options.profile()
@click.option("--cells", default="*", help="only cells whose ids fit this pattern (as a shell's)")
@click.argument("file", type=options.FILE)
def command(profile: str, cells: str, file: Path) -> int:
    from lab.cell import archive

    return archive.give(profile, file, cells)
