# SPDX-License-Identifier: MIT
"""Media: found, checked, and refused with one message each."""

import hashlib
import re

import pytest

from lab.cell import guests, paths
from lab.cell.errors import SpindleError
from lab.guests import media, prepare


def image(path, volume):
    """An ISO 9660 image as far as its volume name goes."""
    descriptor = b"\x01CD001\x01\0" + b" " * 32 + volume.encode().ljust(32) + bytes(2048 - 72)
    path.write_bytes(bytes(16 * 2048) + descriptor)
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "BUILD", tmp_path / "build")
    return tmp_path


def test_media_the_right_one_is_taken(here):
    digest = image(here / "disc1.iso", "14_3_RELEASE_AMD64_CD")
    found = media.check("freebsd", str(here / "disc1.iso"), digest.upper())
    assert (found.volume, found.sha256) == ("14_3_RELEASE_AMD64_CD", digest)


def test_media_one_that_was_placed_is_found(here):
    media.folder().mkdir(parents=True)
    path = media.folder() / "freebsd.iso"
    digest = image(path, "14_3_RELEASE_AMD64_CD")
    with pytest.raises(SpindleError, match=r"no checksum; write it to .*freebsd.iso.sha256"):
        media.check("freebsd", "", "")
    path.with_name("freebsd.iso.sha256").write_text(f"{digest}  FreeBSD-14.3-RELEASE-amd64-disc1.iso\n")
    assert media.check("freebsd", "", "").path == path


@pytest.mark.parametrize(
    ("volume", "message"),
    [
        ("14_3_RELEASE_AARCH64_CD", "this is FreeBSD for another architecture"),
        ("14_3_RELEASE_I386_CD", "this is FreeBSD for 32 bits"),
        ("14_2_RELEASE_AMD64_CD", "this is another release of FreeBSD"),
        ("Debian 12.5.0 amd64 n", "its volume is 'Debian 12.5.0 amd64 n', which is not the image of"),
    ],
)
def test_media_a_wrong_one_is_named(here, volume, message):
    digest = image(here / "a.iso", volume)
    with pytest.raises(SpindleError, match=message):
        media.check("freebsd", str(here / "a.iso"), digest)


def test_media_wrong_checksum_no_checksum_no_file_no_image(here):
    digest = image(here / "a.iso", "14_3_RELEASE_AMD64_CD")
    file = str(here / "a.iso")
    with pytest.raises(SpindleError, match=f"its SHA-256 is {digest}, not {'0' * 64}; the file is damaged"):
        media.check("freebsd", file, "0" * 64)
    with pytest.raises(SpindleError, match="SHA256=abc: this is no SHA-256 of 64 hexadecimal digits"):
        media.check("freebsd", file, "abc")
    with pytest.raises(SpindleError, match="there is no such file"):
        media.check("freebsd", f"{file}.no", digest)
    (here / "b").write_bytes(b"no image")
    with pytest.raises(SpindleError, match="it is no ISO 9660 image"):
        media.check("freebsd", str(here / "b"), hashlib.sha256(b"no image").hexdigest())
    with pytest.raises(SpindleError, match="guest 'freebsd' needs an installation medium: make guest NAME=freebsd"):
        media.check("freebsd", "", "")


def test_media_each_missing_one_is_one_line(here):
    lines = media.missing()
    assert [re.search("guest ([a-z0-9-]+)", line)[1] for line in lines] == media.wanted()
    assert all("\n" not in line and "needed by no report" in line for line in lines)


def test_media_windows_2000_and_server_are_told_apart(here):
    digest = image(here / "w.iso", "W2PFPP_EN")
    assert media.check("windows-2000", str(here / "w.iso"), digest)
    with pytest.raises(SpindleError, match="guest 'windows' needs the evaluation image"):
        image_digest = image(here / "x.iso", "CCCOMA_X64FRE_EN-US_DV9")
        media.check("windows", str(here / "x.iso"), image_digest)


def test_prepare_says_what_is_not_prepared(here, capsys):
    assert prepare.main(["linux"]) == 1
    assert "`make lab` builds this guest; debian, freebsd, " in capsys.readouterr().err
    assert prepare.main(["freebds"]) == 1
    assert "did you mean 'freebsd'" in capsys.readouterr().err
    assert prepare.main(["debian", "--medium", "a.iso"]) == 1
    assert "takes no MEDIA" in capsys.readouterr().err


def test_prepare_seed_is_a_tar_archive_with_the_sources(here):
    files = prepare.seed_files(guests.guest("freebsd"), here)
    assert {"freebsd/install.sh", "freebsd/installerconfig", "agent/agent.c", "rawio/rawio.c"} <= files.keys()
    assert not any("tests" in name for name in files)
    disk = prepare.seed_disk(files)
    assert (
        disk == prepare.seed_disk(dict(reversed(files.items()))) and disk[257:262] == b"ustar" and len(disk) % 4096 == 0
    )


@pytest.mark.parametrize("name", guests.names()[1:])
def test_prepare_machine_has_disk_seed_and_console(here, name):
    about = guests.guest(name)
    words = prepare.qemu_command(about, here, here, about.data["prepare"]["steps"][0]["boots"], here / "m.iso")
    text = " ".join(words)
    assert "stdio,id=console" in text and f"filename={here / 'system.img'}" in text and "serial=seed" in text
    assert ("ide-cd" in text) == (about.data["made_from"] == "medium")
    # The second device on IDE is the medium's: the disk must not lie there.
    assert text.count("bus=ide.1") <= 1
