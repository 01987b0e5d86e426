# SPDX-License-Identifier: MIT
"""Mechanical disks in virtual time: open a drive or a topology, submit requests, advance time, take completions.

Times are whole nanoseconds of virtual time, in the clock of the lab. Sectors have 512 bytes. What the model refuses is
a `DiskError` with the model's own message. The same calls give the same results on any machine.
"""

from spindle_disk._model import Completion, DiskError, Drive, Lab, Lost, Unit, names
from spindle_disk.frames import Replay, about, read_requests, read_trace, replay

__all__ = [
    "Completion",
    "DiskError",
    "Drive",
    "Lab",
    "Lost",
    "Replay",
    "Unit",
    "about",
    "names",
    "read_requests",
    "read_trace",
    "replay",
]
