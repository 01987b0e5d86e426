# SPDX-License-Identifier: MIT
"""File-system images: made once per drive, in the guest, by the file system's own tools; each cell starts from a copy.

    python -m lab.cell.images --file-system ext2 --drive ultrastar-36zx

The image is build/filesystems/<drive>.<file system>.<identity>.img, sparse, as large as the drive; an array has one
for each disk, <drive>.<array>.<file system>.<identity>.disk<number>.img. Where a workload wants data there before it
begins (workloads/<name>/image.toml), that is put on a further image, again once.
"""

import argparse
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from lab.cell import boot, catalogue, cells, filesystems, identity, job, judge, lock, papers, paths, settings, volumes
from lab.cell.errors import AlreadyRunning, ConfigError, SpindleError


def lock_of(files: list[Path]) -> str:
    """The lock of an image, by its files."""
    return f"filesystems/{files[0].stem}"


def make(image: identity.Image, build: Path) -> list[Path]:
    """Make one image, whole or not at all, and the empty one behind it where that is missing; returns its files. Nobody
    starts from it meanwhile."""
    catalogue.require("drives", image.drive, "--drive")
    filesystems.require(image.file_system, "--file-system")
    volumes.require(image.array, catalogue.controller(identity.image_controller(image)), "--array")
    if image.workload is not None and cells.preparation(image.workload) is None:
        raise SpindleError(f"--workload: {image.workload!r} wants nothing on the file system (it has no image.toml)")
    hardware = volumes.hardware(image.array)
    settings.check(image.paper, image.set, image.drive, hardware.name if hardware else None, "--set")
    targets = identity.image_paths(build, image)
    if image.workload:
        ensure(image.empty, build)
    one = identity.image_run(image)
    print(f"image {image.name}: about {about(image)} ...", file=sys.stderr, flush=True)
    targets[0].parent.mkdir(parents=True, exist_ok=True)
    with (
        lock.hold(lock_of(targets), alone=True, what=f"image {image.name}", build=build),
        lock.scratch("image") as work,
    ):
        left = boot.boot(one, build, work, lambda line: print(line, file=sys.stderr))
        said = left.report.cells.get(job.IMAGE_LABEL)
        problem = left.problem or (judge.check_problem(left.report) if image.workload else None)
        if problem or said is None or said.problem or not said.ended:
            words = "; ".join([*said.errors[-3:], *said.said[-1:]]) if said else ""
            reason = (said.problem if said else None) or problem or "the guest did not say that it is done"
            raise SpindleError(f"{image.name}: cannot be made: {reason} {words}".rstrip())
        partials = [target.with_name(f".{target.name}.new") for target in targets]
        for file, partial in zip(job.disk_files(one), partials, strict=True):
            partial.unlink(missing_ok=True)
            boot.copy_sparse(work / file, partial)
        for partial, target in zip(partials, targets, strict=True):
            partial.replace(target)
    used_bytes = sum(target.stat().st_blocks * 512 for target in targets)
    sizes = f"{used_bytes >> 20} MiB of {len(targets) * targets[0].stat().st_size >> 20} MiB"
    print(f"{image.name}: {left.timing.total_s:.0f} s, {sizes}", file=sys.stderr)
    return targets


def about(image: identity.Image) -> str:
    """Roughly how long an image takes, for people."""
    if image.workload is None:
        return "20 s"
    if image.scale != "1":
        return "2 min or less"
    return "10 min" if image.array == volumes.NONE else "15 min"


def of_papers(image: identity.Image, build: Path) -> Iterator[Path]:
    """Files of the same image of each paper. A paper that lacks an assumption has none."""
    for paper in papers.ids():
        with suppress(ConfigError):
            yield from identity.image_paths(build, replace(image, paper=paper))


def drop_others(image: identity.Image, current: list[Path]) -> None:
    """Remove what was made of older sources, but for what somebody starts from; trials with other assumptions make
    theirs again."""
    made = re.compile(rf"{re.escape(image.name)}\.[0-9a-f]{{16}}(\.disk[0-9]+)?\.img")
    kept = {*current, *of_papers(image, paths.build())}
    for old in current[0].parent.glob(f"{image.name}.*.img"):
        if made.fullmatch(old.name) and old not in kept:
            with (
                suppress(AlreadyRunning),
                lock.hold(lock_of([old]), alone=True, what=f"removal of {old.name}", refuse=True, build=old.parents[1]),
            ):
                old.unlink(missing_ok=True)


def ensure(image: identity.Image, build: Path) -> list[Path]:
    """Make an image if it is not there; returns its files."""
    files = identity.image_paths(build, image)
    if all(path.is_file() for path in files):
        return files
    with lock.hold(lock_of(files), alone=True, what=f"image {image.name}", build=build):
        # Somebody else may have made it while this one waited.
        return files if all(path.is_file() for path in files) else make(image, build)


def main(argv: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="lab.cell.images", description=__doc__.splitlines()[0])
    parser.add_argument("--file-system", required=True, help=f"one of {', '.join(filesystems.names())}")
    parser.add_argument("--drive", required=True, help="file name in lab/disk/catalogue/drives without .toml")
    parser.add_argument("--workload", help="with the data on it that this workload starts from (netnews)")
    parser.add_argument("--scale", default="1", help="scale of that data (default: %(default)s)")
    parser.add_argument("--array", default=volumes.NONE, help="an array of such drives, e.g. md-raid0-4")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as in a row of the sheet")
    parser.add_argument("--asked", type=Path, help="make it only where it is missing, and leave this note")
    parser.add_argument("--paper", default=papers.ids()[0], help="whose assumptions hold (default: %(default)s)")
    options = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        image = identity.Image(
            options.file_system,
            options.drive,
            options.workload,
            options.scale,
            options.array,
            tuple(options.set),
            options.paper,
        )
        drop_others(image, (ensure if options.asked else make)(image, paths.build()))
        if options.asked:
            options.asked.touch()
    except SpindleError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
