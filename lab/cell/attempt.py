# SPDX-License-Identifier: MIT
"""Try a workload or some commands in the guest, on a modelled drive, outside any profile.

    spindle try --controller scsi-virtio --drive ultrastar-36zx --tags 32 --fs ext2 \\
        --workload postmark -- --scale 0.1 --seed 1
    spindle try --array md-raid0-4 --fs ffs --workload postmark
    spindle try --array md-raid0-4 --workload rawio -- op=write pattern=sequential
    spindle try --array raid5-scsi-8 --fail m1@0.5 --workload rawio -- op=read pattern=random
    spindle try --fs ffs -- mkdir /mnt/a ';' touch /mnt/a/b ';' umount /mnt

Prints what the guest printed, with virtual times, and a summary of the disk's trace; --keep FOLDER keeps the trace,
console and (with --keep-disk) the data disk. Without --workload the words behind -- are commands, separated by `;`.
The file system is mounted at /mnt before, unmounted and checked behind a workload. Nothing is judged or stored.
"""

import argparse
import re
import shutil
import signal
import sys
import tomllib
from dataclasses import asdict, replace
from decimal import Decimal
from pathlib import Path

from lab.cell import (
    boot,
    cells,
    config,
    guests,
    identity,
    images,
    job,
    judge,
    lock,
    members,
    paths,
    trace,
    volumes,
)
from lab.cell.errors import SpindleError

LABEL = "attempt"
SECONDS = re.compile(r"[0-9]{1,6}(\.[0-9]{1,9})?")
PARAMETER = re.compile(r"[a-z_]+=")
"""How a parameter of a workload begins, written as in the sheet; other words are for its own command line."""
RAW_PARAMETERS = {"op", "pattern"}
"""Those of a workload that uses the device itself."""


def parser() -> argparse.ArgumentParser:
    """The command line, of which `cli` makes its help."""
    parser = argparse.ArgumentParser(prog="spindle try", description=__doc__.splitlines()[0])
    parser.add_argument("--controller", default="scsi-virtio", help="catalogue name (default: %(default)s)")
    parser.add_argument("--drive", default="ultrastar-36zx", help="catalogue name (default: %(default)s)")
    parser.add_argument(
        "--array", default=volumes.NONE, help="array of such drives, e.g. md-raid0-4; default: one disk"
    )
    parser.add_argument("--tags", default="32", help="none or a number (default: %(default)s)")
    parser.add_argument("--scheduler", default="both", choices=("both", "disk", "host", "none"))
    parser.add_argument("--guest", default=guests.LEAN, help="name in lab/guests (default: %(default)s)")
    parser.add_argument("--fs", help="file system to make (once), mount at /mnt, unmount and check; default: none")
    parser.add_argument("--workload", help="workload to run; what stands behind -- are its options")
    parser.add_argument(
        "--paper", default=cells.PAPERS[0], choices=cells.PAPERS, help="whose assumptions hold (default: %(default)s)"
    )
    parser.add_argument("--scale", default="1", help="scale of memory and dirty limits; also given to the workload")
    parser.add_argument("--seed", default=1, type=int)
    parser.add_argument(
        "--set",
        "--assume",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="another value for an assumption of the paper (memory_mib=256, paper.yaml), for the drive "
        "(drive.read_segments=4) or the array's controller (array.cache_kb=65536), as in the sheet; may be repeated",
    )
    parser.add_argument(
        "--fail",
        action="append",
        default=[],
        metavar="UNIT@SECONDS",
        help="a drive fails so long (virtual time) after it began: disk0, or m0 behind a RAID controller; repeatable",
    )
    parser.add_argument("--keep", type=Path, help="folder to leave io.trace, console.log and agent.log in")
    parser.add_argument("--keep-disk", action="store_true", help="leave the data disks there, too")
    parser.add_argument("words", nargs="*", help="options of the workload, or commands separated by ;")
    return parser


def parse(argv: list[str] | None) -> argparse.Namespace:
    """What was asked for."""
    return parser().parse_args(argv)


def commands(words: list[str]) -> list[str]:
    """Commands separated by `;` as lines of a job."""
    lines: list[list[str]] = [[]]
    for word in words:
        if word == ";":
            lines.append([])
        else:
            lines[-1].append(word)
    return [f"exec {' '.join(line)}" for line in lines if line]


def faults(one: cells.Run, words: list[str]) -> tuple[tuple[str, str, int], ...]:
    """What --fail asks for."""
    units = tomllib.loads(job.topology_text(one, "."))["unit"]
    drives = [unit["name"] for unit in units if "drive" in unit]
    found = []
    for word in words:
        unit, _, seconds = word.partition("@")
        if unit not in drives:
            raise SpindleError(f"--fail {word}: no drive is called {unit!r}; {config.nearest(unit, drives)}")
        if not SECONDS.fullmatch(seconds):
            raise SpindleError(f"--fail {word}: when? Write {unit}@ and seconds, e.g. {unit}@2.5")
        found.append((unit, LABEL, int(Decimal(seconds) * 10**9)))
    return tuple(found)


