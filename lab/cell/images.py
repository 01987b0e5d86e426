# SPDX-License-Identifier: MIT
"""File-system images: made once per drive, in the guest, by the file system's own tools; each cell starts from a copy.

    python -m lab.cell.images --file-system ext2 --drive ultrastar-36zx

The image is build/filesystems/<drive>.<file system>.<identity>.img, sparse, as large as the drive. Where a workload
wants data there before it begins (workloads/<name>/image.toml), that is put on a further image, again once.
"""

import argparse
import signal
import sys
import tempfile
from pathlib import Path

from lab.cell import catalogue, cells, filesystems, identity, job, paths, run
from lab.cell.errors import SpindleError


def make(image: identity.Image, build: Path) -> Path:
    """Make one image, whole or not at all, and the empty one behind it where that is missing; returns its path."""
    catalogue.require("drives", image.drive, "--drive")
    filesystems.require(image.file_system, "--file-system")
    if image.workload is not None and cells.preparation(image.workload) is None:
        raise SpindleError(f"--workload: {image.workload!r} wants nothing on the file system (it has no image.toml)")
    target = identity.image_path(build, image)
    if image.workload:
        ensure(image.empty, build)
    device_bytes = run.drive_bytes(build, image.drive)
    one = identity.image_run(image, str(device_bytes))
    scratch = build / "run"
    scratch.mkdir(parents=True, exist_ok=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        work = Path(folder)
        left = run.boot(one, build, work, lambda line: print(line, file=sys.stderr))
        said = left.report.cells.get(job.IMAGE_LABEL)
        problem = left.problem or (run.check_problem(left.report) if image.workload else None)
        if problem or said is None or said.problem or not said.ended:
            words = "; ".join([*said.errors[-3:], *said.said[-1:]]) if said else ""
            reason = (said.problem if said else None) or problem or "the guest did not say that it is done"
            raise SpindleError(f"{image.name}: cannot be made: {reason} {words}".rstrip())
        partial = target.with_name(f".{target.name}.new")
        partial.unlink(missing_ok=True)
        run.copy_sparse(work / "disk.img", partial)
        partial.replace(target)
    sizes = f"{target.stat().st_blocks >> 11} MiB of {device_bytes >> 20} MiB"
    print(f"{image.name}: {left.timing.total_s:.0f} s, {sizes}", file=sys.stderr)
    return target


def drop_others(image: identity.Image, current: Path) -> None:
    """Remove what was made of older sources; trials with other assumptions make theirs again."""
    for old in current.parent.glob(f"{image.name}.{'[0-9a-f]' * 16}.img"):
        if old != current:
            old.unlink()


def ensure(image: identity.Image, build: Path) -> Path:
    """Make an image if it is not there; returns its path."""
    path = identity.image_path(build, image)
    return path if path.is_file() else make(image, build)


def main(argv: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="lab.cell.images", description=__doc__.splitlines()[0])
    parser.add_argument("--file-system", required=True, help=f"one of {', '.join(filesystems.names())}")
    parser.add_argument("--drive", required=True, help="file name in lab/disk/catalogue/drives without .toml")
    parser.add_argument("--workload", help="with the data on it that this workload starts from (netnews)")
    parser.add_argument("--scale", default="1", help="scale of that data (default: %(default)s)")
    options = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        image = identity.Image(options.file_system, options.drive, options.workload, options.scale)
        drop_others(image, make(image, paths.build()))
    except SpindleError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
