# SPDX-License-Identifier: MIT
"""A paper's claims, evaluated over table cells.

A claim in paper/<paper>/claims.yaml has a `holds` expression over named `quantities`. Expressions know numbers,
the names of quantities, arithmetic, comparison, and/or/not, and these functions:

    cell(table, row, column)   one number
    cells(table, row, column)  several: {a,b} in row or column stands for either, all combinations in order
    ratio(a, b)                a / b, element by element; a single number pairs with each element
    min, max, mean             of a list
    above(list, bound)         how many of a list are above the bound

Every expression is evaluated twice, on the published and on the reproduced numbers. A number of a workload smaller than
the paper's may stand in `ratio` only, against a number of the same scale; a claim that uses it otherwise is not run. A
claim on a table that the paper does not print has no verdict on published numbers. A claim that a profile has not
measured is tried a third time, with the committed reference numbers (analysis.reference) in the place of what lacks.

Where it is asked for (`tested(..., whatever=True)`), a claim that lacks numbers still gets a verdict if no value of
them could change it (analysis.open_numbers): the least of several numbers is not above 1 if one of those that are known
is not.

A claim that uses a number which the paper's words leave open is tried again under each other reading of it (`readings`
in paper.yaml): in all its tables at once, with the reference's numbers as above.
"""

import ast
import itertools
import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml

from analysis import entries, numbers, open_numbers, papers
from analysis.errors import ClaimError
from analysis.open_numbers import Number, combined, compared, every, known, of_list, opposite, some, truth

TRIED = ("verdict", "because", "reference_verdict", "reference_because")
"""What is said of a claim under another reading."""
FIELDS = {"id", "statement", "where", "quantities", "holds"}
OPTIONAL = {"questioned", "note", "root"}
UNEXPLAINED = "unexplained"
"""The root of a claim that fails and names none."""
Value = Number | bool | None | list[Number]
"""None is a comparison that what is known does not decide."""
Lookup = Callable[[str, str, str], Number]


class Missing(Exception):
    """A claim needs a number that is not there, or that does not compare."""


class Scaled(float):
    """A number measured at a scale below 1. Only `ratio` takes it as it is."""

    def __new__(cls, value: float, scale: float, where: str):
        """`where` names the cell."""
        number = super().__new__(cls, value)
        number.scale, number.where = scale, where
        return number


@dataclass(frozen=True)
class Claim:
    """One claim, in our own words."""

    id: str
    statement: str
    where: str
    quantities: dict[str, str]
    holds: str
    questioned: bool = False
    note: str = ""
    """What a reader should know: above all why the paper's own numbers do not bear the claim out."""
    root: str = UNEXPLAINED
    """Why ours do not, in a line."""


def read(path: Path) -> list[Claim]:
    """The claims of a paper; none where it has no such file.

    Raises ClaimError for unknown or missing keys and for repeated ids.
    """
    claims: list[Claim] = []
    if not path.exists():
        return claims
    text = yaml.safe_load(path.read_text())
    roots = text.get("roots", {})
    for item in text["claims"]:
        where = f"{path}: claim {item.get('id', '?')!r}"
        wrong = (FIELDS - item.keys()) or (item.keys() - FIELDS - OPTIONAL)
        if wrong:
            raise ClaimError(f"{where}: key {sorted(wrong)[0]!r} is missing or unknown; keys are {sorted(FIELDS)}")
        if any(claim.id == item["id"] for claim in claims):
            raise ClaimError(f"{where}: stands there twice; rename one")
        if "root" in item and item["root"] not in roots:
            raise ClaimError(f"{where}: root {item['root']!r} is none of those at the top; they are {sorted(roots)}")
        claims.append(Claim(**item | ({"root": " ".join(roots[item["root"]].split())} if "root" in item else {})))
    if unused := roots.keys() - {item.get("root") for item in text["claims"]}:
        raise ClaimError(f"{path}: no claim names the root {sorted(unused)[0]!r}; remove it")
    return claims


def expand(pattern: str) -> list[str]:
    """`t{4,32}.both` as `t4.both`, `t32.both`."""
    parts = [part.split(",") for part in re.split(r"\{([^}]*)\}", pattern)[1::2]]
    fixed = re.split(r"\{[^}]*\}", pattern)
    return ["".join(itertools.chain(*zip(fixed, (*chosen, ""), strict=True))) for chosen in itertools.product(*parts)]


def quotient(a: Number, b: Number) -> Number:
    """a / b; of an open number another one. Raises Missing for numbers of different scales."""
    if not known(a, b):
        return open_numbers.quotient(a, b)
    scales = [getattr(number, "scale", entries.FULL_SCALE) for number in (a, b)]
    if scales[0] != scales[1]:
        small = next(number for number in (a, b) if isinstance(number, Scaled))
        shown = " and ".join(numbers.scale_text(scale) for scale in scales)
        raise Missing(f"mixes scales: {small.where} is compared with another cell, at scales {shown}")
    return float(a) / float(b)


