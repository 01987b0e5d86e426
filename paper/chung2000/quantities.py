# SPDX-License-Identifier: MIT
"""Which points of the sweeps stand behind the paper's numbers, and why the others have none.

SQLIO's megabyte is 2^20 bytes, so that its rates are in MiB/s here.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from statistics import linear_regression
from typing import NamedTuple

import pandas as pd

from analysis import papers
from analysis.entries import FULL_SCALE, GIVEN, NOT_RUN, REASONS, Entry, Marked, Published, bounded, measured
from analysis.settings import RATE, Settings, System
from lab.cell import cells, settings

PAPER = "chung2000"
MIB_MB = 1.048576
"""10^6 bytes in a MiB."""
OUTER_KIB, OUTER_DEPTH = 64, 2
"""Requests of a drive's rate: two deep, as there is always one waiting then (section 6.2)."""
FILE_DEPTH, FILE_BYTES = 4, 32 << 20
"""Requests outstanding on a file, and its size."""
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
BUFFERED = ".buffered"
"""How names of configurations end whose requests go through the page cache."""
COST_KIB = (2, 4, 8, 16, 32, 64, 128, 256)
"""Sizes that a request's fixed and marginal cost are fitted to."""
CLOCK_GHZ = 0.733
"""Of the new machine's processors."""
PCI_MIB_S = 98.5
"""What the bus gave (Table 6); an input of the lab."""
KIB_S_MB = 1e6 / 1024
"""MiB/s of a KiB each us."""
REVOLUTIONS_S = {"lct08": 90, "atlas": 167}
"""Nominal revolutions a second."""


class Configuration(NamedTuple):
    """What points run on, and the row's own values."""

    system: System
    own: tuple[str, ...] = ()
    file_system: str = cells.RAW


def _scsi(drive: str, array: str = "none", controller: str = "scsi-virtio-u160") -> System:
    return System(controller, "64", "both", drive, array)


def _board(drive: str) -> System:
    return System("ide-piix-66", "none", "both", drive)


def _card(array: str = "none") -> System:
    return System("ide-card-3w5400", "64", "both", "quantum-fireball-lct08", array)


_OLD_MACHINE = ("machine=pentium2-333",)
_MERGED = ("host_merges=0",)
_OLD = _scsi("seagate-barracuda-4lp", controller="scsi-virtio-uw")
CONFIGURATIONS = {
    "atlas": Configuration(_scsi("quantum-atlas-10k")),
    "atlas.uncached": Configuration(_scsi("quantum-atlas-10k"), ("write_cache=false",)),
    "atlas.buffered": Configuration(_scsi("quantum-atlas-10k"), _MERGED),
    "atlas.uncached.buffered": Configuration(_scsi("quantum-atlas-10k"), ("write_cache=false", *_MERGED)),
    "atlas.ntfs": Configuration(_scsi("quantum-atlas-10k"), file_system="ntfs"),
    "atlas.dynamic": Configuration(_scsi("quantum-atlas-10k", "ldm-simple-1")),
    "atlas.dynamic.buffered": Configuration(_scsi("quantum-atlas-10k", "ldm-simple-1"), _MERGED),
    "lct08": Configuration(_board("quantum-fireball-lct08")),
    "lct08.card": Configuration(_card()),
    "lct08.card.buffered": Configuration(_card(), _MERGED),
    "lct08.pio": Configuration(System("ide-piix-pio", "none", "both", "quantum-fireball-lct08")),
    "maxtor": Configuration(_board("maxtor-diamondmax-plus-40-40gb")),
    "atlas.2": Configuration(_scsi("quantum-atlas-10k", "md-raid0-2")),
    "atlas.3": Configuration(_scsi("quantum-atlas-10k", "md-raid0-3")),
    "atlas.4": Configuration(_scsi("quantum-atlas-10k", "md-raid0-4")),
    "lct08.apart.2": Configuration(_card("disks-2")),
    "lct08.apart.4": Configuration(_card("disks-4")),
    "lct08.2": Configuration(_card("md-raid0-2")),
    "lct08.2.buffered": Configuration(_card("md-raid0-2"), _MERGED),
    "lct08.raid0.2": Configuration(_card("3w5400-raid0-2")),
    "lct08.raid0.2.buffered": Configuration(_card("3w5400-raid0-2"), _MERGED),
    "lct08.raid0.3": Configuration(_card("3w5400-raid0-3")),
    "lct08.raid0.4": Configuration(_card("3w5400-raid0-4")),
    "lct08.twinstor": Configuration(_card("twinstor-2")),
    "barracuda": Configuration(_OLD, _OLD_MACHINE),
    "barracuda.buffered": Configuration(_OLD, (*_OLD_MACHINE, *_MERGED)),
    "barracuda.uncached": Configuration(_OLD, ("write_cache=false", *_OLD_MACHINE)),
    "barracuda.dynamic": Configuration(_OLD._replace(array="ldm-simple-1"), _OLD_MACHINE),
}
"""Configurations by the names that the tables use."""

