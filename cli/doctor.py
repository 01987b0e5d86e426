# SPDX-License-Identifier: MIT
"""Name what is missing on this machine, and how to get it.

\b
    spindle doctor
"""

import click


@click.command("doctor", help=__doc__)
def command() -> int:
    import subprocess

    from lab.cell import paths

    # The one that `make doctor` calls, too: it must work where there is no Python of ours yet.
    return subprocess.run(
        ["envs/bootstrap", "--doctor", "build", "tex", "test"], cwd=paths.ROOT, check=False
    ).returncode