def ratio(a: Number | list[Number], b: Number | list[Number]) -> Number | list[Number]:
    """a / b, element by element."""
    if not isinstance(a, list) and not isinstance(b, list):
        return quotient(a, b)
    length = max(len(x) for x in (a, b) if isinstance(x, list))
    left, right = (x if isinstance(x, list) else [x] * length for x in (a, b))
    return [quotient(x, y) for x, y in zip(left, right, strict=True)]


def full_size(value: Value) -> Value:
    """The value itself. Raises Missing for a number of a workload smaller than the paper's."""
    for number in value if isinstance(value, list) else [value]:
        if isinstance(number, Scaled):
            shown = numbers.scale_text(number.scale)
            raise Missing(f"{number.where} ran at scale {shown}, where only ratios between columns compare")
    return value


OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.USub: operator.neg,
}  # fmt: skip


def evaluate(expression: str, names: dict[str, Value], lookup: Lookup) -> Value:
    """The value of an expression; `lookup(table, row, column)` gives a cell or raises Missing."""
    functions = {
        "cell": lookup,
        "cells": lambda table, row, column: [lookup(table, r, c) for r in expand(row) for c in expand(column)],
        "ratio": ratio,
        "min": lambda *values: of_list(min, flat(values)),
        "max": lambda *values: of_list(max, flat(values)),
        "above": lambda values, bound: open_numbers.above(flat([values]), full_size(bound)),
        "mean": lambda values: of_list(numbers.mean, flat([values])),
    }

    def flat(values: Iterable[Value]) -> list[Number]:
        return [number for value in full(values) for number in (value if isinstance(value, list) else [value])]

    def full(values: Iterable[Value]) -> list[Value]:
        return [full_size(value) for value in values]

    def walk(node: ast.AST) -> Value:
        match node:
            case ast.Constant(value=int() | float() | str()):
                return node.value
            case ast.Name(id=name) if name in names:
                return names[name]
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return opposite(truth(full_size(walk(operand))))
            case ast.UnaryOp(op=op, operand=operand) if type(op) in OPERATORS:
                return combined(OPERATORS[type(op)], full_size(walk(operand)))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return combined(OPERATORS[type(op)], *full(map(walk, (left, right))))
            case ast.BoolOp(op=op, values=values):
                found = [truth(walk(value)) for value in values]
                return every(found) if isinstance(op, ast.And) else some(found)
            case ast.Compare(left=left, ops=ops, comparators=right) if all(type(op) in OPERATORS for op in ops):
                values = full(map(walk, (left, *right)))
                pairs = zip(ops, values[:-1], values[1:], strict=True)
                return every([compared(OPERATORS[type(op)], a, b) for op, a, b in pairs])
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in functions:
                return functions[name](*map(walk, args))
        raise ClaimError(f"expression {expression!r}: {ast.unparse(node)!r} is not allowed; see analysis/claims.py")

    try:
        return walk(ast.parse(expression, mode="eval").body)
    except (SyntaxError, TypeError, ValueError, ZeroDivisionError) as error:
        raise ClaimError(f"expression {expression!r}: {error}; see analysis/claims.py") from None


def place(row: dict) -> tuple[str, str, str]:
    """Which cell of which table a summary entry is."""
    return row["table"], row["row"], row["column"]


def lookup_in(rows: list[dict], field: str, whatever: bool = False) -> Lookup:
    """Cells of summary entries: `field` is `published` or `reproduced`. One that is not there is Missing, or with
    `whatever` any number."""
    index = {place(row): row for row in rows}

    def lookup(table: str, row: str, column: str) -> Number:
        key = (table, row, column)
        if key not in index:
            raise ClaimError(f"cell {key}: no table has it; names are those of the published CSV files")
        entry = index[key]
        where = f"{table} {row} {column}"
        if entry[field] is None and whatever:
            return open_numbers.SIGNED if entry.get("signed") else open_numbers.OPEN
        if entry[field] is None:
            raise Missing(f"needs {where}: {entry['reason']}" if field == "reproduced" else f"no printed {where}")
        scale = entry.get("scale") or entries.FULL_SCALE
        if field == "reproduced" and scale != entries.FULL_SCALE:
            return Scaled(entry[field], scale, where)
        return entry[field]

    return lookup


def spaced(name: str) -> str:
    """A quantity's name for a reader."""
    return name.replace("_", " ")


