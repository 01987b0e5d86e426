# SPDX-License-Identifier: MIT
"""sdet on the host: scripts depend on the seed alone, run through, and are verified."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[1]
FLAGS = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-static"]
MISSING = [tool for tool in ("ed", "cpio") if not shutil.which(tool)]
needs_tools = pytest.mark.skipif(
    bool(MISSING), reason=f"no {', '.join(MISSING)} on this machine; the guest has busybox's"
)


@pytest.fixture(scope="module")
def sdet(tmp_path_factory) -> Path:
    program = tmp_path_factory.mktemp("sdet") / "sdet"
    common = HERE.parent / "common"
    subprocess.run(["gcc", *FLAGS, "-I", common, HERE / "sdet.c", "-o", program], check=True)
    return program


def run(program: Path, *words) -> subprocess.CompletedProcess:
    return subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=120)


def printed(program: Path, seed: int, scripts: int = 2) -> list[str]:
    done = run(program, "--dir", "/nowhere", "--seed", seed, "--scripts", scripts, "--print-script")
    assert done.returncode == 0
    return done.stdout.split("set -e\n")[1:]


def tasks(script: str) -> list[str]:
    return re.findall(r"^task='\d+ (\w+)'$", script, flags=re.M)


def readme_mix() -> dict[str, tuple[int, ...]]:
    """Rows of the README's table of operations: count, commands, creates, removes, renames, mkdirs, rmdirs."""
    rows = re.findall(r"^\| (\w+) \| (\d+) \|((?: *\d* *\|){6})", (HERE / "README.md").read_text(), flags=re.M)
    return {name: (int(count), *(int(cell or 0) for cell in rest.replace(" ", "").split("|")[:6]))
            for name, count, rest in rows}  # fmt: skip


def test_scripts_depend_on_the_seed_alone(sdet):
    first, again, other = printed(sdet, 1), printed(sdet, 1), printed(sdet, 2)
    assert first == again
    assert first != other
    assert first[0] != first[1]


def test_scripts_are_the_same_tasks_in_another_order(sdet):
    one, two = (tasks(script) for script in printed(sdet, 1))
    assert one != two
    assert sorted(one) == sorted(two)


def test_a_script_does_not_depend_on_their_number(sdet):
    assert printed(sdet, 3, scripts=1)[0] == printed(sdet, 3, scripts=5)[0]


def test_readme_shows_the_mix(sdet):
    mix = readme_mix()
    done = tasks(printed(sdet, 1)[0])
    assert {name: row[0] for name, row in mix.items()} == {name: done.count(name) for name in done}


@needs_tools
def test_small_run_prints_what_the_readme_says(sdet, tmp_path):
    done = run(sdet, "--dir", tmp_path, "--seed", 1, "--scale", "0.05", "--scripts", 2, "--compiler", "gcc")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.split() for line in done.stdout.splitlines()]
    phases = [(words[1], int(words[2]), int(words[3])) for words in lines if words[0] == "phase"]
    assert [name for name, _, _ in phases] == ["setup", "run"]
    assert phases[0][1] < phases[0][2] <= phases[1][1] < phases[1][2]
    metrics = {words[1]: int(words[2]) for words in lines if words[0] == "metric"}
    assert len(metrics) == sum(words[0] == "metric" for words in lines)
    expected = dict.fromkeys(["commands", "creates", "removes", "renames", "mkdirs", "rmdirs"], 0)
    for name, (count, *effects) in readme_mix().items():
        here = max(1, int(count * 0.05 + 0.5)) * 2
        assert metrics[f"task_{name}"] == here
        for key, effect in zip(expected, effects, strict=True):
            expected[key] += here * effect
    assert {key: metrics[key] for key in expected} == expected


@needs_tools
def test_a_failing_command_fails_all_and_is_named(sdet, tmp_path):
    done = run(sdet, "--dir", tmp_path, "--seed", 1, "--scale", "0.05", "--scripts", 2, "--compiler", "false")
    assert done.returncode == 1
    assert "failed in task" in done.stderr
    assert "2 of 2 scripts failed" in done.stderr
    assert "metric" not in done.stdout


def test_a_shell_that_does_nothing_is_noticed(sdet, tmp_path):
    done = run(sdet, "--dir", tmp_path, "--seed", 1, "--scale", "0.05", "--scripts", 1, "--shell", "/bin/true")
    assert done.returncode == 1
    assert "does not hold what the edits make" in done.stderr


@pytest.mark.parametrize(
    "words, message, status",
    [
        (("--seed", "1"), "the command line lacks --dir DIR; add", 2),
        (("--dir", "x"), "the command line lacks --seed N; add", 2),
        (("--dir", "x", "--seed", "-1"), "--seed -1: give a whole number from 0", 2),
        (("--dir", "x", "--seed", "12x"), "--seed 12x: give a whole number from 0", 2),
        (("--dir", "x", "--seed", "1", "--scale", "1.1"), "--scale 1.1: give a decimal above 0", 2),
        (("--dir", "x", "--seed", "1", "--scale", "0"), "--scale 0: give a decimal above 0", 2),
        (("--dir", "x", "--seed", "1", "--scripts", "0"), "--scripts 0: give a whole number from 1 to 100", 2),
        (("--dir", "x", "--seed", "1", "--scripts", "101"), "--scripts 101: give a whole number from 1 to 100", 2),
        (("--dir", "x", "--seed", "1", "--scripts"), "--scripts needs a value; give --scripts N", 2),
        (("--dir", "x", "--seed", "1", "--scirpts", "2"), "--scirpts is no option; there are --dir,", 2),
        (("--dir", "/nowhere", "--seed", "1"), "cannot make the directory", 1),
    ],
)
def test_bad_options(sdet, words, message, status):
    done = run(sdet, *words)
    assert done.returncode == status
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
