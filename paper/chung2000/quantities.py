# SPDX-License-Identifier: MIT
"""Which points of the sweeps stand behind the paper's numbers, and why the others have none.

SQLIO's megabyte is 2^20 bytes, so that its rates are in MiB/s here.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import pandas as pd

from analysis import papers
from analysis.entries import FULL_SCALE, GIVEN, NOT_RUN, Entry, Marked, Published, measured
from analysis.settings import RATE, Settings, System
from lab.cell import cells, settings

PAPER = "chung2000"
MIB_MB = 1.048576
"""10^6 bytes in a MiB."""
OUTER_KIB, OUTER_DEPTH = 64, 2
"""Requests of a drive's rate: two deep, as there is always one waiting then (section 6.2)."""
INNER_PERMILLE = 970
"""Where the innermost zone of both drives begins at the latest."""
RANDOM_KIB, LARGE_KIB = 8, 1024
"""Requests of a KB access (8 KB in the paper) and of a MB access."""
FULL_SHARE = 0.95
"""Of the best rate, from which on a rate counts as the disk's full rate."""
PRICES = {"atlas": 534, "lct08": 209}
"""Dollars of a drive (Table 2)."""
CAPACITIES_GB = {"atlas": 18, "lct08": 26}
"""As Table 10 has them."""
REVOLUTIONS_S = {"lct08": 90}
"""Nominal revolutions a second."""


class Configuration(NamedTuple):
    """What points run on, and the row's own values."""

    system: System
    own: tuple[str, ...] = ()


def _scsi(drive: str, array: str = "none", controller: str = "scsi-virtio-u160") -> System:
    return System(controller, "64", "both", drive, array)


def _ide(drive: str, array: str = "none") -> System:
    return System("ide-piix-66", "none", "both", drive, array)


_SLOW = ("cpu_ns_per_instruction=4",)
CONFIGURATIONS = {
    "atlas": Configuration(_scsi("quantum-atlas-10k")),
    "atlas.uncached": Configuration(_scsi("quantum-atlas-10k"), ("write_cache=false",)),
    "lct08": Configuration(_ide("quantum-fireball-lct08")),
    "maxtor": Configuration(_ide("maxtor-diamondmax-plus-40-40gb")),
    "atlas.2": Configuration(_scsi("quantum-atlas-10k", "md-raid0-2")),
    "atlas.3": Configuration(_scsi("quantum-atlas-10k", "md-raid0-3")),
    "atlas.4": Configuration(_scsi("quantum-atlas-10k", "md-raid0-4")),
    "lct08.2": Configuration(_ide("quantum-fireball-lct08", "md-raid0-2")),
    "lct08.twinstor": Configuration(_scsi("quantum-fireball-lct08", "twinstor-2")),
    "barracuda": Configuration(_scsi("seagate-barracuda-4lp", controller="scsi-virtio-uw"), _SLOW),
    "barracuda.uncached": Configuration(
        _scsi("seagate-barracuda-4lp", controller="scsi-virtio-uw"), ("write_cache=false", *_SLOW)
    ),
}
"""Configurations by the names that the tables use."""

