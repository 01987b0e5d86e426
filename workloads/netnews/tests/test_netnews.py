# SPDX-License-Identifier: MIT
"""netnews on the host: its trace by --print, its runs in a temporary directory."""

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from lab.guest.host import REPOSITORY
from lab.guest.imaging import compile_program

SCALE = "0.002"


@pytest.fixture(scope="session")
def netnews(tmp_path_factory):
    program = tmp_path_factory.mktemp("netnews") / "netnews"
    compile_program(REPOSITORY / "workloads/netnews/netnews.c", program)
    return program


def run(netnews, *options: str | Path, seed: str = "1", scale: str = SCALE) -> subprocess.CompletedProcess:
    command = [netnews, "--seed", seed, "--scale", scale, *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def metrics(done: subprocess.CompletedProcess) -> dict[str, int]:
    assert done.returncode == 0, done.stderr
    found = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("metric ")]
    assert len({name for name, _ in found}) == len(found)
    return {name: int(value) for name, value in found}


def trace(netnews, *options: str, **others: str) -> list[list[str]]:
    done = run(netnews, "--print", *options, **others)
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines() if line.split()[0] in ("spool", "unbatch", "expire")]


def files(folder: Path) -> dict[str, int]:
    found = {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    assert found.pop("netnews.spool") > 0
    return found


def played(operations: list[list[str]]) -> dict[str, int]:
    """What should be there at the end of a printed trace: names and sizes."""
    there: dict[str, int] = {}
    size = 0
    for _, what, path, *rest in operations:
        if what == "remove":
            del there[path]
            continue
        assert path not in there
        if what == "create":
            size = int(rest[0])
        there[path] = size
    return there


def test_the_trace_is_what_is_done(netnews, tmp_path):
    done = run(netnews, "--dir", tmp_path)
    measured = metrics(done)
    operations = trace(netnews)
    assert files(tmp_path) == played(operations)
    mix = Counter((phase, what) for phase, what, *_ in operations)
    assert mix["unbatch", "create"] == measured["created_articles"] == 42
    assert mix["unbatch", "create"] + mix["unbatch", "link"] == measured["created_names"]
    assert mix["expire", "remove"] == measured["removed_names"]
    assert mix["spool", "create"] == measured["spool_articles"]
    assert measured["removed_articles"] == 52
    assert measured["verified_articles"] >= 2


def test_phases_follow_each_other(netnews, tmp_path):
    done = run(netnews, "--dir", tmp_path)
    phases = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("phase ")]
    assert [name for name, _, _ in phases] == ["setup", "unbatch", "expire", "verify"]
    times = [int(time) for _, begin, end in phases for time in (begin, end)]
    assert times == sorted(times)
    measured = metrics(done)
    assert measured["elapsed_ns"] == measured["unbatch_ns"] + measured["expire_ns"] == times[5] - times[2]


def test_spool_made_before(netnews, tmp_path):
    """A spool made by another call, as for an image that many cells start from."""
    once, twice = tmp_path / "once", tmp_path / "twice"
    once.mkdir()
    twice.mkdir()
    whole = metrics(run(netnews, "--dir", once, seed="5"))
    metrics(run(netnews, "--dir", twice, "--spool", "only", seed="3"))
    after = metrics(run(netnews, "--dir", twice, "--spool", "ready", seed="5"))
    assert files(once) == files(twice)
    assert {name: value for name, value in whole.items() if not name.endswith("_ns")} == {
        name: value for name, value in after.items() if not name.endswith("_ns")
    }


def test_seeds(netnews):
    def parts(*options: str, **others: str) -> tuple[list, list]:
        operations = trace(netnews, *options, **others)
        return [o for o in operations if o[0] == "spool"], [o for o in operations if o[0] == "unbatch"]

    first = parts()
    assert parts() == first
    other = parts(seed="2")
    assert other[0] == first[0]
    assert other[1] != first[1]
    assert parts("--spool-seed", "2")[0] != first[0]


def test_expiry_takes_the_oldest_first(netnews):
    operations = trace(netnews)
    arrived = [path for _, what, path, *_ in operations if what != "remove"]
    removed = [path for _, what, path, *_ in operations if what == "remove"]
    assert removed == arrived[: len(removed)]


