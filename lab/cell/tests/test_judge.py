# SPDX-License-Identifier: MIT
"""How a cell is judged, from reports and traces that are written here: each rule with the values at its bounds."""

import dataclasses
from dataclasses import replace

import pytest

from lab.cell import agent, cells, evidence, job, judge, papers, trace
from lab.cell.tests import written

PAPER = papers.ids()[0]
RESET = "ata1.00: exception Emask 0x0 SAct 0x30000 SErr 0x0 action 0x6 frozen"
ERROR = "I/O error, dev sda, sector 8 op 0x1:(WRITE)"
PANIC = "Kernel panic - not syncing: VFS"
EMPTY = trace.HEADER + "\n"


def cell(op="read", workload="rawio", file_system="raw", array="none", words=(), **more):
    """A cell whose disk may have 4 commands outstanding."""
    values = {"controller": "scsi-virtio", "drive": "ultrastar-36zx", "tags": "4", "scheduler": "both", "scale": "1"}
    words = (f"op={op}", "pattern=random", *words)
    return cells.Cell(
        **{"paper": PAPER, "file_system": file_system, "workload": workload, "words": words, "seed": 1, "tables": ()}
        | values
        | {"array": array}
        | more
    )


def point(op="read", depth=4, caching="drive", **more):
    """A point of a sweep."""
    return cell(op, "sqlio", words=("kib=8", f"depth={depth}", f"caching={caching}"), **more)


def said(without=(), **metrics):
    """What the agent said of a cell that moved 8 requests of 8 KiB, 4 at once."""
    known = {"elapsed_ns": 7_000_000, "bytes": 65536, "requests": 8, "children": 4, "concurrent_max": 4} | metrics
    kept = {name: value for name, value in known.items() if name not in without}
    return agent.CellReport(metrics=kept, exit_status=0, ended=True)


def lines(count=8, seen=4, op="R", more="", devices=("disk0",)):
    """A trace of requests of 8 KiB, so many of them at once."""
    text = [
        f"{devices[n % len(devices)]} {op} {16 * n} 16 0 {max(0, n - seen + 1) * 1000} {n * 1000} {n * 1000 + 1000} "
        f"{n * 1000 + 1000} {min(n + 1, seen)} {'miss' if op == 'R' else 'through'}\n"
        for n in range(count)
    ]
    return EMPTY + "".join(text) + more


FLUSH = "disk0 F 0 0 0 9000 9000 9000 9000 1 -\n"


def facts(one, about=None, text=None, report=None, **more):
    """What a cell is judged by that ran well, unless it is said otherwise."""
    report = report or agent.Report(cells={one.id: about or said()}, done=True)
    return judge.Facts(report, lines() if text is None else text, **more)


# ---- what the kernel says ----------------------------------------------------


def console(*said):
    return "".join(f"[{at:>12}] {words}\n" for at, words in said)


def test_trouble_has_the_kernels_time():
    found = judge.disk_trouble("Linux version\n" + console(("12.345678", ERROR), ("13.000001", RESET)) + "ata1: up\n")
    assert found == [judge.Trouble(12_345_678_000, ERROR), judge.Trouble(13_000_001_000, RESET)]
    assert [trouble.reset for trouble in found] == [False, True]
    assert found[0].reason.startswith(f"the guest had an I/O error: {ERROR!r}: ")
    assert found[1].reason.startswith(f"the guest reset the disk's port: {RESET!r}: ")


def test_trouble_before_the_next_cell_is_a_cells_own():
    text = console(("2.000000", ERROR), ("3.000000", ERROR))
    one = cell()
    at = [judge.trouble_of(facts(one, console=text, until_ns=until)) for until in (2 * 10**9, 2 * 10**9 + 1, None)]
    assert at == [None, judge.Trouble(2 * 10**9, ERROR), judge.Trouble(2 * 10**9, ERROR)]
    assert judge.trouble_of(facts(one, console="all is well\n")) is None


