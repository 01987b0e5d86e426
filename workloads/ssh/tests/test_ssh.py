# SPDX-License-Identifier: MIT
"""ssh on the host: a package of two files in the place of the real one; backdate on archives of all forms."""

import hashlib
import io
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from workloads.build import read_sources

HERE = Path(__file__).resolve().parents[1]
FLAGS = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-static"]
YEARS_20_S = 631152000
MTIME_S = 1310309005
PACKAGE = "enscript-1.6.5.90"
ARCHIVE = "enscript_1.6.5.90.orig.tar.gz"

CONFIGURE = """#!/bin/sh
echo 'checking nothing'
cat >Makefile <<END
all:
\tcp enscript.sh src/enscript
END
"""
PROGRAM = """#!/bin/sh
case $1 in
--version) echo 'GNU Enscript 1.6.5.90' ;;
*) echo '%!PS-Adobe' >"$3" ;;
esac
"""


def compiled(source: Path, out: Path) -> Path:
    subprocess.run(["gcc", *FLAGS, "-I", HERE.parent / "common", source, "-o", out], check=True)
    return out


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The workload as in its image, with a small package of as many files as the real one."""
    here = tmp_path_factory.mktemp("ssh")
    compiled(HERE / "backdate.c", here / "backdate")
    compiled(HERE.parent / "common" / "stopwatch.c", here / "stopwatch")
    (here / "ssh").write_text((HERE / "ssh.sh").read_text())
    (here / "ssh").chmod(0o755)
    (here / "share").mkdir()
    with tarfile.open(here / "share" / ARCHIVE, "w:gz", format=tarfile.USTAR_FORMAT) as archive:
        for name, text in package_files().items():
            archive.addfile(entry(f"{PACKAGE}/{name}", text), io.BytesIO(text.encode()))
    return here


def package_files() -> dict[str, str]:
    count = int(re.search(r"^files_packed=(\d+)$", (HERE / "ssh.sh").read_text(), flags=re.M)[1])
    files = {"configure": CONFIGURE, "enscript.sh": PROGRAM, "README": "text\n", "src/keep": ""}
    return files | {f"data/{number}": "" for number in range(count - len(files))}


def entry(name: str, text: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = len(text), MTIME_S, 0o755
    return info


def run(program: Path, *words) -> subprocess.CompletedProcess:
    return subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=120)


def test_phases_and_metrics(installed, tmp_path):
    done = run(installed / "ssh", "--dir", tmp_path, "--seed", 1, "--scale", 1, "--drop-caches", "no")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.split() for line in done.stdout.splitlines()]
    phases = {words[1]: (int(words[2]), int(words[3])) for words in lines if words[0] == "phase"}
    assert list(phases) == ["setup", "unpack", "configure", "build"]
    metrics = {words[1]: int(words[2]) for words in lines if words[0] == "metric"}
    for name in ("unpack", "configure", "build"):
        assert metrics[f"{name}_ns"] == phases[name][1] - phases[name][0] > 0
    assert metrics["elapsed_ns"] == sum(metrics[f"{name}_ns"] for name in ("unpack", "configure", "build"))
    assert metrics["files_unpacked"] == len(package_files())
    assert (tmp_path / PACKAGE / "README").stat().st_mtime == MTIME_S - YEARS_20_S


def spoiled(installed: Path, tmp_path: Path, **files: str) -> Path:
    """A copy of the workload whose package has other files."""
    here = tmp_path / "spoiled"
    (here / "share").mkdir(parents=True)
    for name in ("ssh", "backdate", "stopwatch"):
        (here / name).symlink_to(installed / name)
    with tarfile.open(here / "share" / ARCHIVE, "w:gz", format=tarfile.USTAR_FORMAT) as archive:
        for name, text in (package_files() | {key.replace("_", "."): text for key, text in files.items()}).items():
            archive.addfile(entry(f"{PACKAGE}/{name}", text), io.BytesIO(text.encode()))
    return here


@pytest.mark.parametrize(
    "files, message",
    [
        ({"configure": "#!/bin/sh\necho no compiler; exit 1\n"}, "phase configure failed: no compiler"),
        ({"configure": "#!/bin/sh\n"}, "phase build failed"),
        ({"enscript_sh": PROGRAM.replace("1.6.5.90", "1.6.6")}, "calls itself 'GNU Enscript 1.6.6'"),
        ({"enscript_sh": PROGRAM.replace("%!PS", "text")}, "writes no PostScript"),
        ({"one_more": ""}, "files were unpacked instead of"),
    ],
)
def test_what_is_not_as_it_should_be_fails(installed, tmp_path, files, message):
    here = spoiled(installed, tmp_path, **files)
    target = tmp_path / "target"
    target.mkdir()
    done = run(here / "ssh", "--dir", target, "--seed", 1, "--drop-caches", "no")
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "metric" not in done.stdout


@pytest.mark.parametrize(
    "words, message",
    [
        (("--seed", "1"), "give an existing directory"),
        (("--dir", "/", "--seed", "x"), "give a whole number"),
        (("--dir", "/", "--seed", "1", "--scale", "0.5"), "only 1 is there"),
        (("--dir", "/", "--seed", "1", "--sacle", "1"), "unknown"),
        (("--dir", "/", "--seed"), "value is missing"),
        (("--dir", "/", "--seed", "1", "--drop-caches", "maybe"), "give yes or no"),
    ],
)
def test_bad_options(installed, words, message):
    done = run(installed / "ssh", *words)
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def oldest_form(text: str) -> bytes:
    """An archive of one file as tar wrote it before ustar: nothing behind the link's name."""
    info = entry("file", text)
    block = bytearray(info.tobuf(tarfile.USTAR_FORMAT))
    block[257:512] = bytes(255)
    block[148:156] = b"        "
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + text.encode().ljust(512, b"\0") + bytes(1024)


@pytest.fixture(scope="module")
def backdate(installed) -> Path:
    return installed / "backdate"


def test_backdate_makes_old_headers_ustar(backdate):
    done = subprocess.run([backdate, "1000"], input=oldest_form("hello"), capture_output=True, check=True)
    assert done.stdout[257:265] == b"ustar\x0000"
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        (info,) = archive.getmembers()
        assert (info.name, info.mtime, info.mode) == ("file", MTIME_S - 1000, 0o755)
        assert archive.extractfile(info).read() == b"hello"


@pytest.mark.parametrize(
    "seconds, data, message, status",
    [
        (str(MTIME_S + 1), oldest_form("a"), b"older than what should be taken off", 1),
        ("1", b"x" * 1024, b"not a header", 1),
        ("1", oldest_form("a" * 512)[:512], b"ends in the middle", 1),
        ("1", b"", b"ends in the middle", 1),
        ("many", b"", b"SECONDS many: give a whole number from 1", 2),
        ("12x", b"", b"SECONDS 12x: give a whole number from 1", 2),
        ("-1", b"", b"SECONDS -1: give a whole number from 1", 2),
        ("0", b"", b"SECONDS 0: give a whole number from 1", 2),
    ],
)
def test_backdate_refuses(backdate, seconds, data, message, status):
    done = subprocess.run([backdate, seconds], input=data, capture_output=True)
    assert done.returncode == status
    assert message in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_backdate_needs_its_word(backdate):
    done = subprocess.run([backdate], capture_output=True)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"backdate SECONDS <in.tar >out.tar" in done.stderr


def test_the_lock_names_what_the_script_unpacks():
    ((package, file, digest),) = read_sources(HERE / "sources.lock")
    assert (package, file) == ("enscript", ARCHIVE)
    assert len(digest) == len(hashlib.sha256().hexdigest())
