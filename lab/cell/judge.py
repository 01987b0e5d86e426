# SPDX-License-Identifier: MIT
"""What a run left, judged: metrics of each cell, or the reason why it has none.

It is judged by the agent's report, the trace, the console, and what the driver of the run noted (lab/cell/evidence.py).
`derive` makes a cell's result.json of them; it is the only thing that does, when a run ends and when an archive comes.
"""

import re
import signal
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import pairwise

from lab.cell import agent, catalogue, cells, config, job, members, sweep, trace, volumes
from lab.cell.evidence import Evidence, sha256

SCHEMA = "spindle-result/2"
TIME_LIMIT_STATUS = 70
STDERR_TAIL_LINES = 5
STDERR_TAIL_CHARACTERS = 600

TROUBLE_LINE = re.compile(r"\[ *(\d+)\.(\d{6})\] (ata[\d.]+: exception Emask .* frozen.*|I/O error, dev .*)")


@dataclass(frozen=True)
class Trouble:
    """A line of the guest's kernel that no measured cell may have."""

    at_ns: int
    """Time of the kernel's clock."""
    line: str

    @property
    def reset(self) -> bool:
        """The kernel has lost patience, and resets the port."""
        return self.line.startswith("ata")

    @property
    def reason(self) -> str:
        """The same as the reason of a failed cell."""
        if self.reset:
            return f"the guest reset the disk's port: {self.line!r}: a command took longer than its time-out"
        return f"the guest had an I/O error: {self.line!r}: a disk failed, or a command took longer than its time-out"


def panic_line(console: str) -> str | None:
    """The kernel's own words, if it panicked."""
    for line in console.splitlines():
        if "Kernel panic" in line:
            return line[line.index("Kernel panic") :].strip()
    return None


def failed_disk_line(console: str) -> str | None:
    """The kernel's own words, if a software array put a disk out of use."""
    for line in console.splitlines():
        if line.partition("] ")[2].startswith("md/") and "Disk failure on" in line:
            return line[line.index("md/") :].strip()
    return None


def disk_trouble(console: str) -> list[Trouble]:
    """What the kernel said of disks that did not answer in time, or that failed."""
    found = []
    for line in console.splitlines():
        if match := TROUBLE_LINE.match(line):
            seconds, micros, words = match.groups()
            found.append(Trouble((int(seconds) * 1_000_000 + int(micros)) * 1000, words.strip()))
    return found


def trouble_of(facts: "Facts") -> Trouble | None:
    """The trouble that a cell suffered from, in it or before it: once a kernel has reset a port it uses the disk
    otherwise than before. A reset says more than the errors that follow from it."""
    troubles = disk_trouble(facts.console)
    if facts.until_ns is not None:
        # The kernel's clock is a few hundredths of a second behind the trace's: at worst a cell too many fails.
        troubles = [trouble for trouble in troubles if trouble.at_ns < facts.until_ns]
    return min(troubles, key=lambda trouble: not trouble.reset, default=None)


def drained_reason(drained: trace.DrainedMark) -> str:
    """Why cells have no number whose commands the guest did not wait for."""
    many = f"{drained.commands} commands were" if drained.commands > 1 else "1 command was"
    return f"the guest reset the disk while {many} outstanding, at {drained.now_ns} ns"


ENDED = {
    "whole": "it ended whole",
    "rebuilding": "it ended while a spare was being rebuilt",
    "degraded": "it ended degraded",
    "lost": "it lost data",
}


def array_state(marks: tuple[trace.ArrayMark, ...]) -> dict | None:
    """`array_state` of a result: how a hardware array ended, and which members failed when. The guest sees one disk and
    no word of it; the model says it in the trace. None if no member failed."""
    failed = [{"member": mark.unit, "at_ns": mark.now_ns} for mark in marks if mark.event == "failed"]
    return {"state": marks[-1].state, "failed": failed} if failed else None


def array_reason(name: str, state: dict) -> str:
    """Why cells of a run have no number then: a degraded array is not what was to be measured."""
    which = ", ".join(f"{failure['member']} failed at {failure['at_ns']} ns" for failure in state["failed"])
    return f"array {name!r} lost members: {which}; {ENDED[state['state']]}"


def end_of(stderr: str) -> str:
    """What a message quotes of QEMU's words."""
    return "\n".join(stderr.strip().splitlines()[-STDERR_TAIL_LINES:])