PROCESSOR = "Linux's cost on a processor without caches: shapes and orders compare, sizes do not"
ONE_SLOPE = "the formula has two terms that grow with the request's size; a fit over sizes gives their sum (Figure 14)"
NEVER_FULL = "there is no such size: the largest requests are slower than smaller ones"
PCI = "a host bus of the paper's other cards or machines, which nothing here runs on"
MEMORY = "out: the speed of memory, and the lab's processor has no memory bus"
NETWORK = "out: a file server over a network; it comes with NFS"
PRICE = "reference data of the paper, nothing to run"
LACKING = (
    ("table2 .*", PRICE),
    ("table1 .*|table4 .*|table5 .*", GIVEN),
    ("table6 memory .*", MEMORY),
    ("table6 3w.*", PCI),
    ("table11 network.*", NETWORK),
    ("figures figure25 (copy|lazy-writer)", ONE_SLOPE),
    ("figures figure14 .*two", "a second processor, which no lockstep machine has"),
    ("figures figure32 second-generation.*", PCI),
    ("figures figure3[678] .*", NETWORK),
    ("figures figure2 spread", "the model's zones do not vary within themselves"),
    ("text pci (gain|of-advertised)", GIVEN),
    ("text pci disks.sequential", "the paper does not say what it calls saturated"),
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
    wanted = Configuration(system, tuple(found.get("set", "").split()), found["file_system"])
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
        buffered = {"caching": "both"} if name.endswith(BUFFERED) else {}
        texts = {key: str(word) for key, word in (buffered | words).items()}
        found = self.settings.pick_point(
            configuration.system, texts, overrides(configuration), configuration.file_system
        )
        return measured(p, found, self.known, metric, value)

    def rate(self, p: Published, name: str, op: str, kib: int = OUTER_KIB, depth: int = OUTER_DEPTH, **more) -> Entry:
        """A sequential rate in MiB/s."""
        return self.entry(p, name, {"op": op, "pattern": "sequential", "kib": kib, "depth": depth} | more)

    def random(self, p: Published, name: str, op: str, depth: int = 1, kib: int = RANDOM_KIB) -> Entry:
        """Random requests a second."""
        words = {"op": op, "pattern": "random", "kib": kib, "depth": depth}
        return self.entry(p, name, words, value=lambda rate: rate * 1e6 / (kib << 10))

    def file(self, p: Published, name: str, words: dict[str, object]) -> Entry:
        """The rate, in MiB/s, at which a file is written once."""
        mib_ns = int(words["file_bytes"]) / 2**20 * 1e9
        return self.entry(p, name, words, "elapsed_ns", lambda ns: mib_ns / ns)

    def cost(self, p: Published, name: str, words: dict[str, object]) -> Entry:
        """What a request of a point costs the processor, in us: all that the system spent meanwhile."""
        spent, requests = (self.entry(p, name, words, metric, there) for metric in ("processor_ns", "requests"))
        return processor(p, lambda ns, number: ns / number / 1000, spent, requests)

    def line(self, p: Published, name: str, op: str, sizes: tuple[int, ...], part: str) -> Entry:
        """The `intercept` (us) or the `slope` (us/KiB) of a sequential request's cost over its size, one deep."""
        words = {"op": op, "pattern": "sequential", "depth": 1}
        parts = [self.cost(p, name, words | {"kib": kib}) for kib in sizes]
        return processor(p, lambda *us: getattr(linear_regression(sizes, us), part), *parts)

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

        def least(*rates: float) -> float | None:
            enough = [rate >= FULL_SHARE * max(rates) for rate in rates]
            return next((float(kib) for at, kib in enumerate(sizes) if all(enough[at:])), None)

        found = derived(p, least, *parts)
        return replace(found, reason=NEVER_FULL) if found.reproduced is None and not found.reason else found


def derived(p: Published, make: Callable[..., float], *parts: Entry, comparable: bool = True) -> Entry:
    """A number that is computed from measured ones."""
    ids = tuple(dict.fromkeys(cell for part in parts for cell in part.cells))
    stand_in = any(part.stand_in for part in parts)
    lacking = [part.reason for part in parts if part.reproduced is None]
    if lacking:
        return Entry(p, reason=lacking[0], stand_in=stand_in, cells=ids, comparable=comparable)
    number = make(*(part.reproduced for part in parts))
    return Entry(p, number, None, min(part.n for part in parts), stand_in, "", ids, comparable, FULL_SCALE)


def processor(p: Published, make: Callable[..., float], *parts: Entry) -> Entry:
    """A number that measures a processor: it stands beside the paper's without a ratio."""
    found = derived(p, make, *parts, comparable=False)
    return found if found.reproduced is None else replace(found, reason=PROCESSOR)


def there(value: float | None) -> float | None:
    """A metric; None where a result has none."""
    return None if pd.isna(value) else float(value)


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


def _file(fill: str) -> Callable:
    """Asynchronous writes of a file of NTFS, in MiB/s."""
    words = {"op": "write", "pattern": "sequential", "kib": OUTER_KIB, "depth": FILE_DEPTH}
    words |= {"fill": fill, "file_bytes": FILE_BYTES}
    return lambda m, p: m.file(p, "atlas.ntfs", words)


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


def _cost(name: str, op: str, pattern: str, kib: int, scale: float = 1.0) -> Callable:
    words = {"op": op, "pattern": pattern, "kib": kib, "depth": 1}
    return lambda m, p: processor(p, lambda us: us * scale, m.cost(p, name, words))


def _fixed(name: str, op: str, sizes: tuple[int, ...] = COST_KIB) -> Callable:
    return lambda m, p: m.line(p, name, op, sizes, "intercept")


def _marginal(name: str, op: str, sizes: tuple[int, ...] = COST_KIB) -> Callable:
    return lambda m, p: m.line(p, name, op, sizes, "slope")


def _mean_cost(*ways: Callable) -> Callable:
    return lambda m, p: processor(p, lambda *us: sum(us) / len(us), *(way(m, p) for way in ways))


def _busy_percent(name: str, kib: int) -> Callable:
    """Share of two processors that the sequential reads keep busy."""

    def make(m: Points, p: Published) -> Entry:
        words = {"op": "read", "pattern": "sequential", "kib": kib, "depth": 1}
        spent, elapsed = (m.entry(p, name, words, metric, there) for metric in ("processor_ns", "elapsed_ns"))
        return processor(p, lambda busy_ns, all_ns: 100 * busy_ns / all_ns / 2, spent, elapsed)

    return make


_PER_MB = 1024 / 8 / 1000
"""ms/MB of us for each 8 KiB."""
_CLOCKS = CLOCK_GHZ * 1000 / (OUTER_KIB << 10)
"""Clocks a byte of us for each request of OUTER_KIB."""
_STRIPED_KIB = (2, 8, 32, 64, 128, 256)
_MIRRORED_KIB = (8, 32, 64, 128, 256)
_BUFFERED_KIB = (2, 8, 64)
_OLD_KIB = (4, 8, 16, 32)
"""Without writes of 2 KB, which read first, and without the larger ones, where the old machine's cost a KB rises (the
paper says the same at Figure 5)."""
_OUTER = {name: _rate(name, "read") for name in ("atlas", "lct08")}
_INNER = {name: _rate(name, "read", start_permille=INNER_PERMILLE) for name in ("atlas", "lct08")}
_DEEP = 32
_CARD = "lct08.card"
RANDOM = {"atlas": "atlas", "lct08": _CARD}
"""What the paper's random requests ran on, by drive."""


def _break_even(*us: float) -> float:
    """The least size, in KiB, from which on buffered requests cost at least as much as unbuffered ones."""
    half = len(us) // 2
    dearer = [buffered >= plain for plain, buffered in zip(us[:half], us[half:], strict=True)]
    return float(next((kib for at, kib in enumerate(COST_KIB) if all(dearer[at:])), COST_KIB[-1]))


SOURCES: dict[tuple[str, str, str], Callable[[Points, Published], Entry]] = {
    ("table1", "old", "rap"): _rate("barracuda", "read", OUTER_KIB, 1),
    ("table1", "new-scsi", "rap"): _OUTER["atlas"],
    ("table1", "new-ide", "rap"): _OUTER["lct08"],
    **{("table6", name, "outer"): way for name, way in _OUTER.items()},
    **{("table6", name, "inner"): way for name, way in _INNER.items()},
    ("table7", "dma", "read.64"): _rate("lct08", "read", OUTER_KIB, 1),
    ("table7", "dma", "processor"): _busy_percent("lct08", OUTER_KIB),
    ("table7", "dma", "clocks"): _cost("lct08", "read", "sequential", OUTER_KIB, _CLOCKS),
    ("table7", "pio", "read.64"): _rate("lct08.pio", "read", OUTER_KIB, 1),
    ("table7", "pio", "processor"): _busy_percent("lct08.pio", OUTER_KIB),
    ("table7", "pio", "clocks"): _cost("lct08.pio", "read", "sequential", OUTER_KIB, _CLOCKS),
    **{("table9", name, op): _random(RANDOM[name], op) for name in PRICES for op in ("read", "write")},
    **{("table9", name, "per-kaps"): _price(_random(RANDOM[name], "read"), price) for name, price in PRICES.items()},
    **{("table10", name, "kaps"): _kaps(RANDOM[name]) for name in PRICES},
    **{("table10", name, "maps"): _maps(RANDOM[name]) for name in PRICES},
    **{("table10", name, "mb-per-dollar"): _computed(1000 * CAPACITIES_GB[name] / PRICES[name]) for name in PRICES},
    **{("table10", name, "kaps-per-dollar"): _over(_kaps(RANDOM[name]), PRICES[name]) for name in PRICES},
    **{("table10", name, "maps-per-dollar"): _over(_maps(RANDOM[name]), PRICES[name]) for name in PRICES},
    **{
        ("table11", f"random.{kind}", op): _cost(name, op, "random", RANDOM_KIB)
        for kind, name in (("unbuffered", "atlas"), ("buffered", "atlas.buffered"))
        for op in ("read", "write")
    },
    **{
        ("table11", f"sequential.{kind}", f"{op}.{part}"): line(name, op)
        for kind, name in (("unbuffered", "atlas"), ("buffered", "atlas.buffered"))
        for op in ("read", "write")
        for part, line in (("fixed", _fixed), ("marginal", _marginal))
    },
    ("figures", "figure2", "atlas.inner-loss"): _percent(less_percent, _INNER["atlas"], _OUTER["atlas"]),
    ("figures", "figure2", "lct08.inner-loss"): _percent(less_percent, _INNER["lct08"], _OUTER["lct08"]),
    ("figures", "figure3", "extended.loss"): _percent(less_percent, _file("extended"), _file("written")),
    ("figures", "figure5", "buffered.fixed"): _mean_cost(
        *(_fixed("barracuda.buffered", op, _OLD_KIB) for op in ("read", "write"))
    ),
    ("figures", "figure5", "buffered.marginal"): _mean_cost(
        *(_marginal("barracuda.buffered", op, _OLD_KIB) for op in ("read", "write"))
    ),
    ("figures", "figure7", "disk.read"): _rate("barracuda", "read", OUTER_KIB, 1),
    ("figures", "figure7", "depth.write-uncached"): _depth_enough("barracuda.uncached", "write", 8, (1, 2, 3, 4, 8)),
    ("figures", "figure9", "deep.read-loss"): _percent(
        less_percent, _rate("barracuda", "read"), _rate("barracuda", "read", OUTER_KIB, 1)
    ),
    **{
        ("figures", "figure10", f"{kind}.{op}.{part}"): line(name, op)
        for kind, name in (("basic", "barracuda"), ("dynamic", "barracuda.dynamic"))
        for op in ("read", "write")
        for part, line in (("fixed", _fixed), ("marginal", _marginal))
    },
    ("figures", "figure10", "dynamic.loss.2"): _percent(
        less_percent, _rate("barracuda.dynamic", "read", 2, 1), _rate("barracuda", "read", 2, 1)
    ),
    ("figures", "figure11", "buffered.read"): _random("atlas.buffered", "read"),
    ("figures", "figure11", "buffered.write"): _random("atlas.buffered", "write"),
    ("figures", "figure11", "buffered.gain"): _percent(
        more_percent, _random("atlas.buffered", "read"), _random("atlas", "read")
    ),
    ("figures", "figure11", "buffered.per-revolution"): _over(
        _random("atlas.buffered", "read"), REVOLUTIONS_S["atlas"]
    ),
    ("figures", "figure12", "buffered.read"): _cost("atlas.buffered", "read", "random", RANDOM_KIB, _PER_MB),
    ("figures", "figure12", "buffered.write"): _cost("atlas.buffered", "write", "random", RANDOM_KIB, _PER_MB),
    ("figures", "figure12", "unbuffered"): _mean_cost(
        *(_cost("atlas", op, "random", RANDOM_KIB, _PER_MB) for op in ("read", "write"))
    ),
    ("figures", "figure13", "write.2"): _rate("atlas.buffered", "write", 2, 1),
    ("figures", "figure13", "write-uncached.2"): _rate("atlas.uncached.buffered", "write", 2, 1),
    ("figures", "figure14", "basic.read.marginal"): _marginal("atlas.buffered", "read"),
    ("figures", "figure14", "basic.write.marginal"): _marginal("atlas.buffered", "write"),
    ("figures", "figure14", "dynamic.marginal"): _mean_cost(
        *(_marginal("atlas.dynamic.buffered", op) for op in ("read", "write"))
    ),
    ("figures", "figure14", "fixed"): _mean_cost(*(_fixed("atlas.buffered", op) for op in ("read", "write"))),
    **{
        ("figures", "figure14", f"saturates.{op}.one"): lambda m, p, op=op: processor(
            p, lambda us: KIB_S_MB / us, _marginal("atlas.buffered", op)(m, p)
        )
        for op in ("read", "write")
    },
    ("figures", "figure13", "write-uncached"): _rate("atlas.uncached", "write", OUTER_KIB, 1),
    ("figures", "figure15", "read.2.one-deep"): _rate("atlas", "read", 2, 1),
    ("figures", "figure15", "read.2.two-deep"): _rate("atlas", "read", 2, 2),
    ("figures", "figure15", "read.2.gain"): _percent(
        more_percent, _rate("atlas", "read", 2), _rate("atlas", "read", 2, 1)
    ),
    ("figures", "figure15", "write-uncached"): _rate("atlas.uncached", "write", OUTER_KIB, 1),
    ("figures", "figure15", "dynamic.loss.2"): _percent(
        less_percent, _rate("atlas.dynamic", "read", 2, 1), _rate("atlas", "read", 2, 1)
    ),
    **{
        ("figures", "figure16", f"{kind}.{part}"): line(name, "read")
        for kind, name in (("basic", "atlas"), ("dynamic", "atlas.dynamic"))
        for part, line in (("fixed", _fixed), ("marginal", _marginal))
    },
    ("figures", "figure16", "buffered.factor"): lambda m, p: processor(
        p,
        lambda a, b: a / b,
        *(_cost(name, "read", "sequential", OUTER_KIB)(m, p) for name in ("atlas.buffered", "atlas")),
    ),
    ("figures", "figure17", "two-disks.factor"): _quotient(_rate("atlas.2", "read", OUTER_KIB, 3), _OUTER["atlas"]),
    ("figures", "figure18", "three.read"): _best("atlas.3", "read"),
    ("figures", "figure18", "four.read"): _best("atlas.4", "read"),
    ("figures", "figure18", "three.read.gain"): _gain("atlas.3", "atlas.2", "read"),
    ("figures", "figure18", "four.read.gain"): _gain("atlas.4", "atlas.3", "read"),
    ("figures", "figure18", "three.write.gain"): _gain("atlas.3", "atlas.2", "write"),
    ("figures", "figure18", "four.write.gain"): _gain("atlas.4", "atlas.3", "write"),
    ("figures", "figure20", "read.one-deep"): _random(_CARD, "read", 1),
    ("figures", "figure20", "read.two-deep"): _random(_CARD, "read", 2),
    ("figures", "figure20", "read.32-deep"): _random(_CARD, "read", _DEEP),
    ("figures", "figure20", "write.one-deep"): _random(_CARD, "write", 1),
    ("figures", "figure20", "read.per-revolution"): _over(_random(_CARD, "read", _DEEP), REVOLUTIONS_S["lct08"]),
    ("figures", "figure20", "read.loss"): _percent(less_percent, _random(_CARD, "read"), _random("atlas", "read")),
    ("figures", "figure20", "write.loss"): _percent(less_percent, _random(_CARD, "write"), _random("atlas", "write")),
    **{
        ("figures", "figure21", f"buffered.{op}"): _cost(f"{_CARD}.buffered", op, "random", RANDOM_KIB, _PER_MB)
        for op in ("read", "write")
    },
    ("figures", "figure21", "unbuffered"): _mean_cost(
        *(_cost(_CARD, op, "random", RANDOM_KIB, _PER_MB) for op in ("read", "write"))
    ),
    **{("figures", "figure22", f"four.{op}"): _random("lct08.apart.4", op) for op in ("read", "write")},
    ("figures", "figure24", "lct08.read"): _best(f"{_CARD}.buffered", "read"),
    ("figures", "figure24", "lct08.of-atlas"): _percent(
        lambda lct08, atlas: 100 * lct08 / atlas, _best(f"{_CARD}.buffered", "read"), _best("atlas.buffered", "read")
    ),
    ("figures", "figure24", "lct08.write.2"): _rate(f"{_CARD}.buffered", "write", 2, 1),
    ("figures", "figure25", "fixed"): _mean_cost(
        *(_fixed(f"{_CARD}.buffered", op, _BUFFERED_KIB) for op in ("read", "write"))
    ),
    ("figures", "figure26", "one-deep.read.full"): _full(_CARD, "read", 1),
    ("figures", "figure26", "one-deep.write.full"): _full(_CARD, "write", 1),
    ("figures", "figure26", "one-deep.write.full.motherboard"): _full("lct08", "write", 1),
    ("figures", "figure26", "two-deep.full"): _full(_CARD, "read", 2),
    ("figures", "figure27", "ide.fixed"): _mean_cost(*(_fixed(_CARD, op) for op in ("read", "write"))),
    **{("figures", "figure27", f"ide.{op}.marginal"): _marginal(_CARD, op) for op in ("read", "write")},
    ("figures", "figure27", "scsi.fixed"): _mean_cost(*(_fixed("atlas", op) for op in ("read", "write"))),
    ("figures", "figure27", "scsi.marginal"): _mean_cost(*(_marginal("atlas", op) for op in ("read", "write"))),
    ("figures", "figure28", "two.read"): _best("lct08.2", "read"),
    ("figures", "figure28", "two.write"): _best("lct08.2", "write"),
    ("figures", "figure28", "two.write.caption"): _best("lct08.2", "write"),
    ("figures", "figure28", "two.read.64.one-deep"): _rate("lct08.2", "read", OUTER_KIB, 1),
    ("figures", "figure28", "two.write.64.one-deep"): _rate("lct08.2", "write", OUTER_KIB, 1),
    **{
        ("figures", "figure29", f"two.{op}.64.one-deep"): _rate("lct08.raid0.2", op, OUTER_KIB, 1)
        for op in ("read", "write")
    },
    ("figures", "figure30", "fixed"): _mean_cost(
        *(_fixed("lct08.raid0.2", op, _STRIPED_KIB) for op in ("read", "write"))
    ),
    **{
        ("figures", "figure30", f"{op}.marginal"): _marginal("lct08.raid0.2", op, _STRIPED_KIB)
        for op in ("read", "write")
    },
    ("figures", "figure31", "hardware.buffered"): _rate("lct08.raid0.2.buffered", "read", OUTER_KIB, 1),
    ("figures", "figure31", "software.buffered"): _rate("lct08.2.buffered", "read", OUTER_KIB, 1),
    ("figures", "figure32", "three.read"): _best("lct08.raid0.3", "read"),
    ("figures", "figure32", "three.write.gain"): _gain("lct08.raid0.3", "lct08.raid0.2", "write"),
    ("figures", "figure32", "four.write.gain"): _gain("lct08.raid0.4", "lct08.raid0.3", "write"),
    ("figures", "figure34", "raid0.two-deep.read"): _random("lct08.raid0.2", "read", 2),
    ("figures", "figure34", "raid1.two-deep.read"): _random("lct08.twinstor", "read", 2),
    ("figures", "figure34", "raid1.deep.factor"): _quotient(
        _random("lct08.twinstor", "read", _DEEP), _random(_CARD, "read")
    ),
    ("figures", "figure35", "single.fixed"): _mean_cost(*(_fixed(_CARD, op) for op in ("read", "write"))),
    ("figures", "figure35", "raid1.fixed"): _mean_cost(
        *(_fixed("lct08.twinstor", op, _MIRRORED_KIB) for op in ("read", "write"))
    ),
    **{
        ("figures", "figure35", f"raid1.{op}.marginal"): _marginal("lct08.twinstor", op, _MIRRORED_KIB)
        for op in ("read", "write")
    },
    ("text", "peak", "atlas.read"): _best("atlas", "read"),
    ("text", "peak", "atlas.write"): _best("atlas", "write"),
    ("text", "random", "disk"): lambda m, p: m.entry(
        p, "atlas", {"op": "read", "pattern": "random", "kib": RANDOM_KIB, "depth": 1}
    ),
    ("text", "ide", "sequential.loss"): _percent(less_percent, _OUTER["lct08"], _OUTER["atlas"]),
    ("text", "ide", "random.loss"): _percent(less_percent, _random(_CARD, "read"), _random("atlas", "read")),
    ("text", "scsi", "random.factor"): _quotient(_random("atlas", "read"), _random(_CARD, "read")),
    ("text", "pci", "disks.random"): lambda m, p: derived(
        p,
        lambda disk: PCI_MIB_S / disk,
        m.entry(p, "atlas", {"op": "read", "pattern": "random", "kib": RANDOM_KIB, "depth": 1}),
    ),
    ("text", "buffered", "break-even"): lambda m, p: processor(
        p,
        _break_even,
        *(
            m.cost(p, name, {"op": "read", "pattern": "sequential", "kib": kib, "depth": 1})
            for name in ("atlas", "atlas.buffered")
            for kib in COST_KIB
        ),
    ),
    ("text", "pio", "loss"): _percent(
        less_percent, *(_rate(name, "read", OUTER_KIB, 1) for name in ("lct08.pio", "lct08"))
    ),
    ("text", "pio", "factor"): lambda m, p: processor(
        p,
        lambda pio, dma: pio / dma,
        *(_cost(name, "read", "sequential", OUTER_KIB)(m, p) for name in ("lct08.pio", "lct08")),
    ),
    ("text", "scsi", "sequential.factor"): _quotient(_OUTER["atlas"], _OUTER["lct08"]),
    ("text", "maxtor", "read"): _random("maxtor", "read"),
    ("text", "maxtor", "write"): _random("maxtor", "write"),
    **{
        ("text", "ide", column): _percent(
            lambda lct08, atlas: more_percent(lct08 / PRICES["lct08"], atlas / PRICES["atlas"]),
            _random(_CARD, "read"),
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
    entry = bounded(entry, one.mark)
    return replace(entry, reason=REASONS.join(filter(None, [entry.reason, text])))
