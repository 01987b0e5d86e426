# SPDX-License-Identifier: MIT
"""One run: boot the guest once, serve its cells, leave their results.

    python -m lab.cell.run --profile quick --run scsi-virtio.ultrastar-36zx.t32.both

A cell's result is there whole or not at all. A cell that failed is a result too, with its reason; the command
then still exits with 0. It exits with 1, and leaves no result, when the machine lacks something.
"""

import argparse
import ctypes
import errno
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import zstandard

from lab.cell import agent, cells, config, identity, job, lock, lost_members, members, paths, trace, volumes
from lab.cell.errors import ConfigError, EnvironmentMissing, SpindleError

PR_SET_PDEATHSIG = 1
POLL_S = 0.05
STALL_S = 600
"""Host seconds without a byte from the guest or the disk after which QEMU counts as hung. Virtual time has its own
limit, which is far sooner reached; this one is for a QEMU whose clock stands still."""
PANIC_GRACE_S = 2
TIME_LIMIT_STATUS = 70
HOST_STORAGE_STATUS = 74
ZSTD_LEVEL = 10
MARGIN_BYTES = 64 << 20
FS_CELL_BYTES = 5 << 30
"""Most that a cell on a file system writes: the image it starts from, its data, its trace."""
STDERR_TAIL_LINES = 5
STDERR_TAIL_CHARACTERS = 600

TROUBLE_LINE = re.compile(r"\[ *(\d+)\.(\d{6})\] (ata[\d.]+: exception Emask .* frozen.*|I/O error, dev .*)")


@dataclass
class Timing:
    """Host seconds of a run's parts."""

    boot_s: float = 0.0
    cells_s: dict[str, float] = field(default_factory=dict)
    shutdown_s: float = 0.0
    total_s: float = 0.0


@dataclass
class Boot:
    """What one QEMU process left, before anything is judged."""

    report: agent.Report
    traces: dict[str, str]
    console: str
    command: str
    timing: Timing
    problem: str | None
    """Why the run as a whole went wrong."""
    array: lost_members.Array | None = None
    """A hardware array that lost members."""


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


@dataclass
class Outcome:
    """What came out of one QEMU process."""

    results: dict[str, dict]
    """result.json of each cell, by id."""
    traces: dict[str, str]
    """I/O trace of each cell, by id."""
    console: str
    command: str
    """Shell line with BUILD, WORK and CATALOGUE in place of this machine's paths."""
    timing: Timing


def drive_bytes(build: Path, drive: str) -> int:
    """Size of a drive, as the model reports it."""
    command = [str(build / "disk/release/spindle-disk"), "show", drive, "--json"]
    command += ["--catalogue", str(paths.ROOT / "lab/disk/catalogue")]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise ConfigError(f"drive {drive!r}: {done.stderr.strip() or 'spindle-disk show failed'}")
    return json.loads(done.stdout)["sectors"] * trace.SECTOR_BYTES


def disk_bytes(run: cells.Run, build: Path) -> int:
    """Size of a disk that the guest sees."""
    one = drive_bytes(build, run.drive)
    array = volumes.hardware(run.array)
    return array.bytes_of(one) if array else one


def require_built(run: cells.Run, build: Path) -> None:
    """Refuse to start without the built things."""
    guest = [f"guest/{name}" for name in ("vmlinux", "initramfs.cpio", "root.erofs", "firmware")]
    programs = [f"workloads/{name}.erofs" for name in run.workloads]
    tools = [f"volumes/{name}.erofs" for name in job.tools(run)]
    for name in ("qemu/qemu-system-x86_64", "disk/release/spindle-disk", *guest, *tools, *programs):
        if not (build / name).exists():
            raise EnvironmentMissing(f"{build / name}: missing; run `make report`, which builds it")


def require_space(folder: Path, needed_bytes: int) -> None:
    """Refuse to start a run that would fill the disk."""
    free = shutil.disk_usage(folder).free
    if free < needed_bytes:
        raise EnvironmentMissing(
            f"{folder}: the disk is full: {needed_bytes >> 20} MiB are needed, {free >> 20} MiB are free; "
            "make room and give the same command again"
        )


def space_needed(run: cells.Run) -> int:
    """Bytes a run may write: the data of its writing cells, traces, logs."""
    writes = sum(cell.parameters.get("op") == "write" for cell in run.cells)
    on_file_systems = sum(not cell.raw for cell in run.cells)
    return MARGIN_BYTES + writes * config.assumption(run.paper, "transfer_bytes") + on_file_systems * FS_CELL_BYTES


