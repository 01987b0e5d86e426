# SPDX-License-Identifier: MIT
"""Assumptions and catalogue values as a cell has them: those of its paper and of the catalogue, or its row's own.

A row of the sheet (column `set`) and an attempt (`--set`) may override them by words `key=value`: the id of an
assumption (`write_cache=false`), or a value of the drive (`drive.read_segments=4`) or of the array's controller
(`array.cache_kb=65536`). The word `machine=pentium2-333` stands for all that lab/machines says of this machine.

Whoever wants a value asks here, and what was asked for can be noted: it is a part of a cell's identity
(lab/cell/identity.py), so that an assumption moves exactly the cells that read it.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from lab.cell import catalogue, config, machines
from lab.cell.errors import ConfigError

DRIVE, ARRAY = "drive.", "array."
"""What the keys of catalogue values begin with."""
LIMIT = "limit_"
"""What the ids of assumptions begin with that end a run which hangs. They are left out of every identity on purpose:
a cell that ended has not met them, and a longer patience would else measure everything again."""
WORD = re.compile(r"([a-z]+\.)?[a-z0-9_]+=[A-Za-z0-9_-]+")
"""A value has no point, so that ids can be read."""
WHOLE = re.compile(r"0|-?[1-9][0-9]*")
FIXED = {
    "drive.bus_kind": "it says what the drive is; take another drive",
    "drive.write_cache": "the assumption write_cache decides it",
    "drive.queue": "the assumptions disk_scheduler_on and disk_scheduler_off decide it",
}
"""Catalogue values that a row cannot override, and why."""
CHOICES = {
    "disk_scheduler_on": ("fcfs", "sptf", "clook"),
    "disk_scheduler_off": ("fcfs", "sptf", "clook"),
    "host_elevator": ("mq-deadline",),
    "fs_name_lookup": ("exclusive", "shared"),
    "fs_access_times": ("strictatime", "relatime", "noatime"),
    "cpu_ns_per_instruction": (1, 2, 4, 8, 16),
    "host_merges": (0, 1, 2),
    "fs_host_merges": (0, 1, 2),
}
"""Assumptions that only some values make sense for."""

_notes: list[dict] = []


@contextmanager
def noted() -> Iterator[dict]:
    """Notes each assumption that is read in the block, with its value."""
    note: dict = {}
    _notes.append(note)
    try:
        yield note
    finally:
        # By identity: two notes may be equal.
        del _notes[next(index for index, one in enumerate(_notes) if one is note)]
        remember(note)


def remember(read: dict) -> None:
    """Note what was read before, where an answer was kept."""
    for note in _notes:
        note.update(read)


@dataclass(frozen=True)
class Settings:
    """What a cell of a paper has for assumptions and catalogue values."""

    paper: str
    words: tuple[str, ...] = ()
    """Overrides, `key=value` each; checked."""
    overrides: dict = field(init=False, compare=False)

    def __post_init__(self) -> None:
        found = {}
        for word in self.words:
            key, _, text = word.partition("=")
            found[key] = typed(key, text, known_value(self.paper, key), word)
        if machines.KEY in found:
            found = machines.machine(found[machines.KEY]).assumptions | found
        object.__setattr__(self, "overrides", found)

    def value(self, key: str):
        """The value of an assumption; it is noted."""
        if key.startswith(LIMIT):
            raise ValueError(f"{key} ends a run and is in no identity: ask limit()")
        value = self.overrides[key] if key in self.overrides else config.assumption(self.paper, key)
        remember({key: value})
        return value

    def limit(self, key: str) -> int:
        """The value of an assumption that ends a run; nobody notes it."""
        if not key.startswith(LIMIT):
            raise ValueError(f"{key} may decide a result: ask value()")
        return self.overrides[key] if key in self.overrides else config.assumption(self.paper, key)

    def of(self, prefix: str) -> dict:
        """Overrides of the drive's or the array's catalogue entry, by key."""
        return {key.removeprefix(prefix): value for key, value in self.overrides.items() if key.startswith(prefix)}

    @property
    def drive(self) -> dict:
        """Overrides of the drive's entry."""
        return self.of(DRIVE)

    @property
    def array(self) -> dict:
        """Overrides of the entry of the array's controller."""
        return self.of(ARRAY)


def known_value(paper: str, key: str):
    """The value whose type an override must have: an assumption's; a catalogue value is typed where the drive is known
    (`check`), here by its looks, and a machine is a name."""
    return None if key.startswith((DRIVE, ARRAY)) or key == machines.KEY else config.assumption(paper, key)


def typed(key: str, text: str, like, where: str):
    """A word's value in the type of the value that it overrides; None as that takes whatever it looks like."""
    kind = type(like)
    if like is None:
        kind = bool if text in ("true", "false") else int if WHOLE.fullmatch(text) else str
    if kind is bool:
        if text not in ("true", "false"):
            raise ConfigError(f"{where}: {key} is a switch and cannot be {text!r}; write true or false")
        return text == "true"
    if kind is int:
        if not WHOLE.fullmatch(text):
            raise ConfigError(f"{where}: {key} is a whole number and cannot be {text!r}; write it in digits")
        value = int(text)
        if value < 0:
            raise ConfigError(f"{where}: {key} cannot be {text}; write a number that is not negative")
    elif kind is str:
        value = text
    else:
        raise ConfigError(
            f"{where}: {key} is no single value, so that a row cannot override it; describe another drive"
        )
    if key in CHOICES and value not in CHOICES[key]:
        known = [str(choice) for choice in CHOICES[key]]
        raise ConfigError(f"{where}: {key} cannot be {text!r}; {config.nearest(text, known)}")
    return value


def check(paper: str, words: tuple[str, ...], drive: str, array: str | None, where: str) -> None:
    """Refuse overrides that nobody knows, of another type, or twice. `array` is the catalogue name of a hardware array,
    None for a cell without one."""
    assumptions = {item["id"]: item["value"] for item in config.paper(paper)["assumptions"]} if words else {}
    entries = {DRIVE: ("drives", drive), **({ARRAY: ("arrays", array)} if array else {})}
    values = {
        f"{prefix}{key}": value
        for prefix, (kind, name) in entries.items()
        for key, value in (catalogue.values(kind, name) if words else {}).items()
    }
    known, seen = assumptions | values, set()
    readings = {said["assumption"] for said in config.paper(paper).get("readings", {}).values()} if words else set()
    for word in words:
        key, _, text = word.partition("=")
        if not WORD.fullmatch(word):
            raise ConfigError(f"{where}: set: {word!r} is not key=value, e.g. write_cache=false; correct it")
        if key in seen:
            raise ConfigError(f"{where}: set: {key} stands there twice; leave one")
        seen.add(key)
        if key in FIXED:
            raise ConfigError(f"{where}: set: {key} cannot be overridden: {FIXED[key]}")
        if key.startswith(ARRAY) and array is None:
            raise ConfigError(f"{where}: set: {key}: the cell has no hardware array; leave it out")
        if key in readings:
            raise ConfigError(
                f"{where}: set: {key} cannot be overridden: it says how the paper's numbers are read; leave it out"
            )
        if key == machines.KEY:
            for name, value in machines.machine(text, f"{where}: set").assumptions.items():
                typed(name, str(value), known.get(name, value), f"{where}: set: {word}")
            continue
        if key not in known:
            raise ConfigError(f"{where}: set: nothing is called {key!r}; {config.nearest(key, [*known, machines.KEY])}")
        typed(key, text, known[key], f"{where}: set")
