# SPDX-License-Identifier: MIT
"""One QEMU process: what it needs is laid out, it is started and watched, and what it leaves is picked up.

Nothing is judged here (lab/cell/judge.py) and nothing is stored (lab/cell/store.py).
"""

import ctypes
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from lab.cell import agent, built, cells, evidence, identity, job, judge, lock, paths, trace, volumes
from lab.cell.errors import ConfigError, EnvironmentMissing

PR_SET_PDEATHSIG = 1
POLL_S = 0.05
STALL_S = 600
"""Host seconds without a byte from the guest or the disk after which QEMU counts as hung. Virtual time has its own
limit, which is far sooner reached; this one is for a QEMU whose clock stands still."""
BEAT_S = 60
"""A run says how far it is whenever so much host time has passed."""
PANIC_GRACE_S = 2
HOST_STORAGE_STATUS = 74
SYSTEM_BYTES = 4 << 30
"""Most that the copy of a prepared guest's system disk takes, with what is written to it."""
MARGIN_BYTES = 64 << 20
FS_CELL_BYTES = 5 << 30
"""Most that a cell on a file system writes: the image it starts from, its data, its trace."""


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
    said: bytes
    """The agent's lines as they came."""
    traces: dict[str, str]
    marks: list[trace.Mark]
    console: str
    command: str
    timing: Timing
    problem: str | None
    """Why the run as a whole went wrong."""
    ended: dict
    """How it ended, as evidence.json has it."""

    @property
    def array_state(self) -> dict | None:
        """A hardware array that lost members."""
        return judge.array_state(tuple(mark for mark in self.marks if isinstance(mark, trace.ArrayMark)))


def disk_bytes(build: Path, topology: Path, unit: str) -> int:
    """Size of a disk that the guest sees, one drive or a hardware array, as the model reports it."""
    command = [str(build / "disk/release/spindle-disk"), "units", "--topology", str(topology), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise ConfigError(f"topology of unit {unit!r}: {done.stderr.strip() or 'spindle-disk units failed'}")
    sectors = {about["name"]: about["sectors"] for about in json.loads(done.stdout)}
    return sectors[unit] * trace.SECTOR_BYTES


def things(run: cells.Run, build: Path) -> list[str]:
    """Locks of the built things that a run boots from."""
    start = identity.start_of(run)
    images = [] if start is None else [f"filesystems/{identity.image_paths(build, start)[0].stem}"]
    return [*built.used_by(run), *images]


def require_built(run: cells.Run, build: Path) -> dict[str, str]:
    """Refuse to start with built things that are missing or not what their sources here give; returns their labels."""
    return built.check_all(run, build)


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
    system = SYSTEM_BYTES if run.guest.by_bios else 0
    return MARGIN_BYTES + system + writes * run.settings.value("transfer_bytes") + on_file_systems * FS_CELL_BYTES


def prepare(run: cells.Run, build: Path, work: Path) -> None:
    """Data disks, job disk and topology of a run. Data disks are empty, or copies of their file system's image."""
    catalogue = str(paths.ROOT / "lab" / "disk" / "catalogue")
    topology = work / "topology.toml"
    topology.write_text(job.topology_text(run, catalogue), encoding="utf-8")
    start = identity.start_of(run)
    files = [work / name for name in job.disk_files(run)]
    if start is None:
        size = disk_bytes(build, topology, job.disk_units(run.array)[0])
        for file in files:
            with open(file, "wb") as disk:
                disk.truncate(size)
        make_on_host(run, files)
    else:
        for image, file in zip(identity.image_paths(build, start), files, strict=True):
            if not image.is_file():
                raise EnvironmentMissing(f"{image}: missing; run `make report`, which makes it")
            copy_sparse(image, file)
    if run.guest.by_bios:
        copy_sparse(build / run.guest.thing / job.SYSTEM_FILE, work / job.SYSTEM_FILE)
    (work / "job.img").write_bytes(job.job_disk(job.job_text(run)))


def make_on_host(run: cells.Run, files: list[Path]) -> None:
    """What a software array wants on its empty disks before the guest sees them."""
    array = volumes.software(run.array)
    if array is None:
        return
    stripe_kib = run.settings.value("array_stripe_kib")
    for line in volumes.host_commands(array, stripe_kib, shlex.join(str(file) for file in files)):
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


def markers(run: cells.Run) -> int:
    """How many cells the agent will name; a script may have more of them than its run has cells."""
    words = [line.split(" ") for line in job.job_text(run).splitlines()]
    others = (job.ARRAY_LABEL, job.CHECK_LABEL, job.SHUTDOWN_LABEL)
    return sum(word[0] == "cell" and word[1] not in others for word in words)


def starved_s(pid: int) -> float:
    """Host seconds that a process was kept waiting for a processor, by the thread that waited longest (Linux,
    Documentation/scheduler/sched-stats.rst, /proc/PID/schedstat); 0 where the host does not say."""
    waited = [0.0]
    for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with suppress(OSError, ValueError, IndexError):
            waited.append(int(path.read_text().split()[1]) / 1e9)
    return max(waited)


class Patience:
    """A clock for finding that a process stands still: seconds in which it could have worked. A loaded host makes it
    slow, and a host that stops all processes for a while stops it, too; neither is its fault."""

    LONGEST_S = 5.0
    """Between two looks at the clock; more than that, and whoever looks was stopped itself."""

    def __init__(self, pid: int):
        self._pid, self._passed_s = pid, 0.0
        self._seen, self._starved_s = time.monotonic(), starved_s(pid)

    def __call__(self) -> float:
        """Seconds so far."""
        now, starved = time.monotonic(), starved_s(self._pid)
        elapsed = min(now - self._seen, self.LONGEST_S)
        self._passed_s += max(0.0, elapsed - max(0.0, starved - self._starved_s))
        self._seen, self._starved_s = now, starved
        return self._passed_s


def reached_ns(path: Path) -> int | None:
    """Virtual time of the last whole request in a trace that is being written; None while there is none."""
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - 4096))
        lines = file.read().split(b"\n")[1:-1]
    for line in reversed(lines):
        if (match := trace.REQUEST.fullmatch(line.decode(errors="replace"))) is not None:
            return int(match[8])
    return None


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
        self._last_beat = self.began

    def _beat(self, now: float) -> None:
        """Say how far a long run is."""
        if now - self._last_beat < BEAT_S:
            return
        self._last_beat = now
        path = self.work / "io.trace"
        at_ns = reached_ns(path) if path.exists() else None
        where = "booting" if at_ns is None else f"{at_ns / 1e9:.0f} s of virtual time"
        self.say(f"{where} after {(now - self.began) / 60:.0f} min")

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
            if words[3] == "cell" and len(words) < 5:
                # A torn line: the report says so when it is judged.
                self._cell = None
            elif words[3] == "cell" and words[4] in (job.ARRAY_LABEL, job.CHECK_LABEL, job.SHUTDOWN_LABEL):
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
        patience = Patience(process.pid)
        grown_at = patience()
        panic_at = None
        while True:
            status = process.poll()
            now, patient = time.monotonic(), patience()
            sizes = self._sizes_now()
            if sizes != self._sizes:
                if sizes[1:2] != self._sizes[1:2] and judge.panic_line(_text(self.work / "console.log")):
                    panic_at = panic_at or now
                self._sizes, grown_at = sizes, patient
                self._read_agent(now)
            self._beat(now)
            if status is not None:
                self.timing.total_s = round(now - self.began, 3)
                self.timing.shutdown_s = round(now - self._last_event, 3)
                return status
            if panic_at is not None and now - panic_at > PANIC_GRACE_S:
                process.kill()
                panic_at = None
            if patient - grown_at > stall_s:
                self.killed_because = f"no sign of life from the guest or its disks for {stall_s:.0f} s of host time"
                process.kill()
                grown_at = patient
            time.sleep(POLL_S)


