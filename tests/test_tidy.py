# SPDX-License-Identifier: MIT
"""Hazards in what is committed: path:line, the reason, and what to use instead."""

import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOB_LIMIT = 256 * 1024
REFERENCE, REFERENCE_LIMIT = "paper/*/reference/*.csv", 1024 * 1024
"""What a reference keeps is a line for each cell, and takes hours to make."""
BINARY = {".png", ".svg", ".pdf", ".zst"}

# validate.rs states how many requests a second the host replays: the one figure that is meant to depend on it.
MEASURED = r"^(?!lab/disk/src/validate\.rs$)(lab/disk/(\w+/)?src|lab/qemu/block|workloads|lab/guest/agent)/"
TABLES = r"^(analysis|paper)/"
NOT_TESTS = r"(^|/)(tests?|testdata|benches)/"

HAZARDS = [
    # where, what, why and what instead
    (MEASURED, r"\b(gettimeofday|Instant::now|SystemTime|QEMU_CLOCK_(REALTIME|HOST))\b|(?<![\w.])time\(NULL\)",
     "host clock where time is virtual; use the virtual clock that is passed in"),
    (MEASURED, r"\b(getrandom|thread_rng|from_entropy|OsRng|/dev/u?random)\b|\bs?rand(om)?\(",
     "randomness without a seed; use the generator seeded by the cell"),
    (TABLES, r"\b(datetime\.(now|today|utcnow)|date\.today|time\.time|random\.(random|randint|choice|shuffle))\b",
     "host clock or randomness in a table; use what result.json says"),
    (r".", r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b", "leftover reminder; do it, or write it up as an issue"),
    (r".", r"(?<![\w.<$}])/(work|root|home)/\w", "path of one machine; use a path from the repository root"),
    (r".", r"\b(deb|security)\.debian\.org|files\.pythonhosted|static\.crates\.io",
     "registry host; use the machine's own apt, pip or cargo configuration"),
]  # fmt: skip


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def hazards_in(name: str, text: str) -> list[str]:
    """Messages about one file."""
    found = []
    if name == "tests/test_tidy.py":
        return found
    for where, what, why in HAZARDS:
        if not re.search(where, name) or (where != r"." and re.search(NOT_TESTS, name)):
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            if re.search(what, line):
                found.append(f"{name}:{number}: {why}")
    return found


def test_tidy_no_hazards():
    found = []
    for name in tracked():
        if Path(name).suffix not in BINARY:
            found += hazards_in(name, (ROOT / name).read_text(encoding="utf-8"))
    assert not found, "\n" + "\n".join(found)


def test_tidy_no_large_files():
    def limit(name):
        return REFERENCE_LIMIT if fnmatch(name, REFERENCE) else BLOB_LIMIT

    large = [name for name in tracked() if (ROOT / name).stat().st_size > limit(name)]
    assert not large, f"larger than {BLOB_LIMIT} bytes: {large}; make it in the build, or fetch it by hash"


def test_tidy_licence_line():
    """Source files say their licence in one line near the top."""
    sources = {".py", ".rs", ".c", ".h", ".smk", ".sh", ".yaml"}
    missing = [
        name
        for name in tracked()
        if Path(name).suffix in sources and "SPDX-License-Identifier:" not in (ROOT / name).read_text()[:400]
    ]
    assert not missing, f"no SPDX-License-Identifier line: {missing}"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("lab/disk/model/src/drive.rs", "let now = Instant::now();"),
        ("workloads/rawio/rawio.c", "srand(time(NULL));"),
        ("analysis/load.py", "stamp = datetime.now()"),
        ("README.md", "cd /root/spindle"),
        ("docs/a.md", "TODO: write"),
    ],
)
def test_tidy_catches(name, line):
    assert hazards_in(name, line)


def test_tidy_passes_what_is_no_hazard():
    assert not hazards_in("workloads/rawio/rawio.c", "clock_gettime(CLOCK_MONOTONIC, &start);")
    assert not hazards_in("lab/disk/model/src/rng.rs", "let random = spread(seed);")
