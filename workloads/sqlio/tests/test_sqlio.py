# SPDX-License-Identifier: MIT
"""sqlio on the host: its patterns by --print-pattern, its runs on sparse files."""

import subprocess
from pathlib import Path

import pytest

SQLIO = Path(__file__).resolve().parents[1]
SIZE = 1 << 28
KIB = 1024


@pytest.fixture(scope="session")
def sqlio(tmp_path_factory):
    program = tmp_path_factory.mktemp("sqlio") / "sqlio"
    flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{SQLIO.parent / 'common'}"]
    subprocess.run(["cc", *flags, "-o", program, SQLIO / "sqlio.c"], check=True)
    return program


@pytest.fixture
def disk(tmp_path):
    return sparse(tmp_path / "disk")


def sparse(path: Path, size: int = SIZE) -> Path:
    with path.open("wb") as file:
        file.truncate(size)
    return path


def run(sqlio, *options) -> subprocess.CompletedProcess:
    return subprocess.run([sqlio, *map(str, options)], capture_output=True, text=True, timeout=60)


def metrics(done: subprocess.CompletedProcess) -> dict[str, int]:
    assert done.returncode == 0, done.stderr
    lines = (line.split() for line in done.stdout.splitlines())
    return {words[1]: int(words[2]) for words in lines if words[0] == "metric"}


def pattern(sqlio, disk, name: str, *options, seed: int = 1, requests: int = 100) -> list[int]:
    words = ["--device", disk, "--op", "read", "--pattern", name, "--seed", seed, "--print-pattern"]
    done = run(sqlio, *words, "--bytes", requests * 8 * KIB, *options)
    assert done.returncode == 0, done.stderr
    return [int(line) for line in done.stdout.split()]


def test_pattern_sequential_wraps_in_its_area(sqlio, disk):
    begin = 1 << 20
    found = pattern(sqlio, disk, "sequential", "--offset-bytes", begin, "--span-bytes", 3 * 8 * KIB + 5, requests=7)
    assert found == [begin + i % 3 * 8 * KIB for i in range(7)]


def test_pattern_same_is_one_block(sqlio, disk):
    assert set(pattern(sqlio, disk, "same", "--offset-bytes", 4096)) == {4096}


def test_pattern_random_depends_on_seed_only(sqlio, disk):
    one = pattern(sqlio, disk, "random", seed=7)
    assert one == pattern(sqlio, disk, "random", "--depth", 32, seed=7)
    assert one != pattern(sqlio, disk, "random", seed=8)
    assert all(offset % (8 * KIB) == 0 and offset < SIZE for offset in one)
    assert len(set(one)) > 90


def test_pattern_begins_where_it_is_told(sqlio, disk):
    assert pattern(sqlio, disk, "sequential", "--start-permille", 500)[0] == SIZE // 1000 * 500 // 4096 * 4096


def test_pattern_devices_have_their_own_requests(sqlio, tmp_path):
    words = ["--op", "read", "--pattern", "random", "--seed", 3, "--bytes", 20 * 8 * KIB, "--print-pattern"]
    devices = [word for name in "ab" for word in ("--device", sparse(tmp_path / name))]
    lines = [line.split() for line in run(sqlio, *devices, *words).stdout.splitlines()]
    assert [device for device, _ in lines] == ["0", "1"] * 20
    streams = [[offset for device, offset in lines if device == name] for name in "01"]
    assert streams[0] != streams[1]
    assert streams[0] == run(sqlio, *devices[:2], *words).stdout.split()


@pytest.mark.parametrize("depth", [0, 1, 5])
@pytest.mark.parametrize("op", ["read", "write"])
def test_run_moves_every_byte(sqlio, disk, op, depth):
    words = ["--op", op, "--pattern", "sequential", "--seed", 1, "--kib", 16, "--depth", depth]
    found = metrics(run(sqlio, "--device", disk, *words, "--bytes", 33 * 16 * KIB))
    assert (found["bytes"], found["requests"]) == (33 * 16 * KIB, 33)
    names = [f"latency_{name}_ns" for name in ("p50", "p95", "p99", "max")]
    assert sorted(found[name] for name in names) == [found[name] for name in names]
    assert 0 < found["latency_p50_ns"] <= found["latency_max_ns"] <= found["elapsed_ns"]
    data = disk.read_bytes()
    written = 33 * 16 * KIB if op == "write" else 0
    assert 0 not in data[:written]
    assert not any(data[written : written + 16 * KIB])


@pytest.mark.parametrize("caching", ["drive", "none", "both", "host"])
def test_run_every_way_of_caching(sqlio, disk, caching):
    words = ["--device", disk, "--op", "write", "--pattern", "random", "--seed", 1, "--caching", caching]
    assert metrics(run(sqlio, *words, "--depth", 2, "--bytes", 80 * KIB))["requests"] == 10