def prepare(run: cells.Run, build: Path, work: Path) -> None:
    """Data disks, job disk and topology of a run. Data disks are empty, or copies of their file system's image."""
    start = identity.start_of(run)
    files = [work / name for name in job.disk_files(run)]
    if start is None:
        size = disk_bytes(run, build)
        for file in files:
            with open(file, "wb") as disk:
                disk.truncate(size)
        make_on_host(run, files)
    else:
        for image, file in zip(identity.image_paths(build, start), files, strict=True):
            if not image.is_file():
                raise EnvironmentMissing(f"{image}: missing; run `make report`, which makes it")
            copy_sparse(image, file)
    (work / "job.img").write_bytes(job.job_disk(job.job_text(run)))
    catalogue = str(paths.ROOT / "lab" / "disk" / "catalogue")
    (work / "topology.toml").write_text(job.topology_text(run, catalogue), encoding="utf-8")


def make_on_host(run: cells.Run, files: list[Path]) -> None:
    """What a software array wants on its empty disks before the guest sees them."""
    array = volumes.software(run.array)
    if array is None:
        return
    stripe_kib = config.assumption(run.paper, "array_stripe_kib")
    for line in array.commands(array.volume.host_make, stripe_kib, shlex.join(str(file) for file in files)):
        program, *words = shlex.split(line)
        command = [sys.executable if program == "python" else program, *words]
        done = subprocess.run(
            command, cwd=paths.ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
        )
        if done.returncode != 0:
            raise ConfigError(f"array {run.array!r}: `{program} {words[0]} ...` failed: {done.stderr.strip()}")