def test_trouble_a_reset_says_more_than_errors_before_it():
    text = console(("2.000000", ERROR), ("3.000000", RESET))
    assert judge.trouble_of(facts(cell(), console=text)).reset


def test_panic_is_found_in_its_line():
    assert judge.panic_line(f"up\n[ 1.5] {PANIC} \nend\n") == PANIC
    assert judge.panic_line("up\n") is None


def test_failed_disk_is_found_in_its_line():
    failed = "md/raid:md0: Disk failure on sdb, disabling device."
    text = console(("1.0", "Disk failure on sda"), ("1.1", "md/raid:md0: device sdb operational"), ("1.2", failed))
    assert judge.failed_disk_line(text) == failed
    assert judge.failed_disk_line(console(("1.0", "md/raid:md0: device sdb operational"))) is None


# ---- how the run ended -------------------------------------------------------


def ended(status=0, killed_because=None, console="", stderr="", done=True, problem=None):
    return judge.run_problem(status, killed_because, console, stderr, agent.Report(done=done, problem=problem))


def test_run_that_ended_well_has_no_problem():
    assert ended() is None
    assert ended(stderr="a warning") is None


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (-1, "QEMU was ended by SIGHUP: "),
        (-6, "QEMU was ended by SIGABRT: "),
        (-34, "QEMU was ended by SIGRTMIN: "),
        (-200, "QEMU was ended by signal 200: "),
        (1, "QEMU exited with status 1: "),
        (69, "QEMU exited with status 69: "),
        (71, "QEMU exited with status 71: "),
    ],
)
def test_run_status_is_named(status, said):
    assert ended(status) == f"{said}no message"
    assert ended(status, stderr="one\ntwo\n") == f"{said}one; two"


@pytest.mark.parametrize(("stderr", "words"), [("", "no message"), ("one", "one")])
def test_run_that_reached_its_limit_of_time(stderr, words):
    limit = f"the limit of virtual time was reached ({words}); see console.log"
    assert ended(70, stderr=stderr) == f"the guest hung: {limit}"
    failed = "md/raid:md0: Disk failure on sdb"
    assert ended(70, stderr=stderr, console=console(("1.0", failed))) == f"the guest hung after {failed!r}: {limit}"


def test_run_reasons_come_in_the_order_of_what_they_explain():
    text = f"[ 1.5] {PANIC}\n"
    assert ended(-9, "no sign of life", text).startswith("the guest's kernel panicked: ")
    assert ended(-9, "no sign of life") == "QEMU hung: no sign of life; see console.log"
    assert ended(done=False, problem="lines are missing") == "lines are missing"
    assert ended(done=False) == ("the guest stopped before its job was done (QEMU gave no message); see console.log")
    assert ended(done=False, stderr="one") == "the guest stopped before its job was done (one); see console.log"


def test_run_problem_quotes_the_end_of_what_qemu_said():
    assert judge.end_of("".join(f"line {n}\n" for n in range(7))) == "line 2\nline 3\nline 4\nline 5\nline 6"
    assert ended(1, stderr="x" * 700) == f"QEMU exited with status 1: {'x' * 600}"


# ---- drained commands, arrays ------------------------------------------------


@pytest.mark.parametrize(("count", "many"), [(1, "1 command was"), (2, "2 commands were"), (3, "3 commands were")])
def test_drained_commands_are_counted(count, many):
    reason = judge.drained_reason(trace.DrainedMark(count, 7))
    assert reason == f"the guest reset the disk while {many} outstanding, at 7 ns"


MARKS = (
    trace.ArrayMark("disk0", 5, "failed", "m1", "degraded"),
    trace.ArrayMark("disk0", 6, "began", "m4", "rebuilding"),
    trace.ArrayMark("disk0", 9, "filled", "m4", "whole"),
)


def test_array_is_as_the_last_mark_has_it():
    failed = [{"member": "m1", "at_ns": 5}]
    assert judge.array_state(MARKS) == {"state": "whole", "failed": failed}
    assert judge.array_state(MARKS[:2]) == {"state": "rebuilding", "failed": failed}
    assert judge.array_state(MARKS[1:]) is None and judge.array_state(()) is None


