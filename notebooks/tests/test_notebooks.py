# SPDX-License-Identifier: MIT
"""The notebooks: kept without what they print, and they run."""

import json
import re
import subprocess
from datetime import datetime

import pytest

from lab.cell.paths import ROOT

FOLDER = ROOT / "notebooks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
SECONDS_MAX = 120


def cells(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_kept_without_what_it_prints(name):
    for cell in cells(FOLDER / f"{name}.ipynb"):
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None, cell["id"]


def test_every_notebook_has_its_rule_and_its_line():
    rules = (FOLDER / "notebooks.smk").read_text(encoding="utf-8")
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert len(NAMES) == 4
    assert sorted(re.findall(r'^    "(\w+)": \(\(', rules, re.M)) == NAMES
    assert sorted(re.findall(r"^\| `(\w+)\.ipynb` \|", page, re.M)) == NAMES
    for name in NAMES:
        figures = re.search(rf'^    "{name}": \(\(([^)]*)\)', rules, re.M)[1]
        code = "".join("".join(cell["source"]) for cell in cells(FOLDER / f"{name}.ipynb"))
        assert re.findall(rf'keep\(figure, "{name}-(\w+)"\)', code) == re.findall(r'"(\w+)"', figures), name


@pytest.mark.nightly
def test_the_notebooks_run():
    """All four from the first cell to the last, behind `make notebooks`."""
    results = ROOT / "results" / "smoke" / "notebooks"
    for old in results.glob("*"):
        old.unlink()
    ran = subprocess.run(["make", "notebooks"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    for name in NAMES:
        assert list(results.glob(f"{name}-*.png")), name
        done = [cell for cell in cells(results / f"{name}.ipynb") if cell["cell_type"] == "code"]
        assert all(cell["execution_count"] for cell in done), name
        seconds = sum(seconds_of(cell) for cell in done)
        print(f"nightly: notebook {name}: {seconds:.0f} s")
        assert seconds < SECONDS_MAX, name


def seconds_of(cell) -> float:
    """How long a cell ran, by what nbconvert notes beside it."""
    times = cell["metadata"]["execution"]
    begun, done = (datetime.fromisoformat(times[f"iopub.{key}"]) for key in ("execute_input", "status.idle"))
    return (done - begun).total_seconds()
