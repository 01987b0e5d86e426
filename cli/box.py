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
    from lab.cell.errors import EnvironmentMissing
    from lab.guest.host import BuildError
    from vagrant import box

    try:
        box.main([name, *(["--disk", disk] if disk else [])])
    except BuildError as error:
        raise EnvironmentMissing(f"box: {error}") from error