# ---- numbers -----------------------------------------------------------------


def test_metrics_of_one_disk_and_of_an_array():
    one = judge.metrics_of(cell(), said(), lines())
    assert (one["rate_mb_s"], one["requests"], one["queue_depth_max"]) == (9.362286, 8, 4)
    assert "devices" not in one
    spread = lines(devices=("disk0", "disk1"))
    several = judge.metrics_of(cell(array="md-raid0-2"), said(), spread)
    assert {name: disk["reads"] for name, disk in several["devices"].items()} == {"disk0": 4, "disk1": 4}
    behind = judge.metrics_of(cell(array="raid1-2"), said(), lines(more="m0 R 0 16 0 0 0 1000 1000 1 miss\n"))
    assert (set(behind["devices"]), behind["requests"]) == ({"disk0", "m0"}, 8)


def test_metrics_of_a_card_have_the_disk_behind_it():
    one = cell(controller="ide-card-3w5400", drive="deskstar-75gxp")
    found = judge.metrics_of(one, said(), lines(more="m0 R 0 16 0 0 0 1000 1000 1 miss\n"))
    assert set(found["devices"]) == {"disk0", "m0"}


def test_metrics_need_a_request():
    with pytest.raises(ValueError, match="the disk saw no request"):
        judge.metrics_of(cell(), said(), EMPTY)


def test_metrics_with_more_flushes_than_expected_are_none():
    assert cell().most_flushes == 0
    with pytest.raises(ValueError, match="the disk saw 1 flushes, but the assumption `flushes` is 0"):
        judge.metrics_of(cell(), said(), lines(more=FLUSH))


def test_metrics_are_those_of_the_kind_of_cell():
    one = cell(file_system="ext2", workload="postmark")
    whole = judge.metrics_of(one, said(), lines())
    assert whole["elapsed_ns"] == 7_000_000 and whole["read_bytes"] == 65536 and "rate_mb_s" not in whole
    assert whole["workload"] == {"bytes": 65536, "requests": 8, "children": 4, "concurrent_max": 4}
    assert "workload" not in judge.metrics_of(cell(), said(), lines())
    swept = judge.metrics_of(point(), said(("children", "concurrent_max"), latency_mean_ns=5), lines())
    assert swept["workload"] == {"latency_mean_ns": 5} and swept["rate_mb_s"] == 9.362286
    assert "workload" not in judge.metrics_of(point(), said(("children", "concurrent_max")), lines())


@pytest.mark.parametrize("name", ["elapsed_ns", "bytes", "requests", "children", "concurrent_max"])
def test_rate_needs_what_the_workload_reports(name):
    summary = trace.summarize(trace.parse(lines()))
    for about in (said([name]), said(**{name: 0})):
        with pytest.raises(ValueError, match=f"^the workload did not report {name}$"):
            judge.raw_metrics(cell(), about, summary)


def test_rate_of_one_request():
    """The least that a workload may report is 1 of each."""
    about = said(bytes=512, requests=1, children=1, concurrent_max=1, elapsed_ns=1)
    one = lines(1, 1).replace(" 16 0 ", " 1 0 ")
    assert judge.metrics_of(cell(tags="1"), about, one)["rate_mb_s"] == 512_000.0


def test_rate_of_fio_needs_no_children():
    about = said(("children", "concurrent_max"))
    assert judge.metrics_of(cell(workload="fio"), about, lines())["requests"] == 8
    with pytest.raises(ValueError, match="did not report children, concurrent_max"):
        judge.metrics_of(cell(), about, lines())


