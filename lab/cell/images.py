# SPDX-License-Identifier: MIT
"""File-system images: made once per drive, in the guest, by the file system's own tools; each cell starts from a copy.

    python -m lab.cell.images --file-system ext2 --drive ultrastar-36zx

The image is build/filesystems/<drive>.<file system>.<identity>.img, sparse, as large as the drive.
"""

import argparse
import signal
import sys
import tempfile
from pathlib import Path

from lab.cell import catalogue, filesystems, identity, paths, run
from lab.cell.errors import SpindleError


def make(file_system: str, drive: str, build: Path) -> Path:
    """Make one image, whole or not at all; returns its path."""
    catalogue.require("drives", drive, "--drive")
    filesystems.require(file_system, "--file-system")
    target = identity.image_path(build, file_system, drive)
    device_bytes = run.drive_bytes(build, drive)
    one = identity.image_run(file_system, drive, str(device_bytes))
    scratch = build / "run"
    scratch.mkdir(parents=True, exist_ok=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        work = Path(folder)
        left = run.boot(one, build, work, lambda line: print(line, file=sys.stderr))
        said = left.report.cells.get(identity.IMAGE_LABEL)
        if left.problem or said is None or said.problem or not said.ended:
            words = "; ".join([*said.errors[-3:], *said.said[-1:]]) if said else ""
            reason = left.problem or (said.problem if said else None) or "the guest did not say that it is done"
            raise SpindleError(f"{file_system} on {drive}: cannot be made: {reason} {words}".rstrip())
        partial = target.with_name(f".{target.name}.new")
        partial.unlink(missing_ok=True)
        run.copy_sparse(work / "disk.img", partial)
        partial.replace(target)
    for old in target.parent.glob(f"{drive}.{file_system}.*.img"):
        if old != target:
            old.unlink()
    sizes = f"{target.stat().st_blocks >> 11} MiB of {device_bytes >> 20} MiB"
    print(f"{file_system} on {drive}: {left.timing.total_s:.0f} s, {sizes}", file=sys.stderr)
    return target


def main(argv: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="lab.cell.images", description=__doc__.splitlines()[0])
    parser.add_argument("--file-system", required=True, help=f"one of {', '.join(filesystems.names())}")
    parser.add_argument("--drive", required=True, help="file name in lab/disk/catalogue/drives without .toml")
    options = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        make(options.file_system, options.drive, paths.build())
    except SpindleError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
