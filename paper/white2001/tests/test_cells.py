# SPDX-License-Identifier: MIT
"""The sheet stands for the same cells, in the same order, as when each had a line of its own."""

import hashlib
import json

import pytest

from lab.cell import cells

BEFORE = {
    "smoke": (52, "e8a6d053e94cbef2b85e1896d237742a926e77571aa172c072e0cb0d93144872"),
    "quick": (402, "2f758d2d2c14fd5af5568a876cfddaec2e0105b651c90a57a04af5ca382d6a10"),
    "full": (3680, "6acc18f2f9f52bc1dab898ffa5fd6b71a43e97d1f2e03319dac9b45961d3857c"),
}
"""Number of cells, and SHA-256 of the JSON list of [id, tables, seed] in their order, of commit af6ed92. `quick` is
that of its plan since it takes each measurement once and macro benchmarks small: `full` has the whole sheet."""


@pytest.mark.parametrize("profile", BEFORE)
def test_cells_are_those_of_the_long_sheet(profile):
    found = [[cell.id, list(cell.tables), cell.seed] for cell in cells.paper_cells(profile, "white2001")]
    assert (len(found), hashlib.sha256(json.dumps(found).encode()).hexdigest()) == BEFORE[profile]