@pytest.mark.parametrize(
    ("at_once", "seen", "array", "reason"),
    [
        (4, 4, "none", None),
        (5, 4, "none", None),
        (3, 4, "none", "the workload had 3 requests at once, the disk can take 4"),
        (4, 3, "none", "tags 4: the disk saw never more than 3 commands at once, but its queue was to hold 4"),
        (5, 5, "none", "tags 4: the disk saw as many as 5 commands at once, but its queue was to hold 4"),
        (4, 3, "md-raid0-2", None),
        (4, 4, "md-raid0-2", None),
        (5, 5, "md-raid0-2", "tags 4: the disk saw as many as 5 commands at once, but its queue was to hold 4"),
    ],
)
def test_rate_needs_a_full_queue(at_once, seen, array, reason):
    """The disks of an array share what is outstanding."""
    about, text = said(concurrent_max=at_once), lines(seen=seen)
    if reason is None:
        assert judge.metrics_of(cell(array=array), about, text)["queue_depth_max"] == seen
    else:
        with pytest.raises(ValueError, match=f"^{reason}$"):
            judge.metrics_of(cell(array=array), about, text)


@pytest.mark.parametrize(
    ("op", "array", "count", "good"),
    [
        ("R", "none", 7, False),
        ("R", "none", 8, True),
        ("R", "none", 9, False),
        ("W", "none", 7, False),
        ("W", "none", 8, True),
        ("W", "none", 9, False),
        # Each block is written once: no more than that may come.
        ("W", "md-raid0-2", 8, True),
        ("W", "md-raid0-2", 9, False),
        # Mirrors, parity and superblocks are written, too.
        ("W", "md-raid1-2", 7, False),
        ("W", "md-raid1-2", 8, True),
        ("W", "md-raid1-2", 16, True),
        ("W", "md-raid5-3", 7, False),
        ("W", "md-raid5-3", 12, True),
        ("R", "md-raid1-2", 9, False),
        ("R", "md-raid1-2", 8, True),
    ],
)
def test_rate_is_of_what_the_disks_moved(op, array, count, good):
    one = cell("read" if op == "R" else "write", array=array)
    summary = trace.summarize(trace.parse(lines(count, op=op)))
    if good:
        judge.check_moved(one, {"bytes": 65536}, summary)
    else:
        with pytest.raises(ValueError, match=f"the workload moved 65536 bytes, but the disk saw {count * 8192}"):
            judge.check_moved(one, {"bytes": 65536}, summary)


@pytest.mark.parametrize(
    ("one", "seen", "good"),
    [
        (point(depth=4), 4, True),
        (point(depth=4), 3, False),
        (point(depth=4), 5, False),
        (point(depth=2), 2, True),
        (point(depth=2), 1, False),
        # The workload may keep more than the disk takes, or have fewer requests than it might keep.
        (point(depth=8), 4, True),
        (point(depth=8), 3, False),
        (point(depth=64, tags="64"), 8, True),
        (point(depth=64, tags="64"), 7, False),
        # What the page cache does is its own affair, and a write may be acknowledged before the next one comes.
        (point(depth=4, caching="both"), 1, True),
        (point(depth=4, caching="both"), 5, False),
        (point("write", depth=4), 1, True),
        (point("write", depth=4), 5, False),
        (point(depth=4, array="md-raid0-2"), 1, True),
        (point(depth=4, array="md-raid0-2"), 5, False),
    ],
    ids=lambda one: ".".join(one.words) + one.array + one.tags if isinstance(one, cells.Cell) else str(one),
)
def test_point_needs_what_it_keeps_outstanding(one, seen, good):
    about = said(("children", "concurrent_max"))
    text = lines(seen=seen, op="R" if one.parameters["op"] == "read" else "W")
    if good:
        assert judge.metrics_of(one, about, text)["queue_depth_max"] == seen
    else:
        with pytest.raises(ValueError, match=f"but it saw at most {seen} commands at once"):
            judge.metrics_of(one, about, text)


def test_point_past_the_page_cache_moves_its_bytes():
    about = said(("children", "concurrent_max"))
    with pytest.raises(ValueError, match="but the disk saw 57344"):
        judge.metrics_of(point(depth=1), about, lines(7, 1))
    assert judge.metrics_of(point(depth=1, caching="both"), about, lines(7, 1))["bytes"] == 65536


