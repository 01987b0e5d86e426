# SPDX-License-Identifier: MIT
"""Does the same input give the same bytes? Each run of the smoke profile runs twice, once beside a CPU hog.

    python -m lab.cell.determinism [--rebuild] [--run RUN ...]

Compares result.json and io.trace of every cell and prints how much was compared and the first difference.
--rebuild adds a third run with model, QEMU and guest built from scratch in another directory.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path

from lab.cell import boot, cells, identity, images, lock, paths, run, step, store
from lab.cell.errors import SpindleError

PROFILE = "smoke"
"""Its runs are one per controller, kind of array and macro benchmark, small by definition."""


def first_difference(one: str, other: str) -> str | None:
    """Where two texts part, in one line; None if they are the same."""
    if one == other:
        return None
    for number, (left, right) in enumerate(zip_longest(one.splitlines(), other.splitlines()), start=1):
        if left != right:
            return f"line {number}: {left!r} against {right!r}"
    return "only the line ends differ"


def differences(first: run.Outcome, second: run.Outcome) -> list[str]:
    """Each cell's first difference in result.json and io.trace."""
    found = []
    for name in first.results:
        pairs = (
            ("io.trace", first.traces[name], second.traces[name]),
            ("result.json", store.result_text(first.results[name]), store.result_text(second.results[name])),
        )
        for file, one, other in pairs:
            difference = first_difference(one, other)
            if difference:
                found.append(f"{name}: {file}: {difference}")
    return found


class Hog:
    """Processes that keep every core busy while a run is at work."""

    def __enter__(self) -> None:
        self.processes = [
            subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=boot.die_with_parent(os.getpid()))
            for _ in range(os.cpu_count() or 1)
        ]

    def __exit__(self, *_) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


def execute(one: cells.Run, build: Path, say: Callable[[str], None] = lambda line: None) -> run.Outcome:
    """One run in a folder of its own; the folder's name differs each time, and must not matter."""
    start = identity.start_of(one)
    if start is not None:
        images.ensure(start, build)
    with lock.scratch("determinism") as folder:
        return run.execute(one, build, folder, say)


def rebuild(target: Path) -> None:
    """Build model, QEMU and guest from scratch in another directory, from the same downloads."""
    shutil.rmtree(target, ignore_errors=True)
    environment = {**os.environ, "SPINDLE_BUILD": str(target), "CARGO_TARGET_DIR": str(target / "disk")}
    cache = paths.build() / "cache"
    cache.mkdir(exist_ok=True)
    target.mkdir(parents=True)
    (target / "cache").symlink_to(cache)
    steps = [
        ("disk model, again", "1 min", "disk", ["lab/disk/build.sh"]),
        ("QEMU, again", "4 min", "qemu", ["lab/qemu/build.sh"]),
        ("guest image, again", "2 min", "guest", [sys.executable, "-m", "lab.guest.build"]),
        ("volume managers, again", "30 s", "volumes", [sys.executable, "-m", "lab.volumes.build"]),
        *(
            (f"workload {name}, again", "10 s", f"workloads/{name}", [sys.executable, "-m", "workloads.build", name])
            for name in cells.WORKLOADS
        ),
    ]
    for name, about, thing, command in steps:
        log = target / "logs" / f"{name.split(',')[0].replace(' ', '-')}.log"
        receipt = [sys.executable, "-m", "lab.cell.built", thing, "--", *command]
        if step.run(name, about, log, receipt, environment):
            raise SpindleError(f"{name}: the rebuild failed, see {log}")


def check(one: cells.Run, builds: list[Path]) -> tuple[int, list[str]]:
    """Run once idle, once beside a hog, and once with each further build; requests compared, and differences."""
    first = execute(one, builds[0])
    failed = [f"{name}: {result['reason']}" for name, result in first.results.items() if result["status"] != "ok"]
    requests = sum(len(lines.splitlines()) - 2 for lines in first.traces.values())
    if failed:
        return requests, [f"cannot compare, the run failed: {failed[0]}"]
    with Hog():
        found = [f"beside a CPU hog: {text}" for text in differences(first, execute(one, builds[0]))]
    for build in builds[1:]:
        found += [f"after a rebuild: {text}" for text in differences(first, execute(one, build))]
    return requests, found


def main(argv: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="lab.cell.determinism", description=__doc__.splitlines()[0])
    parser.add_argument("--rebuild", action="store_true", help="also with everything built a second time (about 7 min)")
    parser.add_argument("--run", action="append", help="only this run of the smoke profile; may be repeated")
    options = parser.parse_args(argv)
    try:
        chosen = [cells.run(PROFILE, name) for name in options.run] if options.run else cells.runs(PROFILE).values()
        os.chdir(paths.ROOT)
        builds = [paths.build()]
        if options.rebuild:
            lock.keep("rebuild", alone=True, what="determinism with a second build")
            builds.append(paths.build() / "rebuild")
            rebuild(builds[1])
        total, bad = 0, 0
        for one in chosen:
            requests, found = check(one, builds)
            total += requests
            bad += bool(found)
            verdict = f"DIFFERENT: {found[0]}" if found else "the same bytes"
            print(f"{one.id}: {len(one.cells)} cells, {requests} requests: {verdict}", flush=True)
    except SpindleError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    runs_each = 1 + len(builds)
    print(f"compared result.json and io.trace of {runs_each} runs each, {total} requests: {bad} runs differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