def test_distributions(netnews):
    """The figures that README.md gives, at a tenth of the articles."""
    operations = [o for o in trace(netnews, scale="0.1") if o[0] == "spool"]
    sizes = [int(o[3]) for o in operations if o[1] == "create"]
    groups = Counter(o[2].rsplit("/", 1)[0] for o in operations)
    mean = sum(sizes) / len(sizes)
    assert sum(sizes) == pytest.approx(200e6, rel=0.002)
    assert 3500 < mean < 3900
    assert sorted(sizes)[len(sizes) // 2] == pytest.approx(1720, rel=0.03)
    assert sum(size for size in sizes if size > 8000) > 0.4 * sum(sizes)
    assert len(operations) / len(sizes) == pytest.approx(1.194, abs=0.015)
    assert len(groups) == 400
    assert 3000 < groups.most_common(1)[0][1] < 7000
    assert sum(count for _, count in groups.most_common(40)) > 0.4 * len(operations)


def test_articles_can_be_read(netnews, tmp_path):
    """An article says in its header where it lies."""
    metrics(run(netnews, "--dir", tmp_path))
    seen = 0
    for path in tmp_path.rglob("g*/*"):
        header = path.read_text().split("\n\n")[0]
        places = re.search(r"^Xref: \S+ (.*)$", header, re.MULTILINE)[1].split()
        assert str(path.relative_to(tmp_path)) in [place.replace(".", "/").replace(":", "/") for place in places]
        assert path.stat().st_nlink == len(places)
        seen += 1
    assert seen > 1000


def article(folder: Path, index: int) -> Path:
    wanted = f"Message-ID: <{index}@"
    return next(path for path in sorted(folder.rglob("g*/*")) if wanted in path.read_text())


def damage_size(path: Path) -> None:
    with path.open("a") as file:
        file.write("x")


def damage_byte(path: Path) -> None:
    text = path.read_text()
    path.write_text(text[:-1] + ("y" if text[-1] != "y" else "z"))


def test_damage_is_found(netnews, tmp_path):
    """Article 500 is in the sample; article 60 is not, but is counted."""
    for number, (spoil, index, message) in enumerate(
        [
            (damage_size, 500, "is not what was written"),
            (damage_byte, 500, "is not what was written"),
            (Path.unlink, 60, "articles and should have"),
            (Path.unlink, 3, "cannot be removed: No such file"),
        ]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        metrics(run(netnews, "--dir", folder, "--spool", "only"))
        spoil(article(folder, index))
        done = run(netnews, "--dir", folder, "--spool", "ready")
        assert done.returncode == 1
        assert message in done.stderr
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "message", "status"),
    [
        (["--scale", "2"], "--scale 2: give a decimal above 0 and up to 1", 2),
        (["--spool", "later"], "--spool later: give make, only or ready", 2),
        (["--seed", "0"], "--seed 0: give a whole number from 1 to 2147483647", 2),
        (["--spool-seed", "12x"], "--spool-seed 12x: give a whole number", 2),
        (["--groups", "3"], "--groups is no option", 2),
        (["--spool", "ready"], "has no netnews.spool; make the spool with --spool only", 1),
        (["--dir", "/nonexistent"], "--dir /nonexistent: No such file", 1),
        (["--scale", "0.000001"], "the spool has only", 1),
    ],
)
def test_bad_options(netnews, tmp_path, options, message, status):
    done = run(netnews, "--dir", tmp_path, *options)
    assert done.returncode == status
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_directory_is_needed_unless_it_prints(netnews):
    done = run(netnews)
    assert (done.returncode, done.stderr) == (
        2,
        "netnews: the command line lacks --dir DIR or --print; add one of them\n",
    )
    assert run(netnews, "--print").returncode == 0


def test_another_spool(netnews, tmp_path):
    metrics(run(netnews, "--dir", tmp_path, "--spool", "only", scale="0.003"))
    done = run(netnews, "--dir", tmp_path, "--spool", "ready")
    assert done.returncode == 1
    assert "has another spool: netnews spool 1: scale 3000/1000000" in done.stderr


def test_directory_in_use(netnews, tmp_path):
    (tmp_path / "x").touch()
    done = run(netnews, "--dir", tmp_path)
    assert done.returncode == 1
    assert "it has 'x' in it before the run" in done.stderr
