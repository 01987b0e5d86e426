# SPDX-License-Identifier: MIT
"""Write the machine of a cell as a libvirt domain, so that it opens in the tools that people know.

What the cell boots from is laid out beside domain.xml, and the command that defines the domain is printed. Started by
libvirt, the machine does the cell's job on the lab's clock; it is for looking, and nothing of it is a result.

\b
    spindle domain ide-piix.deskstar-75gxp.tnone.both.rawio-read-random.s01
"""

import shlex
from pathlib import Path

import click

from cli import options


@click.command("domain", help=__doc__)
@options.profile(default=None, show_default=False, help="default: the first of smoke, quick and full that has the cell")
@click.option("--folder", type=options.FILE, help="where to; default: build/domains/CELL")
@click.argument("cell", type=options.CELL)
def command(profile: str | None, folder: Path | None, cell: str) -> int:
    from lab.cell import domain

    print(f"virsh -c qemu:///session define {shlex.quote(str(domain.write(cell, profile, folder)))}")
    return 0
