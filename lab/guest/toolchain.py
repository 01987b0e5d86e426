# SPDX-License-Identifier: MIT
"""The toolchain that makes every byte of the guest: compiler, C library, binutils, image tools, all of locked packages.

What envs/toolchain-packages.txt names, and what that depends on, is unpacked, not installed: versions come from
envs/guest.lock where the guest has the package itself, and from envs/toolchain.lock otherwise. It lies in
build/cache/toolchain-<hash of the locks and of this code>:

    root/           the packages' files
    bin/NAME        for each program a script that starts it with the packages' own loader and libraries
    manifest.json   packages, with versions and sums, and what moved

The host gives a shell and a kernel. Its C library, compiler and headers are not used, whatever they are.
"""

import fcntl
import hashlib
import json
import os
import re
import shlex
import shutil
import struct
from functools import cache, cached_property
from pathlib import Path

from lab.guest import packages
from lab.guest.host import REPOSITORY, BuildError, build_folder, run, sha256
from lab.guest.lockfile import Package, parse
from lab.guest.wishes import parse_wishes

WISHES = REPOSITORY / "envs" / "toolchain-packages.txt"
LOCK = REPOSITORY / "envs" / "toolchain.lock"
GUEST_LOCK = REPOSITORY / "envs" / "guest.lock"

SCHEMA = "spindle-toolchain/1"
LOADER = "lib64/ld-linux-x86-64.so.2"
LIBRARIES = ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu")
PROGRAMS = ("bin", "sbin", "usr/bin", "usr/sbin")
GCC = "usr/lib/gcc/x86_64-linux-gnu"

# Without one of these, a host's program of that name would be taken in its place.
REQUIRED = ["gcc", "cc1", "collect2", "as", "ld", "ar", "nm", "strip", "objcopy", "objdump", "readelf",
            "mkfs.erofs", "depmod", "modinfo"]  # fmt: skip

# AT is the folder root/. The loader takes no library from the host: its cache is off, and check() has seen each one.
CALL = """#!/bin/sh
at={at}
exec "$at/{loader}" --inhibit-cache --library-path "{libraries}" --argv0 {name} {program}{options} "$@"
"""
# The driver finds its parts by -B, start files and libraries below --sysroot.
GCC_OPTIONS = ' -B"$at/../bin/" --sysroot="$at"'


def sources() -> list[Path]:
    """Return the files of the repository that decide what the toolchain is."""
    own = [
        Path(__file__).resolve().parent / f"{name}.py"
        for name in ("host", "lockfile", "packages", "toolchain", "wishes")
    ]
    return [*own, WISHES, LOCK, GUEST_LOCK]


class Toolchain:
    """An unpacked toolchain."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.bin = folder / "bin"
        self.root = folder / "root"

    @cached_property
    def manifest(self) -> dict:
        """What it was made of."""
        return json.loads((self.folder / "manifest.json").read_text())

    @property
    def moved(self) -> list[str]:
        """Packages that the mirror has in another version than the lock."""
        return self.manifest["moved"]

    @property
    def versions(self) -> dict[str, str]:
        """The wanted packages and their versions."""
        return self.manifest["tools"]

    @property
    def key(self) -> str:
        """One hash over the packages it was made of, and over how it is called."""
        code = [sha256(Path(__file__).resolve().with_name(f"{name}.py")) for name in ("host", "toolchain")]
        return hashlib.sha256(json.dumps([self.manifest["packages"], code], sort_keys=True).encode()).hexdigest()

    def run(self, command: list[str], cwd: Path | None = None) -> str:
        """Run one of the toolchain's programs and return its standard output."""
        if not (self.bin / command[0]).is_file():
            raise BuildError(f"{self.folder}: no program {command[0]} in it; see envs/toolchain-packages.txt")
        return run([str(self.bin / command[0]), *command[1:]], cwd=cwd, first=self.bin)

    def run_host(self, command: list[str], cwd: Path | None = None) -> str:
        """Run a program of the host's that calls others: it finds the toolchain's before the host's."""
        return run(command, cwd=cwd, first=self.bin)

    def includes(self) -> list[str]:
        """Options with which gcc sees the toolchain's headers and no others."""
        folders = [*sorted((self.root / GCC).glob("*/include")), self.root / "usr/include/x86_64-linux-gnu",
                   self.root / "usr/include"]  # fmt: skip
        return ["-nostdinc", *(word for folder in folders for word in ("-isystem", str(folder)))]

    def check_libraries(self, program: Path) -> None:
        """Refuse a program that would take a library from the host: the loader looks there for what ours lack."""
        libraries = ":".join(str(self.root / folder) for folder in LIBRARIES)
        listed = run([str(self.root / LOADER), "--inhibit-cache", "--library-path", libraries, "--list", str(program)])
        for library, place in re.findall(r"^\s*(\S+) => (not found|.+?)(?: \(0x[0-9a-f]+\))?$", listed, re.M):
            if not Path(place).is_relative_to(self.root):
                raise BuildError(
                    f"{program} needs {library}, which no package of the toolchain has (found: {place}); "
                    f"run `make relock`, or add the library's package to {WISHES.relative_to(REPOSITORY)}"
                )

    def adopt(self, folder: Path) -> None:
        """Put a script of the same name in the place of each program below FOLDER: it runs with our libraries."""
        for path in sorted(folder.rglob("*")):
            if is_program(path):
                hidden = path.with_name(f".{path.name}.elf")
                os.rename(path, hidden)
                self.check_libraries(hidden)
                write_call(path, shlex.quote(str(self.root)), shlex.quote(str(path)), shlex.quote(str(hidden)))


