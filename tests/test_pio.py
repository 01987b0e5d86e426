# SPDX-License-Identifier: MIT
"""Programmed I/O in a real guest: each word holds the processor for the time of the port, and the run repeats."""

from dataclasses import replace

import pytest

from lab.cell import boot, catalogue, cells, paths, run
from lab.cell.errors import EnvironmentMissing

pytestmark = pytest.mark.lab

WORD_NS = 120
"""The cycle of PIO mode 4, as the controller's entry gives it to QEMU."""


def test_a_word_holds_the_processor(tmp_path):
    whole = next(one for one in cells.runs("quick").values() if one.controller == "ide-piix-pio")
    one = replace(whole, cells=whole.cells[:1])
    assert f"pio-word-ns={WORD_NS}" in catalogue.controller(one.controller).disk_device
    build = paths.build()
    try:
        boot.require_built(one, build)
    except EnvironmentMissing as reason:
        pytest.skip(str(reason))
    found = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (result,) = run.execute(one, build, tmp_path / name, lambda line: None).results.values()
        assert result["status"] == "ok", result["reason"]
        found.append(result)
    metrics = found[0]["metrics"]
    word_ns = metrics["workload"]["processor_ns"] / (metrics["bytes"] / 2)
    # What Linux does besides is a few instructions a word at most.
    assert WORD_NS < word_ns < 1.1 * WORD_NS
    assert [one["metrics"] for one in found] == [metrics, metrics]
