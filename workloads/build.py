# SPDX-License-Identifier: MIT
"""Build the image of each workload: build/workloads/<name>.erofs, mounted in the guest at /run/workload/<name>.

    python -m workloads.build [NAME ...]        default: all

One image a workload, so that a change to one re-runs the cells of that one only. What a folder workloads/<name>
gives to its image:

    *.c            compiled statically, named by its stem, together with all *.c of a folder of that stem,
                   if there is one; may include headers of workloads/common
    *.sh           installed without the suffix
    share/         copied as it is
    sources.lock   files of Debian source packages, fetched, checked, put into share/:
                   lines of package, file name, SHA-256
"""

import argparse
import os
import re
import shutil
from pathlib import Path

from lab.cell import lock
from lab.guest.host import REPOSITORY, BuildError, build_folder, one_message, run
from lab.guest.imaging import COMMON, compile_program, make_erofs
from lab.guest.lockfile import LockError
from lab.guest.wishes import RelockError

WORKLOADS = REPOSITORY / "workloads"
UUID = "5370696e-646c-4000-8000-000000000002"
SOURCE_LINE = re.compile(r"([a-z0-9][a-z0-9+.-]+) (\S+) ([0-9a-f]{64})")


def names() -> list[str]:
    """Every workload: the folders that have a README, but for what they share."""
    return sorted(path.parent.name for path in WORKLOADS.glob("*/README.md") if path.parent != REPOSITORY / COMMON)


def read_sources(path: Path) -> list[tuple[str, str, str]]:
    """Source package, file name and SHA-256 of each line of a sources.lock; none where there is no such file."""
    if not path.is_file():
        return []
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = SOURCE_LINE.fullmatch(line.strip())
        if not match:
            raise BuildError(
                f"{path.relative_to(REPOSITORY)}:{number}: {line!r} is not `package file sha256`; correct the line"
            )
        found.append((match[1], match[2], match[3]))
    return found


def build_one(name: str, build: Path) -> None:
    """Make one workload's image, whole or not at all. Nobody boots with it meanwhile."""
    if name not in names():
        raise BuildError(f"there is no workload {name!r}; known are: {', '.join(names())}")
    with lock.hold(f"workloads/{name}", alone=True, what=f"build of workload {name}", build=build):
        _build_one(name, build)


def _build_one(name: str, build: Path) -> None:
    source = WORKLOADS / name
    out, scratch = build / "workloads", build / "workloads" / f".{name}.tmp"
    shutil.rmtree(scratch, ignore_errors=True)
    root = scratch / "root"
    (root / "share").mkdir(parents=True)
    for path in sorted(source.glob("*.c")):
        compile_program(path, root / path.stem)
    for path in sorted(source.glob("*.sh")):
        shutil.copyfile(path, root / path.stem)
        (root / path.stem).chmod(0o755)
    if (source / "share").is_dir():
        shutil.copytree(source / "share", root / "share", dirs_exist_ok=True)
    for package, file, digest in read_sources(source / "sources.lock"):
        cache = build / "cache"
        run([str(REPOSITORY / "envs/fetch-source"), str(cache), package, file, digest])
        shutil.copyfile(cache / file, root / "share" / file)
    for folder, folders, files in os.walk(root):
        for entry in folders + files:
            path = Path(folder) / entry
            # What a checkout's umask left must not show in the image.
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
    make_erofs(root, scratch / "image", UUID)
    os.replace(scratch / "image", out / f"{name}.erofs")
    shutil.rmtree(scratch)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="workloads.build", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="workloads to build (default: all)")
    options = parser.parse_args()
    os.umask(0o022)
    build = build_folder()
    (build / "workloads").mkdir(parents=True, exist_ok=True)
    for name in options.names or names():
        build_one(name, build)
        print(f"workloads: built {name}", flush=True)


if __name__ == "__main__":
    one_message("workloads", main, LockError, RelockError)