CARD = "the lab has no IDE card yet"
HOST_BUS = "the lab has no host bus with a cost per request and a ceiling for writes yet"
COST = "the lab has no processor cost of a request yet"
PIO = "the lab has no programmed I/O yet"
BUFFERED = "the lab has no buffered path with Windows' units of 64 KB yet"
SIDE = "the lab has no raw disks side by side yet"
DYNAMIC = "the lab has no dynamic volume of one disk in this sheet yet"
NTFS = "the lab has no file of NTFS in this sheet yet"
MEMORY = "out: the speed of memory, and the lab's processor has no memory bus"
NETWORK = "out: a file server over a network; it comes with NFS"
PRICE = "reference data of the paper, nothing to run"
LACKING = (
    ("table2 .*", PRICE),
    ("table1 .*|table4 .*|table5 .*", GIVEN),
    ("table6 memory .*", MEMORY),
    ("table6 (ultra160|pci|3w).*", HOST_BUS),
    ("table7 pio read.*", PIO),
    ("table7 .*", COST),
    ("table11 network.*", NETWORK),
    ("table11 .*", COST),
    ("figures figure3 .*", NTFS),
    ("figures figure(5|10|12|14|16|21|25|27|30|35) .*(fixed|marginal|factor|copy|lazy|saturates|buffered).*", COST),
    ("figures figure1[05] dynamic.*", DYNAMIC),
    ("figures figure1[13] .*", BUFFERED),
    ("figures figure24 .*", BUFFERED),
    ("figures figure31 .*", BUFFERED),
    ("figures figure18 .*write.*", HOST_BUS),
    ("figures figure22 .*", SIDE),
    ("figures figure(26|29|32) .*", CARD),
    ("figures figure3[678] .*", NETWORK),
    ("figures figure2 spread", "the model's zones do not vary within themselves"),
    ("text pci .*", HOST_BUS),
    ("text pio .*", PIO),
    ("text buffered .*", COST),
    ("text (ide|scsi) terabyte", PRICE),
)
"""Why numbers have nothing behind them: patterns on table, row and column, of which the first that fits counts."""


def overrides(configuration: Configuration) -> dict:
    """The row's own values in their types."""
    return settings.Settings(PAPER, configuration.own).overrides


@cache
def configuration_of(row: tuple) -> str:
    """The name of a sheet's row, as its items, among CONFIGURATIONS."""
    found = dict(row)
    system = System(*(found[name] for name in System._fields))
    wanted = Configuration(system, tuple(found.get("set", "").split()))
    return next(name for name, one in CONFIGURATIONS.items() if one == wanted)


@cache
def points_of_sheet() -> list[tuple[str, dict[str, str]]]:
    """Every point of the sheet but the cross-check's: the name of its configuration, and its parameters."""
    rows = [row for row in cells.sheet(PAPER) if row["tables"] != cells.CROSSCHECK]
    return [(configuration_of(tuple(row.items())), dict(word.split("=", 1) for word in row["parameters"].split()))
            for row in rows]  # fmt: skip


@cache
def parameters_of(name: str) -> list[dict[str, str]]:
    """The parameters of a configuration's points."""
    return [words for there, words in points_of_sheet() if there == name]


def reason(table: str, one: Marked) -> str:
    """Why a number that no point stands behind has none."""
    if one.mark == "given":
        return GIVEN
    name = f"{table} {one.number.row} {one.number.column}"
    return next((text for pattern, text in LACKING if re.fullmatch(pattern, name)), NOT_RUN)


def mib_s(rate_mb_s: float) -> float:
    """MiB/s of a rate in 10^6 bytes a second."""
    return rate_mb_s / MIB_MB


