# SPDX-License-Identifier: MIT
"""Pack a prepared system disk as a Vagrant box (vagrant/README.md).

`make box` installs the Debian packages that it needs.

\b
    spindle box linux
    spindle box linux --disk prepared.img
"""

import click


@click.command("box", help=__doc__)
@click.argument("name")
@click.option("--disk", default="", help="The disk to pack; without it one is made, where that is possible.")
def command(name: str, disk: str) -> None:
    from vagrant import box

    box.main([name, *(["--disk", disk] if disk else [])])
