# SPDX-License-Identifier: MIT
"""Locks on the results, so that two reports at once give a message and not a muddle.

The kernel drops them with the process that holds them, so a SIGKILL leaves nothing to clean up.
"""

import fcntl
import os
from pathlib import Path

from lab.cell.errors import AlreadyRunning
from lab.cell.paths import ROOT

REPORT = ".lock"
"""Held by the one report in progress."""
JOBS = ".jobs.lock"
"""Shared by all runs: one that outlives its report is noticed."""


def _take(name: str, how: int, results: Path) -> int | None:
    results.mkdir(exist_ok=True)
    number = os.open(results / name, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(number, how | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(number)
        return None
    return number


def acquire(results: Path = ROOT / "results") -> int:
    """Take the results for the life of this process; returns the open file's number."""
    number = _take(REPORT, fcntl.LOCK_EX, results)
    if number is None:
        holder = (results / REPORT).read_text(encoding="utf-8").strip()
        raise AlreadyRunning(
            f"results: another report is being made here (process {holder or 'unknown'}); "
            "wait for it, or end it, and give the same command again"
        )
    jobs = _take(JOBS, fcntl.LOCK_EX, results)
    if jobs is None:
        os.close(number)
        raise AlreadyRunning(
            "results: runs of an earlier report that was killed are still at work; "
            "wait a minute, or end them (ps -ef | grep lab.cell.progress), and give the same command again"
        )
    os.close(jobs)
    os.ftruncate(number, 0)
    os.pwrite(number, f"{os.getpid()}\n".encode(), 0)
    return number


def join(results: Path = ROOT / "results") -> int:
    """Announce a run for the life of this process."""
    number = _take(JOBS, fcntl.LOCK_SH, results)
    if number is None:
        raise AlreadyRunning("results: a report is just beginning here; give the same command again")
    return number