@dataclass
class Points:
    """The measured points."""

    frame: pd.DataFrame

    def __post_init__(self) -> None:
        self.settings, self.known = Settings(self.frame), papers.paper(PAPER).stand_ins

    def entry(
        self, p: Published, name: str, words: dict[str, object], metric: str = RATE, value: Callable = mib_s
    ) -> Entry:
        """One point's number: `words` are its parameters."""
        configuration = CONFIGURATIONS[name]
        texts = {key: str(word) for key, word in words.items()}
        found = self.settings.pick_point(configuration.system, texts, overrides(configuration))
        return measured(p, found, self.known, metric, value)

    def rate(self, p: Published, name: str, op: str, kib: int = OUTER_KIB, depth: int = OUTER_DEPTH, **more) -> Entry:
        """A sequential rate in MiB/s."""
        return self.entry(p, name, {"op": op, "pattern": "sequential", "kib": kib, "depth": depth} | more)

    def random(self, p: Published, name: str, op: str, depth: int = 1, kib: int = RANDOM_KIB) -> Entry:
        """Random requests a second."""
        words = {"op": op, "pattern": "random", "kib": kib, "depth": depth}
        return self.entry(p, name, words, value=lambda rate: rate * 1e6 / (kib << 10))

    def best(self, p: Published, name: str, op: str) -> Entry:
        """The best sequential rate at the device's beginning, of all sizes and depths of the sheet that ran."""
        points = [(words["op"], words["pattern"], words) for words in parameters_of(name)]
        found = [self.entry(p, name, words) for done, pattern, words in points
                 if (done, pattern) == (op, "sequential") and "start_permille" not in words]  # fmt: skip
        good = [entry for entry in found if entry.reproduced is not None]
        if not good:
            return found[0]
        return max(good, key=lambda entry: entry.reproduced)

    def full_kib(self, p: Published, name: str, op: str, depth: int) -> Entry:
        """The least size of request, in KiB, from which on the rate is the best of this depth."""
        sizes = (2, 4, 8, 16, 32, 64, 128, 256)
        parts = [self.rate(p, name, op, kib, depth) for kib in sizes]

        def least(*rates: float) -> float:
            enough = [rate >= FULL_SHARE * max(rates) for rate in rates]
            return float(next(kib for at, kib in enumerate(sizes) if all(enough[at:])))

        return derived(p, least, *parts)


def derived(p: Published, make: Callable[..., float], *parts: Entry, comparable: bool = True) -> Entry:
    """A number that is computed from measured ones."""
    ids = tuple(dict.fromkeys(cell for part in parts for cell in part.cells))
    stand_in = any(part.stand_in for part in parts)
    lacking = [part.reason for part in parts if part.reproduced is None]
    if lacking:
        return Entry(p, reason=lacking[0], stand_in=stand_in, cells=ids, comparable=comparable)
    number = make(*(part.reproduced for part in parts))
    return Entry(p, number, None, min(part.n for part in parts), stand_in, "", ids, comparable, FULL_SCALE)


def less_percent(one: float, other: float) -> float:
    """How much less `one` is than `other`, in per cent."""
    return 100 * (1 - one / other)


def more_percent(one: float, other: float) -> float:
    """How much more `one` is than `other`, in per cent."""
    return 100 * (one / other - 1)


def _percent(make: Callable[..., float], *ways: Callable) -> Callable:
    """A percentage has no ratio: its sign may change."""
    return lambda m, p: derived(p, make, *(way(m, p) for way in ways), comparable=False)


def _gain(name: str, before: str, op: str) -> Callable:
    """What the best rate gains."""
    return lambda m, p: derived(p, lambda a, b: a - b, m.best(p, name, op), m.best(p, before, op), comparable=False)


def _rate(name: str, op: str, kib: int = OUTER_KIB, depth: int = OUTER_DEPTH, **more) -> Callable:
    return lambda m, p: m.rate(p, name, op, kib, depth, **more)


def _random(name: str, op: str, depth: int = 1, kib: int = RANDOM_KIB) -> Callable:
    return lambda m, p: m.random(p, name, op, depth, kib)


def _best(name: str, op: str) -> Callable:
    return lambda m, p: m.best(p, name, op)


def _full(name: str, op: str, depth: int) -> Callable:
    return lambda m, p: m.full_kib(p, name, op, depth)


def _quotient(one: Callable, other: Callable) -> Callable:
    return lambda m, p: derived(p, lambda a, b: a / b, one(m, p), other(m, p))


def _over(one: Callable, number: float) -> Callable:
    return lambda m, p: derived(p, lambda a: a / number, one(m, p))


def _mean(*ways: Callable) -> Callable:
    return lambda m, p: derived(p, lambda *values: sum(values) / len(values), *(way(m, p) for way in ways))


def _computed(number: float) -> Callable:
    """From the paper's own numbers, which are given: no ratio."""
    return lambda m, p: Entry(p, number, comparable=False, reason="computed from given numbers")


def _price(one: Callable, dollars: float) -> Callable:
    return lambda m, p: derived(p, lambda a: dollars / a, one(m, p))


