# SPDX-License-Identifier: MIT
"""Kernel modules that Debian's kernel package lacks or has read-only, built out of tree from Debian's source.

The packages of envs/kernel.lock are unpacked, not installed: headers and kbuild's tools, and of the source only the
folders of MODULES.  Patches lie in lab/guest/kernel/<module>/, in the order of their names.  The same lock, patches
and compiler give the same bytes in any directory.  Modules belong to one kernel: when the mirror has dropped the
locked one and the image has its successor, headers and source are the successor's too.
"""

import hashlib
import json
import os
import re
import shutil
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

from lab.guest import toolchain
from lab.guest.host import REPOSITORY, BuildError, run
from lab.guest.lockfile import Package, parse
from lab.guest.packages import download, fetch_all, field, say

PATCHES = Path(__file__).resolve().parent / "kernel"
LOCK = REPOSITORY / "envs" / "kernel.lock"


class Module(NamedTuple):
    """One module: its folder in the kernel's source and the options it is built with."""

    folder: str
    options: tuple[str, ...]


MODULES = {
    "ufs": Module("fs/ufs", ("CONFIG_UFS_FS=m", "CONFIG_UFS_FS_WRITE=y")),
    "ntfs3": Module("fs/ntfs3", ("CONFIG_NTFS3_FS=m",)),
}


def patches(name: str) -> list[Path]:
    """Return the patches of a module, in order."""
    return sorted((PATCHES / name).glob("*.patch"))


def sources() -> list[Path]:
    """Return the files of the repository that decide what the modules are."""
    return [Path(__file__).resolve(), LOCK, *(path for name in MODULES for path in patches(name))]


def needed(kernel: str) -> list[str]:
    """Return the packages for a kernel package: "linux-image-6.1.0-56-amd64" -> headers, common, kbuild, source."""
    release = kernel.removeprefix("linux-image-")
    abi, series = release.removesuffix("-amd64"), ".".join(release.split(".")[:2])
    return [
        f"linux-headers-{release}",
        f"linux-headers-{abi}-common",
        f"linux-kbuild-{series}",
        f"linux-source-{series}",
    ]