def copy_sparse(source: Path, target: Path) -> None:
    """Copy a file with its holes, by sharing blocks where the host's file system can."""
    command = ["cp", "--sparse=always", "--reflink=auto", str(source), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise EnvironmentMissing(f"{target}: cannot copy {source.name}: {done.stderr.strip()}; make room and try again")


def die_with_parent(parent: int):
    """For subprocess's preexec_fn: the child is killed when the process that started it ends, however it ends."""
    libc = ctypes.CDLL(None, use_errno=True)

    def child() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return child


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def without_paths(text: str, build: Path, work: Path) -> str:
    """A message as it would read on any machine: a failed result, too, is the same everywhere."""
    for path, name in ((work, "work"), (build, "build")):
        text = text.replace(str(path), name)
    return text.replace(f"{paths.ROOT}/", "")


class Supervisor:
    """Watches one QEMU: notes when the agent's lines appear, and ends it when it panics or stands still."""

    def __init__(self, work: Path, total_cells: int, say) -> None:
        self.work = work
        self.total_cells = total_cells
        self.say = say
        self.timing = Timing()
        self.began = time.monotonic()
        self.killed_because: str | None = None
        self._sizes: tuple[int, ...] = ()
        self._agent_offset = 0
        self._cell: tuple[str, float] | None = None
        self._last_event = self.began

    def _sizes_now(self) -> tuple[int, ...]:
        files = (self.work / name for name in ("agent.log", "console.log", "io.trace"))
        return tuple(path.stat().st_size if path.exists() else 0 for path in files)

    def _read_agent(self, now: float) -> None:
        path = self.work / "agent.log"
        if not path.exists():
            return
        with open(path, "rb") as log:
            log.seek(self._agent_offset)
            data = log.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._agent_offset += len(whole)
        for line in whole.decode(errors="replace").splitlines():
            words = line.split(" ")
            if len(words) < 4 or words[0] != "@spindle":
                continue
            if words[3] == "cell" and words[4] in (job.ARRAY_LABEL, job.CHECK_LABEL, job.SHUTDOWN_LABEL):
                self._cell = None
            elif words[3] == "cell":
                if not self.timing.cells_s:
                    self.timing.boot_s = round(now - self.began, 3)
                self._cell = (words[4], now)
            elif words[3] == "end" and self._cell:
                name, start = self._cell
                self.timing.cells_s[name] = round(now - start, 3)
                done = len(self.timing.cells_s)
                left = (now - self.began) / done * (self.total_cells - done)
                self.say(f"cell {done} of {self.total_cells}, about {left:.0f} s left")
            self._last_event = now

    def watch(self, process: subprocess.Popen, stall_s: float) -> int:
        """Wait for QEMU to end; returns its exit status, negative for a signal."""
        grown_at = self.began
        panic_at = None
        while True:
            status = process.poll()
            now = time.monotonic()
            sizes = self._sizes_now()
            if sizes != self._sizes:
                if sizes[1:2] != self._sizes[1:2] and panic_line(_text(self.work / "console.log")):
                    panic_at = panic_at or now
                self._sizes, grown_at = sizes, now
                self._read_agent(now)
            if status is not None:
                self.timing.total_s = round(now - self.began, 3)
                self.timing.shutdown_s = round(now - self._last_event, 3)
                return status
            if panic_at is not None and now - panic_at > PANIC_GRACE_S:
                process.kill()
                panic_at = None
            if now - grown_at > stall_s:
                self.killed_because = f"no sign of life from the guest or its disks for {stall_s:.0f} s of host time"
                process.kill()
                grown_at = now
            time.sleep(POLL_S)


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


def result_of(
    run: cells.Run,
    cell: cells.Cell,
    guest: dict,
    metrics: dict | None,
    reason: str | None,
    array: lost_members.Array | None = None,
) -> dict:
    """result.json of a cell, checked against its schema. `guest` is the lock of the image it ran on, `array` a
    hardware array that lost members."""
    result = {
        "schema": "spindle-result/1",
        "id": cell.id,
        "run": run.id,
        "status": "ok" if reason is None else "failed",
        "reason": reason,
        "cell": {
            "guest": "linux",
            "controller": cell.controller,
            "drive": cell.drive,
            **({} if cell.array == volumes.NONE else {"array": cell.array}),
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
            "ns_per_instruction": config.assumption(run.paper, "cpu_ns_per_instruction"),
        },
        "metrics": metrics,
        **({"array_state": lost_members.result_of(array)} if array else {}),
        "identity": identity.of_cell(run, cell, guest["moved"]),
        "lock": guest,
    }
    config.check(result, "result", f"result of {cell.id}")
    return result


def boot(run: cells.Run, build: Path, work: Path, say, stall_s: float = STALL_S) -> Boot:
    """Boot a guest with the things built in `build` and let it do its job, in the empty folder `work`. Writes nowhere
    else; data disks are left as disk.img, or disk0.img, disk1.img, ...."""
    require_built(run, build)
    require_space(work, space_needed(run))
    prepare(run, build, work)
    append = identity.kernel_append()
    command = job.qemu_command(run, str(build), str(work), append)
    supervisor = Supervisor(work, len(run.cells), say)
    # In memory: when the disk is full, the message that says so must not need it.
    with os.fdopen(os.memfd_create("stderr"), "w+b") as stderr:
        process = subprocess.Popen(
            command,
            cwd=work,
            stdin=subprocess.DEVNULL,
            stdout=stderr,
            stderr=stderr,
            preexec_fn=die_with_parent(os.getpid()),
        )
        try:
            status = supervisor.watch(process, stall_s)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
        stderr.seek(0)
        stderr_text = without_paths(stderr.read().decode(errors="replace"), build, work)
    console = _text(work / "console.log")
    report = agent.parse(_text(work / "agent.log"))
    problem = run_problem(status, supervisor.killed_because, console, stderr_text, report)
    if status == HOST_STORAGE_STATUS:
        raise EnvironmentMissing(
            f"{work}: QEMU could not store data or trace: {stderr_text.strip() or 'no message'}; "
            "make room and give the same command again"
        )
    if problem:
        for line in [*console.splitlines()[-10:], *stderr_text.splitlines()[-STDERR_TAIL_LINES:]]:
            say(f"| {line}")
    traces, array = {}, None
    try:
        traces = trace.split(_text(work / "io.trace"))
        topology = _text(work / "topology.toml")
        array = lost_members.at_the_end(topology, traces, lambda: drive_bytes(build, run.drive))
    except trace.TraceError as error:
        problem = problem or str(error)
    shown = shlex.join(job.qemu_command(run, "build", "work", append)) + "\n"
    return Boot(report, traces, console, shown, supervisor.timing, problem, array)


def execute(run: cells.Run, build: Path, work: Path, say, stall_s: float = STALL_S) -> Outcome:
    """Serve a run: boot it and judge what it left."""
    guest = identity.guest_built(build, run.array)
    left = boot(run, build, work, say, stall_s)
    verdicts = judge(run, left.report, left.traces, left.problem, left.console, left.array)
    return Outcome(
        results={cell.id: result_of(run, cell, guest, *verdicts[cell.id], left.array) for cell in run.cells},
        traces={cell.id: left.traces.get(cell.id, trace.HEADER + "\n") for cell in run.cells},
        console=left.console,
        command=left.command,
        timing=left.timing,
    )


def result_text(result: dict) -> str:
    """The one form of result.json."""
    return json.dumps(result, indent=1) + "\n"


def compress(lines: str) -> bytes:
    """The one form of io.trace."""
    return zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=True).compress(lines.encode())


