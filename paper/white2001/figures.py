# SPDX-License-Identifier: MIT
"""The report's figures from summary.json alone: ratios of Table 5, throughput against tags and against disks."""

from pathlib import Path

from matplotlib.ticker import MaxNLocator

from paper.plot import plt, save
from paper.white2001 import chung

SIDES = ("ide", "scsi")
OPS = ("read", "write")
PATTERNS = ("sequential", "interleave", "random")
COLOURS = {"both": "#1b6ca8", "disk": "#d9822b", "host": "#3c8d5a", "none": "#8a4f9e"}
SIDE_COLOURS = {"ide": "#1b6ca8", "scsi": "#b3432f"}
NAMES = {"both": "both schedulers", "disk": "disk only", "host": "host only", "none": "none"}
TAGS = ("none", "4", "32", "64", "128")
SCALING_NAMES = {"ide": "IDE, a channel each", "scsi": "SCSI, one bus"}
CHUNG_NAMES = {side: f"{side.upper()} disks of Chung et al." for side in SIDES}
CEILING_NEAR = 0.5
"""A ceiling is drawn from half of it on."""
NEAR = 1.25


def ratios(rows: list[dict], path: Path) -> None:
    """Reproduced over published for every number of Table 5, one line of dots per column of the table."""
    columns = [f"{side}.{op}.{pattern}" for side in SIDES for op in OPS for pattern in PATTERNS]
    figure, axes = plt.subplots(figsize=(6.6, 3.0), layout="constrained")
    axes.axvspan(1 / NEAR, NEAR, color="#dfe7ee", lw=0, zorder=0)
    axes.axvline(1, color="#5f7485", lw=0.8, zorder=1)
    labelled = set()
    for index, column in enumerate(columns):
        for offset, (scheduler, colour) in enumerate(COLOURS.items()):
            found = [r for r in rows if r["column"] == column and r["row"].endswith("." + scheduler) and r["ratio"]]
            for row in found:
                axes.plot(row["ratio"], index + (offset - 1.5) * 0.17, "o", ms=3.4, mec=colour, mew=0.8, zorder=3,
                          mfc="white" if row["questioned"] else colour, clip_on=False,
                          label=None if scheduler in labelled else NAMES[scheduler])  # fmt: skip
                labelled.add(scheduler)
    axes.set_yticks(range(len(columns)), [f"{c.split('.')[0].upper()} {c.split('.', 1)[1].replace('.', ' ')}"
                                          for c in columns])  # fmt: skip
    axes.set_ylim(len(columns) - 0.4, -0.6)
    axes.set_xscale("log", base=2)
    values = [r["ratio"] for r in rows if r["ratio"]] or [1]
    axes.set_xlim(min(0.45, min(values) * 0.9), max(2.2, max(values) * 1.1))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("reproduced / published")
    axes.grid(axis="y", color="#eeeeee", lw=0.5, zorder=0)
    axes.tick_params(axis="y", length=0)
    if labelled:
        axes.legend(frameon=False, ncols=4, loc="lower center", bbox_to_anchor=(0.4, 1.0), handletextpad=0.1)
    save(figure, path)


def tags(rows: list[dict], path: Path) -> None:
    """Throughput against tags with both schedulers, published and reproduced, one panel per pattern."""
    index = {(row["row"], row["column"]): row for row in rows}
    figure, grid = plt.subplots(2, 3, figsize=(6.6, 3.9), sharex=True, layout="constrained")
    for line, op in zip(grid, OPS, strict=True):
        for axes, pattern in zip(line, PATTERNS, strict=True):
            for side in SIDES:
                colour = SIDE_COLOURS[side]
                entries = [(x, index.get((f"t{tag}.both", f"{side}.{op}.{pattern}"))) for x, tag in enumerate(TAGS)]
                entries = [(x, row) for x, row in entries if row]
                axes.plot([x for x, _ in entries], [row["published"] for _, row in entries], "--o", color=colour,
                          mfc="white", ms=3, lw=0.9, label=f"{side.upper()}, paper")  # fmt: skip
                ours = [(x, row) for x, row in entries if row["reproduced"] is not None]
                axes.errorbar([x for x, _ in ours], [row["reproduced"] for _, row in ours], fmt="-o", color=colour,
                              yerr=[row["std"] or 0 for _, row in ours], ms=3, lw=1.1, elinewidth=0.7,
                              label=f"{side.upper()}, here")  # fmt: skip
            axes.set_ylim(bottom=0)
            axes.set_title(f"{op} {pattern}", fontsize=8)
            axes.set_xticks(range(len(TAGS)), TAGS)
        line[0].set_ylabel("MB/s")
    for axes in grid[-1]:
        axes.set_xlabel("tags")
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, ncols=4, loc="outside upper center")
    save(figure, path)


