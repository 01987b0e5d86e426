# SPDX-License-Identifier: MIT
"""Boot a machine's disk on the lab's QEMU, in virtual time and without a network, and run one benchmark on it.

    python -m vagrant.measure --disk FILE [--out FOLDER] [words of lab.cell.attempt]

FILE is what qemu-img reads: a box's disk, or that of a machine that was halted. The disk must have been provisioned,
because the agent on it does the job. What the words ask for (`--controller ide-ahci --workload rawio -- op=read
pattern=random`) is set up as for the lean guest; only the system is another one. FILE is not changed.

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

SYSTEM = "system.img"
SETUP_S = 300
"""Virtual seconds more than the lean guest gets until its first cell."""
LEFT = ("io.trace", "console.log", "agent.log")


def from_disk(command: list[str], build: str, work: str) -> list[str]:
    """The lean guest's command, with the machine's own system: its BIOS starts what is on the system disk."""
    words, skip = [], False
    for word in command:
        if skip or word in ("-kernel", "-initrd", "-append"):
            skip = not skip
            continue
        if word.startswith("driver=spindle,node-name=root,"):
            word = word.replace(f"filename={build}/guest/root.erofs", f"filename={work}/{SYSTEM}")
            word = word.removesuffix(",read-only=on")
        elif word.startswith("virtio-blk-pci,drive=root,"):
            word += ",bootindex=0"
        elif "time-limit-s=" in word:
            before, limit = word.rsplit("time-limit-s=", 1)
            word = f"{before}time-limit-s={int(limit) + SETUP_S}"
        words.append(word)
    return words


def measure(one: Run, disk: Path, build: Path, work: Path) -> agent.Report:
    """Run the job of `one` on a copy of the disk; returns what the agent reported."""
    boot.prepare(one, build, work)
    run(["qemu-img", "convert", "-O", "raw", str(disk), str(work / SYSTEM)])
    command = from_disk(job.qemu_command(one, str(build), str(work), identity.kernel_append()), str(build), str(work))
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
    console = (work / "console.log").read_text(errors="replace") if (work / "console.log").exists() else ""
    said = (work / "agent.log").read_text(errors="replace") if (work / "agent.log").exists() else ""
    report = agent.parse(said)
    stderr_text = (work / "stderr").read_text(errors="replace")
    problem = judge.run_problem(status, supervisor.killed_because, console, stderr_text, report)
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
        one = attempt.run_of(attempt.parse(words))
        build = paths.build()
        built.check_all(one, build)
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