@pytest.mark.parametrize(("elapsed", "good"), [(None, False), (0, False), (1, True)])
def test_file_system_needs_a_time(elapsed, good):
    one = cell(file_system="ext2", workload="postmark")
    about = said(["elapsed_ns"]) if elapsed is None else said(elapsed_ns=elapsed)
    if good:
        assert judge.metrics_of(one, about, lines())["elapsed_ns"] == elapsed
    else:
        with pytest.raises(ValueError, match=r"^the workload did not report elapsed_ns$"):
            judge.metrics_of(one, about, lines())


# ---- checks and failures -----------------------------------------------------


def checked(**said):
    return judge.check_problem(agent.Report(cells={job.CHECK_LABEL: agent.CellReport(**said)}))


def test_check_that_was_clean_is_no_problem():
    assert checked(ended=True, exit_status=0, errors=["a warning"]) is None


def test_check_that_did_not_end_is_none():
    missing = "the file system was not checked after the workload"
    assert judge.check_problem(agent.Report()) == missing
    assert checked(exit_status=0) == missing
    assert checked(exit_status=0, problem="the guest reports: no room") == "the guest reports: no room"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "no message"),
        ({"said": ["a", "b", "c"]}, "c"),
        ({"said": ["a", "b", "c"], "errors": ["d", "e", "f"]}, "f"),
    ],
)
@pytest.mark.parametrize("how", [{"exit_status": 1}, {"exit_status": 4}, {"exit_status": 0, "problem": "x"}])
def test_check_that_found_damage_is_quoted(how, more, words):
    reason = f"the file system is damaged after the workload: its check exited with {how['exit_status']}: {words}"
    assert checked(ended=True, **how, **more) == reason


@pytest.mark.parametrize(
    ("errors", "words"),
    [([], ""), (["a"], "a"), (["a", "b"], "a; b"), (["a", "b", "c"], "a; c"), (["a", "b", "a"], "a")],
)
def test_failure_is_quoted_with_its_first_and_last_words(errors, words):
    def failed(**more):
        return judge.failure_of(agent.CellReport(errors=errors, **more))

    assert failed(problem="it broke") == ("it broke" + (f": {words}" if words else ""))
    assert failed(ended=True, exit_status=1) == f"the workload exited with status 1: {words or 'no message'}"
    assert failed(ended=True, exit_status=-1) == f"the workload exited with status -1: {words or 'no message'}"
    assert failed(ended=True, exit_status=0) is None
    assert failed(exit_status=1) is None, "its end was not seen, which is another reason"


# ---- verdicts ----------------------------------------------------------------


def test_verdict_of_a_cell_that_ran():
    metrics, reason = judge.verdict(cell(), facts(cell()))
    assert metrics["rate_mb_s"] == 9.362286 and reason is None


@pytest.mark.parametrize(
    ("about", "problem", "reason"),
    [
        (None, None, "the agent's report does not mention the cell's end"),
        (None, "QEMU hung", "QEMU hung"),
        (agent.CellReport(), "QEMU hung", "QEMU hung"),
        (agent.CellReport(problem="lines are missing"), "QEMU hung", "lines are missing"),
        (agent.CellReport(problem="lines are missing"), None, "lines are missing"),
        (agent.CellReport(ended=True, exit_status=3), "QEMU hung", "the workload exited with status 3: no message"),
    ],
)
def test_verdict_of_a_cell_that_did_not_end(about, problem, reason):
    report = agent.Report(cells={cell().id: about} if about else {})
    assert judge.verdict(cell(), judge.Facts(report, lines(), problem=problem)) == (None, reason)


def test_verdict_of_the_last_cell_before_the_run_went_wrong():
    """What came last may be missing; what another cell came behind of is whole."""
    assert judge.verdict(cell(), facts(cell(), problem="QEMU hung")) == (None, "QEMU hung")
    metrics, reason = judge.verdict(cell(), facts(cell(), problem="QEMU hung", last=False))
    assert metrics is not None and reason is None


