# SPDX-License-Identifier: MIT
"""The papers that the lab re-runs: each folder of paper/ with a paper.yaml is one. Nothing else lists them."""

import re
from pathlib import Path

from lab.cell.errors import ConfigError
from lab.cell.paths import ROOT

FOLDER = ROOT / "paper"
ABOUT = "paper.yaml"
SHEET = "cells.csv"
PLACE = re.compile(r"^place: *([0-9]+) *$", re.M)


def ids() -> tuple[str, ...]:
    """Names of all papers, which are those of their folders, in the order in which they came to the lab."""
    return tuple(sorted((path.parent.name for path in FOLDER.glob(f"*/{ABOUT}")), key=lambda name: (place(name), name)))


def place(name: str) -> int:
    """A paper's `place`. The rest of the file is read, and checked, when it is needed (config.paper)."""
    path = FOLDER / name / ABOUT
    found = PLACE.search(path.read_text(encoding="utf-8"))
    if found is None:
        raise ConfigError(f"paper/{name}/{ABOUT}: no line `place: NUMBER`; write one more than the last paper's")
    return int(found[1])


def folder(name: str) -> Path:
    """A paper's folder."""
    known = ids()
    if name not in known:
        raise ConfigError(
            f"paper: {name!r} is unknown, since there is no paper/{name}/{ABOUT}; known are: {', '.join(known)}"
        )
    return FOLDER / name


def sheet(name: str) -> Path:
    """A paper's sheet of cells."""
    return folder(name) / SHEET


def plan(name: str, profile: str) -> Path:
    """The file that says what a profile takes of a paper."""
    return folder(name) / "profiles" / f"{profile}.yaml"
