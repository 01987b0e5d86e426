# SPDX-License-Identifier: MIT
"""Volumes on files: what ldmtool says of them, disks that Windows wrote, and the command line's refusals."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from lab.cell import paths
from lab.volumes.ldm import __main__ as command
from lab.volumes.ldm import volumes

DISK_BYTES = 50 << 20
SHARE = 96_256
"""Sectors a volume gets of such a disk."""
GROUP = re.compile(r"group \S+ (\S+): transaction 1")
LIBLDM = ("ldmtool", "libldm_0.2.5.orig.tar.gz", "61bb2f2367b1df59f818cb96794d1770a0def956bd2c343dccf1425dae3021b5")
"""Source package with images of disks that Windows wrote. Read by a test, not part of anything built."""


def missing(reason):
    """Skip, or fail where nothing may be skipped."""
    (pytest.fail if os.environ.get("SPINDLE_NO_SKIP") else pytest.skip)(reason)


def blank(folder, count, size=DISK_BYTES):
    """Sparse disks."""
    made = [folder / f"disk{place}.img" for place in range(count)]
    for path in made:
        with open(path, "wb") as file:
            file.truncate(size)
    return [str(path) for path in made]


def sum_of(file):
    """SHA-256 of a file."""
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def run(capsys, *words):
    """Exit status, standard output and error of the command."""
    status = command.main(list(words))
    said = capsys.readouterr()
    return status, said.out, said.err


EXPECTED = {
    ("simple", 1): (SHARE, 0),
    ("spanned", 3): (3 * SHARE, 0),
    ("striped", 4): (4 * SHARE, 128),
    ("mirrored", 2): (SHARE, 0),
    ("raid5", 4): (3 * SHARE, 128),
}
TOOL_NAMES = {"raid5": "RAID5"}


@pytest.mark.parametrize(("kind", "disks"), EXPECTED)
def test_ldmtool_reads_what_we_write(tmp_path, capsys, kind, disks):
    if not shutil.which("ldmtool"):
        missing("ldmtool is not installed (Debian package ldmtool): it judges what we write")
    files = blank(tmp_path, disks)
    assert run(capsys, "create", "--type", kind, "--name", "Data-1", *files) == (0, "", "")
    group = GROUP.match(run(capsys, "show", *files)[1])[1]
    devices = [word for file in files for word in ("-d", file)]

    def ask(*words):
        done = subprocess.run(["ldmtool", *devices, *words], capture_output=True, text=True, check=True)
        found = done.stdout[: done.stdout.rfind("}") + 1] or done.stdout
        # It warns that it takes a file's sectors for 512 bytes, and, showing a volume, that it is not assembled.
        warned = [line for line in done.stderr.splitlines() if "sector size" not in line and "get device" not in line]
        assert not warned, done.stderr
        return json.loads(found)

    assert ask("scan") == [group]
    about = ask("show", "diskgroup", group)
    names = [f"Disk{place}" for place in range(1, disks + 1)]
    assert about == {"name": "Spindle-Dg0", "guid": group, "volumes": ["Data-1"], "disks": names}
    sectors, stripe = EXPECTED[kind, disks]
    volume = ask("show", "volume", group, "Data-1")
    assert (volume["type"], volume["size"], volume["chunk-size"]) == (TOOL_NAMES.get(kind, kind), sectors, stripe)
    assert volume["partitions"] == [f"{name}-01" for name in names]
    for name, file in zip(names, files, strict=True):
        part = ask("show", "partition", group, f"{name}-01")
        assert (part["start"], part["size"], part["disk"]) == (0, SHARE, name)
        disk = ask("show", "disk", group, name)
        assert (disk["present"], disk["device"]) == (True, file)
        assert (disk["data-start"], disk["data-size"]) == (63, 96_327)
        assert (disk["metadata-start"], disk["metadata-size"]) == (102_400 - 2048, 2048)


@pytest.fixture(scope="session")
def windows(tmp_path_factory):
    """Folder with the images of libldm's tests."""
    cache = paths.build() / "cache"
    fetched = subprocess.run(
        [paths.ROOT / "envs/fetch-source", cache, *LIBLDM], capture_output=True, text=True, check=False
    )
    if fetched.returncode:
        missing(f"libldm's sources, with disks that Windows wrote, cannot be had: {fetched.stderr.strip()}")
    folder = tmp_path_factory.mktemp("windows")
    with tarfile.open(cache / LIBLDM[1]) as source:
        images = source.extractfile(next(one for one in source if one.name.endswith("/ldm-data.tar.xz"))).read()
    # Python's tarfile takes minutes for it, as it writes every hole.
    subprocess.run(["tar", "-xJ", "-C", folder], input=images, check=True)
    return folder


