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
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lab.cell import boot, cells, config, identity, judge, lock, lost_members, paths, store, trace, volumes
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


def result_of(
    run: cells.Run,
    cell: cells.Cell,
    made_from: dict,
    metrics: dict | None,
    reason: str | None,
    array: lost_members.Array | None = None,
) -> dict:
    """result.json of a cell, checked against its schema. `made_from` has its `identity`, what it `read`, and the `lock`
    of the image it ran on; `array` is a hardware array that lost members."""
    result = {
        "schema": "spindle-result/1",
        "id": cell.id,
        "run": run.id,
        "status": "ok" if reason is None else "failed",
        "reason": reason,
        "cell": {
            "guest": "linux",
            "controller": cell.controller,
            "drive": cell.drive,
            **({} if cell.array == volumes.NONE else {"array": cell.array}),
            **({"set": cell.settings.overrides} if cell.set else {}),
            "tags": cell.tags,
            "host_scheduler": cell.host_scheduler,
            "disk_scheduler": cell.disk_scheduler,
            "file_system": cell.file_system,
            "workload": cell.workload,
            "parameters": cell.parameters,
            "scale": float(cell.scale) if cell.scale != "1" else 1,
            "seed": cell.seed,
        },
        "clock": {
            "kind": "virtual",
            "ns_per_instruction": run.settings.value("cpu_ns_per_instruction"),
        },
        "metrics": metrics,
        **({"array_state": lost_members.result_of(array)} if array else {}),
        **made_from,
    }
    config.check(result, "result", f"result of {cell.id}")
    return result


def execute(run: cells.Run, build: Path, work: Path, say, stall_s: float = boot.STALL_S) -> Outcome:
    """Serve a run: boot it and judge what it left."""
    with lock.hold(*boot.things(run, build), what=f"run {run.id}", build=build):
        # Before it starts: a result tells what was booted, not what lies here when it ends.
        labels = boot.require_built(run, build)
        identities, read, described = identity.of_run(run, labels), identity.reads(run), identity.catalogue_digests(run)
        guest = identity.guest_built(build, run.array)
        left = boot.boot(run, build, work, say, stall_s)
    made_from = {cell.id: {"identity": identities[cell.id], "read": read[cell.id], "lock": guest} for cell in run.cells}
    if identity.catalogue_digests(run) != described:
        raise SpindleError(
            f"{run.id}: its catalogue entries were changed while it started, so nobody can say which it ran with; "
            "give the same command again"
        )
    verdicts = judge.judge(run, left.report, left.traces, left.problem, left.console, left.array)
    return Outcome(
        results={
            cell.id: result_of(run, cell, made_from[cell.id], *verdicts[cell.id], left.array) for cell in run.cells
        },
        traces={cell.id: left.traces.get(cell.id, trace.HEADER + "\n") for cell in run.cells},
        console=left.console,
        command=left.command,
        timing=left.timing,
    )


def serve(profile: str, run_id: str, left: Callable[[str], str] | None = None) -> None:
    """Run, leave results, and say so; `left` adds what the profile still needs.

    Raises SpindleError when the machine lacks something.
    """
    run = cells.run(profile, run_id)
    log_path = paths.ROOT / "results" / profile / "logs" / f"{run_id}.log"
    log_path.parent.mkdir(parents=True, exist_ok=True)
    boot.require_space(log_path.parent, boot.space_needed(run))
    with open(log_path, "w", encoding="utf-8") as log, lock.scratch("run") as folder:

        def say(line: str) -> None:
            print(line, file=log, flush=True)

        last_reason = None
        outcome = execute(run, paths.build(), folder, say)
        for cell in run.cells:
            result = outcome.results[cell.id]
            store.write_cell(
                paths.ROOT / paths.cell_dir(profile, cell.id),
                result,
                outcome.traces[cell.id],
                outcome.console,
                outcome.command,
            )
            if result["status"] == "failed" and result["reason"] != last_reason:
                last_reason = result["reason"]
                say(f"{cell.id}: FAILED: {last_reason}")
        store.write_timing(paths.ROOT / paths.timing_path(profile, run_id), run, outcome.timing)
    failed = sum(result["status"] == "failed" for result in outcome.results.values())
    verdict = f"{failed} of {len(run.cells)} cells FAILED, see {config.show(log_path)}; " if failed else ""
    then = f"; {left(profile)}" if left else ""
    print(f"{run_id}: {verdict}{outcome.timing.total_s:.0f} s{then}", file=sys.stderr, flush=True)


def main(argv: list[str] | None = None, left: Callable[[str], str] | None = None) -> int:
    """Command line; `left` as for `serve`."""
    parser = argparse.ArgumentParser(prog="lab.cell.run", description=__doc__.splitlines()[0])
    parser.add_argument("--profile", required=True, help="smoke, quick or full")
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
