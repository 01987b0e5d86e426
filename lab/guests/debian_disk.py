# SPDX-License-Identifier: MIT
"""A bootable disk with Debian, made from packages: BIOS, GRUB, systemd and the distribution's kernel.

mmdebstrap installs the packages as the distribution does, with their maintainer scripts, into a folder; `mke2fs -d`
makes the file system of that folder, and GRUB's images, made by the packages' own grub-mkimage, go before it. There
is no loop device and no mount of the host's, so that root is not needed: as an ordinary user the folder is handled in
a user namespace (mmdebstrap(1), MODES, unshare).

The file system's UUID and times are fixed. Which versions of packages are in it depends on the mirror; the list stands
in the disk's manifest.
"""

import os
import shlex
import shutil
import struct
from dataclasses import dataclass, field
from pathlib import Path

from lab.guest.host import MTIME, BuildError, HostError, run

SECTOR_BYTES = 512
FIRST_SECTOR = 2048
"""Where the partition begins: at 1 MiB, as fdisk(8) and Debian's installer have it. GRUB lies before it."""
LINUX_PARTITION = 0x83
UUID = "5370696e-646c-4000-8000-000000000004"
DISK_SIGNATURE = 0x5350494E
CORE_SECTOR = 1
"""Where GRUB's core image lies: behind the partition table, as grub-install puts it."""
BLOCK_LIST_OFFSET = 0x1F4
"""In the core image's first sector: where the rest of it lies (GRUB 2, include/grub/i386/pc/boot.h and
grub-core/boot/i386/pc/diskboot.S: the first block list ends at the end of the sector: sector, length, segment)."""
KERNEL_SECTOR_OFFSET = 0x5C
"""In boot.img: the sector of the core image, 64 bits (GRUB_BOOT_MACHINE_KERNEL_SECTOR)."""
GRUB_MODULES = ("biosdisk", "part_msdos", "ext2", "normal", "linux", "serial", "terminal", "echo", "minicmd")
SUITE = "bookworm"
TOOLS = {"mmdebstrap": "mmdebstrap", "mke2fs": "e2fsprogs", "debugfs": "e2fsprogs", "tar": "tar"}
"""Programs of the host, and the Debian packages that they are in."""
LEFT_OUT = ("/usr/share/man/*", "/usr/share/locale/*", "/usr/share/doc/*", "/usr/share/info/*")


@dataclass(frozen=True)
class Disk:
    """What a disk is to have."""

    packages: tuple[str, ...]
    size_bytes: int
    kernel_append: str = "console=ttyS0,115200"
    """The kernel's command line behind `root=`."""
    files: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    """Files that are there before the packages are configured, which so find them: mode and content by path. None of
    them may be a package's own."""
    commands: tuple[str, ...] = ()
    """Shell commands that are run inside the new system, as root, before the disk is made of it."""


def grub_cfg(disk: Disk) -> str:
    """GRUB's menu: one entry, no delay, on the first serial port."""
    append = f"root=UUID={UUID} ro {disk.kernel_append}".rstrip()
    return (
        "serial --unit=0 --speed=115200\nterminal_input serial\nterminal_output serial\nset timeout=0\n"
        f"menuentry Debian {{\n  linux /vmlinuz {append}\n  initrd /initrd.img\n}}\n"
    )


