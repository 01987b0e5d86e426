# SPDX-License-Identifier: MIT
"""The headers that all our programs share: the generator's numbers, and what the option parser takes and refuses."""

import subprocess
from itertools import islice
from pathlib import Path

import pytest

from lab.guest.imaging import compile_program

HERE = Path(__file__).parent
LARGEST = 2**64 - 1


@pytest.fixture(scope="session")
def probes(tmp_path_factory):
    """The two test programs, by their names."""
    folder = tmp_path_factory.mktemp("probes")
    for name in ("options_probe", "splitmix64_probe"):
        compile_program(HERE / f"{name}.c", folder / name)
    return folder


# ---- the generator


def splitmix64(state: int):
    """SplitMix64 as its paper has it, written apart from the C code."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) & LARGEST
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & LARGEST
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & LARGEST
        yield z ^ (z >> 31)


def numbers(probes, kind: str, seed: int, limit: int = 1) -> list[int]:
    """A thousand numbers of the C code."""
    command = [probes / "splitmix64_probe", kind, str(seed), str(limit)]
    return [int(line) for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()]


def test_first_numbers_are_those_of_the_reference_code(probes):
    assert numbers(probes, "next", 1234567)[:5] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


@pytest.mark.parametrize("seed", [0, 1, LARGEST])
def test_sequence(probes, seed):
    assert numbers(probes, "next", seed) == list(islice(splitmix64(seed), 1000))


@pytest.mark.parametrize("limit", [1, 2, 100, 2**32 + 1, 3 * 2**62])
def test_number_below_a_limit(probes, limit):
    draws = list(islice(splitmix64(7), 1000))
    assert numbers(probes, "below", 7, limit) == [draw * limit >> 64 for draw in draws]


@pytest.mark.parametrize("limit", [1, 2, 100, 2**32 + 1, 3 * 2**62])
def test_number_from_a_remainder(probes, limit):
    """With the last of the limits a quarter of all draws is thrown away."""
    fair = (draw for draw in splitmix64(7) if draw >= 2**64 % limit)
    assert numbers(probes, "remainder", 7, limit) == [draw % limit for draw in islice(fair, 1000)]


# ---- the options


def probe(probes, *words: str) -> subprocess.CompletedProcess:
    """Run the program whose options are all kinds."""
    return subprocess.run([probes / "options_probe", *words], capture_output=True, text=True, timeout=10)


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        ("--dir d --seed 0", "d 0 5 1000000 up 0\n"),
        (f"--seed {LARGEST} --dir -", f"- {LARGEST} 5 1000000 up 0\n"),
        ("--dir d --seed 1 --count 40 --scale 0.000001 --order random --print", "d 1 40 1 random 1\n"),
        ("--print --dir d --seed 007 --scale 1.", "d 7 5 1000000 up 1\n"),
        ("--dir d --seed 1 --dir e --seed 2 --order down --order up", "e 2 5 1000000 up 0\n"),
        ("--set a=1 --dir d --set b= --seed 3", "set a=1\nset b=\nd 3 5 1000000 up 0\n"),
    ],
)
def test_what_is_taken(probes, words, printed):
    done = probe(probes, *words.split(" "))
    assert (done.returncode, done.stdout, done.stderr) == (0, printed, "")


BAD = [
    *[(["--count", text], f"--count {text}: give a whole number from 2 to 40") for text in
      ("1", "41", "12x", "-3", "+3", " 3", "3 ", "0x3", "3.0", "x", "18446744073709551618", "99999999999999999999999")],
    *[(["--seed", text], f"--seed {text}: give a whole number from 0 to {LARGEST}") for text in
      ("-1", "12x", "18446744073709551616")],
    *[(["--scale", text], f"--scale {text}: give a decimal above 0 and up to 1, with at most 6 digits behind the point")
      for text in ("0", "0.0", "1.1", "2", "-1", ".5", "0.5x", "0.0000001", "1e-3", "99999999999", "nan")],
    (["--order", "sideways"], "--order sideways: give up, down or random"),
    (["--order", "u"], "--order u: give up, down or random"),
    (["--set", "a"], "--set a: give NAME=VALUE"),
    (["--seed"], "--seed needs a value; give --seed N"),
    (["--order"], "--order needs a value; give --order up|down|random"),
    (["--dir", ""], "--dir needs a value; give --dir DIR"),
    (["--dir", "--print"], "--dir needs a value; give --dir DIR"),
    *[([word], f"{word} is no option; there are --dir, --seed, --count, --scale, --order, --set, --print; --help shows"
               " what each takes") for word in ("--speed", "--see", "--seed=1", "-s", "word", "")],
]  # fmt: skip


@pytest.mark.parametrize(("words", "message"), BAD)
def test_what_is_refused(probes, words, message):
    done = probe(probes, "--dir", "d", "--seed", "1", *words)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"probe: {message}\n")


def test_what_is_needed(probes):
    assert probe(probes).stderr == "probe: the command line lacks --dir DIR --seed N; add what is missing\n"
    done = probe(probes, "--dir", "d")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "probe: the command line lacks --seed N; add what is missing\n"


def test_help(probes):
    done = probe(probes, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "usage: probe --dir DIR --seed N [--count N] [--scale S] [--order up|down|random]"
        " [--set NAME=VALUE] [--print]\n"
    )
