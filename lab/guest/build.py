#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build the guest: kernel, initramfs, system disk, firmware, manifest.

Debian packages named in envs/guest.lock are fetched with the host's apt and
checked, unpacked without running anything of theirs, cut down, and joined by
the programs we own.  Neither root nor a mount is needed.  The same lock and
sources give the same bytes, whatever the directory, umask, time zone or
locale; test_reproducible.sh shows it.

The result is build/guest (docs/interfaces.md, "Built things"), put in place as
a whole; SPINDLE_BUILD moves build/.  A run with nothing changed does nothing.
"""

import fcntl
import hashlib
import json
import lzma
import os
import re
import shutil
import stat
import struct
import sys
from pathlib import Path

import kernel_modules
from imaging import COMMON, MTIME, REPOSITORY, BuildError, compile_program, make_erofs, run, sha256, tool_versions
from lockfile import LockError, Package, parse

HERE = REPOSITORY / "lab" / "guest"
LOCK = REPOSITORY / "envs" / "guest.lock"
KERNEL_LOCK = REPOSITORY / "envs" / "kernel.lock"
MODULES = HERE / "modules.txt"

SCHEMA = "spindle-guest/1"
EROFS_UUID = "5370696e-646c-4000-8000-000000000001"

# The concrete kernel package is named after its version, so a mirror drops the
# name with the version; this package always depends on the current one.
KERNEL_META = "linux-image-amd64"

# Program in the image -> its source, relative to the repository.
PROGRAMS = {
    "sbin/spindle-agent": "lab/guest/agent/agent.c",
    "usr/local/bin/fs-stress": "lab/guest/stress/fs-stress.c",
    "usr/local/bin/ufs-newfs": "lab/guest/ufs/ufs-newfs.c",
    "usr/local/bin/ufs-check": "lab/guest/ufs/ufs-check.c",
    "usr/local/bin/stopwatch": "workloads/common/stopwatch.c",
}
# Script in the image -> its source.
SCRIPTS = {"usr/local/bin/confined": "lab/guest/agent/confined.sh"}
# Those programs that the host runs as well, on images; they are static. Copied to build/guest/host/.
HOST_PROGRAMS = ["usr/local/bin/ufs-newfs", "usr/local/bin/ufs-check"]
INIT = "lab/guest/agent/init.c"

# Loaded by QEMU for `-machine pc -kernel vmlinux` without display and network.
FIRMWARE = {
    "bios-256k.bin": "usr/share/seabios/bios-256k.bin",
    "kvmvapic.bin": "usr/share/qemu/kvmvapic.bin",
    "linuxboot_dma.bin": "usr/share/qemu/linuxboot_dma.bin",
    "pvh.bin": "usr/share/qemu/pvh.bin",
}

# Paths in the packages that the guest has no use for.
PRUNED = [
    "boot", "etc/cron.*", "etc/default", "etc/init.d", "etc/kernel", "lib/modprobe.d", "lib/systemd",
    "lib/udev", "usr/lib/systemd", "usr/lib/tmpfiles.d", "usr/lib/udev", "usr/share/bash-completion",
    "usr/share/bug", "usr/share/doc", "usr/share/doc-base", "usr/share/gdb", "usr/share/info",
    "usr/share/lintian", "usr/share/locale", "usr/share/man", "usr/share/qemu", "usr/share/seabios",
    "usr/lib/x86_64-linux-gnu/gconv", "usr/share/initramfs-tools", "usr/share/metainfo", "var/lib",
    "var/cache",
]  # fmt: skip

# What we add: empty directories for mounts, and the files that libraries look for.
DIRECTORIES = ["dev", "proc", "run", "sys", "tmp", "mnt", "etc", "usr/local/bin", "usr/local/share", "var"]
FILES = {
    "etc/passwd": "root:x:0:0:root:/tmp:/bin/sh\n",
    "etc/group": "root:x:0:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "etc/hosts": "127.0.0.1 localhost\n",
}
LINKS = {"etc/mtab": "/proc/self/mounts", "var/tmp": "/tmp", "var/run": "/run"}


def say(text: str) -> None:
    """Tell the user what is going on."""
    print(f"guest: {text}", flush=True)


def sources() -> list[Path]:
    """Return the files of the repository that decide what the image is."""
    own = [LOCK, MODULES, *(HERE / f"{name}.py" for name in ("build", "imaging", "lockfile")), REPOSITORY / INIT]
    return sorted(
        [
            *own,
            KERNEL_LOCK,
            *kernel_modules.sources(),
            *(HERE / "ufs").glob("*.h"),
            *(REPOSITORY / COMMON).glob("*.h"),
            *(REPOSITORY / source for source in [*PROGRAMS.values(), *SCRIPTS.values()]),
        ]
    )


def inputs_hash(tools: dict[str, str]) -> str:
    """Return one hash over sources and tool versions: the image is remade when it changes."""
    digest = hashlib.sha256(json.dumps(tools, sort_keys=True).encode())
    for path in sources():
        digest.update(f"{path.relative_to(REPOSITORY)} {sha256(path)}\n".encode())
    return digest.hexdigest()


# ---- packages ----------------------------------------------------------------


def download(specification: str, directory: Path) -> Path | None:
    """Fetch one .deb, "name" or "name=version", with apt; None if the mirror has none."""
    directory.mkdir(parents=True)
    try:
        run(["apt-get", "-q", "download", specification], cwd=directory)
    except BuildError as error:
        if "is missing;" in str(error):
            raise
        return None
    files = list(directory.iterdir())
    return files[0] if len(files) == 1 else None


def kernel_of_mirror() -> str:
    """Return the name of the kernel package that the mirror has today."""
    match = re.search(r"^\s*Depends: (linux-image-\S+)", run(["apt-cache", "depends", KERNEL_META]), re.M)
    if not match:
        raise BuildError(f"apt does not know {KERNEL_META}; run `apt-get update` and try again")
    return match[1]


def fetch(package: Package, cache: Path, scratch: Path) -> tuple[Path, str | None]:
    """Return the package's .deb and, if the mirror only has another version, what moved."""
    cached = cache / package.deb
    if not cached.exists():
        found = download(f"{package.name}={package.version}", scratch / package.name)
        if found is None:
            return fetch_current(package, cache, scratch)
        # apt has checked it against the mirror's index; the lock's own check is below.
        os.replace(found, cached)
    if (got := sha256(cached)) != package.sha256:
        raise BuildError(
            f"{cached}: SHA-256 is {got}, but envs/guest.lock or envs/kernel.lock says {package.sha256} for "
            f"{package.name} {package.version}. Delete the file and run again; if the mirror "
            "still gives the same file, either the mirror or the lock is wrong: compare with "
            "packages.debian.org, then `make relock`"
        )
    return cached, None


