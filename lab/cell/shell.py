# SPDX-License-Identifier: MIT
"""A prompt in the guest of a cell, with the cell's disk, settings and file system. Nothing is measured or stored.

The guest's console is the terminal of whoever calls this. Its clock stays the virtual one, and is not that of the wall.
"""

import subprocess
import sys
from dataclasses import replace

from lab.cell import boot, cells, identity, images, job, lock, paths
from lab.cell.errors import ConfigError, SpindleError

LABEL = "shell"
PROMPT = "exec busybox getty -n -i -L -l /bin/sh 115200 ttyS0 vt100"
"""The job's line that gives the console to a shell, and ends with it."""
LIMIT_S = 10**9
"""Virtual seconds after which the guest is ended: more than anybody sits at a prompt."""


def run_of(cell_id: str) -> cells.Run:
    """The run that boots a cell's guest and gives a prompt in the place of the workload. Raises ConfigError for a cell
    that no profile has."""
    one = cells.up_to(cell_id)
    if one is None:
        raise ConfigError(f"{cell_id}: no profile has such a cell; `spindle status --cells` lists those of one")
    cell = one.cells[-1]
    script = [f"cell {LABEL} 1", PROMPT, "end"]
    if not cell.raw:
        mount = job.mount_line(one.settings, cell.file_system, job.device(one))
        script[1:2] = [mount, PROMPT, f"exec umount {job.MOUNT_POINT}"]
    return replace(one, cells=(cell,), script=tuple(script))


def command(run: cells.Run, build: str, work: str) -> list[str]:
    """QEMU's command line, with the guest's console on the terminal."""
    made = job.qemu_command(run, build, work, identity.kernel_append())
    made = [word.replace(f"time-limit-s={job.time_limit_s(run)}", f"time-limit-s={LIMIT_S}") for word in made]
    console = f"file:{work}/console.log"
    if console not in made:
        raise ConfigError(f"{run.id}: its guest has no console on the first serial port; take a cell of the lean Linux")
    at = made.index(console)
    return [*made[: at - 1], "-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console", *made[at + 1 :]]


def enter(cell_id: str) -> None:
    """Boot the guest of a cell and leave the terminal to it until its shell ends. Raises SpindleError where it cannot
    be booted."""
    one, build = run_of(cell_id), paths.build()
    start = identity.start_of(one)
    if start is not None:
        images.ensure(start, build)
    with lock.hold(*boot.things(one, build), what=f"shell in {cell_id}"), lock.scratch(LABEL) as work:
        boot.require_built(one, build)
        boot.require_space(work, boot.space_needed(one))
        boot.prepare(one, build, work)
        where = job.MOUNT_POINT if not one.cells[0].raw else job.device(one)
        print(f"the disk under test is {where}; `exit` ends the guest", file=sys.stderr, flush=True)
        status = subprocess.run(command(one, str(build), str(work)), cwd=work, check=False).returncode
        if status:
            raise SpindleError(f"{cell_id}: QEMU ended with status {status}; what it said stands above")