def show(value: Value) -> str:
    """A quantity for a reader: `1.21`, or the smallest and largest of a list, `0.98 to 1.08`. Open numbers are
    counted: `0.98 to 1.08 and 2 not run`."""
    values = value if isinstance(value, list) else [value]
    there = [number for number in values if number is not None and known(number)]
    if not there:
        return entries.NOT_RUN
    low, high = (numbers.fixed(edge(there), 2) for edge in (min, max))
    shown = low if low == high else f"{low} to {high}"
    return shown if len(there) == len(values) else f"{shown} and {len(values) - len(there)} {entries.NOT_RUN}"


def completed(rows: list[dict], reference: list[dict]) -> list[dict]:
    """The rows; a reference number stands for one that is missing or of a workload smaller than the paper's."""
    there = {place(row): row for row in reference if row["reproduced"] is not None}
    return [row if entries.at_full_size(row) else there.get(place(row), row) for row in rows]


def under(reading: str, rows: list[dict]) -> list[dict]:
    """The rows as they are under another reading of the paper's numbers."""
    return [
        row | {"reproduced": row["readings"][reading], "reason": row["reason"] or f"no such number under {reading}"}
        if reading in row.get("readings", {}) else row
        for row in rows
    ]  # fmt: skip


def used(claim: Claim) -> set[tuple[str, str, str]]:
    """The cells of tables that a claim names."""
    there: set[tuple[str, str, str]] = set()

    def lookup(*where: str) -> float:
        there.add(where)
        # Any number; two of a difference are not the same, so that nothing is divided by 0.
        return float(len(there))

    named: dict[str, Value] = {}
    for name, expression in claim.quantities.items():
        named[name] = evaluate(expression, named, lookup)
    evaluate(claim.holds, named, lookup)
    return there


def judge(
    claim: Claim, rows: list[dict], filled: list[dict] | None = None, readings: tuple[papers.Reading, ...] = ()
) -> dict:
    """The claim with its verdicts, as `tested` has them, and `readings`: the same under each other reading of the
    paper's numbers that changes one which the claim uses."""
    found, cells, others = tested(claim, rows, filled), used(claim), []
    everything = [row for row in (*rows, *(filled or [])) if place(row) in cells]
    for reading in readings:
        if not any(reading.name in row.get("readings", {}) for row in everything):
            continue
        other = tested(claim, under(reading.name, rows), under(reading.name, filled) if filled else None)
        others.append({"reading": reading.name, "label": reading.label} | {name: other[name] for name in TRIED})
    return found | {"readings": others}


def tested(claim: Claim, rows: list[dict], filled: list[dict] | None = None, whatever: bool = False) -> dict:
    """The claim with its verdict on the reproduced numbers and, as `published_verdict`, on the printed ones.

    `published_verdict` is None where the paper does not print the numbers; `published` has those it prints.
    `reference_verdict`, with `reference_because`, is that on `filled`, the rows with the reference's numbers in the
    place of missing ones (`completed`): None where the claim was tested without, or could not be tested with them
    either. With `whatever`, a claim that lacks numbers still gets a verdict if no value of them could change it.
    """

    def tried(lookup: Lookup) -> tuple[dict[str, Value], bool | None]:
        named: dict[str, Value] = {}
        for name, expression in claim.quantities.items():
            named[name] = evaluate(expression, named, lookup)
        return named, truth(evaluate(claim.holds, named, lookup))

    def values(field: str, rows: list[dict] = rows) -> tuple[dict[str, Value], bool | None]:
        try:
            return tried(lookup_in(rows, field))
        except Missing:
            if not whatever or field == "published":
                raise
            found, holds = tried(lookup_in(rows, field, whatever))
            if holds is None:
                raise
            return found, holds

    try:
        try:
            paper, paper_holds = values("published")
        except Missing:
            paper, paper_holds = {}, None
        printed = {name: f" (paper {show(value)})" for name, value in paper.items()}

        def shown(ours: dict[str, Value]) -> str:
            return "; ".join(f"{spaced(name)} {show(ours[name])}{printed.get(name, '')}" for name in ours)

        verdict: bool | str
        elsewhere, elsewhere_because = None, ""
        try:
            ours, verdict = values("reproduced")
            because = shown(ours)
        except Missing as missing:
            verdict, because = entries.NOT_RUN, str(missing)
            try:
                ours, elsewhere = values("reproduced", filled or rows)
                elsewhere_because = shown(ours)
            except Missing:
                pass
    except ClaimError as error:
        raise ClaimError(f"claim {claim.id!r}: {error}") from None
    failed = (elsewhere if verdict == entries.NOT_RUN else verdict) is False
    return {
        "id": claim.id, "statement": claim.statement, "where": claim.where, "verdict": verdict, "because": because,
        "root": claim.root if failed else "",
        "test": claim.holds, "questioned": claim.questioned, "note": claim.note, "published_verdict": paper_holds,
        "published": "; ".join(f"{spaced(name)} {show(value)}" for name, value in paper.items()),
        "reference_verdict": elsewhere, "reference_because": elsewhere_because,
    }  # fmt: skip