def run_problem(status: int, killed_because: str | None, console: str, stderr: str, report: agent.Report) -> str | None:
    """Why the run as a whole went wrong, in one line; None if it did not."""
    panic = panic_line(console)
    if panic:
        return f"the guest's kernel panicked: {panic!r}; see console.log"
    tail = "; ".join(end_of(stderr).splitlines())[:STDERR_TAIL_CHARACTERS]
    if killed_because:
        return f"QEMU hung: {killed_because}; see console.log"
    if status == TIME_LIMIT_STATUS:
        failed = failed_disk_line(console)
        hung = f"the guest hung after {failed!r}" if failed else "the guest hung"
        return f"{hung}: the limit of virtual time was reached ({tail or 'no message'}); see console.log"
    if status < 0:
        name = signal.Signals(-status).name if -status in set(signal.Signals) else f"signal {-status}"
        return f"QEMU was ended by {name}: {tail or 'no message'}"
    if status > 0:
        return f"QEMU exited with status {status}: {tail or 'no message'}"
    if report.problem:
        return report.problem
    if not report.done:
        return f"the guest stopped before its job was done ({tail or 'QEMU gave no message'}); see console.log"
    return None


def metrics_of(cell: cells.Cell, said: agent.CellReport, lines: str) -> dict:
    """Metrics of a cell that ran. Raises ValueError with the reason if its numbers cannot be trusted."""
    requests = trace.parse(lines)
    if cell.array == volumes.NONE and not catalogue.controller(cell.controller).card:
        summary, devices = trace.summarize(requests), {}
    else:
        summary = members.summarize(requests, job.disk_units(cell.array))
        devices = {"devices": members.each(requests)}
    if summary is None:
        raise ValueError("the disk saw no request")
    if summary.flushes > cell.most_flushes:
        raise ValueError(f"the disk saw {summary.flushes} flushes, but the assumption `flushes` is {cell.most_flushes}")
    metrics = file_system_metrics if not cell.raw else sweep_metrics if cell.workload == sweep.WORKLOAD else raw_metrics
    return {**metrics(cell, said, summary), **devices}


def raw_metrics(cell: cells.Cell, said: agent.CellReport, summary: trace.Summary) -> dict:
    """Metrics of a cell of the device itself that ran."""
    # fio is one process: its requests can be counted at the disk only.
    values = reported(said, *RATE_NAMES, *(() if cell.workload == "fio" else ("children", "concurrent_max")))
    check_moved(cell, values, summary)
    array = volumes.software(cell.array)
    if values.get("concurrent_max", cell.depth) < cell.depth:
        raise ValueError(
            f"the workload had {values['concurrent_max']} requests at once, the disk can take {cell.depth}"
        )
    # The disks of an array share what is outstanding.
    if summary.queue_depth_max > cell.depth or (array is None and summary.queue_depth_max < cell.depth):
        relation = "never more than" if summary.queue_depth_max < cell.depth else "as many as"
        raise ValueError(
            f"tags {cell.tags}: the disk saw {relation} {summary.queue_depth_max} commands at once, "
            f"but its queue was to hold {cell.depth}"
        )
    return rate_metrics(values, summary)


def sweep_metrics(cell: cells.Cell, said: agent.CellReport, summary: trace.Summary) -> dict:
    """Metrics of a point of a sweep on the device itself that ran."""
    values = reported(said, *RATE_NAMES)
    kept, least = sweep.outstanding(cell.parameters), 0
    # The page cache makes requests of its own.
    if sweep.past_page_cache(cell.parameters):
        check_moved(cell, values, summary)
        # A write may be acknowledged from a buffer before the next one comes, and the disks of an array share what is
        # outstanding.
        if cell.array == volumes.NONE and cell.parameters["op"] == "read":
            least = min(cell.depth, kept, values["requests"])
    if not least <= summary.queue_depth_max <= cell.depth:
        raise ValueError(
            f"the workload kept {kept} requests outstanding and the disk can take "
            f"{cell.depth}, but it saw at most {summary.queue_depth_max} commands at once"
        )
    more = {name: value for name, value in values.items() if name not in RATE_NAMES}
    return {**rate_metrics(values, summary), **({"workload": more} if more else {})}


RATE_NAMES = ("elapsed_ns", "bytes", "requests")
"""What every workload of the device itself reports."""


def reported(said: agent.CellReport, *needed: str) -> dict[str, int]:
    """The numbers that a workload reported. Raises ValueError where one of these is missing."""
    missing = [name for name in needed if said.metrics.get(name, 0) <= 0]
    if missing:
        raise ValueError(f"the workload did not report {', '.join(missing)}")
    return said.metrics


