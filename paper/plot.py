# SPDX-License-Identifier: MIT
"""matplotlib as all figures use it."""

from pathlib import Path

import matplotlib

matplotlib.use("pdf")

import matplotlib.pyplot as plt

__all__ = ["STYLE", "plt", "save"]
STYLE = {"font.family": "serif", "font.serif": ["DejaVu Serif"], "font.size": 8, "axes.linewidth": 0.6,
         "pdf.fonttype": 42, "axes.spines.top": False, "axes.spines.right": False}  # fmt: skip


def save(figure: plt.Figure, path: Path) -> None:
    """As PDF with nothing in it that changes from run to run."""
    figure.savefig(path, metadata={"CreationDate": None, "Creator": None, "Producer": None})
    plt.close(figure)
