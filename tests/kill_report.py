# SPDX-License-Identifier: MIT
"""Kills `make report` at random moments and checks that nothing is lost.

    python tests/kill_report.py [--kills 5] [--seed 1] [--within-s 60]

Makes the smoke report once undisturbed, then again from no results: started, killed (SIGKILL to the whole process
group) and started again. At the end there must be no stray QEMU, and the results must be the same bytes. Takes a
few minutes; not part of `make test`.
"""

import argparse
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMAND = ["make", "report", "PROFILE=smoke"]
CELLS = ROOT / "results" / "smoke" / "cells"


def digests() -> dict[str, str]:
    """SHA-256 of each cell's result and trace."""
    files = sorted(path for name in ("result.json", "io.trace") for path in CELLS.glob(f"*/{name}"))
    return {str(path.relative_to(CELLS)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def stray() -> list[str]:
    """Command lines of QEMUs of this checkout that still live."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if line.startswith(f"{ROOT}/build/qemu/qemu-system"):
            found.append(f"{folder.name}: {line[:80]}")
    return found


def kill_after(seconds: float) -> bool:
    """Start a report and kill it; False if it was done before."""
    process = subprocess.Popen(COMMAND, cwd=ROOT, start_new_session=True, stdin=subprocess.DEVNULL)
    try:
        process.wait(timeout=seconds)
        return False
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=5, help="how often to kill")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("--within-s", type=float, default=60, help="a kill falls between 1 s and this many seconds")
    options = parser.parse_args()
    print(f"seed {options.seed}; again: python tests/kill_report.py --seed {options.seed}")
    subprocess.run(COMMAND, cwd=ROOT, check=True)
    wanted = digests()
    shutil.rmtree(ROOT / "results" / "smoke")
    moments = random.Random(options.seed)
    for number in range(options.kills):
        seconds = moments.uniform(1, options.within_s)
        killed = kill_after(seconds)
        time.sleep(0.5)
        print(f"kill {number + 1} after {seconds:.1f} s: {'killed' if killed else 'it was done'}", flush=True)
        if stray():
            print(f"FAILED: stray QEMU: {stray()}")
            return 1
    subprocess.run(COMMAND, cwd=ROOT, check=True)
    found = digests()
    different = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    print(f"{len(found)} files compared, {len(different)} differ{': ' + different[0] if different else ''}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
