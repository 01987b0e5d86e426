# SPDX-License-Identifier: MIT
"""What the notebooks share: where results and figures lie, and a measured cell with its trace."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import spindle_disk

from lab.cell import evidence, paths, store

PROFILE = "smoke"
FIGURES = paths.ROOT / "results" / PROFILE / "notebooks"
BLUE, RED, GREEN, GREY = "#1b6ca8", "#b3432f", "#3c8d5a", "#8a8a8a"
MS, S, GB = 1e6, 1e9, 1e9
"""In ns, ns and bytes."""
SECTOR_BYTES = 512


def begin() -> None:
    """Figures as all notebooks draw them."""
    plt.rcParams.update(
        {"figure.figsize": (8, 4), "figure.dpi": 110, "figure.constrained_layout.use": True, "font.size": 10,
         "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False}
    )  # fmt: skip
    pd.set_option("display.precision", 2)


def keep(figure: plt.Figure, name: str) -> None:
    """Leave a figure as `results/smoke/notebooks/<name>.png`, too."""
    FIGURES.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURES / f"{name}.png")


@dataclass(frozen=True)
class Cell:
    """A measured cell."""

    id: str

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return paths.ROOT / paths.cell_dir(PROFILE, self.id)

    @cached_property
    def result(self) -> dict:
        """Its result.json. Raises NoResult with the command that measures it."""
        return store.read_result(self.folder)

    @cached_property
    def text(self) -> str:
        """The lines of its trace."""
        _ = self.result
        return evidence.decompress((self.folder / "io.trace").read_bytes())

    @property
    def marker(self) -> dict[str, int]:
        """Of the line `# cell`: `seed`, `now_ns`, `start_delay_ns`."""
        words = next(line for line in self.text.splitlines() if line.startswith("# cell ")).split()
        return {words[at]: int(words[at + 1]) for at in (3, 5, 7)}

    @cached_property
    def trace(self) -> pd.DataFrame:
        """Its requests in the order of arrival, with `time_s` since the marker and `position_gb` on the disk."""
        frame = spindle_disk.read_trace(self.text)
        frame = frame.sort_values(["arrival_ns", "slot"], kind="stable").reset_index(drop=True)
        return frame.assign(
            time_s=(frame["arrival_ns"] - self.marker["now_ns"]) / S, position_gb=frame["lbn"] * SECTOR_BYTES / GB
        )
