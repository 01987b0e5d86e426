# SPDX-License-Identifier: MIT
"""Figures 1 and 2 as pictures, from figures.json (traced) and the traces of the cells it names. What could not be drawn
is a box with the reason."""

import textwrap
from pathlib import Path

import pandas as pd

from analysis import traces, write_pattern
from paper.plot import plt, save
from paper.white2001 import figure_cells, schedule, traced

STREAMS = (("#1b6ca8", "from the beginning of the disk"), ("#b3432f", "from its middle (N)"))
TITLES = {"ffs": "FFS", "softupdates": "Soft Updates", "ntfs": "NTFS"}
WRITE_COLOUR = "#14466b"
PHASE_COLOUR = "#b3432f"
DPI = 600
"""Of the dots, which are a picture inside the PDF: 100 000 vector marks would take a viewer seconds."""
DOT = {0: 0.8, 20_000: 0.55, 60_000: 0.45, 150_000: 0.2}
"""Diameter in points of a write's dot from so many writes on."""
CHARACTER = 0.025
"""Width of a character above a panel, in widths of the panel."""
SHARED = 2
"""Panels have one scale where their ranges differ by no more than this factor."""
GB_LBN = 1e9 / 512
GREY = "#777777"


def box(axes: plt.Axes, reason: str) -> None:
    """In place of a panel: why it is not there."""
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set(visible=True, color=GREY, linewidth=0.5)
    axes.text(0.5, 0.5, textwrap.fill(reason, 34), ha="center", va="center", transform=axes.transAxes, color=GREY)


def draw_schedule(axes: plt.Axes, found: schedule.Schedule, first: bool) -> None:
    """One schedule: where each request lay in its stream, the second stream above the first."""
    top = max(found.offset) + 1
    shift = round(1.2 * top)
    for stream, (colour, label) in enumerate(STREAMS):
        at = [position for position, which in enumerate(found.stream) if which == stream]
        axes.plot(at, [found.offset[position] + stream * shift for position in at], ".", ms=1.6, mew=0, color=colour,
                  label=label)  # fmt: skip
    ticks = [0, top // 2 // 100 * 100, top // 100 * 100]
    marks = [(stream, tick) for stream in (0, 1) for tick in ticks]
    names = [schedule.address(*mark) for mark in marks] if first else []
    axes.set_yticks([tick + stream * shift for stream, tick in marks], names)
    axes.axhline((top + shift) / 2, color="#bbbbbb", lw=0.5, ls=(0, (2, 2)))
    axes.set_xlim(0, len(found.stream))
    axes.set_xlabel("order of service")


def picture_schedule(results: Path, panels: dict, path: Path) -> None:
    """Figure 1: three schedules, and how long the disk stays with a stream against tags."""
    shown = schedule.SHOWN
    figure, grid = plt.subplots(1, len(shown) + 1, figsize=(6.6, 2.5), layout="constrained",
                                width_ratios=[*[1.0] * len(shown), 0.9])  # fmt: skip
    legend = None
    for number, (axes, tags) in enumerate(zip(grid, shown, strict=False)):
        axes.set_title(f"({'abc'[number]}) {'no tags' if tags == 'none' else f'{tags} tags'}", fontsize=8)
        panel = panels[tags]
        if panel["reason"]:
            box(axes, panel["reason"])
            continue
        draw_schedule(axes, schedule.schedule(traces.read(results / "cells" / panel["cell"])), first=number == 0)
        legend = axes.get_legend_handles_labels()
    grid[0].set_ylabel("block of 8 KB in its stream")
    axes = grid[-1]
    axes.set_title("(d) mean turn", fontsize=8)
    known = [(x, panels[tags]["measures"].get("run_length_mean_requests")) for x, tags in enumerate(panels)]
    known = [(x, value) for x, value in known if value is not None]
    if known:
        axes.plot(*zip(*known, strict=True), "-o", ms=3, lw=1.0, color="#333333")
        axes.set_ylim(bottom=0, top=1.15 * max(value for _, value in known))
        for x, value in known:
            axes.annotate(f"{value:.0f}", (x, value), (3, 2), textcoords="offset points", fontsize=6.5)
        axes.set_xticks(range(len(panels)), list(panels))
        axes.set_xlim(-0.5, len(panels) - 0.2)
        axes.set_xlabel("tags")
        axes.set_ylabel("requests")
    else:
        box(axes, "no schedule to measure")
    if legend:
        figure.legend(*legend, loc="outside lower center", ncols=2, frameon=False, markerscale=4, handletextpad=0.1)
    save(figure, path)


def scatter(axes: plt.Axes, found: pd.DataFrame, begin_ns: int, size: float) -> None:
    """Every write as a dot."""
    axes.plot((found.arrival_ns - begin_ns) / 1e9, found.lbn, linestyle="none", marker="o", ms=size, mew=0,
              color=WRITE_COLOUR, rasterized=True)  # fmt: skip


def mark_phases(axes: plt.Axes, phases: list[dict]) -> None:
    """A line where each phase ends, and its name above it; one that would run into the last moves up a line."""
    begin, width = phases[0]["begin_ns"], axes.get_xlim()[1]
    free = 0.0
    for phase in phases:
        start, end = ((phase[key] - begin) / 1e9 for key in ("begin_ns", "end_ns"))
        half = CHARACTER * len(phase["name"]) * width / 2
        raised = (start + end) / 2 - half < free
        free = free if raised else (start + end) / 2 + half
        axes.axvline(end, color=PHASE_COLOUR, lw=0.7, ls=(0, (4, 2)))
        axes.annotate(phase["name"], ((start + end) / 2, 1), (0, 9 if raised else 2), ha="center", va="bottom",
                      xycoords=("data", "axes fraction"), textcoords="offset points", fontsize=6.5,
                      color=PHASE_COLOUR)  # fmt: skip


def right_axis(axes: plt.Axes, top: float, unit: str) -> None:
    """A second scale on the right, from 0 to `top` in this unit."""
    twin = axes.twinx()
    twin.set_ylim(0, top)
    twin.spines["right"].set_visible(True)
    twin.tick_params(labelsize=6.5)
    twin.set_ylabel(unit, fontsize=7)


def limits(values: dict[str, float]) -> dict[str, float]:
    """Upper limits of the panels: one for all whose ranges are alike, with a little room."""
    top = max(values.values(), default=1)
    return {name: 1.04 * (top if top <= SHARED * value else value) for name, value in values.items()}


def picture_writes(results: Path, panels: dict, path: Path) -> None:
    """Figure 2: a to c the whole run of each file system, d a piece of the log."""
    figure, grid = plt.subplots(2, 2, figsize=(6.6, 5.4), layout="constrained")
    places = dict(zip(figure_cells.WRITES_FILE_SYSTEMS, grid.flat, strict=False))
    found = {
        name: write_pattern.writes(traces.read(results / "cells" / panel["cell"]), panel["phases"][0]["begin_ns"])
        for name, panel in panels.items()
        if not panel["reason"]
    }
    tops = limits({name: int((made.lbn + made.sectors).max()) for name, made in found.items()})
    ends = limits({name: (max(panels[name]["phases"][-1]["end_ns"], int(made.arrival_ns.max()))
                          - panels[name]["phases"][0]["begin_ns"]) / 1e9 for name, made in found.items()})  # fmt: skip
    for number, (name, axes) in enumerate(places.items()):
        axes.set_title(f"({'abc'[number]}) {TITLES[name]}", fontsize=8, pad=21)
        panel = panels[name]
        if panel["reason"]:
            box(axes, panel["reason"])
            continue
        begin = panel["phases"][0]["begin_ns"]
        scatter(axes, found[name], begin, DOT[max(least for least in DOT if least <= len(found[name]))])
        axes.set_xlim(0, ends[name])
        axes.set_ylim(0, tops[name])
        mark_phases(axes, panel["phases"])
        axes.set_xlabel("s since the start of the benchmark")
        axes.set_ylabel("disk address, millions of LBN")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value / 1e6:g}")
        right_axis(axes, tops[name] / GB_LBN, "GB")
    picture_log(grid.flat[3], panels[traced.MAGNIFIED], found.get(traced.MAGNIFIED),
                places[traced.MAGNIFIED])  # fmt: skip
    figure.get_layout_engine().set(h_pad=0.08)
    figure.savefig(path, dpi=DPI, metadata={"CreationDate": None, "Creator": None, "Producer": None})
    plt.close(figure)