def fetch_current(package: Package, cache: Path, scratch: Path) -> tuple[Path, str]:
    """Return the mirror's current .deb in place of a locked one it no longer has."""
    name = package.name
    found = download(name, scratch / f"{name}.current")
    if found is None and re.match(r"linux-image-\d", name):
        name = kernel_of_mirror()
        found = download(name, scratch / f"{name}.current")
    if found is None:
        raise BuildError(
            f"apt can fetch neither {package.name} {package.version} nor another version of it. "
            "Run `apt-get update`; if that does not help, `make relock`"
        )
    version = run(["dpkg-deb", "--field", str(found), "Version"]).strip()
    target = cache / found.name
    os.replace(found, target)
    renamed = f"{name} " if name != package.name else ""
    return target, f"{package.name} {package.version} -> {renamed}{version}"


def fetch_all(packages: list[Package], cache: Path, scratch: Path) -> tuple[dict[str, Path], list[str]]:
    """Return the .deb of each locked package, and what moved."""
    cache.mkdir(parents=True, exist_ok=True)
    missing = [package for package in packages if not (cache / package.deb).exists()]
    if missing:
        say(f"fetching {len(missing)} packages with apt (all are 111 MB, a minute or so)")
    prefetch(missing, cache, scratch / "prefetch")
    debs: dict[str, Path] = {}
    moved: list[str] = []
    for package in packages:
        debs[package.name], change = fetch(package, cache, scratch)
        if change:
            moved.append(change)
            say(f"lock moved: {change} (the mirror no longer has the locked version)")
    return debs, moved


def prefetch(missing: list[Package], cache: Path, scratch: Path) -> None:
    """Fetch in one go what the mirror has; apt refuses the whole list if it lacks one."""
    if not missing:
        return
    scratch.mkdir(parents=True)
    try:
        run(["apt-get", "-q", "download", *(f"{p.name}={p.version}" for p in missing)], cwd=scratch)
    except BuildError as error:
        if "is missing;" in str(error):
            raise
        return  # fetch() asks for them one by one and finds out which it is
    for package in missing:
        if (scratch / package.deb).exists():
            os.replace(scratch / package.deb, cache / package.deb)


