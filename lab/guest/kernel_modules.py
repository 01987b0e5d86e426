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
import shutil
from pathlib import Path
from typing import NamedTuple

PATCHES = Path(__file__).resolve().parent / "kernel"


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
    return [Path(__file__).resolve(), *(path for name in MODULES for path in patches(name))]


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


def key(debs: list[str], gcc: str) -> str:
    """Return a name for what comes of these inputs."""
    digest = hashlib.sha256(json.dumps([debs, gcc]).encode())
    for path in sources():
        digest.update(f"{path.parent.name}/{path.name}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def extract_source(run, deb: Path, series: str, cache: Path, target: Path) -> Path:
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


def unpack_headers(run, debs: list[Path], target: Path, release: str) -> Path:
    """Unpack headers and tools side by side; return the folder that kbuild starts in."""
    for deb in debs:
        run(["dpkg-deb", "--extract", str(deb), str(target)])
    headers = target / "usr" / "src" / f"linux-headers-{release}"
    makefile = headers / "Makefile"
    # The packages expect to lie in /usr/src; a makefile that includes its neighbour works anywhere.
    makefile.write_text(makefile.read_text().replace("include /usr/src/", "include ../"))
    return headers


def build_one(run, name: str, headers: Path, source: Path, scratch: Path) -> Path:
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
    run(
        ["make", "-C", str(headers), f"-j{os.cpu_count() or 1}", f"M={folder}", *MODULES[name].options,
         f"KCFLAGS={' '.join(flags)}", "LDFLAGS_MODULE=--build-id=none", "modules"]
    )  # fmt: skip
    module = folder / f"{name}.ko"
    run(["strip", "--strip-debug", "--remove-section=.note.gnu.build-id", str(module)])
    return module


def build(run, debs: list[Path], release: str, gcc: str, cache: Path, scratch: Path) -> dict[str, Path]:
    """Return the file of each module, from the cache or made now. DEBS: as needed() names them; source comes last."""
    kept = cache / f"modules-{key([deb.name for deb in debs], gcc)}"
    files = {name: kept / f"{name}.ko" for name in MODULES}
    if all(path.is_file() for path in files.values()):
        return files
    scratch.mkdir(parents=True)
    headers = unpack_headers(run, debs[:-1], scratch / "headers", release)
    source = extract_source(run, debs[-1], ".".join(release.split(".")[:2]), cache, scratch / "source")
    fresh = scratch / "fresh"
    fresh.mkdir()
    for name in MODULES:
        shutil.copyfile(build_one(run, name, headers, source, scratch / "work"), fresh / f"{name}.ko")
    shutil.rmtree(kept, ignore_errors=True)
    os.rename(fresh, kept)
    return files
