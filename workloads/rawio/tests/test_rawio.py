# SPDX-License-Identifier: MIT
"""rawio on the host: its patterns by --print-pattern, its runs on a sparse file. For each platform that it has."""

import subprocess
from pathlib import Path

import pytest

from lab.guest.tests import platforms

RAWIO = Path(__file__).resolve().parents[1]
SIZE = 1 << 30
REQUEST = 8192


@pytest.fixture(scope="session", params=platforms.PARAMETERS)
def rawio(request, tmp_path_factory):
    return platforms.build(request.param, "rawio", tmp_path_factory.mktemp("rawio"))


@pytest.fixture(scope="session")
def disk(tmp_path_factory):
    path = tmp_path_factory.mktemp("disk") / "disk"
    with path.open("wb") as file:
        file.truncate(SIZE)
    return path


def run(rawio, disk, *options: str) -> subprocess.CompletedProcess:
    return rawio.run("--device", rawio.path(disk), *options)


def pattern(rawio, disk, name: str, seed: int = 1, *options: str) -> list[int]:
    done = run(rawio, disk, "--op", "read", "--pattern", name, "--seed", str(seed), "--print-pattern", *options)
    assert done.returncode == 0, done.stderr
    return [int(line) for line in done.stdout.split()]


def splitmix64(state: int):
    """SplitMix64 as its paper has it, written apart from the C code."""
    mask = (1 << 64) - 1
    while True:
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        yield z ^ (z >> 31)


def test_pattern_sequential(rawio, disk):
    assert pattern(rawio, disk, "sequential") == [i * REQUEST for i in range(1280)]


def test_pattern_interleave_alternates_two_streams(rawio, disk):
    offsets = pattern(rawio, disk, "interleave")
    assert offsets[0::2] == [i * REQUEST for i in range(640)]
    assert offsets[1::2] == [SIZE // 2 + i * REQUEST for i in range(640)]


def test_pattern_interleave_middle_is_aligned(rawio, tmp_path):
    odd = tmp_path / "odd"
    with odd.open("wb") as file:
        file.truncate(SIZE + 512)
    assert pattern(rawio, odd, "interleave")[1] % REQUEST == 0


def test_pattern_random_is_the_stated_generator(rawio, disk):
    # The number of blocks is a power of two here, so no draw is thrown away.
    draws = splitmix64(1234567)
    assert next(draws) == 6457827717110365317  # first value of the generator's reference code for this seed
    draws = splitmix64(1234567)
    blocks = SIZE // REQUEST
    assert pattern(rawio, disk, "random", 1234567) == [next(draws) % blocks * REQUEST for _ in range(1280)]


def test_pattern_random_depends_on_seed_only(rawio, disk):
    assert pattern(rawio, disk, "random", 7) == pattern(rawio, disk, "random", 7)
    assert pattern(rawio, disk, "random", 7) != pattern(rawio, disk, "random", 8)


def test_pattern_random_stays_in_span(rawio, disk):
    span = 3 * REQUEST
    offsets = pattern(rawio, disk, "random", 1, "--span-bytes", str(span))
    assert set(offsets) == {0, REQUEST, 2 * REQUEST}


def test_run_moves_every_byte(rawio, disk):
    done = run(rawio, disk, "--op", "write", "--pattern", "interleave", "--seed", "1", "--children", "1")
    assert done.returncode == 0, done.stderr
    metrics = {line.split()[1]: int(line.split()[2]) for line in done.stdout.splitlines()}
    assert list(metrics) == ["elapsed_ns", "bytes", "requests", "children", "concurrent_max"]
    assert metrics["elapsed_ns"] > 0
    assert (metrics["bytes"], metrics["requests"], metrics["children"]) == (10485760, 1280, 1)
    assert metrics["concurrent_max"] == 1
    with disk.open("rb") as file:
        for offset in (0, 639 * REQUEST, SIZE // 2, SIZE // 2 + 639 * REQUEST):
            file.seek(offset)
            assert file.read(REQUEST) == b"\1" * REQUEST
        file.seek(640 * REQUEST)
        assert file.read(REQUEST) == bytes(REQUEST)


def test_run_failing_child_ends_the_run(rawio, disk):
    if rawio.platform == "windows":
        # Its children are threads: one that fails ends all, and a limit on file sizes is none of Windows'.
        return
    # Writing past the limit on file sizes kills the child that tries it.
    done = subprocess.run(
        ["sh", "-c", f"ulimit -f 1; exec {rawio.file} --device {disk} --op write --pattern sequential --seed 1"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "rawio: a child ended before the end of the run" in done.stderr


def test_run_of_many_children(rawio, disk):
    """They share the requests, and each byte is read once; a disk as fast as a file may see too few at once."""
    done = run(rawio, disk, "--op", "read", "--pattern", "random", "--seed", "1")
    metrics = dict(line.split()[1:] for line in done.stdout.splitlines())
    assert (metrics["bytes"], metrics["requests"], metrics["children"]) == ("10485760", "1280", "128")
    assert done.returncode == 0 or "children were ever active at once" in done.stderr


def test_make_builds_it_for_this_machine(tmp_path):
    program = tmp_path / "rawio"
    subprocess.run(["make", "-s", "-C", RAWIO, f"PROGRAM={program}"], check=True)
    assert subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout.startswith("usage:")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--op", "erase"], "--op erase: give read or write"),
        (["--pattern", "zigzag"], "--pattern zigzag: give sequential, interleave or random"),
        (["--seed", "-1"], "--seed -1: give a whole number from 0"),
        (["--seed", "12x"], "--seed 12x: give a whole number from 0"),
        (["--seed"], "--seed needs a value; give --seed N"),
        (["--speed", "1"], "--speed is no option; there are --device, --op,"),
        (["--request-bytes", "1000"], "--request-bytes 1000: give a multiple of 512"),
        (["--request-bytes", "0"], "--request-bytes 0: give a whole number from 512"),
        (["--bytes", "8191"], "--bytes 8191: give a multiple of --request-bytes, which is 8192"),
        (["--bytes", "8192"], "1 requests cannot keep 128 children busy at once"),
        (["--bytes", "0"], "--bytes 0: give a whole number from 1"),
        (["--bytes", "18446744073709551616"], "--bytes 18446744073709551616: give a whole number"),
        (["--bytes", str(2**40)], "these are more than 16777216 requests"),
        (["--children", "0"], "--children 0: give a whole number from 1 to 4096"),
        (["--children", "4097"], "--children 4097: give a whole number from 1 to 4096"),
    ],
)
def test_bad_options(rawio, disk, options, message):
    done = run(rawio, disk, "--op", "read", "--pattern", "sequential", "--seed", "1", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("rawio: ") and message in done.stderr
    assert done.stderr.count("\n") == 1


def test_options_that_are_needed(rawio, disk):
    done = run(rawio, disk, "--op", "read")
    assert (done.returncode, done.stdout) == (2, "")
    assert "lacks --pattern sequential|interleave|random --seed N; add" in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--bytes", str(2 * SIZE)], "fewer than the"),
        (["--span-bytes", str(2 * SIZE)], "does not fit"),
    ],
)
def test_options_that_do_not_fit_the_device(rawio, disk, options, message):
    done = run(rawio, disk, "--op", "read", "--pattern", "sequential", "--seed", "1", *options)
    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr


def test_missing_device(rawio, tmp_path):
    done = run(rawio, tmp_path / "none", "--op", "read", "--pattern", "random", "--seed", "1")
    assert done.returncode == 1
    assert "rawio: cannot open" in done.stderr and "No such file or directory" in done.stderr
