# SPDX-License-Identifier: MIT
"""What a run left, judged: metrics of each cell, or the reason why it has none.

It is judged by the agent's report, the traces and the console.
"""

import re
import signal
from dataclasses import asdict, dataclass

from lab.cell import agent, cells, job, lost_members, members, trace, volumes

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


def trouble_of(cell: cells.Cell, traces: dict[str, str], troubles: list[Trouble]) -> Trouble | None:
    """The trouble that a cell suffered from, in it or before it: once a kernel has reset a port it uses the disk
    otherwise than before. A reset says more than the errors that follow from it."""
    labels = list(traces)
    after = labels[labels.index(cell.id) + 1 :] if cell.id in traces else []
    if after:
        # The kernel's clock is a few hundredths of a second behind the trace's: at worst a cell too many fails.
        end_ns = trace.began_ns(traces[after[0]])
        troubles = [trouble for trouble in troubles if trouble.at_ns < end_ns]
    return min(troubles, key=lambda trouble: not trouble.reset, default=None)


def run_problem(status: int, killed_because: str | None, console: str, stderr: str, report: agent.Report) -> str | None:
    """Why the run as a whole went wrong, in one line; None if it did not."""
    panic = panic_line(console)
    if panic:
        return f"the guest's kernel panicked: {panic!r}; see console.log"
    tail = "; ".join(stderr.strip().splitlines()[-STDERR_TAIL_LINES:])[:STDERR_TAIL_CHARACTERS]
    if killed_because:
        return f"QEMU hung: {killed_because}; see console.log"
    if status == TIME_LIMIT_STATUS:
        failed = failed_disk_line(console)
        hung = f"the guest hung after {failed!r}" if failed else "the guest hung"
        return f"{hung}: the limit of virtual time was reached ({tail or 'no message'}); see console.log"
    if status < 0:
        return f"QEMU was ended by {signal.Signals(-status).name}: {tail or 'no message'}"
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
    if cell.array == volumes.NONE:
        summary, devices = trace.summarize(requests), {}
    else:
        summary = members.summarize(requests, job.disk_units(cell.array))
        devices = {"devices": members.each(requests)}
    if summary is None:
        raise ValueError("the disk saw no request")
    if summary.flushes > cell.most_flushes:
        raise ValueError(
            f"the disk saw {summary.flushes} flushes, but {cell.most_flushes} are assumed (flushes): "
            "the guest was not told that there is no write cache"
        )
    return {**(raw_metrics if cell.raw else file_system_metrics)(cell, said, summary), **devices}


def raw_metrics(cell: cells.Cell, said: agent.CellReport, summary: trace.Summary) -> dict:
    """Metrics of a cell of the device itself that ran."""
    needed = ["elapsed_ns", "bytes", "requests"]
    if cell.workload != "fio":  # One process: its requests can be counted at the disk only.
        needed += ["children", "concurrent_max"]
    missing = [name for name in needed if said.metrics.get(name, 0) <= 0]
    if missing:
        raise ValueError(f"the workload did not report {', '.join(missing)}")
    values = said.metrics
    read = cell.parameters["op"] == "read"
    moved = summary.read_bytes if read else summary.write_bytes
    array = volumes.software(cell.array)
    # Redundancy is written, too: the array's own and its superblocks.
    redundant = array is not None and array.volume.copies != 1 and not read
    if moved < values["bytes"] if redundant else moved != values["bytes"]:
        raise ValueError(f"the workload moved {values['bytes']} bytes, but the disk saw {moved}")
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


def judge(
    run: cells.Run,
    report: agent.Report,
    traces: dict[str, str],
    problem: str | None,
    console: str = "",
    array: lost_members.Array | None = None,
) -> dict[str, tuple[dict | None, str | None]]:
    """Metrics or reason of failure of each cell. `array` is a hardware array that lost members: then there is no
    number, as there is none of a software array."""
    verdicts: dict[str, tuple[dict | None, str | None]] = {}
    start = report.cells.get(job.ARRAY_LABEL)
    if start and start.problem:
        reason = f"array {run.array!r} cannot be started: {failure_of(start)}"
        return {cell.id: (None, reason) for cell in run.cells}
    for cell in run.cells:
        said = report.cells.get(cell.id)
        if said is None or not said.ended:
            reason = failure_of(said) if said else None
            verdicts[cell.id] = (None, reason or problem or "the agent's report does not mention the cell's end")
            continue
        if reason := failure_of(said):
            verdicts[cell.id] = (None, reason)
            continue
        # An array without a file system is checked once, behind all cells: a run that ended before it has a reason.
        checked = not cell.raw or (volumes.software(cell.array) is not None and job.CHECK_LABEL in report.cells)
        if checked and (damage := check_problem(report)):
            verdicts[cell.id] = (None, damage)
            continue
        try:
            verdicts[cell.id] = (metrics_of(cell, said, traces.get(cell.id, "")), None)
        except ValueError as error:
            verdicts[cell.id] = (None, str(error))
    last = run.cells[-1].id
    if problem and verdicts[last][1] is None:
        # The end of the report is missing: what came last may be, too.
        verdicts[last] = (None, problem)
    troubles = disk_trouble(console)
    for cell in run.cells:
        reason = verdicts[cell.id][1]
        trouble = trouble_of(cell, traces, troubles)
        if trouble and (trouble.reset or reason is None):
            verdicts[cell.id] = (None, f"{trouble.reason}; {reason or 'see console.log'}")
        elif array and reason is None:
            verdicts[cell.id] = (None, lost_members.reason_of(run.array, array))
    return verdicts