def picture_log(axes: plt.Axes, panel: dict, found: pd.DataFrame | None, whole: plt.Axes) -> None:
    """The piece of the log that figures.json names, and a frame around it in the whole run's panel."""
    title = f"(d) {TITLES[traced.MAGNIFIED]}, magnified"
    piece = panel["magnified"]
    if found is None or piece is None:
        axes.set_title(title, fontsize=8, pad=21)
        box(axes, panel["reason"] or "no log was found")
        return
    begin = panel["phases"][0]["begin_ns"]
    (low, high), times = piece["lbn"], [(at - begin) / 1e9 for at in piece["ns"]]
    inside = found[found.lbn.between(low, high - 1) & found.arrival_ns.between(*piece["ns"])]
    scatter(axes, inside.assign(lbn=inside.lbn - low), begin, 1.6)
    axes.set_xlim(*times)
    axes.set_ylim(0, high - low)
    axes.set_title(title, fontsize=8, pad=21)
    axes.set_xlabel("s since the start of the benchmark")
    axes.set_ylabel(f"LBN above {low:,}".replace(",", " "))
    right_axis(axes, (high - low) * 512 / 1e6, "MB")
    # In the whole run the piece is a few pixels: an arrow finds it.
    height = whole.get_ylim()[1]
    whole.annotate("d", ((times[0] + times[1]) / 2, (low + high) / 2), (0, 22 if high < 0.8 * height else -22),
                   textcoords="offset points", ha="center", fontsize=7.5, color=PHASE_COLOUR,
                   bbox={"boxstyle": "square,pad=0.15", "fc": "white", "ec": PHASE_COLOUR, "lw": 0.5},
                   arrowprops={"arrowstyle": "-|>", "color": PHASE_COLOUR, "lw": 0.8, "shrinkB": 1})  # fmt: skip


FIGURES = {
    "schedule": lambda results, data, path: picture_schedule(results, data["figure1"], path),
    "writes": lambda results, data, path: picture_writes(results, data["figure2"], path),
}