def fetch_kernel(image: Package, deb: Path, cache: Path, scratch: Path) -> tuple[list[Path], str]:
    """Return headers, tools and source of the image's kernel, source last, and the kernel's release."""
    name, version = (run(["dpkg-deb", "--field", str(deb), field]).strip() for field in ("Package", "Version"))
    names = kernel_modules.needed(name)
    if (name, version) == (image.name, image.version):
        locked = {package.name: package for package in parse(KERNEL_LOCK.read_text(), "envs/kernel.lock")}
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


def add_modules(packages: list[Package], debs: dict[str, Path], root: Path, cache: Path, scratch: Path) -> None:
    """Build our modules and put them into the root's module tree, in place of Debian's where it has them."""
    image = next(package for package in packages if re.match(r"linux-image-\d", package.name))
    needed, release = fetch_kernel(image, debs[image.name], cache, scratch / "kernel-debs")
    say("kernel modules: " + ", ".join(kernel_modules.MODULES))
    files = kernel_modules.build(run, needed, release, tool_versions()["gcc"], cache.parent, scratch / "kernel")
    for name, file in files.items():
        target = root / "lib" / "modules" / release / "kernel" / kernel_modules.MODULES[name].folder / f"{name}.ko"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)


# ---- parts of the image --------------------------------------------------------


def unpack_kernel(bzimage: bytes) -> bytes:
    """Return the ELF image inside a bzImage.

    QEMU starts it directly by its PVH note, which saves the guest the time to
    unpack it.  Offsets: Linux, Documentation/x86/boot.rst, "setup_sects",
    "payload_offset", "payload_length"; the payload counts from the end of the
    setup sectors, and its last four bytes are the unpacked size.
    """
    if bzimage[0x202:0x206] != struct.pack("<I", 0x53726448)[:4]:
        raise BuildError("the kernel package's vmlinuz is not a bzImage; has its format changed?")
    setup_sectors = bzimage[0x1F1] or 4
    offset, length = struct.unpack_from("<II", bzimage, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    payload = bzimage[start : start + length]
    if not payload.startswith(b"\xfd7zXZ\0"):
        raise BuildError(
            f"the kernel is compressed in an unknown way (it begins with {payload[:6].hex()}, xz is "
            "expected); extend unpack_kernel in lab/guest/build.py"
        )
    elf = lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(payload)
    if len(elf) != struct.unpack("<I", payload[-4:])[0] or not elf.startswith(b"\x7fELF"):
        raise BuildError("the kernel does not unpack to an ELF file of the promised size")
    return elf


def parse_modules(text: str) -> tuple[list[str], list[str]]:
    """Return the modules to load at boot and the further ones in the image."""
    boot: list[str] = []
    other: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) == 2 and words[0] == "boot":
            boot.append(words[1])
        elif len(words) == 1:
            other.append(words[0])
        else:
            raise BuildError(f'lab/guest/modules.txt:{number}: {line!r} is neither a module\'s name nor "boot NAME"')
    return boot, other


def module_closure(names: list[str], tree: Path) -> list[Path]:
    """Return the files of the modules and of all they depend on, in an order to load them."""

    def canonical(name: str) -> str:
        return name.replace("-", "_")

    files = {canonical(path.stem): path for path in tree.rglob("*.ko")}
    builtin = {canonical(Path(line).stem) for line in (tree / "modules.builtin").read_text().split()}
    ordered: list[Path] = []

    def add(name: str, wanted_by: str) -> None:
        key = canonical(name)
        if key in builtin:
            return
        if key not in files:
            raise BuildError(
                f"kernel module {name} (wanted by {wanted_by}) is not in the kernel package; "
                "correct lab/guest/modules.txt"
            )
        if files[key] in ordered:
            return
        for needed in run(["modinfo", "-F", "depends", str(files[key])]).strip().split(","):
            if needed:
                add(needed, name)
        ordered.append(files[key])

    for name in names:
        add(name, "lab/guest/modules.txt")
    return ordered


