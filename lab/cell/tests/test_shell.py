# SPDX-License-Identifier: MIT
"""A prompt in the guest of a cell: what is booted for it."""

import pytest

from lab.cell import cells, identity, job, shell
from lab.cell.errors import ConfigError

RAW = next(iter(cells.runs("smoke").values())).cells[0]
ON_A_FILE_SYSTEM = next(one for one in cells.cells("smoke") if not one.raw)


def test_shell_takes_the_place_of_the_workload():
    for cell in (RAW, ON_A_FILE_SYSTEM):
        lines = job.job_text(shell.run_of(cell.id)).splitlines()
        assert lines.count(shell.PROMPT) == 1
        assert not any(line.startswith(f"exec {cell.workload}") for line in lines)
        mounted = [line for line in lines if "mount" in line]
        assert len(mounted) == (0 if cell.raw else 2)
    assert identity.start_of(shell.run_of(ON_A_FILE_SYSTEM.id)) == identity.image_of(ON_A_FILE_SYSTEM)


def test_shell_has_the_cells_settings_and_the_terminal_as_console():
    one = shell.run_of(RAW.id)
    made = shell.command(one, "BUILD", "WORK")
    cells_own = job.qemu_command(one, "BUILD", "WORK", identity.kernel_append())
    assert "file:WORK/console.log" in cells_own and "file:WORK/console.log" not in made
    assert made[made.index("-chardev") + 1].startswith("stdio,")
    assert any(f"time-limit-s={shell.LIMIT_S}" in word for word in made)
    assert made[-4:] == cells_own[-4:]


def test_shell_of_no_cell_is_refused():
    with pytest.raises(ConfigError, match="no profile has such a cell"):
        shell.run_of("no.such.cell")
