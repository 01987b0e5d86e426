# SPDX-License-Identifier: MIT
"""Machines (lab/machines/<name>.toml): processor, memory and host bus of the computers that papers measured with.

A row of the sheet that runs on another machine than its paper's says `machine=NAME` in its column `set`. That stands
for all assumptions of the machine's entry; what the row sets besides counts more.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lab.cell import config
from lab.cell.errors import ConfigError
from lab.cell.paths import ROOT

FOLDER = ROOT / "lab" / "machines"
KEY = "machine"
"""What a row names its machine by."""


@dataclass(frozen=True)
class Machine:
    """One machine as its entry describes it; config/schemas/machine.schema.json says what each key means."""

    name: str
    data: dict

    @property
    def assumptions(self) -> dict[str, int]:
        """What cells on it have, by the assumptions' ids."""
        return self.data["assumptions"]

    @property
    def speeds_ns(self) -> tuple[int, int]:
        """The two times of an instruction, in ns, that the lab's clock can count and that an instruction a clock of
        this processor lies between: powers of two. Equal where the clock is one."""
        fast = 1
        while 1000 / self.data["clock_mhz"] >= 2 * fast:
            fast *= 2
        return fast, fast if 1000 / self.data["clock_mhz"] == fast else 2 * fast


def names() -> list[str]:
    """Names of all machines."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


@cache
def machine(name: str, where: str = KEY) -> Machine:
    """One machine. Raises ConfigError for one that is not described, or whose entry is wrong."""
    path: Path = FOLDER / f"{name}.toml"
    if not path.is_file():
        raise ConfigError(f"{where}: machine {name!r} is not in lab/machines; {config.nearest(name, names())}")
    data = config.read_toml(path, KEY)
    config.check(data, KEY, config.show(path))
    return Machine(name, data)
