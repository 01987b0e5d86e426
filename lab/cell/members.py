# SPDX-License-Identifier: MIT
"""A cell's trace where there are several disks: each disk's sums, and those of all disks that the guest sees."""

from dataclasses import asdict, replace
from statistics import median

from lab.cell import trace


def by_device(requests: list[trace.Request]) -> dict[str, list[trace.Request]]:
    """Requests of each disk, disks in the order of their names' numbers."""
    found: dict[str, list[trace.Request]] = {}
    for request in requests:
        found.setdefault(request.device, []).append(request)
    return dict(sorted(found.items(), key=lambda item: (len(item[0]), item[0])))


def summarize(requests: list[trace.Request], visible: list[str]) -> trace.Summary | None:
    """Sums over the disks that the guest sees, `visible`; distances are those on each disk. None without requests."""
    devices = by_device([request for request in requests if request.device in visible])
    whole = trace.summarize([request for part in devices.values() for request in part])
    if whole is None:
        return None
    distances = []
    for part in devices.values():
        data = (request for request in part if request.op != "F")
        distances += trace.seek_distances(sorted(data, key=lambda r: (r.start_ns, r.acknowledged_ns)))
    count = len(distances)
    return replace(
        whole,
        sequential_share=round(distances.count(0) / count, trace.SHARE_DIGITS) if count else None,
        seek_distance_mean_lbn=round(sum(distances) / count, trace.MEAN_DIGITS) if count else None,
        seek_distance_median_lbn=float(median(distances)) if count else None,
    )


def each(requests: list[trace.Request]) -> dict[str, dict]:
    """Sums of each disk, those behind a hardware array included."""
    return {device: asdict(trace.summarize(part)) for device, part in by_device(requests).items()}
