# SPDX-License-Identifier: MIT
"""`spindle shell` with the real lab, on a terminal that only pretends."""

import contextlib
import os
import pty
import subprocess
import sys
import time

import pytest

from lab.cell import boot, cells, paths, shell
from lab.cell.errors import EnvironmentMissing

pytestmark = pytest.mark.lab

CELL = next(iter(cells.runs("smoke").values())).cells[0].id
LIMIT_S = 300


def test_shell_gives_a_prompt_and_ends_with_it():
    try:
        boot.require_built(shell.run_of(CELL), paths.build())
    except EnvironmentMissing as reason:
        pytest.skip(str(reason))
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "cli", "shell", CELL], cwd=paths.ROOT, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    said, answered, commands = b"", 0, [b"cat /sys/block/sda/queue/scheduler\r", b"exit\r"]
    began = time.monotonic()
    with contextlib.suppress(OSError):  # a terminal whose program has ended
        while time.monotonic() - began < LIMIT_S and (data := os.read(ours, 4096)):
            said += data
            # The guest's shell asks the terminal where the cursor is behind each prompt.
            if said.count(b"/ # ") > answered < len(commands):
                os.write(ours, commands[answered])
                answered += 1
    assert process.wait(timeout=60) == 0, said.decode(errors="replace")
    assert b"[mq-deadline]" in said
    assert b"`exit` ends the guest" in said
