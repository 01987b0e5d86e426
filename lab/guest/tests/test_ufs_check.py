# SPDX-License-Identifier: MIT
"""ufs-newfs and ufs-check against each other: an image made by the one is clean to the other, and each planted damage
is found."""

import hashlib
import os
import struct
import subprocess
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[1] / "ufs"
FLAGS = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"]
BYTES = 80 << 20
"""Three groups, the last a half."""
FRAGMENT, GROUP, INODES, INODE_BYTES = 1024, 32768, 7936, 128
SUPER, GROUP_BLOCK, INODE_BLOCKS, DATA = 8192, 24, 32, 1024
INODE_BIT, FREE_BIT = 168 + 64 + 32, 168 + 64 + 32 + INODES // 8
"""Where the maps begin in a group's block."""


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tools")
    for name in ("ufs-newfs", "ufs-check"):
        subprocess.run(["gcc", *FLAGS, "-o", folder / name, SOURCES / f"{name}.c"], check=True)
    return folder


def made(tools, path, size=BYTES):
    subprocess.run([tools / "ufs-newfs", "--bytes", str(size), path], check=True, capture_output=True)
    return path


def checked(tools, path):
    done = subprocess.run([tools / "ufs-check", path], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


class Image:
    """An image to read and damage."""

    def __init__(self, path):
        self.path = path
        self.data = bytearray(path.read_bytes())

    def save(self):
        self.path.write_bytes(self.data)

    def get(self, at, form="<i"):
        return struct.unpack_from(form, self.data, at)[0]

    def put(self, at, value, form="<i"):
        struct.pack_into(form, self.data, at, value)

    def group(self, number):
        return (number * GROUP + GROUP_BLOCK) * FRAGMENT

    def inode(self, number):
        group, inside = divmod(number, INODES)
        return (group * GROUP + INODE_BLOCKS) * FRAGMENT + inside * INODE_BYTES

    def flip(self, number, where, bit):
        self.data[self.group(number) + where + bit // 8] ^= 1 << bit % 8


@pytest.fixture
def image(tools, tmp_path):
    """A file system with one file, one directory and a file in it, put there by hand."""
    image = Image(made(tools, tmp_path / "image"))
    root = image.get(image.inode(2) + 40) * FRAGMENT

    def inode(number, mode, links, size, fragment):
        at = image.inode(number)
        image.put(at, mode, "<H")
        image.put(at + 2, links, "<h")
        image.put(at + 8, size, "<Q")
        image.put(at + 40, fragment)
        image.put(at + 104, 2)
        image.flip(0, INODE_BIT, number)

    def entry(at, number, length, kind, name):
        struct.pack_into("<IHBB", image.data, at, number, length, kind, len(name))
        image.data[at + 8 : at + 8 + len(name)] = name

    first = root // FRAGMENT
    for step in range(1, 4):
        image.flip(0, FREE_BIT, first + step)
    inode(3, 0o100644, 1, 100, first + 1)
    inode(4, 0o040755, 2, 512, first + 2)
    inode(5, 0o100644, 1, 1024, first + 3)
    entry(root + 12, 2, 12, 4, b"..")
    entry(root + 24, 3, 12, 8, b"a")
    entry(root + 36, 4, 512 - 36, 4, b"d")
    inside = (first + 2) * FRAGMENT
    entry(inside, 4, 12, 4, b".")
    entry(inside + 12, 2, 12, 4, b"..")
    entry(inside + 24, 5, 512 - 24, 8, b"b")
    image.put(image.inode(2) + 2, 3, "<h")
    # the group's counts, the summary and the totals: one directory more, three inodes and fragments less
    summary = image.get(SUPER + 152) * FRAGMENT
    for at in (image.group(0) + 24, summary, SUPER + 192):
        image.put(at, image.get(at) + 1)
        image.put(at + 8, image.get(at + 8) - 3)
        image.put(at + 12, image.get(at + 12) - 3)
    pieces = image.group(0) + 52
    image.put(pieces + 7 * 4, image.get(pieces + 7 * 4) - 1)
    image.put(pieces + 4 * 4, image.get(pieces + 4 * 4) + 1)
    image.save()
    assert checked(tools, image.path)[:2] == (
        0,
        f"{image.path}: clean, 4 files, 2 directories, {image.get(SUPER + 196)} free blocks\n",
    )
    return image


@pytest.mark.parametrize("size", [2 << 20, 40 << 20, BYTES, (80 << 20) + 5 * 1024, 18351959040])
def test_a_new_file_system_is_clean(tools, tmp_path, size):
    path = made(tools, tmp_path / "image", size)
    status, said, _ = checked(tools, path)
    assert (status, "clean, 1 files, 1 directories" in said) == (0, True)
    assert os.stat(path).st_blocks * 512 < 32 << 20


def test_the_same_size_gives_the_same_bytes(tools, tmp_path):
    sums = {hashlib.sha256(made(tools, tmp_path / name).read_bytes()).hexdigest() for name in ("one", "two")}
    assert len(sums) == 1


def test_geometry_is_that_of_newfs_in_2000(tools, tmp_path):
    image = Image(made(tools, tmp_path / "image"))
    fields = {"bsize": 48, "fsize": 52, "minfree": 60, "cpg": 180, "ipg": 184, "fpg": 188, "dblkno": 20, "maxbpg": 92}
    assert {name: image.get(SUPER + at) for name, at in fields.items()} == {
        "bsize": 8192, "fsize": 1024, "minfree": 8, "cpg": 16, "ipg": INODES, "fpg": GROUP, "dblkno": DATA,
        "maxbpg": 2048,
    }  # fmt: skip


def fragment_of(image, number):
    return image.get(image.inode(number) + 40)


DAMAGES = {
    "claimed twice": lambda i: i.put(i.inode(5) + 40, fragment_of(i, 3)),
    "out of range": lambda i: i.put(i.inode(5) + 40, 40),
    "says it has 4 sectors, has 2": lambda i: i.put(i.inode(5) + 104, 4),
    "lies behind the end": lambda i: i.put(i.inode(5) + 44, fragment_of(i, 5) + 8),
    "its type is unknown": lambda i: i.put(i.inode(5), 0o170644, "<H"),
    "counts 2 links, has 1": lambda i: i.put(i.inode(5) + 2, 2, "<h"),
    "a directory of 100 bytes": lambda i: i.put(i.inode(4) + 8, 100, "<Q"),
    "names inode 9, which is free": lambda i: i.put(fragment_of(i, 2) * FRAGMENT + 24, 9, "<I"),
    "names inode 99999, which does not exist": lambda i: i.put(fragment_of(i, 2) * FRAGMENT + 24, 99999, "<I"),
    "in use, but nothing names it": lambda i: i.put(fragment_of(i, 2) * FRAGMENT + 24, 0, "<I"),
    "is of type 4": lambda i: i.put(fragment_of(i, 2) * FRAGMENT + 30, 4, "<B"),
    "has length 13": lambda i: i.put(fragment_of(i, 2) * FRAGMENT + 28, 13, "<H"),
    "nothing names it": lambda i: i.put(fragment_of(i, 2) * FRAGMENT + 36, 0, "<I"),
    'its ".." is 4, but it is in 2': lambda i: i.put(fragment_of(i, 4) * FRAGMENT + 12, 4, "<I"),
    'the first entry is not "."': lambda i: i.put(fragment_of(i, 4) * FRAGMENT, 2, "<I"),
    "in use, but free in its group's map": lambda i: i.flip(0, FREE_BIT, fragment_of(i, 3)),
    "nobody's, but in use": lambda i: i.flip(2, FREE_BIT, 5000),
    "inode 5: in use, but free": lambda i: (i.flip(0, INODE_BIT, 5), i.flip(0, INODE_BIT, 6)),
    "free, but in use in its group's map": lambda i: i.flip(1, INODE_BIT, 100),
    "number of free blocks": lambda i: i.put(i.group(1) + 28, 7),
    "number of free pieces": lambda i: i.put(i.group(0) + 52 + 4, 7),
    "in the map of clusters": lambda i: i.flip(1, i.get(i.group(1) + 108), 200),
    "number of free clusters": lambda i: i.put(i.group(1) + i.get(i.group(1) + 104) + 15 * 4, 7),
    "the summary has": lambda i: i.put(i.get(SUPER + 152) * FRAGMENT + 16, 7),
    "totals are": lambda i: i.put(SUPER + 192, 9),
    "not marked clean": lambda i: i.put(SUPER + 209, 0, "<B"),
}


@pytest.mark.parametrize("message", DAMAGES)
def test_damage_is_found(tools, image, message):
    DAMAGES[message](image)
    image.save()
    status, said, _ = checked(tools, image.path)
    assert status == 1
    assert message in said


def test_a_loop_of_directories_is_found(tools, image):
    # the directory contains itself, and nothing else names it
    inside = fragment_of(image, 4) * FRAGMENT
    image.put(fragment_of(image, 2) * FRAGMENT + 36, 0, "<I")
    image.put(inside + 24, 4, "<I")
    image.put(inside + 30, 4, "<B")
    image.save()
    assert "directory 4: no way leads to it from the root" in checked(tools, image.path)[1]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda i: i.put(SUPER + 1372, 7), "no UFS1: the magic number is 0x7"),
        (lambda i: i.put(i.group(1) + 4, 7), "group 1: magic number 0x7"),
        (lambda i: i.put(SUPER + 184, -1), "fs_ipg is -1"),
    ],
)
def test_what_is_no_ufs_is_refused(tools, image, damage, message):
    damage(image)
    image.save()
    status, _, complaint = checked(tools, image.path)
    assert status == 2
    assert message in complaint


@pytest.mark.parametrize("words", [[], ["--bytes", "x", "file"], ["--bytes", "100", "file"], ["--nothing", "file"]])
def test_newfs_refuses_what_it_does_not_understand(tools, tmp_path, words):
    done = subprocess.run([tools / "ufs-newfs", *words], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("ufs-newfs: ")
