# SPDX-License-Identifier: MIT
"""What the id of a cell says, and which cells stand in the I/O summary. Ids only, no data."""

import re

RAW_WORKLOADS = ("rawio-", "sqlio-", "fio-")
SETTING = re.compile(r"[^.]+\.(?P<drive>[^.]+)(\.(?P<array>[^.]+))?\.t(none|\d+)\.(both|disk|host|none)"
                     r"(?P<set>(\+([a-z]+\.)?[a-z0-9_]+=[^.+]+)*)\.(?P<next>[^.]+)")  # fmt: skip
"""Controller, drive, perhaps an array, tags, scheduler, perhaps values of its own, and what follows them in an id."""
SUMMARY_RAW = ".rawio-read-random.s01"
"""I/O summary: how the id ends of the cell that stands for a configuration of the device itself."""


def summary_cells(ids: list[str]) -> list[str]:
    """Cells with a line in the I/O summary: all on a file system, and one for each configuration of a disk itself."""
    return [cell for cell in sorted(ids)
            if on_file_system(cell) or (cell.endswith(SUMMARY_RAW) and not array_of(cell))]  # fmt: skip


def array_of(cell_id: str) -> str | None:
    """The array that an id names, None for a single disk."""
    return SETTING.match(cell_id)["array"]


def own_of(cell_id: str) -> list[str]:
    """The values of its own that an id names, each as `name=value`."""
    return SETTING.match(cell_id)["set"].split("+")[1:]


def drive_of(cell_id: str) -> str:
    """The drive that an id names."""
    return SETTING.match(cell_id)["drive"]


def on_file_system(cell_id: str) -> bool:
    """What follows tags and scheduler is a file system; of the device itself, it is workload and parameters."""
    return not SETTING.match(cell_id)["next"].startswith(RAW_WORKLOADS)
