# SPDX-License-Identifier: MIT
"""The whole gate, behind `make test`: every part by name, all of them, then the verdict.

python tests/gate.py [PART ...]      only these parts
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("SPINDLE_BUILD", ROOT / "build")).absolute()
BIN = BUILD / "venv" / "bin"
WORKSPACE = ["--manifest-path", "lab/disk/Cargo.toml"]
MODEL = ["--manifest-path", "lab/disk/model/Cargo.toml"]
# The model is a workspace of its own.
CRATES = [[*WORKSPACE, "--workspace"], MODEL]
SMOKE = ["--profile", "config/profiles/smoke"]


def tracked(*patterns: str) -> list[str]:
    """Committed files."""
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.splitlines() if (ROOT / name).exists()]


def shell_scripts() -> list[str]:
    """Committed shell scripts, by their first line."""
    found = []
    for name in tracked():
        with open(ROOT / name, "rb") as file:
            first = file.readline(64)
        if first.startswith(b"#!") and first.rstrip().endswith(b"sh"):
            found.append(name)
    return found


def has_cargo(command: str) -> bool:
    """Whether this Rust comes with a cargo command; Debian packages them apart, and not clippy for every version."""
    return subprocess.run(["cargo", command, "--version"], capture_output=True, check=False).returncode == 0


def parts() -> dict[str, list[list[str]]]:
    """Name of each part and its commands."""
    rust = []
    if has_cargo("fmt"):
        rust += [["cargo", "fmt", *one, "--all", "--check"] for one in (WORKSPACE, MODEL)]
    if has_cargo("clippy"):
        rust += [["cargo", "clippy", *one, "--locked", "--all-targets", "--", "-D", "warnings"] for one in CRATES]
    rules = ["Snakefile", *tracked("*.smk")]
    return {
        "python format and lint": [[BIN / "ruff", "format", "--check", "."], [BIN / "ruff", "check", "."]],
        "rules format": [[BIN / "snakefmt", "--check", *rules]],
        "shell lint": [["shellcheck", "--external-sources", *shell_scripts()]],
        "rust format and lint": rust,
        "rust tests": [
            ["cargo", "test", *WORKSPACE, "--workspace", "--locked", "--profile", "checked"],
            # With the checks that it ships with.
            ["cargo", "test", *MODEL, "--locked", "--release"],
        ],
        "planted faults": [[sys.executable, "lab/disk/tests/faults.py"]],
        "lab builds": [[BIN / "snakemake", *SMOKE, "lab"]],
        "python tests": [[BIN / "pytest"]],
        "script tests": [[name] for name in tracked("*/test_*.sh")],
        "smoke report": [["make", "report", "PROFILE=smoke"]],
        "fio cross-check": [["env", "SPINDLE_NO_SKIP=1", BIN / "pytest", "-s", "workloads/fio"]],
        "determinism": [["make", "determinism"]],
    }


def run(name: str, commands: list[list[str]]) -> bool:
    """Run one part; its output goes to the terminal."""
    print(f"== {name}", flush=True)
    if not commands:
        print(f"== {name}: skipped: this Rust has no such command", flush=True)
        return True
    began = time.monotonic()
    environment = {**os.environ, "CARGO_TARGET_DIR": str(BUILD / "disk"), "PATH": f"{BIN}:{os.environ['PATH']}"}
    for command in commands:
        status = subprocess.run(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, check=False).returncode
        if status != 0:
            print(f"== {name}: FAILED (status {status}): {' '.join(map(str, command))}", flush=True)
            return False
    print(f"== {name}: passed in {time.monotonic() - began:.0f} s", flush=True)
    return True


def main() -> int:
    """Command line."""
    known = parts()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="*", help=f"one of: {', '.join(known)}")
    chosen = parser.parse_args().part or list(known)
    unknown = [name for name in chosen if name not in known]
    if unknown:
        parser.error(f"no part {unknown[0]!r}; known are: {', '.join(known)}")
    if not shutil.which("git"):
        parser.error("git is missing; `make doctor` names its package")
    failed = [name for name in chosen if not run(name, known[name])]
    print(f"== {len(chosen) - len(failed)} of {len(chosen)} parts passed" + "".join(f"; FAILED: {n}" for n in failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
