# SPDX-License-Identifier: MIT
"""Make a box for Vagrant out of a system's disk.

    python -m vagrant.box NAME [--disk FILE]

packs a disk into build/boxes/NAME: NAME.box (box.img, metadata.json), its SHA-256 and the sizes of the disks beside it
in box.json, and programs/, which provisioning installs. Without --disk it is a Debian made from packages (`linux`), or
the prepared guest of that name (`freebsd`, `windows`). With --disk it is any disk that qemu-img reads: after
`vagrant halt` that of a machine, which may lie upon the box that it came from.

A box is there whole or not at all, and it is a local file: none comes from a public catalogue.
"""

import argparse
import json
import os
import shutil
import tarfile
from pathlib import Path

from lab.cell import attempt, boot, job, lock
from lab.cell.errors import SpindleError
from lab.guest import portable
from lab.guest.host import MTIME, REPOSITORY, BuildError, build_folder, one_message, run, sha256

SCHEMA = "spindle-box/1"
NAMES = ("linux", "freebsd", "windows")
DISKS = (
    ("ide-piix", "deskstar-75gxp", "piix"),
    ("ide-ahci", "deskstar-75gxp", "ahci"),
    ("scsi-virtio", "ultrastar-36zx", "scsi"),
)
"""Controller, drive and serial number of a machine's disks: the drives of the catalogue on the lab's controllers."""
KEYS = "/usr/share/rubygems-integration/all/gems/vagrant-*/keys/vagrant.pub"
"""The key that everybody knows: Vagrant has its other half. A machine's port is open to this host alone."""
DEBIAN_BYTES = 2 << 30
DEBIAN_PACKAGES = (
    "linux-image-amd64", "initramfs-tools", "systemd-sysv", "udev", "kmod", "grub-pc-bin", "login", "procps",
    "iproute2", "openssh-server", "sudo", "e2fsprogs", "xfsprogs", "postmark", "fio",
)  # fmt: skip
DEBIAN_FILES = {
    "/etc/sudoers.d/vagrant": (0o440, b"vagrant ALL=(ALL) NOPASSWD: ALL\n"),
    "/etc/systemd/network/80-box.network": (0o644, b"[Match]\nType=ether\n[Network]\nDHCP=yes\n"),
    # Only what mounting the system disk needs: each byte of an initrd costs an emulated processor time.
    "/etc/initramfs-tools/conf.d/spindle": (0o644, b"MODULES=list\n"),
    "/usr/share/initramfs-tools/modules.d/spindle": (0o644, b"virtio_pci\nvirtio_blk\next4\n"),
    "/etc/fstab": (0o644, b"# The root's options are on the kernel's command line.\n"),
    "/etc/hostname": (0o644, b"debian\n"),
    "/etc/hosts": (0o644, b"127.0.0.1 localhost debian\n"),
}
DEBIAN_APPEND = "rw console=ttyS0,115200 quiet"
KEY_FILE = "/etc/ssh/vagrant.pub"
DEBIAN_COMMANDS = (
    "useradd --create-home --shell /bin/bash vagrant",
    "passwd --delete root",
    "install -d -o vagrant -g vagrant -m 700 ~vagrant/.ssh",
    f"install -o vagrant -g vagrant -m 600 {KEY_FILE} ~vagrant/.ssh/authorized_keys",
    "systemctl enable systemd-networkd",
    # They would work beside a measurement.
    "systemctl mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer"
    " e2scrub_reap.service systemd-timesyncd.service",
)
GUEST_FILES = "lab/guests/debian"
"""What makes a Debian one of the lab's guests, once the agent is there."""


def public_key() -> bytes:
    """Vagrant's key."""
    found = sorted(Path("/").glob(KEYS.lstrip("/")))
    if not found:
        raise BuildError("Vagrant's key is not here: envs/bootstrap boxes installs Vagrant")
    return found[-1].read_bytes()


def debian_disk(target: Path, scratch: Path) -> dict[str, str]:
    """Make the disk of the Linux box from packages; returns their versions."""
    try:
        from lab.guests import debian_disk
    except ImportError as error:
        raise BuildError(f"lab/guests/debian_disk.py is missing, which makes Debian's disk: {error}") from None
    disk = debian_disk.Disk(
        packages=DEBIAN_PACKAGES,
        size_bytes=DEBIAN_BYTES,
        kernel_append=DEBIAN_APPEND,
        files={**DEBIAN_FILES, KEY_FILE: (0o644, public_key())},
        commands=DEBIAN_COMMANDS,
    )
    folder = scratch / "packages"
    folder.mkdir()
    return debian_disk.make(disk, target, folder)


def prepared_disk(name: str, build: Path) -> Path:
    """The disk of a guest that was prepared from its medium."""
    disk = build / "guests" / name / "system.img"
    if not disk.is_file():
        raise BuildError(
            f"{name}: there is no prepared disk {disk}. Prepare it from its medium with "
            f"`make guest NAME={name} MEDIA=FILE SHA256=SUM`, or name another disk with DISK=FILE"
        )
    return disk


