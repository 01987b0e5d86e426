# SPDX-License-Identifier: MIT
"""The report's figures, from summary.json alone: the paper's curves as ours run, with the numbers that it prints."""

from pathlib import Path

from paper.chung2000.quantities import CLOCK_GHZ, OUTER_KIB
from paper.chung2000.views import DEPTHS, NAMES, SIZES, split
from paper.plot import plt, save

OURS = "sweeps"
PANELS = (
    ("atlas", "read", "Figure 15"),
    ("atlas", "write", "Figure 15"),
    ("atlas.uncached", "write", "Figure 15"),
    ("lct08", "read", "Figure 26"),
    ("lct08", "write", "Figure 26"),
    ("lct08.card", "read", "Figure 26"),
    ("lct08.card", "write", "Figure 26"),
    ("lct08.2", "read", "Figure 28"),
    ("lct08.raid0.2", "read", "Figure 29"),
    ("atlas.2", "read", "Figure 17"),
    ("atlas.3", "read", "Figure 18"),
    ("atlas.4", "read", "Figure 18"),
    ("lct08.twinstor", "read", "Figure 33"),
    ("barracuda", "read", "Figure 9"),
    ("barracuda.uncached", "write", "Figure 7"),
)
"""Throughput against size: configuration, operation, and the paper's figure."""
PRINTED = {
    ("atlas", "read"): [("2", "figure15", "read.2.one-deep"), ("2", "figure15", "read.2.two-deep")],
    ("atlas.uncached", "write"): [("64", "figure15", "write-uncached")],
    ("lct08.2", "read"): [("64", "figure28", "two.read.64.one-deep"), ("256", "figure28", "two.read")],
    ("atlas.3", "read"): [("256", "figure18", "three.read")],
    ("atlas.4", "read"): [("256", "figure18", "four.read")],
    ("lct08.raid0.2", "read"): [("64", "figure29", "two.read.64.one-deep")],
    ("barracuda", "read"): [("64", "figure7", "disk.read")],
}
"""Numbers that the paper prints in these panels: KiB, row and column of table `figures`."""
RANDOM = ("atlas", "lct08.card", "lct08.raid0.2", "lct08.twinstor")
RANDOM_PRINTED = {
    ("atlas", "read"): [("1", "table9", "atlas", "read")],
    ("atlas", "write"): [("1", "table9", "atlas", "write")],
    ("lct08.card", "read"): [("1", "figures", "figure20", "read.one-deep"),
                             ("2", "figures", "figure20", "read.two-deep"),
                             ("32", "figures", "figure20", "read.32-deep")],
    ("lct08.card", "write"): [("1", "figures", "figure20", "write.one-deep")],
    ("lct08.raid0.2", "read"): [("2", "figures", "figure34", "raid0.two-deep.read")],
    ("lct08.twinstor", "read"): [("2", "figures", "figure34", "raid1.two-deep.read")],
}  # fmt: skip
"""The same of random rates: depth, and table, row and column."""
GREY = "0.45"
COLOURS = {"1": "#1b6ca8", "2": "#d1495b", "3": "#6a994e", "4": "#6a994e", "8": "#8d5a97"}


def values(summary: dict) -> dict[tuple[str, str], float]:
    """Our points that are there, by row and column."""
    return {(row["row"], row["column"]): row["reproduced"] for row in summary["extra"]
            if row["table"] == OURS and row["reproduced"] is not None}  # fmt: skip


def paper_number(summary: dict, table: str, row: str, column: str) -> float:
    """A printed number."""
    key = (table, row, column)
    return next(n["published"] for n in summary["numbers"] if (n["table"], n["row"], n["column"]) == key)


def lines_of(found: dict, name: str, op: str) -> dict[str, dict[str, float]]:
    """Sequential rates of a configuration: depth to size to MiB/s."""
    lines: dict[str, dict[str, float]] = {}
    for (row, column), value in found.items():
        there, done, kind, *_ = split(row)
        if (there, done) == (name, op) and kind.startswith("d"):
            lines.setdefault(kind.removeprefix("d"), {})[column] = value
    # A single size is no line.
    return {depth: lines[depth] for depth in sorted(lines, key=int) if len(lines[depth]) > 1}


def by_size(axes: plt.Axes, lines: dict[str, dict[str, float]], style: str = "-") -> None:
    """Lines against the size of a request."""
    for depth, line in lines.items():
        sizes = [size for size in SIZES if size in line]
        places = [SIZES.index(size) for size in sizes]
        axes.plot(places, [line[size] for size in sizes], style, marker="o", markersize=2.2, linewidth=0.9,
                  color=COLOURS[depth], label=f"{depth} deep")  # fmt: skip
    axes.set_xticks(range(len(SIZES)), SIZES)
    axes.set_xlim(-0.3, len(SIZES) - 0.7)


def from_zero(axes: plt.Axes) -> None:
    """The scale begins at 0, and what is drawn has room above it, here and in panels with the same scale."""
    top = max(one.dataLim.y1 for one in axes.get_shared_y_axes().get_siblings(axes))
    axes.set_ylim(0, 1.1 * top if 0 < top < float("inf") else 1)


def empty(axes: plt.Axes) -> None:
    """Says that there is nothing to draw."""
    axes.text(0.5, 0.5, "not run", transform=axes.transAxes, ha="center", color=GREY)