def strip_signature(module: Path) -> None:
    """Take the appended signature off a module; checking it is slow in an emulated guest.

    The module's SHA-256 in the lock's package has been checked here instead.
    Format: Linux, Documentation/admin-guide/module-signing.rst, "Signed
    modules": signature, a 12-byte record that ends in the signature's length, a
    marker line.
    """
    marker = b"~Module signature appended~\n"
    data = module.read_bytes()
    if data.endswith(marker):
        end = len(data) - len(marker) - 12
        (length,) = struct.unpack_from(">I", data, end + 8)
        module.write_bytes(data[: end - length])


def cut_modules(root: Path) -> list[Path]:
    """Remove the modules nobody asked for from the image; return those of the initramfs."""
    trees = list((root / "lib" / "modules").iterdir())
    if len(trees) != 1:
        raise BuildError(f"{len(trees)} kernels in the lock, expected one; correct envs/guest-packages.txt")
    tree = trees[0]
    boot, other = parse_modules(MODULES.read_text())
    boot_files = module_closure(boot, tree)
    kept = set(boot_files + module_closure(other, tree))
    for path in tree.rglob("*.ko"):
        if path in kept:
            strip_signature(path)
        else:
            path.unlink()
    run(["depmod", "-b", str(root), tree.name])
    for path in tree.glob("modules.*"):
        # busybox's modprobe reads the text forms only
        if path.name not in ("modules.dep", "modules.alias", "modules.builtin", "modules.softdep", "modules.symbols"):
            path.unlink()
    return boot_files


def prune(root: Path) -> None:
    """Remove what the guest has no use for, and then empty directories."""
    for pattern in PRUNED:
        for path in root.glob(pattern):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
    for directory, _, _ in os.walk(root, topdown=False):
        if not os.listdir(directory):
            os.rmdir(directory)


def link_busybox(root: Path) -> None:
    """Give each tool of busybox its name in /bin, unless a package brought a real one."""
    for name in run([str(root / "bin" / "busybox"), "--list"]).split():
        if not any((root / place / name).exists() for place in ("bin", "sbin", "usr/bin", "usr/sbin")):
            (root / "bin" / name).symlink_to("busybox")


def needed_libraries(path: Path) -> list[str]:
    """Return the shared libraries that an ELF file names, or nothing for other files."""
    with path.open("rb") as file:
        if file.read(4) != b"\x7fELF":
            return []
    return re.findall(r"\(NEEDED\).*\[(.+)\]", run(["readelf", "--wide", "--dynamic", str(path)]))


def check_libraries(root: Path) -> None:
    """Refuse an image in which a program lacks a library: a moved package may need a new one."""
    places = ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", "lib64", "lib", "usr/lib")
    have = {path.name for place in places for path in (root / place).glob("*.so*")}
    for place in ("bin", "sbin", "usr/bin", "usr/sbin", *places[:2]):
        for path in sorted((root / place).iterdir()):
            if path.is_symlink() or not path.is_file():
                continue
            for library in needed_libraries(path):
                # Ceph keeps a library in a folder of its own and finds it by RUNPATH.
                if library not in have and not list((root / "usr/lib").rglob(library)):
                    raise BuildError(
                        f"/{path.relative_to(root)} needs {library}, which no locked package has; "
                        "run `make relock`, or add the package to envs/guest-packages.txt"
                    )


def add_own_files(root: Path) -> None:
    """Add programs, mount points and configuration."""
    for directory in DIRECTORIES:
        (root / directory).mkdir(parents=True, exist_ok=True)
    for name, text in FILES.items():
        (root / name).write_text(text)
    for name, target in LINKS.items():
        (root / name).symlink_to(target)
    for name, source in PROGRAMS.items():
        compile_program(REPOSITORY / source, root / name)
    for name, source in SCRIPTS.items():
        shutil.copyfile(REPOSITORY / source, root / name)
        (root / name).chmod(0o755)


def cpio(entries: list[tuple[str, int, bytes]]) -> bytes:
    """Return a "newc" archive of (path, mode, content), as the kernel unpacks it.

    Format: Linux, Documentation/driver-api/early-userspace/buffer-format.rst.
    """
    archive = bytearray()
    for inode, (path, mode, content) in enumerate([*entries, ("TRAILER!!!", 0, b"")], start=1):
        name = path.encode() + b"\0"
        numbers = (inode, mode, 0, 0, 1, MTIME, len(content), 0, 0, 0, 0, len(name), 0)
        archive += b"070701" + b"".join(b"%08x" % number for number in numbers) + name
        archive += bytes(-len(archive) % 4) + content
        archive += bytes(-len(archive) % 4)
    return bytes(archive)