def image_about(disk: Path) -> dict:
    """What qemu-img says of a disk."""
    if not disk.is_file():
        raise BuildError(f"DISK={disk}: there is no such file; name the disk of a machine that was halted")
    return json.loads(run(["qemu-img", "info", "--output=json", str(disk)]))


def write_box(disk: Path, target: Path, scratch: Path) -> None:
    """Pack one disk: without times and owners, so that the same disk gives the same archive."""
    size = image_about(disk)["virtual-size"]
    run(["qemu-img", "convert", "-c", "-O", "qcow2", str(disk), str(scratch / "box.img")])
    about = {"provider": "libvirt", "format": "qcow2", "virtual_size": -(-size >> 30)}
    (scratch / "metadata.json").write_text(json.dumps(about) + "\n", encoding="utf-8")
    with tarfile.open(target, "w", format=tarfile.GNU_FORMAT) as box:
        for name in ("metadata.json", "box.img"):
            entry = box.gettarinfo(scratch / name, name)
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            entry.mtime, entry.mode = MTIME, 0o644
            with open(scratch / name, "rb") as content:
                box.addfile(entry, content)
    (scratch / "box.img").unlink()


def write_programs(name: str, folder: Path) -> None:
    """What provisioning installs: programs, or for a system with a compiler of its own sources and how to call it."""
    folder.mkdir()
    if name == "windows":
        for program in ("spindle-agent", "rawio"):
            portable.compile_for("windows", REPOSITORY / portable.PROGRAMS[program], folder / program)
        return
    if name == "linux":
        for program, source in portable.PROGRAMS.items():
            portable.compile_for("linux", REPOSITORY / source, folder / program)
        # As on the lab's seed disk.
        shutil.copytree(REPOSITORY / GUEST_FILES, folder / "guest")
        shutil.copy(REPOSITORY / "lab/guest/agent/confined.sh", folder / "confined")
        portable.compile_for("linux", REPOSITORY / "workloads/common/stopwatch.c", folder / "stopwatch")
        return
    sources = folder / "source"
    shutil.copytree(REPOSITORY / portable.COMMON, sources / "common", ignore=shutil.ignore_patterns("tests"))
    flags = " ".join(portable.flags("posix"))
    lines = ["#!/bin/sh", "set -eu"]
    for program, source in portable.PROGRAMS.items():
        path = REPOSITORY / source
        shutil.copytree(path.parent, sources / path.parent.name, ignore=shutil.ignore_patterns("tests", "*.md"))
        lines.append(f"cc {flags} -Isource/common -o {program} source/{path.parent.name}/{path.name} -lpthread")
    (folder / "build").write_text("\n".join(lines) + "\n", encoding="utf-8")


def drive_bytes(controller: str, drive: str, build: Path, scratch: Path) -> int:
    """Size of a drive of the catalogue, as a guest of the lab sees it."""
    one = attempt.run_of(attempt.parse(["--controller", controller, "--drive", drive, "--tags", "none"]))
    topology = scratch / "topology.toml"
    topology.write_text(job.topology_text(one, str(REPOSITORY / "lab/disk/catalogue")), encoding="utf-8")
    return boot.disk_bytes(build, topology, job.disk_units(one.array)[0])


def make(name: str, disk: Path | None, build: Path) -> Path:
    """Make the box of a system; returns its file."""
    if name not in NAMES:
        raise BuildError(f"NAME={name}: there is no such box; there are {', '.join(NAMES)}")
    if not shutil.which("qemu-img"):
        raise BuildError("qemu-img is missing: envs/bootstrap boxes installs it")
    target = build / "boxes" / name
    with lock.hold(f"boxes/{name}", alone=True, what=f"box {name}", build=build), lock.scratch("box") as scratch:
        new = scratch / "new"
        new.mkdir()
        packages = {}
        if disk is None and name == "linux":
            disk = scratch / "disk.img"
            packages = debian_disk(disk, scratch)
        elif disk is None:
            disk = prepared_disk(name, build)
        write_box(disk, new / f"{name}.box", scratch)
        write_programs(name, new / "programs")
        about = {
            "schema": SCHEMA,
            "name": name,
            "sha256": sha256(new / f"{name}.box"),
            "packages": packages,
            "disks": [
                {"controller": controller, "drive": drive, "serial": serial,
                 "bytes": drive_bytes(controller, drive, build, scratch)}
                for controller, drive, serial in DISKS
            ],
        }  # fmt: skip
        (new / "box.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(target, ignore_errors=True)
        shutil.move(new, target)
    return target / f"{name}.box"


def main(argv: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="vagrant.box", description=__doc__.splitlines()[0])
    parser.add_argument("name", help=f"one of {', '.join(NAMES)}")
    parser.add_argument("--disk", type=Path, metavar="FILE", help="the disk to pack")
    options = parser.parse_args(argv)
    os.umask(0o022)
    box = make(options.name, options.disk, build_folder())
    print(f"{box} is ready, SHA-256 {sha256(box)}")


if __name__ == "__main__":
    one_message("box", main, SpindleError)