def test_verdict_where_the_trace_gives_no_number():
    assert judge.verdict(cell(), facts(cell(), text=EMPTY)) == (None, "the disk saw no request")
    torn = "line 3: a torn line"
    assert judge.verdict(cell(), facts(cell(), text=EMPTY, problem=torn)) == (None, torn)
    reason = judge.verdict(cell(), facts(cell(), text=lines(7), problem=torn))[1]
    assert reason == "the workload moved 65536 bytes, but the disk saw 57344"


@pytest.mark.parametrize(
    ("one", "check", "damaged"),
    [
        (cell(), None, False),
        (cell(), 4, False),
        (cell(file_system="ext2", workload="postmark"), None, True),
        (cell(file_system="ext2", workload="postmark"), 0, False),
        (cell(file_system="ext2", workload="postmark"), 4, True),
        (cell(array="md-raid0-2"), None, False),
        (cell(array="md-raid0-2"), 0, False),
        (cell(array="md-raid0-2"), 4, True),
        (cell(array="raid1-2"), 4, False),
    ],
    ids=lambda one: one.id if isinstance(one, cells.Cell) else str(one),
)
def test_verdict_needs_a_clean_check_where_there_is_one(one, check, damaged):
    """File systems are checked, and software arrays behind all cells."""
    report = agent.Report(cells={one.id: said()}, done=True)
    if check is not None:
        report.cells[job.CHECK_LABEL] = agent.CellReport(ended=True, exit_status=check)
    metrics, reason = judge.verdict(one, facts(one, report=report))
    assert (metrics is None) == damaged == (reason is not None)
    if damaged:
        assert "damaged after" in reason if check else "not checked after" in reason


def test_verdict_of_an_array_that_cannot_be_started():
    one = cell(array="md-raid0-2")
    report = agent.Report(cells={one.id: said(), job.ARRAY_LABEL: agent.CellReport()}, done=True)
    assert judge.verdict(one, facts(one, report=report))[1] is None
    report.cells[job.ARRAY_LABEL].problem = "mdadm failed"
    assert judge.verdict(one, facts(one, report=report)) == (
        None, "array 'md-raid0-2' cannot be started: mdadm failed"
    )  # fmt: skip


def test_verdict_with_trouble_of_a_disk():
    """A reset spoils whatever else is said; an error is the reason of what has no other."""
    error, reset = console(("2.000000", ERROR)), console(("2.000000", RESET))
    failed = replace(said(), exit_status=1)
    words = "the workload exited with status 1: no message"
    for text, line in ((error, "the guest had an I/O error: "), (reset, "the guest reset the disk's port: ")):
        metrics, reason = judge.verdict(cell(), facts(cell(), console=text))
        assert metrics is None and reason.startswith(line) and reason.endswith("time-out; see console.log")
    assert judge.verdict(cell(), facts(cell(), failed, console=error)) == (None, words)
    assert judge.verdict(cell(), facts(cell(), failed, console=reset))[1].endswith(f"time-out; {words}")


def test_verdict_with_drained_commands():
    mark = trace.DrainedMark(3, 7)
    reason = judge.drained_reason(mark)
    assert judge.verdict(cell(), facts(cell(), drained=mark)) == (None, reason)
    failed = replace(said(), exit_status=1)
    words = "the workload exited with status 1: no message"
    assert judge.verdict(cell(), facts(cell(), failed, drained=mark)) == (None, f"{reason}; {words}")


def test_verdict_of_an_array_that_lost_a_member():
    one = cell(array="raid1-2")
    reason = "array 'raid1-2' lost members: m1 failed at 5 ns; it ended degraded"
    assert judge.verdict(one, facts(one, array=MARKS[:1])) == (None, reason)
    assert judge.verdict(one, facts(one, array=MARKS[1:2]))[1] is None
    failed = replace(said(), exit_status=1)
    words = "the workload exited with status 1: no message"
    assert judge.verdict(one, facts(one, failed, array=MARKS[:1])) == (None, words)


