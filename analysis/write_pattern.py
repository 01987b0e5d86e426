# SPDX-License-Identifier: MIT
"""When a run on a file system writes where, and how far that makes lines in a picture of time and address.

A sorted write-back of the update daemon, every 30 s, is a vertical line, and synchronous metadata writes that return to
the same place are a horizontal one. Both are measured here. A trace does not say who waits for a write, but
how many commands were outstanding: one process that waits for its write has none beside it, a write-back fills the
queue. So a write that has the disk to itself until it is acknowledged counts as `alone`, any other as `queued`.
"""

from dataclasses import dataclass
from itertools import pairwise

import pandas as pd

from analysis import numbers, traces

PHASES = ("create", "run", "delete")
"""PostMark's phases. What is before (its directories) and behind (the unmount) has no name."""
SECOND_NS = 1_000_000_000
BLOCK_SECTORS = 16
"""A write of at most so many sectors (8 KiB, a block of FFS) is a single block."""
GAP_NS = SECOND_NS
"""Queued writes with no longer pause between them are one burst."""
BURST_PERMILLE = 10
"""A burst has at least this many of a thousand queued writes; less is chance."""
LAGS_S = (5, 90)
"""Periods looked for."""
CLEAR_PERCENT = 80
"""A peak of the autocorrelation that rises so much as the clearest one is as good."""
LINE_WRITES = 5
LINE_INTERVAL_NS = 10 * SECOND_NS
"""An address with at least so many single-block writes, on average no longer apart, is a horizontal line. A write-back
every 30 s makes none."""
BANDS = 20
"""Equal parts of the addresses written."""
BIN_SECTORS = 2048
"""Addresses are counted by the MiB when the log is looked for."""
BAND_PERCENT = 10
"""The log's band goes on while a MiB beside it has this share of the densest MiB's writes."""
WINDOW_NS = 10 * SECOND_NS
"""Time that the magnified picture shows."""
UNITS = {
    "writes": "requests", "write_bytes": "bytes", "create_s": "s", "run_s": "s", "delete_s": "s",
    "alone_share": "share", "single_block_alone_share": "share", "horizontal_share": "share",
    "horizontal_lines": "addresses", "bursts": "bursts", "burst_spacing_median_s": "s", "burst_share": "share",
    "burst_rising_share": "share", "period_s": "s", "period_correlation": "correlation",
}  # fmt: skip
"""Measures of a trace, in their order, and their units."""


@dataclass(frozen=True)
class Burst:
    """Queued writes that follow one another."""

    begin_ns: int
    writes: int
    rising: int
    """Writes that begin above the one before them."""


def writes(frame: pd.DataFrame, begin_ns: int) -> pd.DataFrame:
    """The writes from this time on in the order of arrival; `alone` if no other command was outstanding meanwhile."""
    found = traces.in_order(frame)
    wanted = found.op.isin(("W", "U")) & (found.arrival_ns >= begin_ns)
    return found.loc[wanted, ["arrival_ns", "lbn", "sectors", "alone"]]


def bursts(found: pd.DataFrame) -> list[Burst]:
    """The write-backs."""
    queued = found[~found.alone]
    parts: list[list[tuple[int, int]]] = []
    for arrival, lbn in zip(queued.arrival_ns.tolist(), queued.lbn.tolist(), strict=True):
        if not parts or arrival - parts[-1][-1][0] > GAP_NS:
            parts.append([])
        parts[-1].append((arrival, lbn))
    return [
        Burst(part[0][0], len(part), sum(b[1] > a[1] for a, b in pairwise(part)))
        for part in parts
        if 1000 * len(part) >= BURST_PERMILLE * len(queued) and len(part) > 1
    ]