def check_moved(cell: cells.Cell, values: dict[str, int], summary: trace.Summary) -> None:
    """Raises ValueError if the disk saw other bytes than the workload moved."""
    read = cell.parameters["op"] == "read"
    moved = summary.read_bytes if read else summary.write_bytes
    array = volumes.software(cell.array)
    # Redundancy is written, too: the array's own and its superblocks.
    redundant = array is not None and array.volume.copies != 1 and not read
    if moved < values["bytes"] if redundant else moved != values["bytes"]:
        raise ValueError(f"the workload moved {values['bytes']} bytes, but the disk saw {moved}")


def rate_metrics(values: dict[str, int], summary: trace.Summary) -> dict:
    """What all cells of the device itself have."""
    return {
        "rate_mb_s": round(values["bytes"] * 1000 / values["elapsed_ns"], 6),
        "elapsed_ns": values["elapsed_ns"],
        "bytes": values["bytes"],
        "requests": values["requests"],
        "queue_depth_mean": summary.queue_depth_mean,
        "queue_depth_max": summary.queue_depth_max,
        "drain_ns": summary.drain_ns,
        "read_hits": summary.read_hits,
        "flushes": summary.flushes,
    }


def file_system_metrics(cell: cells.Cell, said: agent.CellReport, summary: trace.Summary) -> dict:
    """Metrics of a cell on a file system that ran."""
    if said.metrics.get("elapsed_ns", 0) <= 0:
        raise ValueError("the workload did not report elapsed_ns")
    return {
        "elapsed_ns": said.metrics["elapsed_ns"],
        "phases": said.phases,
        "workload": {name: value for name, value in said.metrics.items() if name != "elapsed_ns"},
        **asdict(summary),
    }


def check_problem(report: agent.Report) -> str | None:
    """Why the check of the file system, or of the array, after a cell failed; None if it was clean. A benchmark on a
    damaged file system is no result."""
    said = report.cells.get(job.CHECK_LABEL)
    if said is None or not said.ended:
        return (said.problem if said else None) or "the file system was not checked after the workload"
    if said.problem or said.exit_status != 0:
        words = said.errors[-1] if said.errors else said.said[-1] if said.said else "no message"
        return f"the file system is damaged after the workload: its check exited with {said.exit_status}: {words}"
    return None


def failure_of(said: agent.CellReport) -> str | None:
    """Why a cell's commands failed, with the first and the last that they said of it; None if they did not."""
    # The agent says no more than which command failed.
    words = "; ".join(dict.fromkeys([*said.errors[:1], *said.errors[-1:]]))
    if said.problem:
        return f"{said.problem}: {words}" if words else said.problem
    if said.ended and said.exit_status != 0:
        return f"the workload exited with status {said.exit_status}: {words or 'no message'}"
    return None


@dataclass(frozen=True)
class Facts:
    """What one cell is judged by."""

    report: agent.Report
    """Of the whole run."""
    lines: str
    """The cell's part of the trace."""
    console: str = ""
    """Of the whole run."""
    problem: str | None = None
    """Why the run as a whole went wrong."""
    last: bool = True
    """No cell of the run came behind it."""
    until_ns: int | None = None
    """When the next marker came; None if there was none."""
    array: tuple[trace.ArrayMark, ...] = ()
    """What the trace says of the hardware array, over the whole run."""
    drained: trace.DrainedMark | None = None
    """The first time that the guest did not wait for commands, from the boot to the cell's end."""


def _verdict(cell: cells.Cell, facts: Facts) -> tuple[dict | None, str | None]:
    """Metrics or reason by the report and the cell's own trace."""
    said = facts.report.cells.get(cell.id)
    if said is None or not said.ended:
        reason = failure_of(said) if said else None
        return None, reason or facts.problem or "the agent's report does not mention the cell's end"
    if reason := failure_of(said):
        return None, reason
    # An array without a file system is checked once, behind all cells: a run that ended before it has a reason.
    checked = not cell.raw or (volumes.software(cell.array) is not None and job.CHECK_LABEL in facts.report.cells)
    if checked and (damage := check_problem(facts.report)):
        return None, damage
    try:
        metrics = metrics_of(cell, said, facts.lines)
    except ValueError as error:
        # Where the run's trace cannot be shared out to its cells, that is the reason.
        nothing = facts.lines == trace.HEADER + "\n"
        return None, (facts.problem if nothing else None) or str(error)
    # The end of the report is missing: what came last may be, too.
    return (None, facts.problem) if facts.problem and facts.last else (metrics, None)


