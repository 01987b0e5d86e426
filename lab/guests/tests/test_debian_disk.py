# SPDX-License-Identifier: MIT
"""What lies before the Debian disk's partition, and what GRUB is told."""

import struct

import pytest

from lab.guest.host import BuildError, HostError
from lab.guests import debian, debian_disk

SIZE = 64 << 20


def test_debian_disk_boot_sectors():
    boot = bytes(510) + b"\x55\xaa"
    core = bytes(range(256)) * 8
    head = debian_disk.boot_sectors(boot, core, SIZE)
    assert len(head) == debian_disk.FIRST_SECTOR * 512
    kind, first, sectors = struct.unpack_from("<4xB3xII", head, 446)
    assert (kind, first, first + sectors) == (debian_disk.LINUX_PARTITION, 2048, SIZE // 512)
    assert head[446] == 0x80 and head[510:512] == b"\x55\xaa"
    # boot.img loads the sector behind it, which loads what follows.
    assert struct.unpack_from("<Q", head, 0x5C) == (1,)
    assert struct.unpack_from("<Q", head, 512 + 0x1F4) == (2,)
    assert head[1024 : 512 + len(core)] == core[512:]


def test_debian_disk_a_boot_loader_that_does_not_fit_is_refused():
    with pytest.raises(BuildError, match="before the partition there is room for 1048064"):
        debian_disk.boot_sectors(bytes(510) + b"\x55\xaa", bytes(2 << 20), SIZE)
    with pytest.raises(BuildError, match="is no boot sector"):
        debian_disk.boot_sectors(bytes(512), b"", SIZE)


def test_debian_disk_grub_starts_without_a_question():
    text = debian_disk.grub_cfg(debian.disk())
    assert "set timeout=0" in text and f"root=UUID={debian_disk.UUID} ro console=ttyS0" in text
    # What mounts the root is what the kernel's command line names.
    assert f"UUID={debian_disk.UUID} / ext4".encode() in debian.disk().files["/etc/fstab"][1]


def test_debian_disk_missing_programs_are_one_line_for_an_administrator(monkeypatch):
    monkeypatch.setattr(debian_disk, "TOOLS", {"no-such-program": "its-package", "sh": "dash"})
    with pytest.raises(HostError, match=r"apt-get install its-package$"):
        debian_disk.check_tools()
