# SPDX-License-Identifier: MIT
"""Build the guest: kernel, initramfs, system disk, firmware, manifest.

    python -m lab.guest.build

Debian packages named in envs/guest.lock are fetched with the host's apt and
checked, unpacked without running anything of theirs, cut down, and joined by
the programs we own.  Neither root nor a mount is needed.  The same locks and
sources give the same bytes, whatever the host's compiler, the directory, umask,
time zone or locale; test_reproducible.sh shows it.

The result is build/guest (docs/interfaces.md, "Built things"), put in place as
a whole; SPINDLE_BUILD moves build/.  A run with nothing changed does nothing.
"""

import hashlib
import json
import lzma
import os
import re
import shutil
import stat
import struct
from pathlib import Path

from lab.cell import lock
from lab.guest import imaging, kernel_modules, modules, toolchain
from lab.guest.host import MTIME, REPOSITORY, BuildError, build_folder, one_message, run, sha256
from lab.guest.imaging import COMMON, compile_program, make_erofs
from lab.guest.lockfile import LockError, Package, parse
from lab.guest.packages import fetch_all, say
from lab.guest.wishes import RelockError

HERE = REPOSITORY / "lab" / "guest"
LOCK = REPOSITORY / "envs" / "guest.lock"

SCHEMA = "spindle-guest/1"
EROFS_UUID = "5370696e-646c-4000-8000-000000000001"

# Program in the image -> its source, relative to the repository.
PROGRAMS = {
    "sbin/spindle-agent": "lab/guest/agent/agent.c",
    "usr/local/bin/fs-stress": "lab/guest/stress/fs-stress.c",
    "usr/local/bin/lookups": "lab/guest/stress/lookups.c",
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


def sources() -> list[Path]:
    """Return the files of the repository that decide what the image is."""
    own = [Path(__file__).resolve(), *(HERE / name for name in ("modules.py", "modules.txt")), REPOSITORY / INIT]
    return sorted(
        [
            *own,
            *imaging.sources(),  # these have the locks of packages and toolchain
            *kernel_modules.sources(),
            *(HERE / "agent").rglob("*.h"),
            *(HERE / "ufs").glob("*.h"),
            *(REPOSITORY / COMMON).glob("*.h"),
            *(REPOSITORY / source for source in [*PROGRAMS.values(), *SCRIPTS.values()]),
        ]
    )


def inputs_hash() -> str:
    """Return one hash over sources and locks: the image is remade when it changes."""
    digest = hashlib.sha256()
    for path in sources():
        digest.update(f"{path.relative_to(REPOSITORY)} {sha256(path)}\n".encode())
    return digest.hexdigest()


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
    return re.findall(r"\(NEEDED\).*\[(.+)\]", toolchain.current().run(["readelf", "--wide", "--dynamic", str(path)]))


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


def make_initramfs(init: bytes, boot_modules: list[Path]) -> bytes:
    """Return the archive with our init and the modules of the system disk in load order."""
    directories = [(name, stat.S_IFDIR | 0o755, b"") for name in ("dev", "modules", "root", "sys")]
    files = [
        (f"modules/{number:02}-{path.name}", stat.S_IFREG | 0o644, path.read_bytes())
        for number, path in enumerate(boot_modules)
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
    image = next(package for package in packages if re.match(r"linux-image-\d", package.name))
    kernel_modules.add(image, debs[image.name], root, cache, scratch)
    boot_modules = modules.cut_modules(root)
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
    build = build_folder()
    work, guest = build / "guest.tmp", build / "guest"
    packages = parse(LOCK.read_text())
    inputs = inputs_hash()
    build.mkdir(parents=True, exist_ok=True)
    with lock.hold("guest", alone=True, what="build of the guest", build=build):
        if is_fresh(guest, inputs):
            return
        shutil.rmtree(work, ignore_errors=True)
        (work / "out").mkdir(parents=True)
        moved = build_image(work / "out", work, build / "cache" / "debs", packages)
        chain = toolchain.current()
        manifest = {
            "schema": SCHEMA,
            "lock": sha256(LOCK),
            # A compiler of another version may make other bytes, so what moved of the toolchain counts, too.
            "moved": [*moved, *(change for change in chain.moved if change not in moved)],
            "inputs": inputs,
            "tools": chain.versions,
            "files": file_hashes(work / "out"),
        }
        (work / "out" / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
        put_in_place(work / "out", guest, work / "old")
        shutil.rmtree(work)
    say(f"built {guest}")


if __name__ == "__main__":
    one_message("guest", main, LockError, RelockError)
