# SPDX-License-Identifier: MIT
# The files of the notebooks.


def postmark_of(file_system):
    """PostMark's cell that the notebooks read."""
    return f"scsi-virtio.ultrastar-36zx.t64.both.{file_system}.postmark-x0.05.s01"


def figures_of(name):
    """The pictures that a notebook leaves."""
    return [f"results/smoke/notebooks/{name}-{figure}.png" for figure in NOTEBOOKS[name][0]]
