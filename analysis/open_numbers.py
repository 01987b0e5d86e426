# SPDX-License-Identifier: MIT
"""Arithmetic with numbers that were not measured.

Such a number is a `Span`: OPEN, which is any positive number, SIGNED, which is any number at all, or what follows from
one. The larger of 4 and OPEN is a Span from 4 on. A comparison with a Span is true, false, or None where what is known
does not decide it: the larger of 4 and OPEN is above 3, and whether it is above 5 is not known.

A Span may be wider than it has to be, and never narrower. So what is decided is right.
"""

import itertools
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """A number that is not known, only that it is neither below `low` nor above `high`."""

    low: float
    high: float


OPEN = Span(0.0, math.inf)
"""A time or a rate that was not measured: these are positive."""
SIGNED = Span(-math.inf, math.inf)
"""Another number that was not measured, such as a difference."""
Number = float | Span


def ends(number: Number) -> tuple[float, float]:
    """The least and the largest that a number may be."""
    return (number.low, number.high) if isinstance(number, Span) else (number, number)


def known(*numbers: Number) -> bool:
    """None of them is a Span."""
    return not any(isinstance(number, Span) for number in numbers)


def combined(of: Callable[..., float], *numbers: Number) -> Number:
    """The sum, difference, product or quotient of two numbers, or the negative of one: a Span if one of them is."""
    if known(*numbers):
        return of(*numbers)
    if of is operator.truediv and not known(numbers[1]):
        return SIGNED
    found = [of(*chosen) for chosen in itertools.product(*map(ends, numbers))]
    # Infinity less infinity has no value, and neither has infinity times 0.
    return SIGNED if any(map(math.isnan, found)) else Span(min(found), max(found))


def quotient(a: Number, b: Number) -> Number:
    """a / b of positive numbers, of which one is a Span."""
    return OPEN if min(*ends(a), *ends(b)) >= 0 else SIGNED


def of_list(of: Callable[[list[float]], float], values: list[Number]) -> Number:
    """`of` a list, where it grows with each element: a Span if one of them is."""
    low, high = (of([ends(value)[at] for value in values]) for at in (0, 1))
    return low if known(*values) else Span(low, high)


def above(values: list[Number], bound: Number) -> Number:
    """How many of a list are above a bound."""
    low, high = ends(bound)
    least, most = (sum(ends(value)[at] > edge for value in values) for at, edge in ((0, high), (1, low)))
    return least if least == most else Span(least, most)


def compared(holds: Callable[[float, float], bool], a: Number, b: Number) -> bool | None:
    """Whether `<`, `<=`, `>`, or `>=` holds; None where what is known of the two does not decide it."""
    found = {holds(*chosen) for chosen in itertools.product(ends(a), ends(b))}
    return found.pop() if len(found) == 1 else None


def truth(value: Number | bool | None) -> bool | None:
    """Whether a value counts as true: a number does if it is not 0, and a Span is undecided."""
    return None if value is None or isinstance(value, Span) else bool(value)


def every(values: list[bool | None]) -> bool | None:
    """Whether all hold. One that does not decides it, whatever the undecided ones are."""
    return False if False in values else None if None in values else True


def opposite(value: bool | None) -> bool | None:
    """The opposite; undecided stays undecided."""
    return None if value is None else not value


def some(values: list[bool | None]) -> bool | None:
    """Whether one of them holds."""
    return opposite(every([opposite(value) for value in values]))