def is_program(path: Path) -> bool:
    """True for an ELF file that asks for a loader. Format: System V ABI, "Program Header": PT_INTERP is 3."""
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        header = file.read(64)
        if len(header) < 64 or header[:5] != b"\x7fELF\x02":
            return False
        (offset,) = struct.unpack_from("<Q", header, 32)
        size, count = struct.unpack_from("<HH", header, 54)
        file.seek(offset)
        table = file.read(size * count)
    return any(struct.unpack_from("<I", table, size * number)[0] == 3 for number in range(count))


def write_call(script: Path, at: str, name: str, program: str, options: str = "") -> None:
    """Write a script that starts a program with the loader; AT, NAME and PROGRAM are words for the shell."""
    libraries = ":".join(f"$at/{folder}" for folder in LIBRARIES)
    text = CALL.format(at=at, loader=LOADER, libraries=libraries, name=name, program=program, options=options)
    script.write_text(text)
    script.chmod(0o755)


def keep_links_inside(root: Path) -> None:
    """Make absolute symbolic links relative: they would lead out of ROOT to the host's files."""
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = Path(folder) / name
            if path.is_symlink() and (target := os.readlink(path)).startswith("/"):
                path.unlink()
                path.symlink_to(os.path.relpath(root / target.lstrip("/"), folder))


def write_calls(root: Path, target: Path) -> None:
    """Write the scripts: programs by each of their names, and what the compiler's driver calls."""
    target.mkdir()
    found = [path for folder in PROGRAMS for path in sorted((root / folder).glob("*"))]
    found += sorted((root / GCC).glob("*/*"))
    for path in found:
        if not is_program(path.resolve()):
            continue
        inside = path.relative_to(root)
        options = GCC_OPTIONS if re.fullmatch(r"(x86_64-linux-gnu-)?gcc(-\d+)?", path.name) else ""
        # The name counts: kmod does what it is called by, and gcc finds its own folders from it.
        word = f'"$at/{inside}"'
        write_call(target / path.name, "${0%/*}/../root", word, word, options)


def check(chain: Toolchain) -> None:
    """Refuse a toolchain that lacks a program, or one with a program that would take a library from the host."""
    for name in REQUIRED:
        if not (chain.bin / name).is_file():
            raise BuildError(f"no locked package has {name}; correct envs/toolchain-packages.txt, then `make relock`")
    for name in REQUIRED:
        program = re.search(r'--argv0 "\$at/(\S+)"', (chain.bin / name).read_text())[1]
        chain.check_libraries(chain.root / program)


