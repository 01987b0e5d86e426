# SPDX-License-Identifier: MIT
"""Kills `make report` or an attempt at random moments and checks that the same command goes on and nothing is lost.

    python tests/kill_report.py [--what report|attempt] [--kills 5] [--seed 1] [--within-s 60]

Runs the command once undisturbed, then again from nothing: started, killed (in turn SIGKILL, SIGTERM and SIGINT to the
whole process group) and started again. There must be no stray QEMU, a report that was there once must be there, whole,
and what is left at the end must be the same bytes. While `make report` goes
on after the last kill, an attempt is at work beside it and must come to its end. Needs the built lab and takes a few
minutes; part of `make nightly`.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("SPINDLE_BUILD", ROOT / "build")).absolute()
CELLS = ROOT / "results" / "smoke" / "cells"
KEPT = BUILD / "killed"
ATTEMPT = [
    *(str(BUILD / "venv/bin/python"), "-m", "cli", "try", "--fs", "ffs", "--keep", str(KEPT)),
    *("--workload", "postmark", "--scale", "0.05", "--", "--sizes", "default"),
]
COMMANDS = {"report": ["make", "report", "PROFILE=smoke"], "attempt": ATTEMPT}
FILES = {"report": (CELLS, ("*/result.json", "*/io.trace")), "attempt": (KEPT, ("io.trace", "agent.log"))}
REPORT = ("report.pdf", "report.html", "summary.json")
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
PATIENCE_S = 300
"""Runs at work may end by themselves after a softer signal."""
CLEARED = {"report": ROOT / "results" / "smoke", "attempt": KEPT}


def digests(what: str) -> dict[str, str]:
    """SHA-256 of each file that must be the same."""
    folder, patterns = FILES[what]
    files = sorted(path for pattern in patterns for path in folder.glob(pattern))
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def stray() -> list[str]:
    """Command lines of QEMUs of this build directory that still live."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if line.startswith(f"{BUILD}/qemu/qemu-system"):
            found.append(f"{folder.name}: {line[:80]}")
    return found


def broken(results: Path, before: set[Path]) -> list[str]:
    """What is wrong with a profile's reports: files that are gone since `before`, and such as are not whole."""
    wrong = [f"{path} is gone" for path in sorted(before - reports(results))]
    for path in sorted(reports(results)):
        data = path.read_bytes()
        whole = {
            ".pdf": data.startswith(b"%PDF") and data.rstrip().endswith(b"%%EOF"),
            ".html": data.rstrip().endswith(b"</html>"),
            ".json": is_json(data),
        }[path.suffix]
        if not whole:
            wrong.append(f"{path} is not whole")
    return wrong


def is_json(data: bytes) -> bool:
    """These bytes are JSON."""
    try:
        json.loads(data)
    except ValueError:
        return False
    return True


def reports(results: Path) -> set[Path]:
    """The files that a reader opens, of a profile and of each of its papers."""
    return {path for name in REPORT for pattern in (name, f"*/{name}") for path in results.glob(pattern)}


def kill_after(what: str, seconds: float, how: signal.Signals = signal.SIGKILL) -> bool:
    """Start a command and end it with this signal; False if it was done before."""
    process = subprocess.Popen(COMMANDS[what], cwd=ROOT, start_new_session=True, stdin=subprocess.DEVNULL)
    try:
        process.wait(timeout=seconds)
        return False
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, how)
        process.wait(timeout=PATIENCE_S)
        return True


def finish(what: str) -> bool:
    """The same command, to its end; beside a report an attempt is at work. Returns whether both ended well."""
    other = subprocess.Popen(ATTEMPT, cwd=ROOT, stdin=subprocess.DEVNULL) if what == "report" else None
    done = subprocess.run(COMMANDS[what], cwd=ROOT, stdin=subprocess.DEVNULL, check=False).returncode == 0
    if other is None:
        return done
    beside = other.wait() == 0
    print(f"an attempt beside the report {'goes on to its end' if beside else 'FAILED'}", flush=True)
    return done and beside


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--what", choices=tuple(COMMANDS), default="report", help="what is killed (default: report)")
    parser.add_argument("--kills", type=int, default=5, help="how often to kill")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("--within-s", type=float, help="a kill falls before this many seconds (60; an attempt: 8)")
    options = parser.parse_args()
    what = options.what
    within_s = options.within_s or (60 if what == "report" else 8)
    print(f"seed {options.seed}; again: python tests/kill_report.py --what {what} --seed {options.seed}", flush=True)
    subprocess.run(COMMANDS[what], cwd=ROOT, stdin=subprocess.DEVNULL, check=True)
    wanted = digests(what)
    shutil.rmtree(CLEARED[what])
    moments = random.Random(options.seed)
    for number in range(options.kills):
        seconds = moments.uniform(min(1, within_s / 10), within_s)
        how = SIGNALS[number % len(SIGNALS)]
        before = reports(CLEARED["report"])
        killed = kill_after(what, seconds, how)
        time.sleep(0.5)
        print(f"kill {number + 1} after {seconds:.1f} s: {how.name if killed else 'it was done'}", flush=True)
        if stray():
            print(f"FAILED: stray QEMU: {stray()}")
            return 1
        if what == "report" and (wrong := broken(CLEARED["report"], before)):
            print(f"FAILED: after {how.name}: {wrong[0]}")
            return 1
    if not finish(what):
        print("FAILED: the same command did not go on")
        return 1
    found = digests(what)
    shutil.rmtree(KEPT, ignore_errors=True)
    different = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    first = f": {different[0]}" if different else ""
    print(f"{what}: {options.kills} kills, {len(found)} files compared, {len(different)} differ{first}")
    return 1 if different or not found else 0


if __name__ == "__main__":
    sys.exit(main())
