# SPDX-License-Identifier: MIT
"""Where things are. Everything is under the repository root except build/, which SPINDLE_BUILD moves."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SPINDLE_BUILD", "build"))
"""Built things: relative to the root unless SPINDLE_BUILD is absolute."""
PROFILES = ROOT / "config" / "profiles"


def build() -> Path:
    """Absolute path of the build directory."""
    return (ROOT / BUILD).resolve()


def shown_build() -> str:
    """The build directory as a message names it: from the root where it lies below it."""
    try:
        return str(build().relative_to(ROOT.resolve()))
    except ValueError:
        return str(build())


def profiles() -> list[str]:
    """Names of all profiles, by their folders."""
    return sorted(path.parent.name for path in PROFILES.glob("*/config.yaml"))


def cell_dir(profile: str, cell_id: str) -> Path:
    """Folder of one cell's result, relative to the root."""
    return Path("results") / profile / "cells" / cell_id


def result_path(profile: str, cell_id: str) -> str:
    """One cell's result.json, relative to the root, as Snakemake names it."""
    return str(cell_dir(profile, cell_id) / "result.json")


def timing_path(profile: str, run_id: str) -> str:
    """Real seconds one run took, relative to the root."""
    return f"results/{profile}/runs/{run_id}.timing.json"