def put_in_place(folder: Path, files: dict[str, bytes]) -> None:
    """Put a cell's result in place, whole; an older one is replaced."""
    partial = folder.with_name(f".{folder.name}.new")
    old = folder.with_name(f".{folder.name}.old")
    for leftover in (partial, old):
        shutil.rmtree(leftover, ignore_errors=True)
    partial.mkdir(parents=True)
    for name in sorted(files):
        (partial / name).write_bytes(files[name])
    if folder.exists():
        folder.rename(old)
    partial.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def write_cell(folder: Path, result: dict, lines: str, console: str, command: str) -> None:
    """Put a measured cell's result in place, whole."""
    files = {
        "io.trace": compress(lines),
        "console.log": console.encode(),
        "command": command.encode(),
        "result.json": result_text(result).encode(),
    }
    put_in_place(folder, files)


def write_timing(path: Path, run: cells.Run, timing: Timing) -> None:
    """Host seconds of a run, for the lab page's note on cost only."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = {
        "schema": "spindle-timing/1",
        "run": run.id,
        "boot_s": timing.boot_s,
        "cells_s": timing.cells_s,
        "shutdown_s": timing.shutdown_s,
        "total_s": timing.total_s,
    }
    partial = path.with_name(f".{path.name}.new")
    partial.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    partial.replace(path)


def serve(profile: str, run_id: str, left: Callable[[str], str] | None = None) -> None:
    """Run, leave results, and say so; `left` adds what the profile still needs.

    Raises SpindleError when the machine lacks something.
    """
    run = cells.run(profile, run_id)
    log_path = paths.ROOT / "results" / profile / "logs" / f"{run_id}.log"
    log_path.parent.mkdir(parents=True, exist_ok=True)
    scratch = paths.build() / "run"
    scratch.mkdir(parents=True, exist_ok=True)
    require_space(log_path.parent, space_needed(run))
    with open(log_path, "w", encoding="utf-8") as log, tempfile.TemporaryDirectory(dir=scratch) as folder:

        def say(line: str) -> None:
            print(line, file=log, flush=True)

        last_reason = None
        outcome = execute(run, paths.build(), Path(folder), say)
        for cell in run.cells:
            result = outcome.results[cell.id]
            write_cell(
                paths.ROOT / paths.cell_dir(profile, cell.id),
                result,
                outcome.traces[cell.id],
                outcome.console,
                outcome.command,
            )
            if result["status"] == "failed" and result["reason"] != last_reason:
                last_reason = result["reason"]
                say(f"{cell.id}: FAILED: {last_reason}")
        write_timing(paths.ROOT / paths.timing_path(profile, run_id), run, outcome.timing)
    failed = sum(result["status"] == "failed" for result in outcome.results.values())
    verdict = f"{failed} of {len(run.cells)} cells FAILED, see {config.show(log_path)}; " if failed else ""
    then = f"; {left(profile)}" if left else ""
    print(f"{run_id}: {verdict}{outcome.timing.total_s:.0f} s{then}", file=sys.stderr, flush=True)


def main(argv: list[str] | None = None, left: Callable[[str], str] | None = None) -> int:
    """Command line; `left` as for `serve`."""
    parser = argparse.ArgumentParser(prog="lab.cell.run", description=__doc__.splitlines()[0])
    parser.add_argument("--profile", required=True, help="smoke, quick or full")
    parser.add_argument("--run", required=True, help="run id: <controller>.<drive>.t<tags>.<scheduler>")
    options = parser.parse_args(argv)
    # As an exception it unwinds: QEMU is ended and the scratch folder removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        lock.join()
        serve(options.profile, options.run, left)
    except SpindleError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        print(
            f"error: {error.filename or paths.build()}: the disk is full; make room and give the same command again",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
