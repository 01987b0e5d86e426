# SPDX-License-Identifier: MIT
"""Fetching packages with an apt that is played here, and the parts of the image that are plain data."""

import errno
import hashlib
import lzma
import os
import struct
from pathlib import Path

import pytest

from lab.guest import build, host, lockfile, modules, packages
from lab.guest.host import BuildError

GUEST = Path(__file__).resolve().parents[1]

# apt-get and apt-cache for one package of one version; the .deb is its name and version.
APT_GET = """#!/bin/sh
echo "$*" >> "$0.log"
while [ $# -gt 0 ] && [ "$1" != download ]; do shift; done
shift
for word; do
    case $word in {known}) ;; *) echo "E: Version for '$word' was not found" >&2; exit 100 ;; esac
done
for word; do printf %s "{name} {version}" > "{name}_{version}_all.deb"; done
"""


class Apt:
    """Puts the played tools on PATH."""

    def __init__(self, directory: Path, monkeypatch):
        self.directory = directory
        directory.mkdir()
        monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")

    def has(self, name: str, version: str) -> None:
        text = APT_GET.format(known=f"{name}|{name}={version}", name=name, version=version)
        self._write("apt-get", text)
        self._write("apt-cache", f"#!/bin/sh\necho '  Depends: {name}'\n")
        self._write("dpkg-deb", f"#!/bin/sh\necho {version}\n")

    def _write(self, tool: str, text: str) -> None:
        (self.directory / tool).write_text(text)
        (self.directory / tool).chmod(0o755)


@pytest.fixture
def apt(tmp_path, monkeypatch):
    return Apt(tmp_path / "bin", monkeypatch)


def package(name: str, version: str):
    return lockfile.Package(name, version, "all", hashlib.sha256(f"{name} {version}".encode()).hexdigest())


def test_fetch_locked_version(apt, tmp_path):
    apt.has("fio", "1")
    debs, moved = packages.fetch_all([package("fio", "1")], tmp_path / "cache", tmp_path / "scratch")
    assert debs["fio"].read_text() == "fio 1"
    assert moved == []


def test_fetch_uses_cache(apt, tmp_path):
    apt.has("fio", "1")
    for scratch in ("one", "two"):
        packages.fetch_all([package("fio", "1")], tmp_path / "cache", tmp_path / scratch)
    assert len((apt.directory / "apt-get.log").read_text().splitlines()) == 1


def test_fetch_moved_version_is_said_and_recorded(apt, tmp_path, capsys):
    apt.has("fio", "2")
    debs, moved = packages.fetch_all([package("fio", "1")], tmp_path / "cache", tmp_path / "scratch")
    assert debs["fio"].read_text() == "fio 2"
    assert moved == ["fio 1 -> 2"]
    assert "lock moved: fio 1 -> 2 (the mirror no longer has the locked version)" in capsys.readouterr().out


def test_fetch_moved_kernel_changes_its_name(apt, tmp_path):
    apt.has("linux-image-6.1.0-99-amd64", "6.1.999-1")
    old = package("linux-image-6.1.0-56-amd64", "6.1.192-2")
    _, moved = packages.fetch_all([old], tmp_path / "cache", tmp_path / "scratch")
    assert moved == ["linux-image-6.1.0-56-amd64 6.1.192-2 -> linux-image-6.1.0-99-amd64 6.1.999-1"]


def test_fetch_unknown_package(apt, tmp_path):
    apt.has("other", "1")
    with pytest.raises(BuildError, match=r"neither fio 1 nor another version of it\. Run `apt-get update`"):
        packages.fetch_all([package("fio", "1")], tmp_path / "cache", tmp_path / "scratch")


