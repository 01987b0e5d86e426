# SPDX-License-Identifier: MIT
"""A prompt in the guest of a cell.

The guest has the cell's disk, settings and file system, which is mounted at /mnt. Its clock is the virtual one.
Nothing is measured or stored; `exit` ends the guest.

\b
    spindle shell ide-piix.deskstar-75gxp.tnone.both.rawio-read-random.s01
"""

import click

from cli import options


@click.command("shell", help=__doc__)
@click.argument("cell", type=options.CELL)
def command(cell: str) -> int:
    from lab.cell import shell

    shell.enter(cell)
    return 0
