# SPDX-License-Identifier: MIT
"""The overview's picture of a paper: how far each number that compares is from the paper's, by table."""

import math
from pathlib import Path

from analysis import numbers
from paper.plot import STYLE, plt, save

COLOURS = ((1.25, "#1B6CA8"), (2.0, "#8DB8D8"), (float("inf"), "#D9822B"))
"""By how far a number is off, as the overview's bars have it."""
WIDTH_IN, LINE_IN, AROUND_IN = 6.5, 0.19, 0.5
LANES = (0, -1, 1, -2, 2)
"""Where numbers of nearly the same ratio stand, so that they do not hide each other."""
NEARLY = 0.03
"""Of the binary logarithm."""


def draw(rows: list[dict], labels: dict[str, str], path: Path) -> bool:
    """A line for each table that has numbers with a ratio; `labels` names the tables, in their order. Returns whether
    there was anything to draw."""
    compared = [row for row in rows if row["ratio"] is not None and row["ratio"] > 0]
    tables = [name for name in labels if any(row["table"] == name for row in compared)]
    if not tables:
        return False
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(WIDTH_IN, AROUND_IN + LINE_IN * len(tables)), layout="constrained")
        axes.set_xscale("log", base=2)
        axes.axvspan(0.8, 1.25, color="#e3ebf1", lw=0, zorder=0)
        axes.axvline(1, color="#5f7485", lw=0.8, zorder=1)
        for line, table in enumerate(tables):
            seen: dict[int, int] = {}
            for row in sorted((row for row in compared if row["table"] == table), key=lambda row: row["ratio"]):
                place = round(math.log2(row["ratio"]) / NEARLY)
                lane = LANES[seen.get(place, 0) % len(LANES)]
                seen[place] = seen.get(place, 0) + 1
                colour = next(colour for factor, colour in COLOURS if numbers.off(row["ratio"]) <= factor)
                axes.plot(row["ratio"], line + lane * 0.15, "o", ms=2.6, mew=0, color=colour, clip_on=False, zorder=3)
        axes.set_yticks(range(len(tables)), [labels[name] for name in tables])
        axes.set_ylim(len(tables) - 0.4, -0.6)
        ratios = [row["ratio"] for row in compared]
        axes.set_xlim(min(0.45, min(ratios) * 0.9), max(2.2, max(ratios) * 1.1))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_xlabel("reproduced / published")
        axes.grid(axis="y", color="#eeeeee", lw=0.5, zorder=0)
        axes.tick_params(axis="y", length=0)
        path.parent.mkdir(parents=True, exist_ok=True)
        save(figure, path)
    return True