def test_fetch_wrong_sum_is_fatal(apt, tmp_path):
    apt.has("fio", "1")
    wrong = lockfile.Package("fio", "1", "all", "0" * 64)
    with pytest.raises(BuildError) as error:
        packages.fetch_all([wrong], tmp_path / "cache", tmp_path / "scratch")
    assert "fio_1_all.deb: SHA-256 is" in str(error.value)
    assert "its lock in envs/ says 0000" in str(error.value)
    assert "Delete the file and run again" in str(error.value)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (
            "Err:1 http://mirror bookworm/main amd64 fio\nE: Failed to fetch http://mirror/fio.deb  "
            "Temporary failure resolving 'mirror'",
            r"apt cannot fetch fio: .*Temporary failure resolving 'mirror'\. Check the network",
        ),
        ("E: Write error - write (28: No space left on device)", r"`apt-get` below .*: No space left on device; free"),
    ],
)
def test_fetch_without_network_or_space_is_one_message(apt, tmp_path, said, message):
    """Neither is taken for a version that the mirror has dropped."""
    apt.has("fio", "1")
    apt._write("apt-get", f'#!/bin/sh\necho "{said}" >&2\nexit 100\n')
    with pytest.raises(BuildError, match=message):
        packages.fetch_all([package("fio", "1")], tmp_path / "cache", tmp_path / "scratch")


def test_full_disk_is_one_message(capsys):
    def main():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/build/guest.tmp/out/vmlinux")

    with pytest.raises(SystemExit) as end:
        host.one_message("guest", main)
    assert end.value.code == (
        "guest: /build/guest.tmp/out/vmlinux: No space left on device; free some, then give the same command again"
    )


def test_run_names_missing_tool(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(BuildError, match=r"the tool mkfs\.erofs-not-there is missing"):
        host.run(["mkfs.erofs-not-there"])


def test_modules_of_repository():
    boot, other = modules.parse_modules((GUEST / "modules.txt").read_text())
    assert {"virtio_pci", "virtio_blk", "erofs"} <= set(boot)
    assert {"ahci", "ata_piix", "virtio_scsi", "megaraid_sas", "sd_mod"} <= set(other)


def test_modules_bad_line():
    with pytest.raises(BuildError, match=r"modules.txt:2: 'load ahci' is neither"):
        modules.parse_modules("boot erofs\nload ahci\n")


def bzimage(payload: bytes) -> bytes:
    image = bytearray(1024)
    image[0x1F1] = 1
    image[0x202:0x206] = b"HdrS"
    struct.pack_into("<II", image, 0x248, 16, len(payload))
    return bytes(image) + bytes(16) + payload + b"trailer"


def test_kernel_is_unpacked():
    elf = b"\x7fELF" + bytes(5000)
    assert build.unpack_kernel(bzimage(lzma.compress(elf) + struct.pack("<I", len(elf)))) == elf


def test_kernel_of_unknown_kind():
    with pytest.raises(BuildError, match="begins with 28b52ffd0000, xz is expected"):
        build.unpack_kernel(bzimage(b"\x28\xb5\x2f\xfd" + bytes(20)))
    with pytest.raises(BuildError, match="not a bzImage"):
        build.unpack_kernel(bytes(2048))


def test_module_signature_is_taken_off(tmp_path):
    module = tmp_path / "a.ko"
    module.write_bytes(b"MODULE" + b"s" * 300 + bytes(8) + struct.pack(">I", 300) + b"~Module signature appended~\n")
    for _ in range(2):
        modules.strip_signature(module)
        assert module.read_bytes() == b"MODULE"


def test_cpio_layout():
    archive = build.cpio([("dev", 0o040755, b""), ("init", 0o100755, b"12345")])
    assert len(archive) % 4 == 0
    assert archive.startswith(b"070701")
    assert archive[110:114] == b"dev\0"
    assert archive.count(b"070701") == 3
    assert b"init\0\0" in archive and b"TRAILER!!!\0" in archive


def test_command_line_is_one_line():
    text = (GUEST / "cmdline").read_text()
    assert len([line for line in text.splitlines() if not line.startswith("#")]) == 1
    # What the agent's way of ending the machine, and the end after a panic, rest on.
    assert {"console=ttyS0", "panic=-1", "reboot=t", "acpi=off"} <= set(text.split())
