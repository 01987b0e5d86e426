# SPDX-License-Identifier: MIT
"""Points of a sweep: their parameters, their command lines, their boots, and how they are judged."""

import pytest

from lab.cell import agent, cells, job, judge, sweep, trace
from lab.cell.errors import ConfigError

GOOD = ["op=read", "pattern=sequential", "kib=64", "depth=2"]


@pytest.mark.parametrize(
    ("words", "raw", "said"),
    [
        (GOOD[:3], True, "depth is missing; its parameters are op, pattern, kib, depth"),
        ([*GOOD[:3], "depth=1025"], True, "depth=1025: write a number from 0 to 1024"),
        ([*GOOD[:2], "kib=0", "depth=1"], True, "kib=0: write a number from 1"),
        (["op=erase", *GOOD[1:]], True, "op=erase: "),
        ([*GOOD, "dept=2"], True, "no parameter is called 'dept' here; .*depth"),
        ([*GOOD, "fill=extended"], True, "no parameter is called 'fill' here"),
        ([*GOOD, "by=fio"], False, "no parameter is called 'by' here"),
        ([*GOOD, "start_permille=1000"], True, "start_permille=1000: write a number from 0 to 999"),
        ([*GOOD, "caching=some"], True, "caching=some: "),
    ],
)
def test_sweep_refuses_parameters(words, raw, said):
    with pytest.raises(ConfigError, match=f"here: sqlio: {said}"):
        sweep.check(words, raw, "here")


def test_sweep_takes_good_parameters():
    sweep.check([*GOOD, "start_permille=500", "caching=none", "by=fio"], True, "here")
    sweep.check([*GOOD, "fill=extended", "file_bytes=1048576"], False, "here")


def papers_with_sweeps() -> list[str]:
    return [name for name in cells.PAPERS if any(row["workload"] == sweep.WORKLOAD for row in cells.sheet(name))]


def runs(profile: str = "full") -> list[cells.Run]:
    """Boots of sweeps on the device itself; a file has a boot of its own."""
    all_of = [run for run in cells.runs(profile).values() if run.cells[0].workload == sweep.WORKLOAD]
    return [run for run in all_of if run.cells[0].raw]


def test_sweep_each_repetition_has_a_boot():
    assert papers_with_sweeps()
    found = runs()
    assert found
    for run in found:
        assert {cell.workload for cell in run.cells} == {sweep.WORKLOAD}
        assert {f"{cell.base}.{cell.paper}.sqlio.s{cell.seed:02d}" for cell in run.cells} == {run.id}


def test_sweep_command_line():
    cell = next(cell for run in runs() for cell in run.cells if "start_permille" in cell.parameters)
    kib = int(cell.parameters["kib"])
    work = sweep.requests(kib, cell.settings) * kib * 1024
    assert work >= max(cell.settings.value("sweep_bytes"), cell.settings.value("sweep_requests") * kib * 1024)
    line = sweep.command(cell.parameters, ["/dev/sda"], 7, cell.settings)
    assert line.startswith(f"sqlio --device /dev/sda --seed 7 --bytes {work} --op {cell.parameters['op']} --pattern ")
    assert line.endswith(f"--start-permille {cell.parameters['start_permille']}")
    fio = next(cell for run in runs("smoke") for cell in run.cells if "by" in cell.parameters)
    text = sweep.command(fio.parameters, ["/dev/sda"], 1, fio.settings)
    assert text.startswith("fio-sqlio ") and "--by " not in text


def test_sweep_plan_chooses_points():
    found = cells.paper_cells("full", papers_with_sweeps()[0])
    chosen = cells.fitting(list(found), ["*.sqlio-read-random-8-1"], "here")
    assert {cell.parameters["depth"] for cell in chosen} == {"1"} and len(chosen) < len(found)
    assert chosen == [cell for cell in found if cell in chosen]
    with pytest.raises(ConfigError, match=r"here: no cell of its runs fits 'points' pattern '\*-nothing'"):
        cells.fitting(list(found), ["*.sqlio-*", "*-nothing"], "here")


def judged(
    depth: int, seen: int, op: str = "read", moved: int = 8, by: str | None = None, caching: str = "drive"
) -> dict:
    """A point with 8 requests, of which the disk saw `moved`, and `seen` at once."""
    words = (
        f"op={op}",
        "pattern=random",
        "kib=8",
        f"depth={depth}",
        f"caching={caching}",
        *([f"by={by}"] if by else []),
    )
    paper = papers_with_sweeps()[0]
    cell = cells.Cell(paper, "scsi-virtio", "ultrastar-36zx", "64", "both", "raw", sweep.WORKLOAD, words, "1", 1, ())
    said = agent.CellReport(metrics={"elapsed_ns": 8_000_000, "bytes": 65536, "requests": 8})
    if by is None:
        said.metrics |= {f"latency_{name}_ns": 2_000_000 for name in ("mean", "p50", "p95", "p99", "max")}
    letter = "R" if op == "read" else "W"
    lines = [
        f"disk0 {letter} {16 * n} 16 0 {max(0, n - seen + 1) * 1000} {n * 1000} {n * 1000 + 1000} {n * 1000 + 1000} "
        f"{min(n + 1, seen)} {'miss' if op == 'read' else 'through'}"
        for n in range(moved)
    ]
    return judge.metrics_of(cell, said, "\n".join([trace.HEADER, *lines]) + "\n")


def test_sweep_metrics_have_rate_and_latencies():
    found = judged(depth=2, seen=2)
    assert (found["rate_mb_s"], found["requests"]) == (8.192, 8)
    assert set(found["workload"]) == {f"latency_{name}_ns" for name in ("mean", "p50", "p95", "p99", "max")}


def test_sweep_metrics_of_fio_have_the_rate():
    assert "workload" not in judged(depth=2, seen=2, by="fio")


@pytest.mark.parametrize(
    ("said", "more"),
    [
        ("kept 4 requests outstanding and the disk can take 64, but it saw at most 2", {"depth": 4, "seen": 2}),
        ("moved 65536 bytes, but the disk saw 57344", {"depth": 1, "seen": 1, "moved": 7}),
    ],
)
def test_sweep_that_is_no_measurement(said, more):
    with pytest.raises(ValueError, match=said):
        judged(**more)


def test_sweep_writes_may_be_acknowledged_before_the_next_comes():
    assert judged(depth=4, seen=2, op="write")["queue_depth_max"] == 2


def test_sweep_through_the_page_cache_may_move_less():
    assert judged(depth=4, seen=1, caching="both", moved=2)["bytes"] == 65536


def test_sweep_requests_at_the_disk_have_a_most():
    queue = "/sys/block/sda/queue"
    for run in runs("quick"):
        cell = run.cells[0]
        found = dict(job.queue_settings(run, cell, "/sys/block/sda"))
        past = sweep.past_page_cache(cell.parameters)
        most = cell.settings.value("sweep_request_kib" if past else "page_cache_kib")
        assert found[f"{queue}/max_sectors_kb"] == str(most)
        # What is read ahead goes through the page cache.
        assert (f"{queue}/read_ahead_kb" in found) != past
