# SPDX-License-Identifier: MIT
"""Prepare another guest than the lean Linux, from its own media.

There is no such guest yet. The lean Linux, in which all papers are measured today, needs no preparation: `spindle
report` builds it.

\b
    spindle guest
"""

import click


@click.command("guest", help=__doc__)
def command() -> int:
    from lab.cell.errors import EnvironmentMissing

    raise EnvironmentMissing(
        "guest: no other guest than the lean Linux can be prepared yet; it would need installation media and their "
        "SHA-256. `spindle try` gives commands to the lean Linux"
    )
