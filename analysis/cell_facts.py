# SPDX-License-Identifier: MIT
"""What a cell's result says, in pairs of a name and a text, for people: its setting, what it measured, its phases."""

from analysis import numbers

DIGITS = 16
"""Of a hash."""


def text(value: object) -> str:
    """A value for a reader."""
    if isinstance(value, dict):
        return " ".join(f"{name}={text(one)}" for name, one in value.items())
    if isinstance(value, bool):
        return "on" if value else "off"
    return "" if value is None else str(value)


def setting(result: dict) -> list[tuple[str, str]]:
    """What was measured."""
    return [(name, text(value)) for name, value in result["cell"].items()]


def measured(result: dict) -> list[tuple[str, str]]:
    """What came out: the status, and all metrics that are one number; the sums of single disks are left out."""
    failed = result["status"] != "ok"
    found = [("status", f"failed: {result['reason']}" if failed else result["status"])]
    for name, value in (result["metrics"] or {}).items():
        if name == "workload":
            found += [(inner, text(one)) for inner, one in value.items() if not isinstance(one, (dict, list))]
        elif not isinstance(value, (dict, list)):
            found.append((name, text(value)))
    return found


def phases(listed: list[dict]) -> list[tuple[str, str]]:
    """How long each phase took."""
    return [(one["name"], f"{numbers.fixed(numbers.seconds(one['end_ns'] - one['begin_ns']), 3)} s") for one in listed]


def made_from(result: dict) -> list[tuple[str, str]]:
    """The hashes of what it was made from."""
    return [(name, digest[:DIGITS]) for name, digest in result["identity"].items()]