def depends(text: str) -> list[list[str]]:
    """Return the alternatives of each dependency of a control field."""
    return [
        [re.split(r"[\s:(]", alternative.strip(), maxsplit=1)[0] for alternative in one.split("|")]
        for one in text.split(",")
        if one.strip()
    ]


def fetch_closure(
    wanted: list[str], locked: dict[str, Package], debs_folder: Path, scratch: Path
) -> tuple[dict[str, Path], list[str]]:
    """Return the .debs of the wanted packages and of all they depend on, and what moved. What a lock leaves out, it
    leaves out on purpose; check() sees whether a library is missing."""
    debs: dict[str, Path] = {}
    moved: list[str] = []
    new = list(wanted)
    while new:
        found, changes = packages.fetch_all([locked[name] for name in new], debs_folder, scratch / str(len(debs)))
        debs.update(found)
        moved += changes
        texts = [packages.field(deb, name) for deb in found.values() for name in ("Depends", "Pre-Depends")]
        asked = {name for text in texts for alternatives in depends(text) for name in alternatives}
        new = sorted(asked & locked.keys() - debs.keys())
    return debs, moved


def locked_packages() -> tuple[list[str], dict[str, Package]]:
    """Return the wanted packages, and every package of both locks by its name."""
    wanted, _ = parse_wishes(WISHES.read_text(), "envs/toolchain-packages.txt")
    own = parse(LOCK.read_text(), "envs/toolchain.lock")
    locked = {package.name: package for package in [*own, *parse(GUEST_LOCK.read_text())]}
    for name in wanted:
        if name not in locked:
            raise BuildError(f"envs/toolchain.lock: {name} is not in it; run `make relock`")
    return wanted, locked


def unpack(target: Path, scratch: Path, debs_folder: Path) -> None:
    """Make the toolchain in SCRATCH and then give it its name."""
    wanted, locked = locked_packages()
    debs, moved = fetch_closure(wanted, locked, debs_folder, scratch / "download")
    packages.say(f"unpacking the toolchain: {len(debs)} packages")
    fresh = scratch / "fresh"
    root = fresh / "root"
    root.mkdir(parents=True)
    for name in sorted(debs):
        run(["dpkg-deb", "--extract", str(debs[name]), str(root)])
    keep_links_inside(root)
    shutil.rmtree(root / "usr" / "share", ignore_errors=True)  # documentation
    write_calls(root, fresh / "bin")
    chain = Toolchain(fresh)
    check(chain)
    manifest = {
        "schema": SCHEMA,
        # "gcc" only names today's compiler; the compiler is "gcc-12".
        "tools": {
            name: packages.field(deb, "Version")
            for name, deb in sorted(debs.items())
            if re.sub(r"-\d+$", "", name) in wanted or name in wanted
        },
        "packages": {name: sha256(deb) for name, deb in sorted(debs.items())},
        "moved": moved,
    }
    (fresh / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    os.rename(fresh, target)


def ready(cache_folder: Path) -> Toolchain:
    """Return the toolchain of the locks; it is unpacked if it is not there yet, whole or not at all."""
    digest = hashlib.sha256()
    for path in sources():
        digest.update(f"{path.relative_to(REPOSITORY)} {sha256(path)}\n".encode())
    # The folder's name stands in search paths, which are separated by colons.
    if ":" in str(cache_folder):
        raise BuildError(f"{cache_folder}: a colon in the path; put the checkout, or SPINDLE_BUILD, elsewhere")
    target = cache_folder / f"toolchain-{digest.hexdigest()[:16]}"
    if not target.is_dir():
        cache_folder.mkdir(parents=True, exist_ok=True)
        with (cache_folder / ".toolchain.busy").open("w") as busy:
            try:
                fcntl.flock(busy, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                packages.say("waiting for another build, which is unpacking the toolchain")
                fcntl.flock(busy, fcntl.LOCK_EX)
            if not target.is_dir():
                scratch = cache_folder / ".toolchain.tmp"
                shutil.rmtree(scratch, ignore_errors=True)
                unpack(target, scratch, cache_folder / "debs")
                shutil.rmtree(scratch)
    return Toolchain(target)


@cache
def current() -> Toolchain:
    """Return the toolchain of this checkout."""
    return ready(build_folder() / "cache")
