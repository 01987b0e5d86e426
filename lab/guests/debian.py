# SPDX-License-Identifier: MIT
"""The Debian guest: what its disk has before it is prepared (debian_disk.py makes it, prepare.py prepares it)."""

from lab.cell import identity
from lab.guests.debian_disk import UUID, Disk

SIZE_BYTES = 2 << 30
PACKAGES = (
    # The system as the distribution installs it.
    "linux-image-amd64", "initramfs-tools", "systemd-sysv", "udev", "kmod", "grub-pc-bin", "login", "procps",
    # What cells of Linux need: file systems, workloads.
    "e2fsprogs", "xfsprogs", "postmark", "fio",
)  # fmt: skip
MASKED = (
    "apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "fstrim.timer",
    "systemd-tmpfiles-clean.timer", "e2scrub_reap.service", "systemd-timesyncd.service", "systemd-logind.service",
)  # fmt: skip
"""Units that would do something of their own beside a measurement, and one that waits for a bus that is not there."""
FILES = {
    # Only what mounting the system disk needs: GRUB reads the initrd through the BIOS, and each of its bytes costs
    # the emulated CPU time to unpack. All other drivers come from the disk.
    "/etc/initramfs-tools/conf.d/spindle": (0o644, b"MODULES=list\n"),
    "/usr/share/initramfs-tools/modules.d/spindle": (0o644, b"virtio_pci\nvirtio_blk\next4\n"),
    "/etc/fstab": (0o644, f"UUID={UUID} / ext4 errors=remount-ro 0 1\n".encode()),
    "/etc/hostname": (0o644, b"debian\n"),
}
COMMANDS = ("passwd -d root", f"systemctl mask {' '.join(MASKED)}")


def disk() -> Disk:
    """The disk. The kernel's command line is the lean guest's, which runs the same distribution's kernel: what differs
    is the system around it."""
    return Disk(PACKAGES, SIZE_BYTES, identity.kernel_append(), FILES, COMMANDS)