def key(debs: list[str], chain: str) -> str:
    """Return a name for what comes of these inputs."""
    digest = hashlib.sha256(json.dumps([debs, chain]).encode())
    for path in sources():
        digest.update(f"{path.parent.name}/{path.name}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def fetch(image: Package, deb: Path, cache: Path, scratch: Path) -> tuple[list[Path], str]:
    """Return headers, tools and source of the image's kernel, source last, and the kernel's release."""
    name, version = field(deb, "Package"), field(deb, "Version")
    names = needed(name)
    if (name, version) == (image.name, image.version):
        locked = {package.name: package for package in parse(LOCK.read_text(), "envs/kernel.lock")}
        if sorted(locked) != sorted(names):
            raise BuildError(f"envs/kernel.lock is not for {name}; run `make relock`")
        debs, moved = fetch_all(list(locked.values()), cache, scratch)
        if moved:
            raise BuildError(
                f"the mirror no longer has what belongs to {name} {version} ({moved[0]}), and modules must match the "
                f"kernel. Delete {deb}, so that the kernel moves too, or `make relock`"
            )
        return [debs[name] for name in names], name.removeprefix("linux-image-")
    # The kernel has moved, and the image's manifest says so: the modules are built for the one that it has.
    debs = []
    for name in names:
        found = download(f"{name}={version}", scratch / name)
        if found is None:
            raise BuildError(f"apt cannot fetch {name} {version}, which the kernel in the image needs; `make relock`")
        debs.append(Path(shutil.move(found, cache / found.name)))
    return debs, names[0].removeprefix("linux-headers-")


def extract_source(deb: Path, series: str, cache: Path, target: Path) -> Path:
    """Unpack the modules' folders from the source package, without storing its 138 MB archive; kept for next time."""
    kept = cache / f"{deb.stem}.source"
    if kept.is_dir():
        return kept
    target.mkdir(parents=True)
    archive = f"./usr/src/linux-source-{series}.tar.xz"
    # positional, so that no path is taken for shell code
    script = 'dpkg-deb --fsys-tarfile "$1" | tar -xO "$2" | (shift 2; cd "$1"; shift; tar -xJ --wildcards "$@")'
    wanted = [f"linux-source-{series}/{module.folder}/*" for module in MODULES.values()]
    run(["bash", "-o", "pipefail", "-c", script, "bash", str(deb), archive, str(target), *wanted])
    os.rename(target / f"linux-source-{series}", kept)
    return kept


def unpack_headers(debs: list[Path], target: Path, release: str) -> Path:
    """Unpack headers and tools side by side; return the folder that kbuild starts in."""
    for deb in debs:
        run(["dpkg-deb", "--extract", str(deb), str(target)])
    headers = target / "usr" / "src" / f"linux-headers-{release}"
    makefile = headers / "Makefile"
    # The packages expect to lie in /usr/src; a makefile that includes its neighbour works anywhere.
    makefile.write_text(makefile.read_text().replace("include /usr/src/", "include ../"))
    # fixdep, modpost and objtool are built for Debian's C library, which the host need not have.
    toolchain.current().adopt(target / "usr" / "lib")
    return headers


def build_one(name: str, headers: Path, source: Path, scratch: Path) -> Path:
    """Patch and build one module; return the stripped file."""
    folder = scratch / name
    shutil.copytree(source / MODULES[name].folder, folder)
    for patch in patches(name):
        run(["patch", "--batch", "--forward", "--fuzz=0", "-p3", "-i", str(patch)], cwd=folder)
    # Options reach the C code by autoconf.h inside a kernel tree, and by the command line outside of it.
    defines = [
        f"-D{option.removesuffix('=y')}=1" if option.endswith("=y") else f"-D{option.removesuffix('=m')}_MODULE=1"
        for option in MODULES[name].options
    ]
    flags = [*defines, f"-ffile-prefix-map={scratch}=.", "-g0"]
    chain = toolchain.current()
    # kbuild calls compiler and linker by their names, and finds the toolchain's.
    chain.run_host(
        ["make", "-C", str(headers), f"-j{os.cpu_count() or 1}", f"M={folder}", *MODULES[name].options,
         f"KCFLAGS={' '.join(flags)}", "LDFLAGS_MODULE=--build-id=none", "modules"]
    )  # fmt: skip
    module = folder / f"{name}.ko"
    chain.run(["strip", "--strip-debug", "--remove-section=.note.gnu.build-id", str(module)])
    return module


def build(debs: list[Path], release: str, cache: Path, scratch: Path) -> dict[str, Path]:
    """Return the file of each module, from the cache or made now. DEBS: as needed() names them; source comes last."""
    kept = cache / f"modules-{key([deb.name for deb in debs], toolchain.current().key)}"
    files = {name: kept / f"{name}.ko" for name in MODULES}
    if all(path.is_file() for path in files.values()):
        return files
    scratch.mkdir(parents=True)
    fresh = scratch / "fresh"
    fresh.mkdir()
    source = extract_source(debs[-1], ".".join(release.split(".")[:2]), cache, scratch / "source")
    # kbuild takes no path with a space or a colon in it. The folder's name is in no byte of a module.
    plain = not re.search(r"[^\w./+,@-]", str(scratch))
    with nullcontext(scratch) if plain else tempfile.TemporaryDirectory(prefix="spindle-kbuild-") as folder:
        headers = unpack_headers(debs[:-1], Path(folder) / "headers", release)
        for name in MODULES:
            shutil.copyfile(build_one(name, headers, source, Path(folder) / "work"), fresh / f"{name}.ko")
    shutil.rmtree(kept, ignore_errors=True)
    os.rename(fresh, kept)
    return files


def add(image: Package, deb: Path, root: Path, cache: Path, scratch: Path) -> None:
    """Build our modules for the kernel package IMAGE, whose file is DEB, and put them into the root's module tree, in
    place of Debian's where it has them."""
    debs, release = fetch(image, deb, cache, scratch / "kernel-debs")
    say("kernel modules: " + ", ".join(MODULES))
    files = build(debs, release, cache.parent, scratch / "kernel")
    for name, file in files.items():
        target = root / "lib" / "modules" / release / "kernel" / MODULES[name].folder / f"{name}.ko"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