def run_of(options: argparse.Namespace) -> cells.Run:
    """A run for what was asked, checked as a row of the sheet is."""
    paper = options.paper
    if options.workload and options.workload not in cells.WORKLOADS:
        raise SpindleError(f"--workload: {config.nearest(options.workload, cells.WORKLOADS)}")
    parameters = [word for word in options.words if options.workload and PARAMETER.match(word)]
    row = {
        "tables": LABEL,
        "controller": options.controller,
        "drive": options.drive,
        "array": options.array,
        "tags": options.tags,
        "scheduler": options.scheduler,
        "file_system": options.fs or cells.RAW,
        "workload": options.workload or LABEL,
        "parameters": " ".join(parameters),
        "scale": options.scale,
        "set": " ".join(options.set),
        "guest": options.guest,
    }
    cells.check_setting(paper, row, LABEL)
    if options.workload:
        cells.check_workload(row, LABEL)
    if options.seed < 1:
        raise SpindleError(f"--seed: {options.seed} is below 1; write a number from 1 on")
    if options.workload in job.PROGRAMS:
        wanted = "op=read or op=write, and pattern=sequential, interleave or random"
        keys = {word.partition("=")[0] for word in parameters}
        if missing := RAW_PARAMETERS - keys:
            raise SpindleError(f"--workload {options.workload}: {min(missing)} is missing; write {wanted} behind --")
        if unknown := keys - RAW_PARAMETERS:
            raise SpindleError(
                f"--workload {options.workload}: no parameter is called {min(unknown)!r}; they are {wanted}. "
                f"Its own options are words behind --, e.g. --bytes 104857600 (workloads/{options.workload}/README.md)"
            )
    cell = cells.Cell(
        paper=paper,
        controller=options.controller,
        drive=options.drive,
        tags=options.tags,
        scheduler=options.scheduler,
        file_system=options.fs or cells.RAW,
        workload=options.workload or LABEL,
        words=tuple(parameters),
        scale=options.scale,
        seed=options.seed,
        tables=(),
        array=options.array,
        set=tuple(row["set"].split()),
        guest=options.guest,
    )
    one = cells.Run(LABEL, cell.paper, cell.controller, cell.drive, cell.tags, (cell,))
    lines = [f"cell {LABEL} {options.seed}"]
    if options.fs:
        lines.append(job.mount_line(one.settings, options.fs, job.device(one)))
    if options.workload:
        lines.append(
            " ".join(
                [f"exec {job.workload_command(one, cell)}", *(word for word in options.words if word not in parameters)]
            )
        )
    else:
        lines += commands(options.words)
    if options.fs and (options.workload or not any("umount" in line for line in lines)):
        lines.append(f"exec umount {job.MOUNT_POINT}")
    lines.append("end")
    if options.fs:
        lines += job.check_lines(one, cell)
    return replace(one, script=tuple(lines), faults=faults(one, options.fail))


def main(argv: list[str] | None = None) -> int:
    """Command line."""
    return attempt(parse(argv))


def attempt(options: argparse.Namespace) -> int:
    """Try what was asked for; returns the exit status."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        one = run_of(options)
        build = paths.build()
        start = identity.start_of(one)
        if start is not None:
            images.ensure(start, build)
        lock.sweep()
        with lock.hold(*boot.things(one, build), what="attempt"), lock.scratch("attempt") as work:
            left = boot.boot(one, build, work, lambda line: print(line, file=sys.stderr))
            if not (work / "agent.log").exists():
                raise SpindleError(left.problem or "the guest left no report")
            for line in (work / "agent.log").read_text(errors="replace").splitlines():
                print(line.split(" ", 3)[-1])
            requests = trace.parse(left.traces.get(LABEL, ""))
            summary = members.summarize(requests, job.disk_units(options.array))
            if summary is not None:
                print("trace:", asdict(summary))
            for disk, sums in members.each(requests).items() if options.array != volumes.NONE else ():
                print(f"{disk}:", sums)
            print(f"host: {left.timing.total_s:.1f} s, of which boot {left.timing.boot_s:.1f} s")
            if options.keep:
                options.keep.mkdir(parents=True, exist_ok=True)
                kept = ["io.trace", "console.log", "agent.log", *(job.disk_files(one) if options.keep_disk else [])]
                for name in kept:
                    shutil.move(work / name, options.keep / name)
        failed = left.problem or next((said.problem for said in left.report.cells.values() if said.problem), None)
        if left.array_state:
            lost = judge.array_reason(options.array, left.array_state)
            failed = f"{failed}; {lost}" if failed else lost
        if failed:
            raise SpindleError(failed)
    except SpindleError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0