def boot(run: cells.Run, build: Path, work: Path, say, stall_s: float = STALL_S) -> Boot:
    """Boot a guest with the things built in `build` and let it do its job, in the empty folder `work`. Writes nowhere
    else; data disks are left as disk.img, or disk0.img, disk1.img, .... Nobody builds meanwhile what it boots from."""
    with lock.hold(*things(run, build), what=f"boot of {run.id}", build=build):
        return _boot(run, build, work, say, stall_s)


def _boot(run: cells.Run, build: Path, work: Path, say, stall_s: float) -> Boot:
    require_built(run, build)
    require_space(work, space_needed(run))
    prepare(run, build, work)
    append = identity.kernel_append()
    command = job.qemu_command(run, str(build), str(work), append)
    supervisor = Supervisor(work, markers(run), say)
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
    log = work / "agent.log"
    said = log.read_bytes() if log.exists() else b""
    report = agent.parse(evidence.report_text(said))
    problem = judge.run_problem(status, supervisor.killed_because, console, stderr_text, report)
    if status == HOST_STORAGE_STATUS:
        raise EnvironmentMissing(
            f"{work}: QEMU could not store data or trace: {stderr_text.strip() or 'no message'}; "
            "make room and give the same command again"
        )
    if problem:
        for line in [*console.splitlines()[-10:], *stderr_text.splitlines()[-judge.STDERR_TAIL_LINES :]]:
            say(f"| {line}")
    traces, marks, damage = {}, [], None
    try:
        # Ends of lines are kept as they are.
        text = (work / "io.trace").read_bytes().decode(errors="replace") if (work / "io.trace").exists() else ""
        traces = trace.split(text)
        marks = trace.marks(text)
    except trace.TraceError as error:
        traces, damage = {}, str(error)
    ended = {
        "status": status,
        "killed_because": supervisor.killed_because,
        "stderr": judge.end_of(stderr_text),
        "trace_problem": damage,
    }
    shown = shlex.join(job.qemu_command(run, "build", "work", append)) + "\n"
    return Boot(report, said, traces, marks, console, shown, supervisor.timing, problem or damage, ended)
