# SPDX-License-Identifier: MIT
"""The part in Rust (`lab/disk/python/src`): what each call takes, returns and refuses."""

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

class DiskError(ValueError):
    """The model refuses something. The message says what is wrong, where, and what to do next."""

class Unit:
    """A unit of a lab: a drive, a null unit or an array."""

    @property
    def name(self) -> str: ...
    @property
    def sectors(self) -> int:
        """Its size in sectors of 512 bytes; 0 for a null unit."""
    @property
    def max_tags(self) -> int:
        """Commands that can be outstanding at it; more wait before it."""

class Completion:
    """A command that is done."""

    @property
    def cookie(self) -> int:
        """What `submit` was given, or returned."""
    @property
    def unit(self) -> str: ...
    @property
    def status(self) -> int:
        """0 if all went well; -5 if the unit has failed."""
    @property
    def acknowledged_ns(self) -> int: ...
    @property
    def ordinal(self) -> int:
        """How many completions of the lab came before it."""

class Lost:
    """A part of an acknowledged write that a power cut took."""

    @property
    def ordinal(self) -> int:
        """That of the write's completion."""
    @property
    def unit(self) -> str: ...
    @property
    def lbn(self) -> int: ...
    @property
    def sectors(self) -> int: ...

class Drive:
    """A drive of the catalogue as it is: geometry and seek curve. `about` has all the rest."""

    def __new__(cls, drive: str, *, catalogue: str | PathLike[str] | None = None) -> Drive:
        """A name in the catalogue, or the path of a drive file (ends in `.toml`). `catalogue` is the folder of another
        catalogue than the checkout's. Raises DiskError: no such entry (the message lists them), or a bad file."""
    @property
    def name(self) -> str: ...
    @property
    def buses(self) -> list[str]:
        """Buses of the catalogue that it fits on."""
    @property
    def sectors(self) -> int:
        """Its size in sectors of 512 bytes."""
    @property
    def cylinders(self) -> int: ...
    @property
    def heads(self) -> int: ...
    @property
    def revolution_ns(self) -> int:
        """The time of one revolution."""
    @property
    def max_tags(self) -> int:
        """Commands that it can have outstanding; 1 for a drive without a queue."""
    @property
    def queues(self) -> list[str]:
        """Algorithms of its queue that can be chosen."""
    @property
    def queue(self) -> str:
        """The one it has by itself."""
    @property
    def write_cache(self) -> bool:
        """Whether its write cache is on by itself."""
    def seek_ns(self, cylinders: int, *, write: bool = False) -> int:
        """The time of a seek over so many cylinders, with the settle of reads or writes. Raises DiskError: farther than
        the arm moves."""
    def locate(self, lbn: int) -> tuple[int, int, int]:
        """Where a sector is: cylinder, head, and the angle at which it begins, as ns of rotation from a mark on the
        spindle. Raises DiskError: no such sector."""
    def _page(self) -> str: ...

class Lab:
    """Units and buses of one topology. The caller moves its clock, which begins at 0 and never goes back.

    A call with a time (`at_ns`) happens at that time; without it, it happens now."""

    @staticmethod
    def of_drive(
        drive: str,
        bus: str,
        *,
        max_tags: int | None = None,
        queue: str | None = None,
        write_cache: bool | None = None,
        catalogue: str | PathLike[str] | None = None,
        trace: bool = True,
    ) -> Lab:
        """One drive, called `disk0`, on one bus. `drive` is a name in the catalogue or the path of a drive file;
        `max_tags` are the commands that can be outstanding, as many as the drive takes unless given. `queue` and
        `write_cache` stand in place of the drive's own. Without `trace` no trace is kept. Raises DiskError: an unknown
        name, a drive that does not fit on the bus, or a setting that the drive does not have."""
    @staticmethod
    def of_topology(path: str | PathLike[str], *, trace: bool = True) -> Lab:
        """The lab of a topology file (docs/model.md). Raises DiskError: a file that cannot be read, or a bad value."""
    @staticmethod
    def of_toml(text: str, *, trace: bool = True) -> Lab:
        """The same of a topology's text. Raises DiskError."""
    @property
    def units(self) -> list[Unit]: ...
    @property
    def now_ns(self) -> int:
        """The lab's present."""
    @property
    def next_event_ns(self) -> int | None:
        """When something happens next; None if nothing is pending."""
    @property
    def outstanding(self) -> int:
        """Commands that were submitted and are not acknowledged; those of null units do not count."""
    @property
    def idle(self) -> bool:
        """Whether no command is outstanding and all data is on the medium."""
    def set(self, key: str, value: str, *, unit: str | None = None) -> None:
        """Change `queue` or `write-cache` (on, off) of a unit before the first command. Raises DiskError."""
    def reset(self, label: str = "cell", *, seed: int = 0, at_ns: int | None = None) -> int:
        """The marker: arms go to cylinder 0, caches become empty, and the seed decides where the platters stand.
        Returns the start delay that it draws, of up to one revolution. The label goes to the trace. Raises DiskError:
        the lab is not idle."""
    def submit(
        self,
        op: str,
        lbn: int,
        sectors: int,
        *,
        unit: str | None = None,
        at_ns: int | None = None,
        cookie: int | None = None,
        ordered: bool = False,
    ) -> int:
        """Hand a command to a unit: `R` reads, `W` writes, `F` flushes (lbn and sectors do not count), `U` writes to
        the medium. `unit` may be left out where there is only one. Returns the cookie that its completion carries, the
        next number unless one is given. Raises DiskError: an unknown unit or operation, sectors that the unit does not
        have, or a time that lies before the lab's."""
    def advance(self, to_ns: int) -> None:
        """Let time pass up to and including `to_ns`. Raises DiskError: a time before the present."""
    def completions(self) -> list[Completion]:
        """Take what is done, in the order of acknowledgement."""
    def finish(self) -> list[Completion]:
        """Let time pass until nothing is pending, and take what is done."""
    def cut_power(self, *, at_ns: int | None = None) -> list[Lost]:
        """Cut the power of all drives; returns what that takes of acknowledged writes, the newest first. Commands that
        are outstanding never complete, and nothing can be submitted afterwards. Raises DiskError."""
    def mark(self, words: str, *, at_ns: int | None = None) -> None:
        """Write a comment into the trace. Raises DiskError: no line of printable ASCII."""
    def trace(self) -> str:
        """Take the lines of the trace that are there, whole lines only."""
    def _replay(
        self,
        unit: str | None,
        arrival_ns: NDArray[np.int64] | None,
        op: NDArray[np.uint8],
        lbn: NDArray[np.int64],
        sectors: NDArray[np.int64],
        ordered: NDArray[np.bool_] | None,
        plan: tuple[int | None, int, int | None, int | None],
    ) -> tuple[str, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], str]: ...

def names(kind: str = "drives", *, catalogue: str | PathLike[str] | None = None) -> list[str]:
    """Entries of the catalogue: `drives`, `buses`, `controllers` or `arrays`. Raises DiskError: no such folder."""

def read_requests(
    path: str | PathLike[str], *, format: str | None = None, device: str | None = None, action: str = "D"
) -> dict[str, Any]:
    """What `spindle_disk.read_requests` makes a data frame of."""
