# SPDX-License-Identifier: MIT
"""Run one long command with a name, a rough duration, and its output in a log.

    python -m lab.cell.step --name QEMU --about '4 min' --log build/logs/qemu.log -- lab/qemu/build.sh

Prints one line at the start and one at the end; a failure prints the log's last lines. Standard library only:
envs/bootstrap uses it before anything is installed.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

TAIL_LINES = 15


def run(name: str, about: str, log: Path, command: list[str], environment: dict[str, str] | None = None) -> int:
    """Run a command; returns its exit status. `about` is a rough duration, for people."""
    log.parent.mkdir(parents=True, exist_ok=True)
    print(f"{name}: about {about} ...", file=sys.stderr, flush=True)
    began = time.monotonic()
    with open(log, "wb") as out:
        try:
            status = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment, check=False
            ).returncode
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


def main(argv: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="lab.cell.step", description=__doc__.splitlines()[0])
    parser.add_argument("--name", required=True, help="what people read")
    parser.add_argument("--about", required=True, help="rough duration")
    parser.add_argument("--log", required=True, type=Path, help="file for the output")
    parser.add_argument("command", nargs="+", help="after --")
    options = parser.parse_args(argv)
    return run(options.name, options.about, options.log, options.command, dict(os.environ))


if __name__ == "__main__":
    sys.exit(main())
