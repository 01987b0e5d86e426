# SPDX-License-Identifier: MIT
"""The disk model against real drives, as the report prints it: rows of lab/disk/validation/*.csv.

measured.csv: the model with DiskSim's extracted parameters against DiskSim's measured traces (`make validation`
repeats it). published.csv: the catalogue's drives against what papers measured on the real ones. The model's own
tests write both files and fail when they are stale.
"""

import pandas as pd

from analysis import numbers
from lab.cell.paths import ROOT
from paper.errors import RenderError

FOLDER = ROOT / "lab" / "disk" / "validation"


def read(name: str) -> pd.DataFrame:
    """One of the files."""
    path = FOLDER / name
    try:
        return pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise RenderError(f"{path}: {error}; SPINDLE_BLESS=1 cargo test in lab/disk writes it") from None


def measured() -> list[dict]:
    """Six drives: requests, mean service times, rms demerit and DiskSim's, all in ms."""
    frame = read("measured.csv")
    return [
        {
            "drive": row.drive, "requests": row.requests,
            "measured": numbers.fixed(row.measured_ms_mean, 2), "modelled": numbers.fixed(row.modelled_ms_mean, 2),
            "demerit": numbers.fixed(row.rms_demerit_ms, 3), "disksim": numbers.fixed(row.disksim_ms, 3),
        }
        for row in frame[frame.regime == "all"].itertuples()
    ]  # fmt: skip


def published() -> list[dict]:
    """What papers measured on drives of the catalogue, and the model."""
    return [
        {
            "drive": row.drive, "regime": row.regime, "unit": row.unit,
            # Authors and title stand in the text before the table.
            "where": row.source.split(", ", 2)[2],
            "published": f"{row.published:g}", "reproduced": f"{row.reproduced:g}",
            "error": f"{row.error_percent:+.0f}",
        }
        for row in read("published.csv").itertuples()
    ]  # fmt: skip
