# SPDX-License-Identifier: MIT
"""A seed draws the same operations for ever.

Published results hang on these sequences: who draws other numbers measures another workload. The digests below were
taken from the programs at commit c79fe1c, when each of them still had a generator of its own; sqlio's from its first
version.
"""

import hashlib
import re
import subprocess
from pathlib import Path

import pytest

from lab.guest.imaging import compile_program

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCES = {
    name: REPOSITORY / path
    for name, path in {
        "rawio": "workloads/rawio/rawio.c",
        "sqlio": "workloads/sqlio/sqlio.c",
        "netnews": "workloads/netnews/netnews.c",
        "sdet": "workloads/sdet/sdet.c",
        "filebench": "workloads/filebench/filebench.c",
        "fs-stress": "lab/guest/stress/fs-stress.c",
    }.items()
}
SHARE = REPOSITORY / "workloads/filebench/share"


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """Gives a program by its name, compiled when it is first asked for."""
    folder = tmp_path_factory.mktemp("programs")

    def compiled(name: str) -> Path:
        if not (folder / name).exists():
            compile_program(SOURCES[name], folder / name)
        return folder / name

    return compiled


def digest(lines: list[str]) -> str:
    """The first digits of a SHA-256 over lines."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def run(program: Path, *words: str | Path, status: int = 0) -> list[str]:
    """Lines of standard output."""
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=120)
    assert done.returncode == status, done.stderr
    return done.stdout.splitlines()


def tree(folder: Path) -> list[str]:
    """Every name below a folder, with the contents of files and the targets of links."""
    found = []
    for path in sorted(folder.rglob("*")):
        kind, what = "directory", b""
        if path.is_symlink():
            kind, what = "link", str(path.readlink()).encode()
        elif path.is_file():
            kind, what = "file", path.read_bytes()
        found.append(f"{path.relative_to(folder)} {kind} {hashlib.sha256(what).hexdigest()}")
    return found


@pytest.mark.parametrize(
    ("requests", "seed", "expected"),
    [
        (131072, 1, "a535189e0faa2aae"),
        (131072, 20, "46c9a51a337a134b"),
        (100003, 7, "16cda787e39511c5"),
        (3, 2**64 - 1, "afe936796917412d"),
    ],
)
def test_rawio_draws_the_same_addresses(programs, tmp_path, requests, seed, expected):
    disk = tmp_path / "disk"
    with disk.open("wb") as file:
        file.truncate(requests * 8192)
    words = ["--device", disk, "--op", "read", "--pattern", "random", "--seed", seed, "--print-pattern"]
    assert digest(run(programs("rawio"), *words)) == expected


@pytest.mark.parametrize(
    ("seed", "expected"), [(1, "2e50ad3ce1eb3cea"), (7, "2ec66f6d63a00ff7"), (2**64 - 1, "d09234792d122fd4")]
)
def test_sqlio_draws_the_same_addresses(programs, tmp_path, seed, expected):
    """On two devices, whose requests come in turn."""
    disk = tmp_path / "disk"
    with disk.open("wb") as file:
        file.truncate(100003 * 8192)
    words = ["--op", "read", "--pattern", "random", "--seed", seed, "--bytes", 1000 * 8192, "--print-pattern"]
    assert digest(run(programs("sqlio"), "--device", disk, "--device", disk, *words)) == expected


@pytest.mark.parametrize(
    ("seed", "expected"), [(1, "06c0662e10ab1653"), (2, "a2806b9bdb3e955a"), (2147483647, "8e48ff41f907115e")]
)
def test_netnews_draws_the_same_articles(programs, seed, expected):
    assert digest(run(programs("netnews"), "--print", "--seed", seed, "--scale", "0.02")) == expected


def test_netnews_writes_the_same_bytes(programs, tmp_path):
    run(programs("netnews"), "--dir", tmp_path, "--seed", "1", "--scale", "0.002")
    assert digest(tree(tmp_path)) == "5ca8c9adaf558434"


@pytest.mark.parametrize(
    ("seed", "expected"), [(1, "2b63e870794a7ac4"), (2, "c0ff3312807f8ac2"), (0, "1f344daf97f23e82")]
)
def test_sdet_draws_the_same_scripts(programs, seed, expected):
    words = ["--dir", "/nowhere", "--seed", seed, "--print-script"]
    assert digest(run(programs("sdet"), *words)) == expected


def test_sdet_writes_the_same_homes(programs, tmp_path):
    """The shell does nothing, so the homes stay as they were made, and the check at the end fails."""
    words = ["--dir", tmp_path, "--seed", 1, "--scripts", 3, "--scale", "0.05", "--shell", "/bin/true"]
    run(programs("sdet"), *words, status=1)
    assert digest(tree(tmp_path)) == "057b986561472700"


@pytest.mark.parametrize(
    ("personality", "expected"),
    [
        ("fileserver", "75cf7855fff6da6e"),
        ("netnews-like", "f9f3c70aa12f601e"),
        ("postmark-like", "62a74e68b5ec5f73"),
        ("sdet-like", "34a0367fc0e8e49d"),
        ("ssh-like", "cd34ac5cef629d62"),
        ("varmail", "3e2b946d14f146a5"),
    ],
)
def test_filebench_draws_the_same_operations(programs, tmp_path, personality, expected):
    """With one thread, because on the host several take turns in any order.

    A timed run ends after any number of operations: the first 50 are compared.
    """
    script = SHARE / f"{personality}.f"
    threads = re.findall(r"^set \$(nthreads|nusers|nfeeds)=", script.read_text(encoding="utf-8"), flags=re.MULTILINE)
    words = ["--dir", tmp_path, "--personality", script, "--seed", 3, "--scale", "0.02", "--print-operations"]
    printed = run(programs("filebench"), *words, *(word for name in threads for word in ("--set", f"{name}=1")))
    operations = [line for line in printed if line.startswith("operation ")]
    if "set $runtime=" in script.read_text(encoding="utf-8"):
        operations = operations[:50]
    created = [line for line in printed if line.startswith(("info fileset", "metric created"))]
    assert digest([*created, *operations]) == expected


def test_filebench_writes_the_same_bytes(programs, tmp_path):
    words = ["--dir", tmp_path, "--personality", SHARE / "ssh-like.f", "--seed", 3, "--scale", "0.02"]
    run(programs("filebench"), *words)
    assert digest(tree(tmp_path)) == "00edda5f68e4aee9"


@pytest.mark.parametrize(("seed", "expected"), [(1, "2634f1386cef873a"), (2, "686b64378b32eb18")])
def test_fs_stress_leaves_the_same_tree(programs, tmp_path, seed, expected):
    run(programs("fs-stress"), "--write", "--dir", tmp_path, "--seed", seed)
    assert digest(tree(tmp_path)) == expected
