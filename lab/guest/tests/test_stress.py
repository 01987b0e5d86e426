# SPDX-License-Identifier: MIT
"""fs-stress on the host's own file system: it accepts what it wrote, and no change to it."""

import subprocess
from pathlib import Path

import pytest

from lab.guest.imaging import compile_program

SOURCE = Path(__file__).parents[1] / "stress" / "fs-stress.c"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The program, compiled as for the guest."""
    target = tmp_path_factory.mktemp("stress") / "fs-stress"
    compile_program(SOURCE, target)
    return target


def call(program, folder, mode, *more):
    """Run it; returns status and message."""
    command = [program, mode, "--dir", folder, "--seed", "3", "--operations", "600", *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.fixture
def tree(program, tmp_path):
    """A folder as --write leaves it."""
    folder = tmp_path / "tree"
    folder.mkdir()
    assert call(program, folder, "--write") == (0, "")
    return folder


def a_file(tree):
    """One file with content and a single link."""
    return next(p for p in sorted(tree.rglob("n*")) if p.is_file() and not p.is_symlink() and p.stat().st_size > 9)


def test_what_was_written_is_found_and_removed(program, tree):
    assert call(program, tree, "--verify") == (0, "")
    assert call(program, tree, "--remove") == (0, "")
    assert list(tree.iterdir()) == []


def flip(tree):
    path = a_file(tree)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


CHANGES = {
    "byte": (flip, "must be"),
    "length": (lambda tree: a_file(tree).open("ab").write(b"x"), "bytes, must be"),
    "missing": (lambda tree: a_file(tree).unlink(), "No such file|must list"),
    "extra": (lambda tree: (tree / "extra").touch(), "is there, must not be"),
    "link": (lambda tree: (tree.parent / "other").hardlink_to(a_file(tree)), "links, must be"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_found(program, tree, change):
    act, words = CHANGES[change]
    act(tree)
    status, said = call(program, tree, "--verify")
    assert status == 1 and any(word in said for word in words.split("|")), said


def test_other_seed_is_told(program, tree):
    assert call(program, tree, "--verify", "--seed", "4")[0] == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--what"], "--what is no option; there are --write,"),
        (["--files", "0"], "--files 0: give a whole number from 1 to 100000"),
        (["--max-bytes", "12x"], "--max-bytes 12x: give a whole number from 0 to"),
        (["--without", "sleep"], "--without sleep: there is no such operation; README.md lists them"),
        (["--without"], "--without needs a value; give --without OPERATION"),
        (["--remove"], "give one of --write, --verify and --remove"),
    ],
)
def test_bad_options(program, tree, words, message):
    status, said = call(program, tree, "--verify", *words)
    assert status == 2 and said.startswith(f"fs-stress: {message}") and said.count("\n") == 1, said