def period(found: pd.DataFrame, begin_ns: int, end_ns: int) -> tuple[int, float] | None:
    """Lag in s of the autocorrelation's clearest peak, and its height (1: the same again). Of all writes, by second.

    A peak is as clear as it rises above the lowest value at shorter lags; of nearly as clear ones the first counts, as
    what comes back after 30 s does so after 60. None if there is no peak, or no time for two periods.
    """
    count = [0] * ((end_ns - begin_ns) // SECOND_NS)
    for second in ((found.arrival_ns - begin_ns) // SECOND_NS).tolist():
        if 0 <= second < len(count):
            count[second] += 1
    total, length = sum(count), len(count)
    # In integers: each value less the mean, times the length.
    deviation = [length * value - total for value in count]
    power = sum(value * value for value in deviation)
    if not power:
        return None
    lags = []
    for lag in range(min(LAGS_S[1], length // 2) + 2):
        products = sum(a * b for a, b in zip(deviation, deviation[lag:], strict=False))
        lags.append(products * length / (power * (length - lag)) if lag < length else 0.0)
    clear = {
        lag: lags[lag] - min(lags[:lag])
        for lag in range(LAGS_S[0], len(lags) - 1)
        if lags[lag - 1] < lags[lag] >= lags[lag + 1] and lags[lag] > 0
    }
    if not clear:
        return None
    lag = min(lag for lag, rise in clear.items() if 100 * rise >= CLEAR_PERCENT * max(clear.values()))
    return lag, lags[lag]


def single(found: pd.DataFrame) -> pd.DataFrame:
    """Writes of a single block."""
    return found[found.sectors <= BLOCK_SECTORS]


def lines(found: pd.DataFrame) -> pd.DataFrame:
    """Addresses that make a horizontal line, with the number of their single-block writes as `size`."""
    grouped = single(found).groupby("lbn").arrival_ns.agg(["min", "max", "size"])
    often = grouped["max"] - grouped["min"] <= (grouped["size"] - 1) * LINE_INTERVAL_NS
    return grouped[(grouped["size"] >= LINE_WRITES) & often]


def named(phases: list[dict]) -> list[dict]:
    """The phases of PostMark; all, where the workload has not all of these."""
    found = [phase for phase in phases if phase["name"] in PHASES]
    return found if len(found) == len(PHASES) else phases


def run_phase(phases: list[dict]) -> dict:
    """The phase of transactions; the longest where the workload names none so."""
    longest = max(phases, key=lambda phase: phase["end_ns"] - phase["begin_ns"])
    return next((phase for phase in phases if phase["name"] == "run"), longest)


def measures(found: pd.DataFrame, phases: list[dict]) -> dict[str, float]:
    """What can be told of a run, by the names of UNITS; what does not exist in it is left out."""
    total = len(found)
    values: dict[str, float] = {"writes": total, "write_bytes": 512 * int(found.sectors.sum())}
    values |= {f"{phase['name']}_s": (phase["end_ns"] - phase["begin_ns"]) / SECOND_NS for phase in phases
               if f"{phase['name']}_s" in UNITS}  # fmt: skip
    if not total:
        return values
    horizontal = lines(found)
    back = bursts(found)
    values |= {
        "alone_share": int(found.alone.sum()) / total,
        "single_block_alone_share": len(single(found[found.alone])) / total,
        "horizontal_share": int(horizontal["size"].sum()) / total,
        "horizontal_lines": len(horizontal),
        "bursts": len(back),
        "burst_share": sum(burst.writes for burst in back) / total,
    }
    if back:
        values["burst_rising_share"] = sum(b.rising for b in back) / sum(b.writes - 1 for b in back)
    spacing = sorted(b.begin_ns - a.begin_ns for a, b in pairwise(back))
    if spacing:
        half = len(spacing) // 2
        values["burst_spacing_median_s"] = (spacing[half] + spacing[~half]) / (2 * SECOND_NS)
    run = run_phase(phases)
    best = period(found, run["begin_ns"], run["end_ns"])
    if best:
        values |= {"period_s": best[0], "period_correlation": best[1]}
    return values


def bands(found: pd.DataFrame, end_lbn: int) -> list[dict]:
    """Writes by address in BANDS equal parts of 0 to end_lbn: all of them, and lone single blocks."""
    lone = single(found[found.alone])
    result = []
    for index in range(BANDS):
        begin, end = (end_lbn * edge // BANDS for edge in (index, index + 1))
        inside = [int(part.lbn.between(begin, end - 1).sum()) for part in (found, lone)]
        share = numbers.stored(inside[1] / inside[0]) if inside[0] else ""
        result.append({"lbn_begin": begin, "lbn_end": end, "writes": inside[0],
                       "single_block_alone": inside[1], "single_block_alone_share": share})  # fmt: skip
    return result


def dense_band(found: pd.DataFrame) -> tuple[int, int] | None:
    """Begin and end (LBN) of the narrow band with the densest writes: on a journaling file system its log."""
    count = (found.lbn // BIN_SECTORS).value_counts()
    if count.empty:
        return None
    density = dict(zip(count.index.tolist(), count.tolist(), strict=True))
    low = high = max(density, key=lambda part: (density[part], -part))
    threshold = density[low]
    while 100 * density.get(low - 1, 0) >= BAND_PERCENT * threshold:
        low -= 1
    while 100 * density.get(high + 1, 0) >= BAND_PERCENT * threshold:
        high += 1
    return low * BIN_SECTORS, (high + 1) * BIN_SECTORS


def window(found: pd.DataFrame, band: tuple[int, int], begin_ns: int, end_ns: int) -> tuple[int, int]:
    """The WINDOW_NS between two times with the most writes in the band."""
    inside = found[found.lbn.between(band[0], band[1] - 1) & found.arrival_ns.between(begin_ns, end_ns)]
    times = inside.arrival_ns.tolist()
    best, first, begin = 0, 0, begin_ns
    for position, time in enumerate(times):
        while times[first] <= time - WINDOW_NS:
            first += 1
        if position - first + 1 > best:
            best, begin = position - first + 1, times[first]
    return begin, min(begin + WINDOW_NS, max(end_ns, begin + 1))
