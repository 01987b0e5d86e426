# SPDX-License-Identifier: MIT
"""Boot a machine's disk on the lab's QEMU, in virtual time and without a network, and run one benchmark on it.

    python -m vagrant.measure --disk FILE [--out FOLDER] [words of lab.cell.attempt]

FILE is what qemu-img reads: a box's disk, or that of a machine that was halted. The disk must have been provisioned,
because the agent on it does the job. What the words ask for (`--controller ide-ahci --workload rawio -- op=read
pattern=random`) is done as on the guest `debian`, whose place the disk takes. FILE is not changed.

It prints the agent's report and leaves io.trace, console.log and agent.log in FOLDER. No table reads them: a cell of
another guest is measured by the guest's entry in lab/guests/.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from lab.cell import agent, attempt, boot, built, identity, job, judge, lock, paths
from lab.cell.cells import Run
from lab.cell.errors import SpindleError
from lab.guest.host import BuildError, run

GUEST = "debian"
"""The entry of lab/guests/ that a provisioned Linux box follows: its agent starts where there is a job disk."""
LEFT = ("io.trace", "console.log", "agent.log")


def stand_in(one: Run, disk: Path, build: Path, place: Path) -> None:
    """A build directory in which this disk is the prepared guest; everything else is the real one's."""
    guest = place / one.guest.thing
    guest.mkdir(parents=True)
    run(["qemu-img", "convert", "-O", "raw", str(disk), str(guest / job.SYSTEM_FILE)])
    (guest / "firmware").symlink_to(build / "guest" / "firmware")
    for name in ("disk", "qemu", "workloads"):
        (place / name).symlink_to(build / name)


def measure(one: Run, disk: Path, build: Path, work: Path) -> agent.Report:
    """Run the job of `one` on a copy of the disk; returns what the agent reported."""
    place = work / "build"
    stand_in(one, disk, build, place)
    boot.prepare(one, place, work)
    command = job.qemu_command(one, str(place), str(work), identity.kernel_append())
    supervisor = boot.Supervisor(work, boot.markers(one), lambda line: print(line, file=sys.stderr))
    with open(work / "stderr", "w+b") as stderr:
        process = subprocess.Popen(
            command, cwd=work, stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr,
            preexec_fn=boot.die_with_parent(os.getpid()),
        )  # fmt: skip
        try:
            status = supervisor.watch(process, boot.STALL_S)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
    console, said, errors = (
        (work / name).read_text(errors="replace") if (work / name).exists() else ""
        for name in ("console.log", "agent.log", "stderr")
    )
    report = agent.parse(said)
    problem = judge.run_problem(status, supervisor.killed_because, console, errors, report)
    if problem:
        raise SpindleError(f"{disk}: {problem}; the console's end:\n{console[-1500:]}")
    return report


def main(argv: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="vagrant.measure", description=__doc__.splitlines()[0])
    parser.add_argument("--disk", required=True, type=Path, metavar="FILE", help="the system disk")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="keep trace, console and report here")
    options, words = parser.parse_known_args(argv)
    try:
        if not options.disk.is_file():
            raise SpindleError(f"--disk {options.disk}: there is no such file")
        one = attempt.run_of(attempt.parse(["--guest", GUEST, *words]))
        build = paths.build()
        for thing in ("disk", "qemu", "guest", *(f"workloads/{name}" for name in one.workloads)):
            built.check(thing, build)
        with lock.hold(*boot.things(one, build), what="boot of a box"), lock.scratch("box") as work:
            try:
                report = measure(one, options.disk.absolute(), build, work)
            finally:
                if options.out:
                    options.out.mkdir(parents=True, exist_ok=True)
                    for name in LEFT:
                        if (work / name).exists():
                            shutil.copy(work / name, options.out / name)
        print(f"hello {report.kernel}")
        for name, cell in report.cells.items():
            for metric, value in cell.metrics.items():
                print(f"{name} {metric} {value}")
    except (SpindleError, BuildError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    os.chdir(paths.ROOT)
    sys.exit(main())
