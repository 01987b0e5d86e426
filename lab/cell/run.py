# SPDX-License-Identifier: MIT
"""One run: boot the guest once, serve its cells, leave their results.

    python -m lab.cell.run --profile quick --run scsi-virtio.ultrastar-36zx.t32.both

A cell's result is there whole or not at all. A cell that failed is a result too, with its reason; the command
then still exits with 0. It exits with 1, and leaves no result, when the machine lacks something.
"""

import argparse
import errno
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from lab.cell import boot, cells, config, evidence, identity, judge, lock, paths, store
from lab.cell.errors import SpindleError


@dataclass
class Outcome:
    """What came out of one QEMU process."""

    results: dict[str, dict]
    """result.json of each cell, by id."""
    traces: dict[str, str]
    """I/O trace of each cell, by id."""
    console: str
    command: str
    """Shell line with BUILD, WORK and CATALOGUE in place of this machine's paths."""
    timing: boot.Timing
    files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """All files of each cell, by id."""


def made_of(run: cells.Run, build: Path) -> dict[str, dict]:
    """What the cells of a run are made of, as evidence.json has it: identity, the assumptions and catalogue entries
    that were read, and the lock of the image. Refuses built things that are not what they should be."""
    labels = boot.require_built(run, build)
    identities, read = identity.of_run(run, labels), identity.reads(run)
    guest = identity.guest_built(build, run.array, run.guest.thing)
    return {cell.id: {"identity": identities[cell.id], "read": read[cell.id], "lock": guest} for cell in run.cells}


def execute(run: cells.Run, build: Path, work: Path, say, stall_s: float = boot.STALL_S) -> Outcome:
    """Serve a run: boot it and judge what it left."""
    with lock.hold(*boot.things(run, build), what=f"run {run.id}", build=build):
        # Before it starts: a result tells what was booted, not what lies here when it ends.
        made, described = made_of(run, build), identity.catalogue_digests(run)
        left = boot.boot(run, build, work, say, stall_s)
    if identity.catalogue_digests(run) != described:
        raise SpindleError(
            f"{run.id}: its catalogue entries were changed while it started, so nobody can say which it ran with; "
            "give the same command again"
        )
    found = judge.facts(run, left.report, left.traces, left.problem, left.console, left.marks)
    outcome = Outcome({}, {}, left.console, left.command, left.timing)
    for cell in run.cells:
        facts = found[cell.id]
        about = {
            "id": cell.id,
            "boot": left.ended,
            "last": facts.last,
            "until_ns": facts.until_ns,
            "array": [asdict(mark) for mark in facts.array],
            "drained": asdict(facts.drained) if facts.drained else None,
            **made[cell.id],
        }
        files = evidence.pack(about, left.said, facts.lines, left.console, left.command)
        # Derived from what is stored, as by whoever checks it later.
        stored = evidence.about_of(files[evidence.NAME])
        given = evidence.Evidence(evidence.report_text(left.said), facts.lines, left.console, stored)
        result = judge.derive(cell, given)
        outcome.results[cell.id] = result
        outcome.traces[cell.id] = facts.lines
        outcome.files[cell.id] = files | {store.RESULT: store.result_text(result).encode()}
    return outcome


def serve(profile: str, run_id: str, left: Callable[[str, str], str] | None = None) -> None:
    """Run, leave results, and say so; `left` (of profile and run) adds what the profile still needs.

    Raises SpindleError when the machine lacks something.
    """
    run = cells.run(profile, run_id)
    log_path = paths.ROOT / "results" / profile / "logs" / f"{run_id}.log"
    log_path.parent.mkdir(parents=True, exist_ok=True)
    boot.require_space(log_path.parent, boot.space_needed(run))
    with open(log_path, "w", encoding="utf-8") as log, lock.scratch("run") as folder:
        told = time.monotonic()

        def say(line: str) -> None:
            nonlocal told
            print(line, file=log, flush=True)
            # A long run says how far it is, too, but not each of its cells.
            if time.monotonic() - told >= boot.BEAT_S:
                told = time.monotonic()
                print(f"{run_id}: {line}", file=sys.stderr, flush=True)

        last_reason = None
        outcome = execute(run, paths.build(), folder, say)
        for cell in run.cells:
            result = outcome.results[cell.id]
            store.put_in_place(paths.ROOT / paths.cell_dir(profile, cell.id), outcome.files[cell.id])
            if result["status"] == "failed" and result["reason"] != last_reason:
                last_reason = result["reason"]
                say(f"{cell.id}: FAILED: {last_reason}")
        store.write_timing(paths.ROOT / paths.timing_path(profile, run_id), run, outcome.timing)
    failed = sum(result["status"] == "failed" for result in outcome.results.values())
    verdict = f"{failed} of {len(run.cells)} cells FAILED, see {config.show(log_path)}; " if failed else ""
    then = f"; {left(profile, run_id)}" if left else ""
    print(f"{run_id}: {verdict}{outcome.timing.total_s:.0f} s{then}", file=sys.stderr, flush=True)


def main(argv: list[str] | None = None, left: Callable[[str, str], str] | None = None) -> int:
    """Command line; `left` as for `serve`."""
    parser = argparse.ArgumentParser(prog="lab.cell.run", description=__doc__.splitlines()[0])
    parser.add_argument("--profile", required=True, help="a folder of config/profiles")
    parser.add_argument("--run", required=True, help="run id: <controller>.<drive>.t<tags>.<scheduler>")
    options = parser.parse_args(argv)
    # As an exception it unwinds: QEMU is ended and the scratch folder removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        with lock.hold(lock.RESULTS, alone=True, what=f"run {options.run} of profile {options.profile}"):
            serve(options.profile, options.run, left)
    except SpindleError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        print(
            f"error: {error.filename or paths.build()}: the disk is full; make room and give the same command again",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
