# SPDX-License-Identifier: MIT
"""Run one long command with a name, a rough duration, and its output in a log.

    python -m lab.cell.step --name QEMU --about '4 min' --alone qemu --log build/logs/qemu.log -- lab/qemu/build.sh

Prints one line at the start and one at the end; a failure prints the log's last lines. With --alone and --share it
holds locks (lab/cell/lock.py) meanwhile, so that whoever waits reads for whom on the terminal and not in the log.
"""

import argparse
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from lab.cell import lock
from lab.cell.errors import SpindleError

TAIL_LINES = 15
AGAIN_S = 60
"""After so long a command that is still at work says so again."""


def run(name: str, about: str, log: Path, command: list[str], environment: dict[str, str] | None = None) -> int:
    """Run a command; returns its exit status. `about` is a rough duration, for people."""
    log.parent.mkdir(parents=True, exist_ok=True)
    print(f"{name}: about {about} ...", file=sys.stderr, flush=True)
    began = time.monotonic()
    with open(log, "wb") as out:
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment)
            status = _wait(process, name, log, began)
        except OSError as error:
            out.write(f"{command[0]}: {error.strerror}; `make doctor` names its package\n".encode())
            status = 127
    seconds = time.monotonic() - began
    if status == 0:
        print(f"{name}: done in {seconds:.0f} s", file=sys.stderr, flush=True)
        return 0
    tail = log.read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL_LINES:]
    print("\n".join(f"| {line}" for line in tail), file=sys.stderr)
    print(f"{name}: failed with status {status}; the whole output is in {log}", file=sys.stderr, flush=True)
    return 1


def _wait(process: subprocess.Popen, name: str, log: Path, began: float) -> int:
    """Wait for a command's end; each minute say that it is at work, with the last line of its log."""
    try:
        while True:
            try:
                return process.wait(timeout=AGAIN_S)
            except subprocess.TimeoutExpired:
                minutes = (time.monotonic() - began) / 60
                print(f"{name}: at work for {minutes:.0f} min: {last_line(log)}", file=sys.stderr, flush=True)
    except BaseException:
        # As subprocess.run does: nobody is left to wait for it.
        process.kill()
        process.wait()
        raise


def last_line(log: Path) -> str:
    """The last line of a log that says something."""
    with open(log, "rb") as file:
        file.seek(max(0, log.stat().st_size - 4096))
        lines = file.read().decode(errors="replace").splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip()), "nothing said yet")


def main(argv: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="lab.cell.step", description=__doc__.splitlines()[0])
    parser.add_argument("--name", required=True, help="what people read")
    parser.add_argument("--about", required=True, help="rough duration")
    parser.add_argument("--log", required=True, type=Path, help="file for the output")
    parser.add_argument("--alone", action="append", default=[], metavar="LOCK", help="hold it alone; repeatable")
    parser.add_argument("--share", action="append", default=[], metavar="LOCK", help="share it; repeatable")
    parser.add_argument("command", nargs="+", help="after --")
    options = parser.parse_args(argv)
    try:
        with ExitStack() as stack:
            if options.share:
                stack.enter_context(lock.hold(*options.share, what=options.name))
            if options.alone:
                stack.enter_context(lock.hold(*options.alone, alone=True, what=f"build of {options.name}"))
            return run(options.name, options.about, options.log, options.command, dict(os.environ))
    except SpindleError as error:
        print(f"{options.name}: error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
