# SPDX-License-Identifier: MIT
"""Build the lab and measure nothing.

The lab is QEMU, the disk model, the guest, the tools of software arrays, and the workloads. Other commands build what
they need of it by themselves. Build it first to import results, or to go on without a network. It takes about 5 minutes
on 2 cores. Without --profile all of it is built, with it what the profile uses.

\b
    spindle lab
    spindle lab --profile smoke
"""

import click

from cli import options


@click.command("lab", help=__doc__)
@options.profile(default="full")
def command(profile: str) -> None:
    from lab.cell import workflow

    workflow.require_installed()
    with options.progress() as (say, _):
        workflow.build(profile, say)