def throughput(summary: dict, path: Path) -> None:
    """Sequential throughput against the size of a request, a line for each depth; crosses are printed numbers."""
    found = values(summary)
    figure, grid = plt.subplots(5, 3, figsize=(7.0, 9.0), layout="constrained")
    for axes, (name, op, where) in zip(grid.flat, PANELS, strict=True):
        lines = lines_of(found, name, op)
        by_size(axes, lines)
        if not lines:
            empty(axes)
        for size, row, column in PRINTED.get((name, op), []):
            axes.plot(
                SIZES.index(size), paper_number(summary, "figures", row, column), "x", color="black", markersize=5
            )
        from_zero(axes)
        axes.set_title(f"{NAMES[name]}\n{op} ({where})", fontsize=7)
        if lines:
            axes.legend(fontsize=5.5, frameon=False)
    for axes in grid[-1]:
        axes.set_xlabel("KiB of a request")
    for axes in grid[:, 0]:
        axes.set_ylabel("MiB/s")
    save(figure, path)


def zones(summary: dict, path: Path) -> None:
    """Sequential reads against the place on the device; crosses are the outer and inner rates that Table 6 prints."""
    found = values(summary)
    figure, grid = plt.subplots(1, 2, figsize=(7.0, 2.4), layout="constrained", sharey=True)
    for axes, name in zip(grid, ("atlas", "lct08"), strict=True):
        line = {float(column) / 10: value for (row, column), value in found.items() if row == f"{name}.read.zones"}
        if (f"{name}.read.d2", "64") in found:
            line[0.0] = found[f"{name}.read.d2", "64"]
        places = sorted(line)
        axes.plot(places, [line[place] for place in places], marker="o", markersize=2.2, linewidth=0.9,
                  color=COLOURS["1"])  # fmt: skip
        if not line:
            empty(axes)
        for place, column in ((0, "outer"), (97, "inner")):
            axes.plot(place, paper_number(summary, "table6", name, column), "x", color="black", markersize=5)
        from_zero(axes)
        axes.set_title(NAMES[name], fontsize=7)
        axes.set_xlabel("place, per cent of the device")
    grid[0].set_ylabel("MiB/s")
    save(figure, path)


COSTS = (
    ("atlas", "atlas.buffered", "unbuffered", "buffered"),
    ("lct08.card", "lct08.card.buffered", "unbuffered", "buffered"),
    ("lct08", "lct08.pio", "DMA", "PIO"),
)
"""Panels of the processor's cost: two configurations, and what they are called."""


def cost(summary: dict, path: Path) -> None:
    """What a sequential request one deep costs the processor against its size; dashed: what the paper prints."""
    found = values(summary)
    figure, grid = plt.subplots(1, len(COSTS), figsize=(7.0, 2.6), layout="constrained", sharey=True)
    printed = {kind: [paper_number(summary, "table11", f"sequential.{kind}", f"read.{part}")
                      for part in ("fixed", "marginal")] for kind in ("unbuffered", "buffered")}  # fmt: skip
    for axes, (one, other, *called) in zip(grid, COSTS, strict=True):
        drawn = False
        for name, kind, style in ((one, called[0], "o"), (other, called[1], "s")):
            for op, colour in (("read", COLOURS["1"]), ("write", COLOURS["2"])):
                line = {size: found[f"{name}.{op}.processor", size] for size in SIZES
                        if (f"{name}.{op}.processor", size) in found}  # fmt: skip
                drawn = drawn or bool(line)
                axes.plot([SIZES.index(size) for size in line], line.values(), marker=style, markersize=2.6,
                          linewidth=0.9, color=colour, alpha=1 if name == one else 0.5,
                          label=f"{op}, {kind}")  # fmt: skip
            if kind in printed:
                fixed, marginal = printed[kind]
                axes.plot(range(len(SIZES)), [fixed + marginal * int(size) for size in SIZES], "--", color="black",
                          linewidth=0.8, alpha=1 if name == one else 0.5)  # fmt: skip
        if "PIO" in called:
            for row in ("dma", "pio"):
                ns_byte = paper_number(summary, "table7", row, "clocks") / CLOCK_GHZ
                axes.plot(
                    SIZES.index(str(OUTER_KIB)), ns_byte * (OUTER_KIB << 10) / 1000, "x", color="black", markersize=5
                )
        if not drawn:
            empty(axes)
        axes.set_xticks(range(len(SIZES)), SIZES)
        axes.set_yscale("log")
        axes.set_title(NAMES[one], fontsize=7)
        axes.set_xlabel("KiB of a request")
        axes.legend(fontsize=5.5, frameon=False)
    grid[0].set_ylabel("us a request")
    save(figure, path)


def random(summary: dict, path: Path) -> None:
    """Random requests of 8 KiB a second against depth; crosses are printed numbers."""
    found = values(summary)
    figure, grid = plt.subplots(1, len(RANDOM), figsize=(7.0, 2.6), layout="constrained", sharey=True)
    for axes, name in zip(grid, RANDOM, strict=True):
        drawn = False
        for op, colour in (("read", COLOURS["1"]), ("write", COLOURS["2"])):
            row = f"{name}.{op}.random.8"
            depths = [depth for depth in DEPTHS if (row, f"d{depth}") in found]
            drawn = drawn or bool(depths)
            axes.plot([DEPTHS.index(depth) for depth in depths], [found[row, f"d{depth}"] for depth in depths],
                      marker="o", markersize=2.2, linewidth=0.9, color=colour, label=op)  # fmt: skip
            for depth, *number in RANDOM_PRINTED.get((name, op), []):
                axes.plot(DEPTHS.index(depth), paper_number(summary, *number), "x", color=colour, markersize=5)
        if not drawn:
            empty(axes)
        axes.set_xticks(range(len(DEPTHS)), DEPTHS)
        from_zero(axes)
        axes.set_title(NAMES[name], fontsize=7)
        axes.set_xlabel("requests outstanding")
        axes.legend(fontsize=5.5, frameon=False)
    grid[0].set_ylabel("requests a second")
    save(figure, path)


FIGURES = {"throughput": throughput, "zones": zones, "cost": cost, "random": random}
