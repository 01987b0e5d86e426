# SPDX-License-Identifier: MIT
"""Hardware arrays that lost members: which, when, and how the array ended. The guest sees one disk and no word of it.

The topology says which drives fail how long after which marker (docs/interfaces.md), the trace when the markers were,
and how far a spare was written. What follows from that is what the controller of the model does (lab/disk/src/array).
"""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field

from lab.cell import trace, volumes

WHOLE, REBUILDING, DEGRADED, LOST = "whole", "rebuilding", "degraded", "lost"


@dataclass
class Array:
    """Places of the layout, and who fills them."""

    level: str
    holders: list[str | None]
    spares: list[str]
    rebuilds: bool
    """The controller does so at all."""
    spare: str | None = None
    """That is being written."""
    data_lost: bool = False
    failed: list[tuple[str, int]] = field(default_factory=list)
    """Members and virtual times, in order."""

    def __post_init__(self) -> None:
        self.rebuilds = self.rebuilds and self.level != "raid0"

    @property
    def missing(self) -> list[int]:
        """Places without all that they should hold."""
        return [place for place, holder in enumerate(self.holders) if holder is None or holder == self.spare]

    def fail(self, unit: str, at_ns: int) -> None:
        """A drive fails for good."""
        if unit in (name for name, _ in self.failed):
            return
        self.failed.append((unit, at_ns))
        self.spares = [name for name in self.spares if name != unit]
        self.holders = [None if holder == unit else holder for holder in self.holders]
        if self.spare == unit:
            self.spare = None
        missing = self.missing
        self.data_lost |= {
            "raid0": len(missing) > 0,
            "raid1": len(missing) == len(self.holders),
            "raid10": any(place ^ 1 in missing for place in missing),
            "raid5": len(missing) > 1,
        }[self.level]
        self.begin()

    def begin(self) -> None:
        """A free spare takes the first empty place."""
        if self.rebuilds and self.spare is None and self.spares and None in self.holders:
            self.spare = self.spares.pop(0)
            self.holders[self.holders.index(None)] = self.spare

    def filled(self, spare: str) -> None:
        """A spare has all that its place should hold."""
        if self.spare == spare:
            self.spare = None
            self.begin()

    @property
    def state(self) -> str:
        """How it is now."""
        if self.data_lost:
            return LOST
        if self.spare is not None:
            return REBUILDING
        return DEGRADED if self.missing else WHOLE


def faults(topology: dict, marks: list[tuple[str, int]]) -> list[tuple[int, str]]:
    """When which unit fails. A fault whose marker never came is none."""
    found = []
    for fault in topology.get("fault", []):
        begins = [now_ns for label, now_ns in marks if fault.get("marker", label) == label]
        if begins:
            found.append((begins[0] + fault["after_marker_ns"], fault["unit"]))
    return sorted(found)


def written_until(requests: list[trace.Request], unit: str, sectors: int) -> int | None:
    """When a drive was first written up to its sector `sectors`; None: never."""
    ends = (
        r.acknowledged_ns
        for r in requests
        if r.device == unit and r.op in "WU" and r.hit != "failed" and r.lbn + r.sectors >= sectors
    )
    return min(ends, default=None)


def at_the_end(topology_text: str, traces: dict[str, str], drive_bytes: Callable[[], int]) -> Array | None:
    """The hardware array as the run left it; None if there is none, or none of its members has failed."""
    topology = tomllib.loads(topology_text)
    if "fault" not in topology or "array" not in topology or not traces:
        return None
    about, marks = topology["array"][0], [(label, trace.began_ns(text)) for label, text in traces.items()]
    requests = [request for text in traces.values() for request in trace.parse(text)]
    end_ns = max([now_ns for _, now_ns in marks] + [request.acknowledged_ns for request in requests])
    entry, changed = volumes.hardware(about["controller"]), about.get("set", {})
    unit_bytes = changed.get("stripe_unit_kb", entry.stripe_unit_kb) << 10
    whole_sectors = drive_bytes() // unit_bytes * unit_bytes // trace.SECTOR_BYTES
    rebuilds = changed.get("rebuild_kib_s", entry.rebuild_kib_s) > 0
    array = Array(entry.level, list(about["members"]), list(about["spares"]), rebuilds)
    behind = set(about["members"] + about["spares"])
    # What happens at one time: a spare that was filled by then is whole when the next member fails.
    fills = {spare: written_until(requests, spare, whole_sectors) for spare in about["spares"]}
    events = [(at_ns, 0, spare) for spare, at_ns in fills.items() if at_ns is not None]
    events += [(at_ns, 1, unit) for at_ns, unit in faults(topology, marks) if unit in behind and at_ns <= end_ns]
    for at_ns, fails, unit in sorted(events):
        if fails:
            array.fail(unit, at_ns)
        else:
            array.filled(unit)
    return array if array.failed else None


def result_of(array: Array) -> dict:
    """`array_state` of a result."""
    return {"state": array.state, "failed": [{"member": unit, "at_ns": at_ns} for unit, at_ns in array.failed]}


def reason_of(name: str, array: Array) -> str:
    """Why cells of a run have no number then: a degraded array is not what was to be measured."""
    which = ", ".join(f"{unit} failed at {at_ns} ns" for unit, at_ns in array.failed)
    ended = {
        WHOLE: "it ended whole",
        REBUILDING: "it ended while a spare was being rebuilt",
        DEGRADED: "it ended degraded",
        LOST: "it lost data",
    }
    return f"array {name!r} lost members: {which}; {ended[array.state]}"
