# SPDX-License-Identifier: MIT
"""rawio against fio with the same requests, as results/smoke has them.

Without these results there is nothing to compare, and the test is skipped; with SPINDLE_NO_SKIP=1 it fails.
"""

import json
import os

import pytest

from lab.cell import cells, identity, paths

pytestmark = pytest.mark.lab

PROFILE = "smoke"
BOUND = 0.10


def current_result(cell: cells.Cell) -> dict:
    """The cell's result; one that is missing, failed or of another state of the lab gives nothing to compare."""
    path = paths.ROOT / paths.result_path(PROFILE, cell.id)
    result = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"reason": "not run"}
    reason = result["reason"]
    run = cells.run(PROFILE, cell.run)
    if not reason and (other := identity.other_inputs(run, cell, result)):
        reason = f"measured with another {', '.join(other)}"
    if reason:
        say = pytest.fail if os.environ.get("SPINDLE_NO_SKIP") else pytest.skip
        say(f"{cell.id}: {reason}; `make report PROFILE={PROFILE}` makes it")
    return result


def test_crosscheck_rawio_and_fio_agree():
    ratios = {}
    listed = (cells.cells_of_table(PROFILE, paper, cells.CROSSCHECK) for paper in cells.PAPERS)
    for fio in (cell for of_paper in listed for cell in of_paper if cell.workload == "fio"):
        [rawio] = (
            cell
            for cell in cells.run(PROFILE, fio.run).cells
            if cell.workload == "rawio" and (cell.parameters, cell.seed) == (fio.parameters, fio.seed)
        )
        one, other = (current_result(cell)["metrics"]["elapsed_ns"] for cell in (fio, rawio))
        ratios[" ".join(fio.parameters.values())] = one / other
    lines = [f"{name}: fio needs {ratio:.3f} of rawio's time" for name, ratio in ratios.items()]
    print("", *lines, sep="\n")
    assert len(ratios) == 6
    assert all(abs(ratio - 1) <= BOUND for ratio in ratios.values()), "\n".join(lines)