def _kaps(name: str) -> Callable:
    return _mean(_random(name, "read"), _random(name, "write"))


def _maps(name: str) -> Callable:
    return _mean(_random(name, "read", 1, LARGE_KIB), _random(name, "write", 1, LARGE_KIB))


def _depth_enough(name: str, op: str, kib: int, depths: tuple[int, ...]) -> Callable:
    """The least depth beyond which nothing is gained."""

    def least(*rates: float) -> float:
        return float(next(depth for depth, rate in zip(depths, rates, strict=True) if rate >= FULL_SHARE * max(rates)))

    return lambda m, p: derived(p, least, *(m.rate(p, name, op, kib, depth) for depth in depths))


_OUTER = {name: _rate(name, "read") for name in ("atlas", "lct08")}
_INNER = {name: _rate(name, "read", start_permille=INNER_PERMILLE) for name in ("atlas", "lct08")}
_DEEP = 32
SOURCES: dict[tuple[str, str, str], Callable[[Points, Published], Entry]] = {
    ("table1", "old", "rap"): _rate("barracuda", "read", OUTER_KIB, 1),
    ("table1", "new-scsi", "rap"): _OUTER["atlas"],
    ("table1", "new-ide", "rap"): _OUTER["lct08"],
    **{("table6", name, "outer"): way for name, way in _OUTER.items()},
    **{("table6", name, "inner"): way for name, way in _INNER.items()},
    ("table7", "dma", "read.64"): _rate("lct08", "read", OUTER_KIB, 1),
    **{("table9", name, op): _random(name, op) for name in PRICES for op in ("read", "write")},
    **{("table9", name, "per-kaps"): _price(_random(name, "read"), price) for name, price in PRICES.items()},
    **{("table10", name, "kaps"): _kaps(name) for name in PRICES},
    **{("table10", name, "maps"): _maps(name) for name in PRICES},
    **{("table10", name, "mb-per-dollar"): _computed(1000 * CAPACITIES_GB[name] / PRICES[name]) for name in PRICES},
    **{("table10", name, "kaps-per-dollar"): _over(_kaps(name), PRICES[name]) for name in PRICES},
    **{("table10", name, "maps-per-dollar"): _over(_maps(name), PRICES[name]) for name in PRICES},
    ("figures", "figure2", "atlas.inner-loss"): _percent(less_percent, _INNER["atlas"], _OUTER["atlas"]),
    ("figures", "figure2", "lct08.inner-loss"): _percent(less_percent, _INNER["lct08"], _OUTER["lct08"]),
    ("figures", "figure7", "disk.read"): _rate("barracuda", "read", OUTER_KIB, 1),
    ("figures", "figure7", "depth.write-uncached"): _depth_enough("barracuda.uncached", "write", 8, (1, 2, 3, 4, 8)),
    ("figures", "figure9", "deep.read-loss"): _percent(
        less_percent, _rate("barracuda", "read"), _rate("barracuda", "read", OUTER_KIB, 1)
    ),
    ("figures", "figure13", "write-uncached"): _rate("atlas.uncached", "write", OUTER_KIB, 1),
    ("figures", "figure15", "read.2.one-deep"): _rate("atlas", "read", 2, 1),
    ("figures", "figure15", "read.2.two-deep"): _rate("atlas", "read", 2, 2),
    ("figures", "figure15", "read.2.gain"): _percent(
        more_percent, _rate("atlas", "read", 2), _rate("atlas", "read", 2, 1)
    ),
    ("figures", "figure15", "write-uncached"): _rate("atlas.uncached", "write", OUTER_KIB, 1),
    ("figures", "figure17", "two-disks.factor"): _quotient(_rate("atlas.2", "read", OUTER_KIB, 3), _OUTER["atlas"]),
    ("figures", "figure18", "three.read"): _best("atlas.3", "read"),
    ("figures", "figure18", "four.read"): _best("atlas.4", "read"),
    ("figures", "figure18", "three.read.gain"): _gain("atlas.3", "atlas.2", "read"),
    ("figures", "figure18", "four.read.gain"): _gain("atlas.4", "atlas.3", "read"),
    ("figures", "figure20", "read.one-deep"): _random("lct08", "read", 1),
    ("figures", "figure20", "read.two-deep"): _random("lct08", "read", 2),
    ("figures", "figure20", "read.32-deep"): _random("lct08", "read", _DEEP),
    ("figures", "figure20", "write.one-deep"): _random("lct08", "write", 1),
    ("figures", "figure20", "read.per-revolution"): _over(_random("lct08", "read", _DEEP), REVOLUTIONS_S["lct08"]),
    ("figures", "figure20", "read.loss"): _percent(less_percent, _random("lct08", "read"), _random("atlas", "read")),
    ("figures", "figure20", "write.loss"): _percent(less_percent, _random("lct08", "write"), _random("atlas", "write")),
    ("figures", "figure26", "one-deep.read.full"): _full("lct08", "read", 1),
    ("figures", "figure26", "one-deep.write.full.motherboard"): _full("lct08", "write", 1),
    ("figures", "figure26", "two-deep.full"): _full("lct08", "read", 2),
    ("figures", "figure28", "two.read"): _best("lct08.2", "read"),
    ("figures", "figure28", "two.write"): _best("lct08.2", "write"),
    ("figures", "figure28", "two.write.caption"): _best("lct08.2", "write"),
    ("figures", "figure28", "two.read.64.one-deep"): _rate("lct08.2", "read", OUTER_KIB, 1),
    ("figures", "figure28", "two.write.64.one-deep"): _rate("lct08.2", "write", OUTER_KIB, 1),
    ("figures", "figure34", "raid0.two-deep.read"): _random("lct08.2", "read", 2),
    ("figures", "figure34", "raid1.two-deep.read"): _random("lct08.twinstor", "read", 2),
    ("figures", "figure34", "raid1.deep.factor"): _quotient(
        _random("lct08.twinstor", "read", _DEEP), _random("lct08", "read")
    ),
    ("text", "peak", "atlas.read"): _best("atlas", "read"),
    ("text", "peak", "atlas.write"): _best("atlas", "write"),
    ("text", "random", "disk"): lambda m, p: m.entry(
        p, "atlas", {"op": "read", "pattern": "random", "kib": RANDOM_KIB, "depth": 1}
    ),
    ("text", "ide", "sequential.loss"): _percent(less_percent, _OUTER["lct08"], _OUTER["atlas"]),
    ("text", "ide", "random.loss"): _percent(less_percent, _random("lct08", "read"), _random("atlas", "read")),
    ("text", "scsi", "random.factor"): _quotient(_random("atlas", "read"), _random("lct08", "read")),
    ("text", "scsi", "sequential.factor"): _quotient(_OUTER["atlas"], _OUTER["lct08"]),
    ("text", "maxtor", "read"): _random("maxtor", "read"),
    ("text", "maxtor", "write"): _random("maxtor", "write"),
    **{
        ("text", "ide", column): _percent(
            lambda lct08, atlas: more_percent(lct08 / PRICES["lct08"], atlas / PRICES["atlas"]),
            _random("lct08", "read"),
            _random("atlas", "read"),
        )
        for column in ("io-per-dollar.gain", "io-per-dollar.gain.summary")
    },
}
"""What makes a number: table, row and column."""


def number(points: Points, table: str, one: Marked) -> Entry:
    """A printed number's entry."""
    make = SOURCES.get((table, one.number.row, one.number.column))
    return Entry(one.number, reason=reason(table, one)) if make is None else make(points, one.number)


def marked(entry: Entry, one: Marked) -> Entry:
    """The entry with what the reader should know of the printed number."""
    text = "the paper has another number: " + one.where if one.mark == "conflicting" else ""
    return replace(entry, reason="; ".join(filter(None, [entry.reason, text])))
