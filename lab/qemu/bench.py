# SPDX-License-Identifier: MIT
"""Two built labs side by side: processor time of the same runs, and whether their traces are the same bytes.

    python -m lab.qemu.bench --base BUILD --new BUILD [--repeat 3] [--only sdet]

BUILD is a build directory, e.g. build/ of another checkout. Both boot the same guest (that of --new, unless
--own-guests is given) from the same file system, so that they differ in QEMU and model alone. Runs alternate between
the two. The time is QEMU's own, user and system; the least of the repetitions is compared, because other work on the
host can only add to it. Exits with 1 where a trace differs.
"""

import argparse
import hashlib
import os
import subprocess
import sys
from pathlib import Path

from lab.cell import attempt, boot, cells, identity, images, job, lock, paths
from lab.cell.errors import SpindleError

BENCHES = {
    "postmark": ["--fs", "ffs", "--workload", "postmark", "--scale", "0.25"],
    "sdet": ["--fs", "softupdates", "--workload", "sdet", "--", "--scripts", "3"],
}
"""What is run, in the words of `spindle try`: PostMark on FFS waits for the disk most of the time, SDET on Soft
Updates makes many short processes."""


def qemu_command(one: cells.Run, build: Path, guest: Path, work: Path) -> list[str]:
    """Command line with one build's QEMU and a guest that may be another's. A QEMU that was built without a sandbox
    runs without it."""
    command = job.qemu_command(one, str(guest), str(work), identity.kernel_append())
    command[0] = str(build / "qemu" / "qemu-system-x86_64")
    known = subprocess.run([command[0], "-sandbox", "on", "-version"], capture_output=True, check=False)
    if "-sandbox" in command and known.returncode != 0:
        at = command.index("-sandbox")
        del command[at : at + 2]
    return command


def measure(one: cells.Run, build: Path, guest: Path) -> tuple[float, str]:
    """Processor seconds of one run, and the hash of its trace."""
    with (
        lock.hold(*boot.things(one, paths.build()), what="bench"),
        lock.hold("qemu", what="bench", build=build),
        lock.hold("guest", what="bench", build=guest),
        lock.scratch("bench") as work,
    ):
        boot.prepare(one, paths.build(), work)
        with open(work / "stderr", "w+b") as stderr:
            process = subprocess.Popen(
                qemu_command(one, build, guest, work),
                cwd=work,
                stdin=subprocess.DEVNULL,
                stdout=stderr,
                stderr=stderr,
                preexec_fn=boot.die_with_parent(os.getpid()),
            )
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            stderr.seek(0)
            said = stderr.read().decode(errors="replace").strip()
        if process.returncode != 0 or "@spindle" not in (work / "agent.log").read_text(errors="replace"):
            raise SpindleError(
                f"{build}: QEMU ended with status {process.returncode}: {said or 'no message'}; "
                "try the run alone with spindle try"
            )
        digest = hashlib.sha256((work / "io.trace").read_bytes()).hexdigest()
    return usage.ru_utime + usage.ru_stime, digest


def compare(name: str, options: argparse.Namespace) -> bool:
    """Run one benchmark on both builds in turns and print a line; whether all traces are the same bytes."""
    one = attempt.run_of(attempt.parse(BENCHES[name]))
    start = identity.start_of(one)
    if start is not None:
        images.ensure(start, paths.build())
    seconds: dict[str, list[float]] = {"base": [], "new": []}
    digests: dict[str, set[str]] = {"base": set(), "new": set()}
    for _ in range(options.repeat):
        for side in seconds:
            build = getattr(options, side)
            taken, digest = measure(one, build, build if options.own_guests else options.new)
            seconds[side].append(taken)
            digests[side].add(digest)
    base, new = min(seconds["base"]), min(seconds["new"])
    same = len(digests["base"] | digests["new"]) == 1
    verdict = "the traces are the same bytes" if same else "THE TRACES DIFFER"
    print(f"{name:10s} base {base:6.2f} s, new {new:6.2f} s, {base / new:.3f} times as fast; {verdict}", flush=True)
    for side, values in seconds.items():
        print(f"{'':10s} {side}: {' '.join(f'{value:.2f}' for value in values)}", flush=True)
    return same


def main(argv: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="lab.qemu.bench", description=__doc__.splitlines()[0])
    parser.add_argument("--base", type=Path, required=True, help="build directory to compare with")
    parser.add_argument("--new", type=Path, default=paths.build(), help="build directory (default: this one's)")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each (default: %(default)s)")
    parser.add_argument("--only", choices=sorted(BENCHES), help="only this benchmark")
    parser.add_argument("--own-guests", action="store_true", help="each boots the guest of its own build directory")
    options = parser.parse_args(argv)
    options.base, options.new = options.base.resolve(), options.new.resolve()
    try:
        return 0 if all([compare(name, options) for name in BENCHES if options.only in (None, name)]) else 1
    except SpindleError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
