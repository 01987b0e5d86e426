# SPDX-License-Identifier: MIT
"""The figures in docs/validity.md are those of lab/disk/validation."""

import pandas as pd

from lab.cell.paths import ROOT

PAGE = ROOT / "docs" / "validity.md"
FOLDER = ROOT / "lab" / "disk" / "validation"
REGIMES = [
    "reads, far", "reads, near", "reads, sequential", "writes, far", "writes, near", "writes, sequential",
]  # fmt: skip


def test_validity_page_has_the_measured_figures():
    page = PAGE.read_text(encoding="utf-8")
    frame = pd.read_csv(FOLDER / "measured.csv")
    for row in frame[frame.regime == "all"].itertuples():
        wanted = f"| {row.measured_ms_mean:.2f} | {row.rms_demerit_ms:.3f} | {row.disksim_ms:.3f} |"
        assert wanted in page, (row.drive, wanted)
    by = frame.pivot(index="drive", columns="regime", values="rms_demerit_ms")
    for drive in by.index:
        wanted = f"| {drive} | " + " | ".join(f"{by.loc[drive, name]:.2f}" for name in REGIMES) + " |"
        assert wanted in page, wanted


def test_validity_page_has_the_published_figures():
    page = PAGE.read_text(encoding="utf-8")
    for row in pd.read_csv(FOLDER / "published.csv").itertuples():
        numbers = f"{row.published:g} | {row.reproduced:g} | {row.error_percent:+.0f} %"
        wanted = f"| {row.drive} | {row.regime} | {row.unit} | {numbers} |"
        assert wanted in page, wanted