def check_tools() -> None:
    """Refuse to begin without the host's programs."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    missing = sorted({package for tool, package in TOOLS.items() if shutil.which(tool, path=path) is None})
    if missing:
        raise HostError(
            "programs are missing to make a Debian disk; an administrator must run: apt-get install "
            + " ".join(missing)
        )


def apt_sources() -> str:
    """The host's own list of Debian's mirrors, so that whatever reaches them here reaches them there."""
    for name in ("/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list"):
        if Path(name).is_file() and Path(name).stat().st_size:
            return name
    raise HostError("neither /etc/apt/sources.list.d/debian.sources nor /etc/apt/sources.list names a Debian mirror")


def as_root(words: list[str]) -> list[str]:
    """A command that may own files as root does: as it is for root, in a user namespace for others."""
    return words if os.geteuid() == 0 else ["mmdebstrap", "--unshare-helper", *words]


def install(disk: Disk, scratch: Path) -> Path:
    """Install the packages; returns the new system as a tar archive."""
    archive = scratch / "root.tar"
    added = scratch / "added"
    for name, (mode, content) in disk.files.items():
        path = added / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(mode)
    command = ["mmdebstrap", "--variant=minbase", "--format=tar", f"--include={','.join(disk.packages)}"]
    command += [f"--dpkgopt=path-exclude={pattern}" for pattern in LEFT_OUT]
    # Archives that stand still are as good as those of today.
    command += ['--aptopt=Acquire::Check-Valid-Until "false"']
    # GRUB's images are made by the packages' own program, whatever GRUB the host has.
    grub = f"grub-mkimage -O i386-pc -o /boot/core.img -p '(hd0,msdos1)/boot/grub' {' '.join(GRUB_MODULES)}"
    if disk.files:
        command.append(f'--essential-hook=cp -R --preserve=mode {shlex.quote(str(added))}/. "$1"')
    # systemd makes one at the first boot.
    command.append('--customize-hook=: >"$1/etc/machine-id"')
    # The host's, which mmdebstrap had put there.
    command.append('--customize-hook=: >"$1/etc/resolv.conf"')
    command += [f'--customize-hook=chroot "$1" sh -c {shlex.quote(line)}' for line in (*disk.commands, grub)]
    run([*command, SUITE, str(archive), apt_sources()])
    return archive


def partition_table(size_bytes: int) -> bytes:
    """The partition table of the first sector: one Linux partition, to be booted from."""
    sectors = size_bytes // SECTOR_BYTES - FIRST_SECTOR
    # Cylinders, heads and sectors are not used: every BIOS of these machines takes block addresses.
    entry = struct.pack("<B3sB3sII", 0x80, b"\xfe\xff\xff", LINUX_PARTITION, b"\xfe\xff\xff", FIRST_SECTOR, sectors)
    return struct.pack("<IH", DISK_SIGNATURE, 0) + entry + bytes(48) + b"\x55\xaa"


def boot_sectors(boot: bytes, core: bytes, size_bytes: int) -> bytes:
    """What lies before the partition: GRUB's boot sector with the partition table, and its core image behind it."""
    if len(boot) != SECTOR_BYTES or boot[-2:] != b"\x55\xaa":
        raise BuildError("boot.img of grub-pc-bin is no boot sector; has its format changed?")
    room = (FIRST_SECTOR - CORE_SECTOR) * SECTOR_BYTES
    if len(core) > room:
        raise BuildError(f"GRUB's core image has {len(core)} bytes, before the partition there is room for {room}")
    first = bytearray(boot[:440] + partition_table(size_bytes))
    struct.pack_into("<Q", first, KERNEL_SECTOR_OFFSET, CORE_SECTOR)
    body = bytearray(core)
    # grub-mkimage leaves sector and segment as they are here; it cannot know where the image is put.
    struct.pack_into("<Q", body, BLOCK_LIST_OFFSET, CORE_SECTOR + 1)
    return bytes(first) + bytes(body) + bytes(room - len(core))


def make(disk: Disk, target: Path, scratch: Path) -> dict[str, str]:
    """Make the disk at `target`; returns the version of each package. `scratch` is an empty folder."""
    check_tools()
    archive = install(disk, scratch)
    root, partition = scratch / "root", scratch / "partition.img"
    blocks = (disk.size_bytes // SECTOR_BYTES - FIRST_SECTOR) * SECTOR_BYTES // 4096
    menu = scratch / "grub.cfg"
    menu.write_text(grub_cfg(disk), encoding="utf-8")
    words = [f"mkdir {root}", f"tar -C {root} --numeric-owner -xf {archive}", f"mkdir -p {root}/boot/grub"]
    words += [f"cp {menu} {root}/boot/grub/grub.cfg", f"cp {root}/usr/lib/grub/i386-pc/boot.img {scratch}/boot.img"]
    words += [f"cp {root}/boot/core.img {scratch}/core.img"]
    # One time for all of it: what was installed when is no property of the system.
    words += [f"find {root} -newermt @{MTIME} -exec touch -h -d @{MTIME} {{}} +"]
    words += [f"chroot {root} dpkg-query -W -f '${{Package}} ${{Version}}\\n' >{scratch}/packages"]
    # Without a journal's replay and lazy initialization, which would go on behind a measurement.
    make_fs = f"E2FSPROGS_FAKE_TIME={MTIME} mke2fs -q -F -t ext4 -b 4096 -U {UUID}"
    make_fs += f" -E hash_seed={UUID},lazy_itable_init=0,lazy_journal_init=0 -d {root} {partition} {blocks}"
    words += [make_fs, f"rm -rf {root}"]
    run(as_root(["sh", "-euc", "\n".join(words)]))
    head = boot_sectors((scratch / "boot.img").read_bytes(), (scratch / "core.img").read_bytes(), disk.size_bytes)
    with open(target, "wb") as file:
        file.write(head)
        file.truncate(disk.size_bytes)
    run(["dd", f"if={partition}", f"of={target}", "bs=1M", "seek=1", "conv=sparse,notrunc", "status=none"])
    partition.unlink()
    return dict(line.split(" ", 1) for line in (scratch / "packages").read_text(encoding="utf-8").splitlines())
