# SPDX-License-Identifier: MIT
"""sqlio against fio with the same requests, as results/smoke has them.

Without these results there is nothing to compare, and the test is skipped; with SPINDLE_NO_SKIP=1 it fails.
"""

import pytest

from lab.cell import cells, sweep
from workloads.fio.tests.test_crosscheck import BOUND, PROFILE, current_result

pytestmark = pytest.mark.lab


def test_crosscheck_sqlio_and_fio_agree():
    listed = (cells.cells_of_table(PROFILE, paper, cells.CROSSCHECK) for paper in cells.PAPERS)
    ratios = {}
    for fio in (cell for of_paper in listed for cell in of_paper if cell.workload == sweep.WORKLOAD):
        wanted = {name: value for name, value in fio.parameters.items() if name != "by"}
        [sqlio] = (cell for cell in cells.run(PROFILE, fio.run).cells if cell.parameters == wanted)
        one, other = (current_result(cell)["metrics"]["elapsed_ns"] for cell in (fio, sqlio))
        ratios[fio.id] = one / other
    lines = [f"{name}: fio needs {ratio:.3f} of sqlio's time" for name, ratio in ratios.items()]
    print("", *lines, sep="\n")
    assert len(ratios) >= 4
    assert all(abs(ratio - 1) <= BOUND for ratio in ratios.values()), "\n".join(lines)
