# SPDX-License-Identifier: MIT
"""Snakemake, as `spindle` and make call it: first the lab, then what was asked for, with the results locked throughout.

The lab comes first because what a result was made from is known only of a lab that is built.
"""

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.cell import built, cells, config, failures, lock, papers, paths, retry
from lab.cell.errors import ConfigError, EnvironmentMissing, SpindleError

QUIET = re.compile(r"Select jobs|Execute [0-9]|Will exit after finishing")
"""Kinds of Snakemake's own lines that no setting leaves out."""
TIME_UP = 124
"""How `timeout` ends when the time was up."""
STOPPED = 128 + signal.SIGTERM
"""How Snakemake ends when it, or whoever called it, was told to end."""
BATCH_MINUTES = 5
"""The first batch of a report. Each is twice as long as the one before, so that a report that takes hours is not made
again every few minutes, and the one that is there is never older than the time before it was made."""
REPORT = ("report.pdf", "report.html", "summary.json")
"""What a reader opens of a report, in its folder."""
MEASURED = "measured"
"""Target: all cells of a profile."""


def program() -> str:
    """Snakemake of the locked Python."""
    return str(Path(sys.executable).with_name("snakemake"))


def require_installed() -> None:
    """Refuse a Python of the build directory that is another than the locks name. Raises EnvironmentMissing."""
    if Path(sys.prefix) != paths.build() / "venv":
        return
    done = subprocess.run(
        ["envs/bootstrap", "--installed"], cwd=paths.ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if done.returncode:
        raise EnvironmentMissing(done.stderr.strip().removeprefix("error: "))


@contextmanager
def _passing_on(process: subprocess.Popen) -> Iterator[list[int]]:
    """While this lasts, SIGTERM goes to a process and not to this one, which waits for it; the list has it then."""
    told: list[int] = []

    def pass_on(number: int, _: object) -> None:
        told.append(number)
        process.terminate()

    before = signal.signal(signal.SIGTERM, pass_on)
    try:
        yield told
    finally:
        signal.signal(signal.SIGTERM, before)


SLURM = "SPINDLE_SLURM"
"""Environment: a folder with what is added to a profile, so that runs become jobs of Slurm."""


def slurm() -> list[str]:
    """Snakemake's words for Slurm, none where nobody asked for it. Raises EnvironmentMissing where its plugin is not
    installed, and ConfigError where the folder is none."""
    folder = os.environ.get(SLURM)
    if not folder:
        return []
    if not (Path(folder) / "config.yaml").is_file():
        raise ConfigError(f"{SLURM}: {folder} has no config.yaml; write one like config/slurm/config.yaml")
    if importlib.util.find_spec("snakemake_executor_plugin_slurm") is None:
        raise EnvironmentMissing("Snakemake's plugin for Slurm is not installed; run `make slurm`, then try again")
    if shutil.which("sbatch") is None:
        raise EnvironmentMissing("this machine has no sbatch; give the command on a node that submits to Slurm")
    return ["--workflow-profile", str(Path(folder).resolve())]


Say = Callable[[str], None]
"""What prints a line."""


def tell(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)


def snakemake(
    profile: str, *targets: str, minutes: float | None = None, rendering: bool = False, say: Say = tell
) -> int:
    """Run Snakemake on targets and pass on what it says; returns its exit status, TIME_UP or STOPPED. After so many
    minutes it gets SIGTERM: then it begins no new run and waits for those at work. With `rendering` it measures nothing
    and makes reports of the results that are there."""
    command = [program(), "--profile", f"config/profiles/{profile}", *targets, *slurm()]
    if rendering:
        command += ["--config", f"profile={profile}", "rendering=True"]
    if minutes is not None:
        # --foreground: else it would tell the runs at work, too, and they would end.
        command = ["timeout", "--foreground", "--signal=TERM", f"{minutes:g}m", *command]
    process = subprocess.Popen(
        command, cwd=paths.ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace",
    )  # fmt: skip
    with _passing_on(process) as told:
        try:
            for line in process.stdout or ():
                if not QUIET.match(line):
                    say(line.rstrip("\n"))
        except KeyboardInterrupt:
            # The terminal told Snakemake, too; it ends its runs.
            process.wait()
            raise
        status = process.wait()
    # `timeout` dies of the signal that Snakemake died of.
    return STOPPED if status == -signal.SIGTERM or (told and status) else status


def _check(status: int, what: str) -> None:
    if status:
        raise SpindleError(
            f"{what}: Snakemake ended with status {status}; its lines above name what failed, and the log. "
            "When the cause is mended, give the same command again"
        )


def _begin(profile: str, what: str, say: Say, drop: bool = True) -> None:
    """Lock the results, drop what has to run again unless it shall stay, and build the lab where something of it is
    missing."""
    config.require_profile(profile)
    lock.keep(lock.RESULTS, alone=True, what=what)
    if retry.prepare(profile) if drop else retry.to_build(profile):
        _check(snakemake(profile, "lab", say=say), f"{what}: the lab")


def build(profile: str, say: Say = tell) -> None:
    """Build the lab of a profile, or what of it is missing or of other sources. Nothing is measured, and results stay
    as they are. Raises AlreadyRunning while the results are held, and SpindleError where something cannot be built."""
    _begin(profile, f"lab of profile {profile}", say, drop=False)
    say(f"the lab of profile {profile} is built")


def build_missing(profile: str, things: Iterable[str], what: str, say: Say = tell) -> None:
    """Build those of these things that were never built here, by the rules of a profile that uses them. One that was
    built from other sources, or was changed since, stays as it is, so that whoever checks it still finds it. Raises
    AlreadyRunning while the results are held, and SpindleError where something cannot be built."""
    receipts = [f"{paths.BUILD}/{name}/{built.RECEIPT}" for name in things if not built.receipt(name, paths.build())]
    if receipts:
        with lock.hold(lock.RESULTS, alone=True, what=what):
            _check(snakemake(profile, *receipts, say=say), what)


def report(profile: str, paper: str | None = None, say: Say = tell) -> int:
    """Make the reports of a profile, or one paper's; returns how many cells have no number, having named them.

    Where there is no report yet, it is made at once, of the reference, before anything is measured; and after each
    batch of runs of what is there then. Raises SpindleError where a report is not complete, and for one in which
    nothing was measured; what was made of it stays."""
    if paper is not None:
        papers.folder(paper)
    what = f"report of profile {profile}" + (f", {paper}" if paper else "")
    _begin(profile, what, say)
    target = f"{paper}.report" if paper else "report"
    folder = f"results/{profile}/{f'{paper}/' if paper else ''}"

    def render() -> None:
        _check(snakemake(profile, target, rendering=True, say=say), what)
        say(f"{folder}report.html and {folder}report.pdf are of what is there so far: {failures.count(profile, paper)}")

    if not all((paths.ROOT / f"{folder}{name}").is_file() for name in REPORT):
        render()
    status, minutes = TIME_UP, BATCH_MINUTES
    while status == TIME_UP:
        status = snakemake(profile, target, minutes=minutes, say=say)
        if status not in (0, STOPPED):
            render()
        minutes *= 2
    _check(status, what)
    say(f"{folder}report.html is ready, for a browser, and {folder}report.pdf")
    missing = failures.tell(profile, paper)
    if missing and missing == len(failures.wanted(profile, paper)):
        raise SpindleError(
            f"{folder}report.pdf: nothing in it was measured here; its numbers are those of the reference. "
            f"`spindle status --profile {profile} --cells` says what came of the cells; when the cause is mended, give "
            "the same command again"
        )
    return missing


def measure(profile: str, targets: list[str], minutes: float | None = None, say: Say = tell) -> None:
    """Bring targets up to date, or as much of them as begins within so many minutes; no target stands for all cells.
    Raises SpindleError where something else than the time ended it."""
    what = f"run of profile {profile}"
    _begin(profile, what, say)
    status = snakemake(profile, *(targets or [MEASURED]), minutes=minutes, say=say)
    if minutes is None or status not in (TIME_UP, STOPPED):
        _check(status, what)
    print(failures.count(profile), file=sys.stderr)


def targets(profile: str, words: list[str], where: dict[str, str] | None = None) -> list[str]:
    """Snakemake's targets for what a user names: a cell, a run, a pattern (as a shell's) on ids of cells, or a target
    such as PAPER.TABLE. `where` has columns of the sheet and patterns on their values, and means the cells that fit all
    of them. Raises ConfigError where nothing in the profile has such a name, with the nearest one."""
    config.require_profile(profile)
    found: dict[str, None] = {}
    for word in words:
        chosen = cells.matching(profile, word)
        if not chosen and any(sign in word for sign in "*?["):
            raise ConfigError(f"{word}: no cell of profile {profile} fits this pattern; {_elsewhere(profile, word)}")
        if not chosen and word.count(".") > 1:
            raise ConfigError(f"{word}: no cell or run of profile {profile}; {_elsewhere(profile, word)}")
        names = [paths.result_path(profile, one.id) for one in chosen] or [word]
        found |= dict.fromkeys(names)
    if where:
        rows = [one for one in cells.cells(profile) if cells.fits(one, where)]
        if not rows:
            shown = " ".join(f"{name}={value}" for name, value in where.items())
            raise ConfigError(
                f"{shown}: no cell of profile {profile} has these values; `spindle status --cells` lists them"
            )
        found |= dict.fromkeys(paths.result_path(profile, one.id) for one in rows)
    return list(found)


def _elsewhere(profile: str, word: str) -> str:
    """Where a user finds what a profile does not have."""
    others = [name for name in config.profiles() if name != profile and cells.matching(name, word)]
    if others:
        return f"profile {others[0]} has it: --profile {others[0]}"
    listed_by = f"spindle status --profile {profile} --cells"
    return config.nearest(word, [one.id for one in cells.cells(profile)], listed_by)
