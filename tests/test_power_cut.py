# SPDX-License-Identifier: MIT
"""A power cut in a real guest's writes: the data file holds what reached the medium, sector by sector."""

import re

import pytest

from lab.cell import boot, cells, job, paths, run
from lab.cell.errors import EnvironmentMissing

pytestmark = pytest.mark.lab

RUN = "scsi-virtio.ultrastar-36zx.t32.both"
CUTS_NS = {"random": 1_200_000_000, "sequential": 746_900_000}
"""The first cell begins at about 0.5 s of virtual time. It takes 5 s at random, where the buffer holds one write at a
time, and 0.4 s in sequence, where it holds some 30."""
SECTOR = 512
WRITES = (
    "exec rawio --device /dev/sda --op write --pattern {} --seed 1 --bytes 10485760 --request-bytes 8192 "
    "--children 128 --span-bytes 0"
)


def cut(work, monkeypatch, pattern):
    """Run one writing cell up to its cut; returns what QEMU said and the writes in the trace."""
    build = paths.build()
    try:
        boot.require_built(cells.run("smoke", RUN), build)
    except EnvironmentMissing as reason:
        pytest.skip(str(reason))
    text, command = job.job_text, job.qemu_command

    def writes_first(of_run):
        lines = text(of_run).splitlines()
        first = next(i for i, line in enumerate(lines) if line.startswith("exec "))
        return "\n".join([*lines[:first], WRITES.format(pattern), *lines[first + 1 :]]) + "\n"

    def with_cut(*given):
        return [
            f"{item},power-cut-ns={CUTS_NS[pattern]}" if "time-limit-s=" in item else item for item in command(*given)
        ]

    monkeypatch.setattr(job, "job_text", writes_first)
    monkeypatch.setattr(job, "qemu_command", with_cut)
    said = []
    outcome = run.execute(cells.run("smoke", RUN), build, work, said.append)
    reasons = {result["reason"] for result in outcome.results.values()}
    assert all("QEMU exited with status 80" in reason for reason in reasons), reasons
    lines = [line.split() for line in (work / "io.trace").read_text().splitlines()]
    return " ".join(said), [words for words in lines if words[:2] == ["disk0", "W"]]


@pytest.mark.parametrize(("pattern", "least"), [("random", 1), ("sequential", 20)])
def test_power_cut_leaves_what_the_medium_holds(tmp_path, monkeypatch, pattern, least):
    said, lines = cut(tmp_path, monkeypatch, pattern)
    writes, sectors = map(int, re.search(r"(\d+) acknowledged writes lost (\d+) sectors", said).groups())
    assert writes >= least, said

    pending = [words for words in lines if words[8] == "-"]
    assert len(pending) == writes
    assert all(int(words[7]) <= CUTS_NS[pattern] for words in lines)
    # rawio writes no zeros, and the disk was all zeros: a sector without data was never written.
    lost = kept = 0
    with open(tmp_path / "disk.img", "rb") as disk:
        for words in lines:
            disk.seek(int(words[2]) * SECTOR)
            data = disk.read(int(words[3]) * SECTOR)
            empty = sum(not any(data[i : i + SECTOR]) for i in range(0, len(data), SECTOR))
            if words[8] == "-":
                lost += empty
            else:
                assert empty == 0, words
                kept += 1
    assert lost == sectors
    assert kept > 50


def test_power_cut_is_the_same_twice(tmp_path, monkeypatch):
    found = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        with monkeypatch.context() as patch:
            cut(tmp_path / name, patch, "random")
        found.append((tmp_path / name / "io.trace").read_bytes())
    assert found[0] == found[1]
