# SPDX-License-Identifier: MIT
"""The one place where units are converted and numbers rounded.

Rates are in 10^6 bytes a second, times in the unit the paper prints. Rounding is half away from zero on the
shortest decimal form of a number, which is what a reader does with the digits in front of him.
"""

import math
import statistics
from decimal import ROUND_HALF_UP, Decimal

CSV_DIGITS = 7
"""Significant digits of computed numbers in CSV and JSON files: more than any table prints."""


def decimals(printed: str) -> int:
    """Digits after the decimal point of a number as printed: `30.8` has 1, `502` has 0."""
    return -min(Decimal(printed).as_tuple().exponent, 0)


def fixed(value: float, places: int) -> str:
    """A number with so many digits after the point."""
    text = str(Decimal(repr(value)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))
    return text[1:] if text.startswith("-") and not text.strip("-0.") else text


def like(value: float, printed: str) -> str:
    """A number rounded to the digits the paper prints in its place."""
    return fixed(value, decimals(printed))


def stored(value: float) -> str:
    """A number as CSV files hold it."""
    return f"{value:.{CSV_DIGITS}g}"


def mean(values: list[float]) -> float | None:
    """Mean; None of no values."""
    return statistics.fmean(values) if values else None


def mean_std(values: list[float]) -> tuple[float | None, float | None]:
    """Mean and sample standard deviation; the latter needs two values."""
    return mean(values), statistics.stdev(values) if len(values) > 1 else None


def ratio(reproduced: float | None, published: float | None) -> float | None:
    """Reproduced over published; None where either is missing or the published number is zero."""
    return None if reproduced is None or not published else reproduced / published


def off(value: float) -> float:
    """How far a ratio is from 1, the same for twice and half: 1 is exact, 2 is off by a factor of two."""
    return math.inf if value <= 0 else max(value, 1 / value)


def percent_faster_rate(other: float, base: float) -> float:
    """Differences of Tables 4 (base: SCSI) and 7 (base: IDE) for rates: the base's lead, in per cent of its rate."""
    return 100 * (base - other) / base


def percent_faster_time(other: float, base: float) -> float:
    """The same for times: how much longer the other takes, in per cent of the base's time."""
    return 100 * (other - base) / base


def cost_per(cost: float, count: float) -> float:
    """Cost per GB or per device, in the currency of the cost."""
    return cost / count


def seconds(elapsed_ns: int) -> float:
    """10^9 ns."""
    return elapsed_ns / 1e9


def scale_text(scale: float) -> str:
    """A workload's size relative to the paper's: `1`, `0.25`."""
    return f"{scale:g}"


def gb_from_sectors(sectors: int) -> float:
    """10^9 bytes, from 512-byte sectors."""
    return sectors * 512 / 1e9


def mb_from_kb(kilobytes: float) -> float:
    """Drive makers' buffers count 1024 kB to the MB."""
    return kilobytes / 1024