@pytest.mark.parametrize(("release", "version", "disks"), [("2003r2", "2.11", 10), ("2008r2", "2.12", 4)])
def test_disks_that_windows_wrote(windows, release, version, disks):
    """Each image is read without a complaint, and all say the same."""
    found = sorted(windows.glob(f"ldm-{release}-*.img"))
    files = [file for file in found if b"EFI PART" not in file.read_bytes()[512:520]]  # GPT is not ours.
    lines = volumes.describe(files)
    assert len([line for line in lines if f"version {version}" in line]) == len(files) == disks
    kinds = {line.split()[3].rstrip(",") for line in lines if line.startswith("volume")}
    assert kinds >= {"spanned", "striped", "mirrored", "raid5"}
    assert len([line for line in lines if "stripes of 128 sectors" in line]) == 2


def test_the_same_bytes(tmp_path, capsys):
    sums = []
    for again in ("one", "two"):
        (tmp_path / again).mkdir()
        files = blank(tmp_path / again, 3, 12 << 20)
        assert run(capsys, "create", "--type", "raid5", *files)[0] == 0
        sums.append([sum_of(file) for file in files])
    assert sums[0] == sums[1]
    assert len(set(sums[0])) == 3
    assert run(capsys, "create", "--type", "raid5", "--seed", "2", "--force", *files)[0] == 0
    assert sum_of(files[0]) != sums[0][0]


def test_disks_stay_sparse(tmp_path, capsys):
    files = blank(tmp_path, 1, 36 << 30)
    assert run(capsys, "create", "--type", "simple", *files)[0] == 0
    assert os.stat(files[0]).st_blocks * 512 < 2 << 20


def test_refusals(tmp_path, capsys):
    files = blank(tmp_path, 4)
    (tmp_path / "larger").mkdir()
    larger = blank(tmp_path / "larger", 1, DISK_BYTES + 512)
    odd = blank(tmp_path / "larger", 1, DISK_BYTES + 1)
    small = tmp_path / "small.img"
    small.write_bytes(bytes(8 << 20))
    refused = {
        "takes 1 disks, 2 given": ["--type", "simple", *files[:2]],
        "takes 2 to 32 disks, 1 given": ["--type", "striped", *files[:1]],
        "takes 2 disks, 3 given": ["--type", "mirrored", *files[:3]],
        "takes 3 to 32 disks, 2 given": ["--type", "raid5", *files[:2]],
        "power of two": ["--type", "striped", "--stripe-kib", "48", *files],
        "letters, digits": ["--type", "striped", "--name", "a b", *files],
        "at most 30": ["--type", "striped", "--group", "g" * 31, *files],
        "whole 512-byte sectors": ["--type", "striped", files[0], *odd],
        "Is a directory": ["--type", "simple", str(tmp_path)],
        "No such file": ["--type", "simple", str(tmp_path / "none")],
        "the same file": ["--type", "striped", files[0], files[0]],
        "at least": ["--type", "simple", str(small)],
    }
    for reason, words in refused.items():
        status, out, err = run(capsys, "create", *words)
        assert (status, out, err.count("\n")) == (1, "", 1), err
        assert err.startswith("error: ") and reason in err, err
    blank(tmp_path / "larger", 1, DISK_BYTES + 512)
    assert "take disks of the same size" in run(capsys, "create", "--type", "striped", files[0], *larger)[2]
    assert {os.stat(file).st_blocks for file in files} == {0}, "nothing was written"


def test_what_is_there_is_kept(tmp_path, capsys):
    files = blank(tmp_path, 2)
    assert run(capsys, "create", "--type", "mirrored", *files)[0] == 0
    status, _, err = run(capsys, "create", "--type", "striped", *files)
    assert status == 1 and "is a dynamic disk; --force" in err
    assert run(capsys, "create", "--type", "striped", "--force", *files)[0] == 0
    assert "striped" in run(capsys, "show", files[1])[1]
    with open(files[0], "r+b") as file:
        file.seek(6 * 512)
        file.write(bytes(512))
    assert "has a partition table; --force" in run(capsys, "create", "--type", "mirrored", *files)[2]


def test_show_refuses(tmp_path, capsys):
    files = blank(tmp_path, 2)
    assert "no partition of type 0x42" in run(capsys, "show", files[0])[2]
    assert run(capsys, "create", "--type", "simple", files[0])[0] == 0
    assert run(capsys, "create", "--type", "simple", "--group", "Other", files[1])[0] == 0
    assert "one group at a time" in run(capsys, "show", *files)[2]
    assert "each disk once" in run(capsys, "show", files[0], files[0])[2]
    os.truncate(files[0], 40 << 20)
    assert "on a disk of 81920" in run(capsys, "show", files[0])[2]
    os.truncate(files[0], 512)
    status, _, err = run(capsys, "show", files[0])
    assert status == 1 and "behind the end of the disk" in err