@pytest.mark.parametrize("kib", [2, 64, 160])
def test_run_through_the_page_cache_moves_requests_of_any_part_of_a_unit(sqlio, tmp_path, kib):
    """Requests that are parts of a unit of 64 KB, one, and two and a half."""
    disk, size = sparse(tmp_path / "disk", 960 * KIB), 960 * KIB
    words = ["--device", disk, "--pattern", "sequential", "--seed", 1, "--caching", "both", "--depth", 4]
    for op in ("write", "read"):
        found = metrics(run(sqlio, *words, "--op", op, "--kib", kib, "--bytes", size))
        assert (found["bytes"], found["requests"]) == (size, 960 // kib)
        assert disk.read_bytes().count(0) == 0


def test_run_of_several_devices_moves_the_work_on_each(sqlio, tmp_path):
    words = ["--op", "write", "--pattern", "sequential", "--seed", 1, "--depth", 2, "--bytes", 80 * KIB]
    paths = [sparse(tmp_path / name, 160 * KIB) for name in "abc"]
    devices = [word for path in paths for word in ("--device", path)]
    assert metrics(run(sqlio, *devices, *words))["bytes"] == 240 * KIB
    assert all(path.read_bytes()[: 80 * KIB].count(0) == 0 for path in paths)


def test_run_of_a_time_ends(sqlio, disk):
    words = ["--device", disk, "--op", "read", "--pattern", "same", "--seed", 1, "--depth", 2, "--time-ms", 20]
    found = metrics(run(sqlio, *words))
    assert found["requests"] > 2
    assert found["elapsed_ns"] >= 20_000_000


def test_run_says_what_sqlio_said(sqlio, disk):
    """Table 8: MB/s, IO/s, operation, KB, depth, caching, threads, time, KB of the file, s, ms of user and kernel."""
    words = ["--device", disk, "--op", "read", "--pattern", "random", "--seed", 1, "--depth", 3, "--bytes", 800 * KIB]
    done = run(sqlio, *words)
    elapsed_ns = metrics(done)["elapsed_ns"]
    [line] = [line for line in done.stdout.splitlines() if line.startswith("info sqlio ")]
    mb_s, io_s, *rest = line.removeprefix("info sqlio ").split(",")
    assert float(io_s) == pytest.approx(100 / elapsed_ns * 1e9, abs=0.006)
    assert float(mb_s) == pytest.approx(800 / 1024 / elapsed_ns * 1e9, abs=0.006)
    assert rest[:7] == ["read", "8", "3", "H", "1", "0", str(SIZE // KIB)]
    assert rest[-1] == str(disk)


@pytest.mark.parametrize(("fill", "before"), [("written", 64), ("appended", 0), ("extended", 64)])
def test_run_on_a_file(sqlio, tmp_path, fill, before):
    words = ["--dir", tmp_path, "--op", "write", "--pattern", "sequential", "--seed", 1, "--caching", "both"]
    more = ["--kib", 16, "--depth", 2, "--bytes", 64 * KIB, "--file-bytes", 64 * KIB, "--fill", fill]
    assert metrics(run(sqlio, *words, *more))["requests"] == 4
    assert (tmp_path / "sqlio.dat").stat().st_size == 64 * KIB
    # A file that is there is not taken for the run's own.
    assert "sqlio.dat" in run(sqlio, *words, *more).stderr


def test_run_scale_makes_the_work_smaller(sqlio, disk):
    words = ["--device", disk, "--op", "read", "--pattern", "sequential", "--seed", 1, "--bytes", 800 * KIB]
    assert metrics(run(sqlio, *words, "--scale", "0.1"))["requests"] == 10


def test_run_that_fails_says_where(sqlio, disk):
    done = subprocess.run(
        ["sh", "-c", f"trap '' XFSZ; ulimit -f 64; exec {sqlio} --device {disk} --op write --pattern sequential "
                     f"--seed 1 --kib 64 --depth 2 --bytes 1048576"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert f"sqlio: {disk}: write at byte 65536: " in done.stderr or "File too large" in done.stderr


GOOD = ("--op", "read", "--pattern", "sequential", "--seed", "1")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "give --device PATH, once for each device, or --dir DIR"),
        (["--device", "DISK"], "give --bytes N, what to move on each device, or --time-ms N"),
        (["--device", "DISK", "--bytes", "8192", "--time-ms", "1"], "and not both"),
        (["--device", "DISK", "--bytes", "8192", "--kib", "0"], "--kib 0: give a whole number from 1 to 16384"),
        (["--device", "DISK", "--bytes", "8192", "--depth", "1025"], "--depth 1025: give a whole number from 0"),
        (["--device", "DISK", "--bytes", "8192", "--pattern", "zigzag"], "give sequential, random or same"),
        (["--device", "DISK", "--bytes", "8192", "--caching", "some"], "give drive, none, both or host"),
        (["--device", "DISK", "--device", "DISK", "--bytes", "8192", "--depth", "0"], "--depth 0: synchronous"),
        (["--device", "DISK", "--time-ms", "1", "--print-pattern"], "has no fixed pattern; give --bytes"),
        (["--device", "DISK", "--bytes", "8192", "--fill", "extended"], "a device has no end to write beyond"),
        (["--dir", "DIR", "--bytes", "8192", "--fill", "extended"], "only sequential writes make a file longer"),
        (["--device", "DISK", "--bytes", str(2**40)], "these are more than 4194304 requests"),
        (["--device", "DISK", "--bytes", "8192", "--start-permille", "1", "--offset-bytes", "512"], "and not both"),
    ],
)  # fmt: skip
def test_bad_options(sqlio, disk, tmp_path, options, message):
    given = [{"DISK": disk, "DIR": tmp_path}.get(word, word) for word in options]
    done = run(sqlio, *GOOD, *given)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("sqlio: ") and message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--span-bytes", 2 * SIZE], "does not fit"),
        (["--offset-bytes", SIZE], "has only"),
        (["--offset-bytes", 100], "give a multiple of 512"),
        (["--start-permille", 999, "--kib", 16384], "does not fit"),
    ],
)
def test_options_that_do_not_fit_the_device(sqlio, disk, options, message):
    done = run(sqlio, "--device", disk, *GOOD, "--bytes", 1 << 24, *options)
    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr


def test_missing_device(sqlio, tmp_path):
    done = run(sqlio, "--device", tmp_path / "none", *GOOD, "--bytes", 8192)
    assert done.returncode == 1
    assert "sqlio: cannot open" in done.stderr and "No such file or directory" in done.stderr
