# SPDX-License-Identifier: MIT
"""Cells of the workload sqlio: points of a sweep over operation, pattern, request size, depth and place.

A point's parameters stand in the sheet, `op=read pattern=sequential kib=64 depth=2`, and most of them are options of
the program (workloads/sqlio/README.md). All points of one configuration and one repetition share a boot: as many as the
text of a job holds.
"""

from collections.abc import Callable

from lab.cell import config
from lab.cell.errors import ConfigError
from lab.cell.settings import Settings

WORKLOAD = "sqlio"
OPS = ("read", "write")
PATTERNS = ("sequential", "random", "same")
CACHINGS = ("drive", "none", "both", "host")
PAST_PAGE_CACHE = ("drive", "none")
"""Values of `caching` with which every request goes to the disk."""
FILLS = ("written", "appended", "extended")
FIO = "fio"
"""Value of `by`: fio issues the same requests, as a cross-check."""
PROGRAMS = {None: "sqlio", FIO: "fio-sqlio"}
KIB_MOST, DEPTH_MOST, PERMILLE_MOST = 16384, 1024, 999
NEEDED = ("op", "pattern", "kib", "depth")
RAW_ONLY = ("start_permille", "by")
FILE_ONLY = ("fill", "file_bytes")
"""Parameters that have no meaning elsewhere."""


def _one_of(*known: str) -> Callable[[str], str | None]:
    return lambda text: None if text in known else config.nearest(text, known)


def _number(low: int, high: int) -> Callable[[str], str | None]:
    good = f"write a number from {low} to {high}"
    return lambda text: None if text.isdecimal() and low <= int(text) <= high else good


PARAMETERS = {
    "op": _one_of(*OPS),
    "pattern": _one_of(*PATTERNS),
    "kib": _number(1, KIB_MOST),
    "depth": _number(0, DEPTH_MOST),
    "start_permille": _number(0, PERMILLE_MOST),
    "caching": _one_of(*CACHINGS),
    "by": _one_of(FIO),
    "fill": _one_of(*FILLS),
    "file_bytes": _number(1, 1 << 40),
}
"""What is wrong with a value, and what to write; None for a good one."""


def check(words: list[str], raw: bool, where: str) -> None:
    """Refuse parameters that are missing, unknown, or have no meaning on the device itself (`raw`) or on a file."""
    found = dict(word.split("=", 1) for word in words)
    known = [name for name in PARAMETERS if name not in (FILE_ONLY if raw else RAW_ONLY)]
    if missing := [name for name in NEEDED if name not in found]:
        raise ConfigError(f"{where}: {WORKLOAD}: {missing[0]} is missing; its parameters are {', '.join(known)}")
    for name, value in found.items():
        if name not in known:
            hint = config.nearest(name, known)
            raise ConfigError(f"{where}: {WORKLOAD}: no parameter is called {name!r} here; {hint}")
        if said := PARAMETERS[name](value):
            raise ConfigError(f"{where}: {WORKLOAD}: {name}={value}: {said}")


def requests(kib: int, settings: Settings) -> int:
    """Requests of a point on the device itself: small ones are more, so that where they begin hardly counts."""
    return max(settings.value("sweep_requests"), settings.value("sweep_bytes") // (kib << 10))


def command(parameters: dict[str, str], devices: list[str], seed: int, settings: Settings) -> str:
    """The command line of a point on the device itself, or on several side by side, each with its own requests."""
    options = {name.replace("_", "-"): value for name, value in parameters.items() if name != "by"}
    kib = int(parameters["kib"])
    words = [f"--{name} {value}" for name, value in options.items()]
    work = requests(kib, settings) * (kib << 10)
    program = PROGRAMS[parameters.get("by")]
    where = " ".join(f"--device {device}" for device in devices)
    return " ".join([f"{program} {where} --seed {seed} --bytes {work}", *words])


def past_page_cache(parameters: dict[str, str]) -> bool:
    """Every request goes to the disk."""
    return parameters.get("caching", CACHINGS[0]) in PAST_PAGE_CACHE


def outstanding(parameters: dict[str, str]) -> int:
    """Requests that the program keeps outstanding; synchronous calls are one."""
    return max(1, int(parameters["depth"]))