@pytest.mark.parametrize("one", [judge.Trouble(1, RESET), facts(cell())], ids=lambda one: type(one).__name__)
def test_what_a_cell_is_judged_by_cannot_be_changed(one):
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(one, dataclasses.fields(one)[0].name, None)


def test_cells_of_a_run_have_what_came_in_their_time():
    three = tuple(cell(words=(f"part={number}",)) for number in range(3))
    run = cells.Run("a run", PAPER, "scsi-virtio", "ultrastar-36zx", "4", three)
    first, second = trace.DrainedMark(2, 25), trace.DrainedMark(1, 35)
    marks = [
        trace.CellMark("before", 5), trace.CellMark(three[0].id, 10), MARKS[0], trace.CellMark(three[1].id, 20),
        first, trace.CellMark(three[2].id, 30), second,
    ]  # fmt: skip
    traces = {one.id: lines() for one in three[:2]}
    found = judge.facts(run, agent.Report(), traces, "a problem", "a console", marks)
    assert list(found) == [one.id for one in three]
    a, b, c = found.values()
    assert (a.last, b.last, c.last) == (False, False, True)
    assert (a.until_ns, b.until_ns, c.until_ns) == (20, 30, None)
    assert (a.drained, b.drained, c.drained) == (None, first, first)
    assert (a.lines, c.lines) == (lines(), EMPTY)
    assert {one.array for one in found.values()} == {(MARKS[0],)}
    assert {(one.problem, one.console) for one in found.values()} == {("a problem", "a console")}


# ---- results -----------------------------------------------------------------


def reported(one, about=None):
    """The agent's lines on a cell."""
    return written.report(one.id, (about or said()).metrics, "done")


def derived(one, **more):
    return judge.derive(one, evidence.Evidence(reported(one), lines(), "", written.ABOUT | more))


def test_result_of_a_cell_that_ran():
    one = cell()
    result = derived(one)
    assert (result["status"], result["reason"], result["id"]) == ("ok", None, one.id)
    assert result["metrics"]["rate_mb_s"] == 9.362286
    assert result["cell"] == {
        "guest": one.guest,
        "controller": "scsi-virtio",
        "drive": "ultrastar-36zx",
        "tags": "4",
        "host_scheduler": True,
        "disk_scheduler": True,
        "file_system": "raw",
        "workload": "rawio",
        "parameters": {"op": "read", "pattern": "random"},
        "scale": 1,
        "seed": 1,
    }
    assert result["read"] == written.ABOUT["read"] and "array_state" not in result
    assert result["trace"] == evidence.sha256(lines().encode())
    assert result["report"] == evidence.sha256(agent.lines_of(reported(one), one.id).encode())


def test_result_has_what_only_some_cells_have():
    result = derived(cell(array="raid1-2", scale="0.5", set=("flushes=1",)), array=[vars(MARKS[0])])
    assert (result["cell"]["array"], result["cell"]["scale"]) == ("raid1-2", 0.5)
    assert result["cell"]["set"] == {"flushes": 1}
    assert result["array_state"] == {"state": "degraded", "failed": [{"member": "m1", "at_ns": 5}]}
    assert (result["status"], result["metrics"]) == ("failed", None)


def test_result_tells_a_trace_that_cannot_be_trusted_and_drained_commands():
    boot = written.ABOUT["boot"] | {"trace_problem": "line 3: a torn line"}
    assert derived(cell(), boot=boot)["reason"] == "line 3: a torn line"
    boot |= {"status": 1, "stderr": "no such bus"}
    assert derived(cell(), boot=boot)["reason"] == "QEMU exited with status 1: no such bus"
    reason = derived(cell(), drained={"commands": 1, "now_ns": 7})["reason"]
    assert reason == "the guest reset the disk while 1 command was outstanding, at 7 ns"


def test_report_of_a_run_is_read_once_for_its_cells():
    found = [judge.facts_in(evidence.Evidence(reported(cell()), lines(), "", written.ABOUT)).report for _ in range(2)]
    assert found[0] is found[1]