def verdict(cell: cells.Cell, facts: Facts) -> tuple[dict | None, str | None]:
    """Metrics or reason of failure of a cell. If a hardware array lost members there is no number, as there is none of
    a software array."""
    start = facts.report.cells.get(job.ARRAY_LABEL)
    if start and start.problem:
        return None, f"array {cell.array!r} cannot be started: {failure_of(start)}"
    metrics, reason = _verdict(cell, facts)
    trouble = trouble_of(facts)
    if trouble and (trouble.reset or reason is None):
        return None, f"{trouble.reason}; {reason or 'see console.log'}"
    if facts.drained:
        return None, "; ".join([drained_reason(facts.drained), *([reason] if reason else [])])
    state = array_state(facts.array)
    if state and reason is None:
        return None, array_reason(cell.array, state)
    return metrics, reason


def facts(
    run: cells.Run,
    report: agent.Report,
    traces: dict[str, str],
    problem: str | None,
    console: str,
    marks: list[trace.Mark],
) -> dict[str, Facts]:
    """What each cell of a run is judged by. `traces` are the cells' parts of the trace, `marks` all of its marks."""
    array = tuple(mark for mark in marks if isinstance(mark, trace.ArrayMark))
    begins = [(number, mark) for number, mark in enumerate(marks) if isinstance(mark, trace.CellMark)]
    ends = {mark.label: after for (_, mark), after in pairwise([*begins, (len(marks), None)])}
    found = {}
    for cell in run.cells:
        end, following = ends.get(cell.id, (len(marks), None))
        found[cell.id] = Facts(
            report,
            traces.get(cell.id, trace.HEADER + "\n"),
            console,
            problem,
            last=cell is run.cells[-1],
            until_ns=following.now_ns if following else None,
            array=array,
            drained=next((mark for mark in marks[:end] if isinstance(mark, trace.DrainedMark)), None),
        )
    return found


@lru_cache(maxsize=2)
def _report(text: str) -> agent.Report:
    """The cells of a run share it."""
    return agent.parse(text)


def facts_in(evidence: Evidence) -> Facts:
    """What a cell is judged by, from what its folder has."""
    report, about = _report(evidence.report), evidence.about
    ended = about["boot"]
    problem = run_problem(ended["status"], ended["killed_because"], evidence.console, ended["stderr"], report)
    drained = about["drained"]
    return Facts(
        report,
        evidence.lines,
        evidence.console,
        problem or ended["trace_problem"],
        about["last"],
        about["until_ns"],
        tuple(trace.ArrayMark(**mark) for mark in about["array"]),
        trace.DrainedMark(**drained) if drained else None,
    )


def derive(cell: cells.Cell, evidence: Evidence) -> dict:
    """result.json of a cell, checked against its schema: from what its folder has besides, and nothing else."""
    about = evidence.about
    found = facts_in(evidence)
    metrics, reason = verdict(cell, found)
    state = array_state(found.array)
    result = {
        "schema": SCHEMA,
        "id": cell.id,
        "run": cell.run,
        "status": "ok" if reason is None else "failed",
        "reason": reason,
        "cell": {
            "guest": cell.guest,
            "controller": cell.controller,
            "drive": cell.drive,
            **({} if cell.array == volumes.NONE else {"array": cell.array}),
            **({"set": cell.settings.overrides} if cell.set else {}),
            "tags": cell.tags,
            "host_scheduler": cell.host_scheduler,
            "disk_scheduler": cell.disk_scheduler,
            "file_system": cell.file_system,
            "workload": cell.workload,
            "parameters": cell.parameters,
            "scale": float(cell.scale) if cell.scale != "1" else 1,
            "seed": cell.seed,
        },
        "clock": {
            "kind": "virtual",
            "ns_per_instruction": cell.settings.value("cpu_ns_per_instruction"),
        },
        "metrics": metrics,
        **({"array_state": state} if state else {}),
        "report": sha256(agent.lines_of(evidence.report, cell.id).encode()),
        "trace": sha256(evidence.lines.encode()),
        "identity": about["identity"],
        **({"read": about["read"]} if about["read"] is not None else {}),
        "lock": about["lock"],
    }
    config.check(result, "result", f"result of {cell.id}")
    return result