def scaling(rows: list[dict], ceilings: list[tuple[str, float]], path: Path) -> None:
    """Throughput against number of disks, reads above writes, with Chung et al.'s points of sequential transfers; a
    ceiling is drawn where the rates come near it."""
    figure, grid = plt.subplots(2, 2, figsize=(6.6, 4.6), sharex=True, layout="constrained")
    drawn = {}
    for line, op in zip(grid, OPS, strict=True):
        for axes, pattern in zip(line, ("sequential", "random"), strict=True):
            axes.set_title(f"{op} {pattern}", fontsize=8)
            columns = {side: f"{side}.{op}.{pattern}" for side in SIDES}
            most = 0.0
            for side, column in columns.items():
                found = against_disks(rows, column, "reproduced")
                if not found:
                    continue
                disks, rates, stds = zip(*found, strict=True)
                most = max(most, *rates)
                drawn[SCALING_NAMES[side]] = axes.errorbar(
                    disks, rates, yerr=stds, fmt="-o", color=SIDE_COLOURS[side], ms=3, lw=1.1, elinewidth=0.7
                )
            if not most:
                axes.text(0.5, 0.5, "not run", ha="center", va="center", transform=axes.transAxes, color="#777777")
                axes.set_yticks([])
                continue
            # Of random requests they print numbers a second, with fewer of them outstanding.
            for side, column in columns.items() if pattern == "sequential" else ():
                found = against_disks(rows, column, "published", chung.PREFIX)
                drawn[CHUNG_NAMES[side]] = axes.plot(
                    [x for x, *_ in found], [y for _, y, _ in found], "x", color=SIDE_COLOURS[side], ms=5, mew=1.1
                )[0]
            for label, rate in ceilings:
                if rate <= most / CEILING_NEAR:
                    axes.axhline(rate, color="#777777", lw=0.7, ls=(0, (1, 1.5)), zorder=0)
                    axes.annotate(f"{label}, {rate:g}", (0.99, rate), (0, 1.5), xycoords=("axes fraction", "data"),
                                  textcoords="offset points", ha="right", fontsize=6.5, color="#555555")  # fmt: skip
            axes.set_ylim(bottom=0)
            axes.set_xlim(0, None)
            axes.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
        line[0].set_ylabel("MB/s")
    for axes in grid[-1]:
        axes.set_xlabel("disks")
    if drawn:
        figure.legend(drawn.values(), drawn.keys(), frameon=False, ncols=2, loc="outside upper center")
    save(figure, path)


def against_disks(rows: list[dict], column: str, field: str, prefix: str = "") -> list[tuple[int, float, float]]:
    """Number of disks, value and deviation, in the order of disks; rows begin with `prefix`."""
    found = [(row["row"].removeprefix(prefix), row) for row in rows
             if row["column"] == column and row["row"].startswith(prefix) and row[field] is not None]  # fmt: skip
    return sorted((int(disks), row[field], row["std"] or 0) for disks, row in found if disks.isdigit())


def ceilings(summary: dict) -> list[tuple[str, float]]:
    """What bounds several disks: the SCSI bus (Table 3), and PCI as Chung et al. measured it."""
    wanted = {("table3", "interface_rate", "scsi"): "SCSI bus", ("scaling", f"{chung.PREFIX}limit.pci", "read"): "PCI"}
    rows = {(row["table"], row["row"], row["column"]): row for row in summary["numbers"] + summary["extra"]}
    return [(label, rows[key]["published"]) for key, label in wanted.items() if key in rows]


def of_table(summary: dict, table: str) -> list[dict]:
    """A table's entries."""
    return [row for row in summary["numbers"] + summary["extra"] if row["table"] == table]


FIGURES = {
    "ratios": lambda summary, path: ratios(of_table(summary, "table5"), path),
    "tags": lambda summary, path: tags(of_table(summary, "table5"), path),
    "scaling": lambda summary, path: scaling(of_table(summary, "scaling"), ceilings(summary), path),
}
