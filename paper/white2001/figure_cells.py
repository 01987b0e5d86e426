# SPDX-License-Identifier: MIT
"""Which cells Figures 1 and 2 are made from: the one place that says so. Ids only, no data."""

import re

SCHEDULE_TAGS = ("none", "4", "32", "64", "128")
SCHEDULE_CELL = "scsi-virtio.ultrastar-36zx.t{tags}.host.rawio-write-interleave.s01"
"""Figure 1."""
WRITES_FILE_SYSTEMS = ("ffs", "softupdates", "ntfs")
WRITES_TAGS = ("32", "64")
"""Figure 2: tags of the cells to take, the first of which the profile has most."""
WRITES_CELL = r"scsi-virtio\.ultrastar-36zx\.t{tags}\.both\.{file_system}\.postmark(-x[0-9.]+)?\.s01"


def schedule_cells(ids: list[str]) -> dict[str, str | None]:
    """Tags to the cell that shows them in Figure 1, None where the profile has none."""
    wanted = {tags: SCHEDULE_CELL.format(tags=tags) for tags in SCHEDULE_TAGS}
    return {tags: name if name in ids else None for tags, name in wanted.items()}


def writes_cells(ids: list[str]) -> dict[str, str | None]:
    """File system to the cell that shows it in Figure 2, None where the profile has none; all with the same tags."""
    best: dict[str, str | None] = dict.fromkeys(WRITES_FILE_SYSTEMS)
    for tags in WRITES_TAGS:
        found = {}
        for name in WRITES_FILE_SYSTEMS:
            pattern = re.compile(WRITES_CELL.format(tags=tags, file_system=name))
            # The shortest first: a cell at full size comes before one that is scaled down.
            fitting = sorted((cell for cell in ids if pattern.fullmatch(cell)), key=lambda cell: (len(cell), cell))
            found[name] = fitting[0] if fitting else None
        if sum(map(bool, found.values())) > sum(map(bool, best.values())):
            best = found
    return best
