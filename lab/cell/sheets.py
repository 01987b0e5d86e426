# SPDX-License-Identifier: MIT
"""Rows of a cell sheet that stand for several.

A column may hold several values with `|` between them, and so may the value of each of the parameters:

    tags   scheduler   workload                         parameters
    8|64   both        rawio                            op=read|write pattern=random
    none   both|disk   sdet scripts=20|ssh|postmark

The row stands for all combinations. They come in the order of nested loops: the first column is the outermost, the last
parameter the innermost. Words behind a workload's name are parameters of that workload alone; they come before those of
the column `parameters`. Of the column `set` a value is all that one row overrides: `|write_cache=false` stands for a
row without overrides and a row with this one, `a=1 b=2|a=3` for a row with two and a row with one.
"""

from collections.abc import Iterator
from itertools import product

OR = "|"
"""Between values. No name, number or parameter has it."""
WORKLOAD, PARAMETERS = "workload", "parameters"


def words(parameters: str) -> Iterator[str]:
    """All combinations of a column of parameters."""
    choices = []
    for word in parameters.split(" "):
        key, equals, values = word.partition("=")
        choices.append([f"{key}{equals}{value}" for value in values.split(OR)])
    return map(" ".join, product(*choices))


def choices(column: str, value: str) -> list[str]:
    """The values that a column of a row has."""
    return list(words(value)) if column == PARAMETERS else value.split(OR)


def expand(row: dict[str, str]) -> Iterator[dict[str, str]]:
    """The rows that a row stands for."""
    for values in product(*(choices(column, value) for column, value in row.items())):
        one = dict(zip(row, values, strict=True))
        name, *own = one.get(WORKLOAD, "").split(" ")
        if own:
            one |= {WORKLOAD: name, PARAMETERS: " ".join([*own, one[PARAMETERS]]).strip()}
        yield one
