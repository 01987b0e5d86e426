# SPDX-License-Identifier: MIT
"""Make a Vagrant box of a prepared guest.

There is none yet: a box is made of a guest that `spindle guest` prepared.

\b
    spindle box
"""

import click


@click.command("box", help=__doc__)
def command() -> int:
    from lab.cell.errors import EnvironmentMissing

    raise EnvironmentMissing(
        "box: no guest can be prepared yet that a box is made of (`spindle guest`); `spindle try` gives commands to "
        "the lean Linux"
    )
