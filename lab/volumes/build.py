# SPDX-License-Identifier: MIT
"""Build the volume managers' image: build/volumes/tools.erofs, mounted in the guest at /run/workload/tools.

    python -m lab.volumes.build

It is an image of its own, because what is put into the guest's system disk re-runs every cell. Its top folder is on
the guest's search path:

    NAME            each program of a package in packages.txt: a script that calls programs/NAME with lib/
    load-modules    loads kernel modules of modules.txt
    name-disks      names disks by serial number

The packages are those of envs/volumes.lock, the modules those of the guest's kernel. The same locks and sources give
the same bytes. SPINDLE_BUILD moves build/.
"""

import fcntl
import json
import os
import re
import shutil
from pathlib import Path

from lab.guest import build as guest
from lab.guest import kernel_modules, modules
from lab.guest.host import REPOSITORY, BuildError, build_folder, one_message, run, sha256
from lab.guest.imaging import make_erofs
from lab.guest.lockfile import LockError, Package, parse
from lab.guest.packages import fetch_all
from lab.guest.wishes import RelockError, parse_wishes

HERE = REPOSITORY / "lab" / "volumes"
LOCK = REPOSITORY / "envs" / "volumes.lock"
SCHEMA = "spindle-volumes/1"
UUID = "5370696e-646c-4000-8000-000000000003"
PROGRAM_FOLDERS = ("bin", "sbin", "usr/bin", "usr/sbin")
LIBRARY_FOLDERS = ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu")
CALL = """#!/bin/sh
LD_LIBRARY_PATH=${0%/*}/lib exec "${0%/*}/programs/${0##*/}" "$@"
"""


def add_programs(wanted: list[str], debs: dict[str, Path], root: Path, scratch: Path) -> None:
    """Programs of the wanted packages, libraries of all."""
    (root / "programs").mkdir()
    (root / "lib").mkdir()
    for name in sorted(debs):
        unpacked = scratch / "unpacked" / name
        unpacked.mkdir(parents=True)
        run(["dpkg-deb", "--extract", str(debs[name]), str(unpacked)])
        for folder in LIBRARY_FOLDERS:
            for library in sorted((unpacked / folder).glob("*.so*")):
                shutil.copy2(library, root / "lib", follow_symlinks=False)
        for folder in PROGRAM_FOLDERS if name in wanted else ():
            for program in sorted((unpacked / folder).glob("*")):
                shutil.copyfile(program, root / "programs" / program.name)
                (root / program.name).write_text(CALL)
                for path in (root / program.name, root / "programs" / program.name):
                    path.chmod(0o755)


def add_modules(kernel: Path, root: Path, scratch: Path) -> None:
    """Modules that the guest's system disk lacks, and for each wanted one the order to load what it needs: lines of
    `here` or `guest`, where it is, and its name."""
    unpacked = scratch / "kernel"
    run(["dpkg-deb", "--extract", str(kernel), str(unpacked)])
    trees = list((unpacked / "lib" / "modules").iterdir())
    if len(trees) != 1:
        raise BuildError(f"{kernel.name}: {len(trees)} kernels in it, expected one")
    guest_boot, guest_other = modules.parse_modules(modules.MODULES.read_text())
    debian = [name for name in guest_boot + guest_other if name not in kernel_modules.MODULES]
    in_guest = set(modules.module_closure(debian, trees[0]))
    (root / "modules").mkdir()
    for number, line in enumerate((HERE / "modules.txt").read_text().splitlines(), start=1):
        name = line.partition("#")[0].strip()
        if not name:
            continue
        if not re.fullmatch(r"[a-z0-9_-]+", name):
            raise BuildError(f"lab/volumes/modules.txt:{number}: {name!r} is not a module's name")
        order = []
        for file in modules.module_closure([name], trees[0]):
            module = file.stem.replace("-", "_")
            order.append(f"{'guest' if file in in_guest else 'here'} {module}\n")
            if file not in in_guest and not (root / "modules" / f"{module}.ko").exists():
                shutil.copyfile(file, root / "modules" / f"{module}.ko")
                modules.strip_signature(root / "modules" / f"{module}.ko")
        (root / "modules" / name).write_text("".join(order))


def build_image(build: Path, scratch: Path) -> list[str]:
    """Make the image in `scratch`; returns what moved in the locks."""
    packages = parse(LOCK.read_text(), "envs/volumes.lock")
    kernels = [p for p in parse(guest.LOCK.read_text()) if re.match(r"linux-image-\d", p.name)]
    if len(kernels) != 1:
        raise BuildError(f"envs/guest.lock: {len(kernels)} kernels in it, expected one; run `make relock`")
    kernel: Package = kernels[0]
    wanted, _ = parse_wishes((HERE / "packages.txt").read_text(), "lab/volumes/packages.txt")
    missing = sorted(set(wanted) - {package.name for package in packages})
    if missing:
        raise BuildError(f"envs/volumes.lock: {missing[0]} is not in it; run `make relock`")
    debs, moved = fetch_all([*packages, kernel], build / "cache" / "debs", scratch / "download")
    root = scratch / "root"
    root.mkdir()
    add_modules(debs.pop(kernel.name), root, scratch)
    add_programs(wanted, debs, root, scratch)
    for script in sorted(HERE.glob("*.sh")):
        shutil.copyfile(script, root / script.stem)
    for folder, folders, files in os.walk(root):
        for entry in folders + files:
            path = Path(folder) / entry
            if not path.is_symlink():
                # What a checkout's umask left must not show in the image.
                runs = path.is_dir() or path.parent in (root, root / "programs")
                path.chmod(0o755 if runs else 0o644)
    make_erofs(root, scratch / "tools.erofs", UUID)
    return moved


def main() -> None:
    """Build the image, whole or not at all."""
    os.umask(0o022)
    build = build_folder()
    out, scratch = build / "volumes", build / "volumes" / ".tmp"
    out.mkdir(parents=True, exist_ok=True)
    with (out / ".busy").open("w") as busy:
        fcntl.flock(busy, fcntl.LOCK_EX)
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        moved = build_image(build, scratch)
        manifest = {"schema": SCHEMA, "lock": sha256(LOCK), "moved": moved, "sha256": sha256(scratch / "tools.erofs")}
        (scratch / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
        for name in ("tools.erofs", "manifest.json"):
            os.replace(scratch / name, out / name)
        shutil.rmtree(scratch)
    print("volumes: built tools.erofs", flush=True)


if __name__ == "__main__":
    one_message("volumes", main, LockError, RelockError)