def make_initramfs(init: bytes, modules: list[Path]) -> bytes:
    """Return the archive with our init and the modules of the system disk in load order."""
    directories = [(name, stat.S_IFDIR | 0o755, b"") for name in ("dev", "modules", "root", "sys")]
    files = [
        (f"modules/{number:02}-{path.name}", stat.S_IFREG | 0o644, path.read_bytes())
        for number, path in enumerate(modules)
    ]
    return cpio([*directories, *files, ("init", stat.S_IFREG | 0o755, init)])


def build_image(out: Path, scratch: Path, cache: Path, packages: list[Package]) -> list[str]:
    """Write everything but the manifest to OUT; return what moved in the lock."""
    debs, moved = fetch_all(packages, cache, scratch / "download")
    root = scratch / "root"
    root.mkdir()
    say(f"unpacking {len(debs)} packages")
    for name in sorted(debs):
        run(["dpkg-deb", "--extract", str(debs[name]), str(root)])

    say("taking kernel and firmware out, cutting the root down")
    kernels = list((root / "boot").glob("vmlinuz-*"))
    if len(kernels) != 1:
        raise BuildError(f"{len(kernels)} kernels in the lock, expected one; correct envs/guest-packages.txt")
    (out / "vmlinux").write_bytes(unpack_kernel(kernels[0].read_bytes()))
    (out / "firmware").mkdir()
    for name, source in FIRMWARE.items():
        if not (root / source).is_file():
            raise BuildError(f"firmware /{source} is in no locked package; correct envs/guest-packages.txt")
        shutil.copyfile(root / source, out / "firmware" / name)
    add_modules(packages, debs, root, cache, scratch)
    boot_modules = cut_modules(root)
    prune(root)
    link_busybox(root)
    add_own_files(root)
    check_libraries(root)

    (out / "host").mkdir()
    for name in HOST_PROGRAMS:
        shutil.copy(root / name, out / "host")
    compile_program(REPOSITORY / INIT, scratch / "init")
    (out / "initramfs.cpio").write_bytes(make_initramfs((scratch / "init").read_bytes(), boot_modules))
    say("making the system disk")
    make_erofs(root, out / "root.erofs", EROFS_UUID)
    return moved


def file_hashes(directory: Path) -> dict[str, str]:
    """Return the SHA-256 of each file, by its path in the directory."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): sha256(path) for path in files}


def is_fresh(guest: Path, inputs: str) -> bool:
    """True if the image is there and was made from these inputs."""
    try:
        manifest = json.loads((guest / "manifest.json").read_text())
    except (OSError, ValueError):
        return False
    if manifest.get("inputs") != inputs or not all((guest / name).is_file() for name in manifest["files"]):
        return False
    for change in manifest["moved"]:
        say(f"lock moved: {change}")
    say("up to date")
    return True


def put_in_place(new: Path, guest: Path, old: Path) -> None:
    """Replace the image as a whole; a QEMU that runs keeps the files it has open."""
    if guest.exists():
        os.rename(guest, old)
    os.rename(new, guest)
    shutil.rmtree(old, ignore_errors=True)


def main() -> None:
    """Build the image if anything it is made from has changed."""
    os.umask(0o022)
    build = Path(os.environ.get("SPINDLE_BUILD", REPOSITORY / "build")).absolute()
    work, guest = build / "guest.tmp", build / "guest"
    packages = parse(LOCK.read_text())
    tools = {**tool_versions(), "depmod": run(["depmod", "--version"]).splitlines()[0]}
    inputs = inputs_hash(tools)
    build.mkdir(parents=True, exist_ok=True)
    with (build / "guest.busy").open("w") as busy:
        fcntl.flock(busy, fcntl.LOCK_EX)
        if is_fresh(guest, inputs):
            return
        shutil.rmtree(work, ignore_errors=True)
        (work / "out").mkdir(parents=True)
        moved = build_image(work / "out", work, build / "cache" / "debs", packages)
        manifest = {
            "schema": SCHEMA,
            "lock": sha256(LOCK),
            "moved": moved,
            "inputs": inputs,
            "tools": tools,
            "files": file_hashes(work / "out"),
        }
        (work / "out" / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
        put_in_place(work / "out", guest, work / "old")
        shutil.rmtree(work)
    say(f"built {guest}")


if __name__ == "__main__":
    try:
        main()
    except (BuildError, LockError, OSError) as error:
        sys.exit(f"guest: {error}")
