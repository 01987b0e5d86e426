# SPDX-License-Identifier: MIT
"""The lock: what is read, what is refused and with which words, and how it is written anew."""

from pathlib import Path

import pytest

from lab.guest import kernel_modules, lockfile, relock, toolchain
from lab.guest.build import LOCK
from lab.guest.wishes import RelockError, parse_wishes

ROOT = Path(__file__).resolve().parents[3]
SUM = "0" * 64
HEADER = "# spindle-guest-lock/1 name version arch sha256"


def lock(*lines: str) -> str:
    return "\n".join([HEADER, *lines]) + "\n"


def test_lock_round_trip():
    text = lock(f"fio\t3.33-3\tamd64\t{SUM}", f"libaio1\t1:0.3~rc+b1\tamd64\t{SUM}", f"seabios\t1.16.2-1\tall\t{SUM}")
    packages = lockfile.parse(text)
    assert [package.name for package in packages] == ["fio", "libaio1", "seabios"]
    assert lockfile.render(packages[::-1]) == text


def test_lock_deb_name_like_apt():
    package = lockfile.Package("qemu-system-data", "1:7.2+dfsg-7", "all", SUM)
    assert package.deb == "qemu-system-data_1%3a7.2+dfsg-7_all.deb"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "envs/guest.lock:1: the first line is ''"),
        ("# spindle-guest-lock/9\n", "envs/guest.lock:1: the first line is '# spindle-guest-lock/9'"),
        (lock(), "no package in it"),
        (lock("fio 3.33-3 amd64"), "envs/guest.lock:2: 1 fields instead of 4"),
        (lock(f"Fio\t3.33-3\tamd64\t{SUM}"), "envs/guest.lock:2: name is 'Fio'"),
        (lock(f"fio\t3.33 3\tamd64\t{SUM}"), "envs/guest.lock:2: version is '3.33 3'"),
        (lock(f"fio\t3.33-3\tarm64\t{SUM}"), "envs/guest.lock:2: arch is 'arm64'"),
        (lock(f"fio\t3.33-3\tamd64\t{SUM}0"), "envs/guest.lock:2: sha256 is '0000"),
        (lock(f"fio\t1\tall\t{SUM}", f"fio\t2\tall\t{SUM}"), "envs/guest.lock:3: fio after fio"),
        (lock(f"fio\t1\tall\t{SUM}", f"bio\t2\tall\t{SUM}"), "envs/guest.lock:3: bio after fio"),
    ],
)
def test_lock_bad(text, message):
    with pytest.raises(lockfile.LockError) as error:
        lockfile.parse(text)
    assert message in str(error.value)
    assert "make relock" in str(error.value)


def test_lock_of_repository_covers_wishes():
    wanted, left_out = parse_wishes((ROOT / "envs" / "guest-packages.txt").read_text())
    locked = {package.name for package in lockfile.parse((ROOT / "envs" / "guest.lock").read_text())}
    assert set(wanted) <= locked, "run `make relock`"
    assert not set(left_out) & locked, "run `make relock`"
    assert sum(name.startswith("linux-image-6") for name in locked) == 1


def test_toolchain_lock_covers_wishes_and_nothing_of_the_guest():
    """Compiler and C library have one version, the guest's: an SSH-like build in it uses the same."""
    wanted, _ = parse_wishes(toolchain.WISHES.read_text(), "envs/toolchain-packages.txt")
    own = {package.name for package in lockfile.parse(toolchain.LOCK.read_text(), "envs/toolchain.lock")}
    guest = {package.name for package in lockfile.parse(LOCK.read_text())}
    assert set(wanted) <= own | guest, "run `make relock`"
    assert not own & guest, "run `make relock`"


def test_wishes_bad_line():
    with pytest.raises(RelockError, match=r"guest-packages.txt:2: 'two words' is not a package name"):
        parse_wishes("fio # why\ntwo words # why\n")


def test_relock_reads_simulation():
    text = (
        "NOTE: this is only a simulation\n"
        "Inst libc6 (2.36-9 Debian:12/oldstable [amd64]) []\n"
        "Inst fio (3.33-3 Debian:12/oldstable, Debian-Security:12/x [amd64])\n"
        "Conf fio (3.33-3 Debian:12/oldstable [amd64])\n"
    )
    assert relock.parse_simulation(text) == [("libc6", "2.36-9"), ("fio", "3.33-3")]


def test_relock_reads_records():
    text = (
        f"Package: fio\nVersion: 3.33-3\nArchitecture: amd64\nDepends: libc6\nSHA256: {SUM}\n\n"
        f"Package: seabios\nVersion: 1.16.2-1\nArchitecture: all\nSHA256: {SUM}\n\n"
    )
    assert [package.name for package in relock.parse_records(text)] == ["fio", "seabios"]


def test_what_a_kernel_needs_follows_from_its_name():
    names = kernel_modules.needed("linux-image-6.1.0-56-amd64")
    assert names == [
        "linux-headers-6.1.0-56-amd64",
        "linux-headers-6.1.0-56-common",
        "linux-kbuild-6.1",
        "linux-source-6.1",
    ]


def test_both_locks_are_for_one_kernel():
    image = next(p for p in lockfile.parse(LOCK.read_text()) if p.name.startswith("linux-image-6"))
    kernel = lockfile.parse(kernel_modules.LOCK.read_text(), "envs/kernel.lock")
    assert sorted(p.name for p in kernel) == sorted(kernel_modules.needed(image.name))
    assert {p.version for p in kernel} == {image.version}


def test_patches_say_their_licence():
    for name in kernel_modules.MODULES:
        for patch in kernel_modules.patches(name):
            assert patch.read_text().splitlines()[0] == "SPDX-License-Identifier: GPL-2.0-or-later", patch
