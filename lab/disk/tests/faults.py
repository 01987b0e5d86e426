# SPDX-License-Identifier: MIT
"""Plants faults into a copy of the model and shows that a test catches each.

python3 lab/disk/tests/faults.py [--only NAME ...] [--list]

The faults are listed in faults.toml. A fault that survives its test shows that the test proves
less than it claims; one whose text is no longer found, or that no longer compiles, has to be
written anew. The copy lies under CARGO_TARGET_DIR (or target) with a build of its own, so that no
mutant is ever taken for the model.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

CRATE = Path(__file__).resolve().parents[1]
COPIED = (
    *("Cargo.toml", "Cargo.lock", "cbindgen.toml", "src", "tests", "benches", "catalogue"),
    *("model", "import", "replay", "draw", "python"),
)
KEYS = {"name", "why", "file", "old", "new", "target", "filter"}
# A mutant that loops must not hold up the gate.
TIMEOUT_S = 120


class SuiteError(Exception):
    """The suite itself is wrong, whatever the model does."""


def load(path: Path) -> list[dict[str, str]]:
    """The faults, checked."""
    faults = tomllib.loads(path.read_text())["fault"]
    names = [fault.get("name", "?") for fault in faults]
    for fault in faults:
        name = fault.get("name", "?")
        if missing := KEYS - fault.keys():
            raise SuiteError(f"{name}: lacks {', '.join(sorted(missing))}")
        if unknown := fault.keys() - KEYS:
            raise SuiteError(f"{name}: has unknown {', '.join(sorted(unknown))}")
        if names.count(name) > 1:
            raise SuiteError(f"{name}: two faults have this name")
        if fault["old"] == fault["new"]:
            raise SuiteError(f"{name}: changes nothing")
    return faults


def mutated(fault: dict[str, str]) -> str:
    """The faulty text of the fault's file."""
    text = (CRATE / fault["file"]).read_text()
    found = text.count(fault["old"])
    if found != 1:
        raise SuiteError(f"{fault['name']}: its old text is in {fault['file']} {found} times, not once; write it anew")
    return text.replace(fault["old"], fault["new"])


class Copy:
    """A copy of the crate that may be broken."""

    def __init__(self, target: Path):
        self.crate = target / "faults" / "crate"
        self.environment = {
            **os.environ,
            "CARGO_TARGET_DIR": str(target / "faults" / "target"),
            # Failures are expected, many, and only counted.
            "RUST_BACKTRACE": "0",
            "RUSTFLAGS": os.environ.get("RUSTFLAGS", "") + " --cap-lints warn",
            # The same random cases each time: a fault is caught always or never.
            "PROPTEST_RNG_SEED": "1",
        }
        self.cargo = ["cargo", "test", "--quiet", "--offline"]
        if self.crate.exists():
            shutil.rmtree(self.crate)
        self.crate.mkdir(parents=True)
        # With the time of now, not the source's: to cargo a mutant that the last run left built would be newer.
        for name in COPIED:
            from_path = CRATE / name
            if from_path.is_dir():
                skipped = shutil.ignore_patterns("target")
                shutil.copytree(from_path, self.crate / name, ignore=skipped, copy_function=shutil.copyfile)
            elif from_path.exists():
                shutil.copyfile(from_path, self.crate / name)

    def run(self, *arguments: str) -> tuple[int | None, str]:
        """Exit status (None: it did not end) and output of cargo."""
        with subprocess.Popen(
            [*self.cargo, *arguments],
            cwd=self.crate,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                output, _ = process.communicate(timeout=None if "--no-run" in arguments else TIMEOUT_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return None, process.communicate()[0]
        return process.returncode, output

    def prepare(self, targets: list[str]) -> None:
        """Builds and runs what all faults are run against; without fault, it must pass."""
        selected = [argument for target in targets for argument in select(target)]
        status, output = self.run("--no-run", *selected)
        if status != 0:
            # A machine that has not built the crate before fetches its dependencies.
            self.cargo.remove("--offline")
            status, output = self.run("--no-run", *selected)
        if status != 0:
            raise SuiteError(f"the copy without a fault does not compile:\n{output}")
        status, output = self.run(*selected)
        if status != 0:
            raise SuiteError(f"the copy without a fault fails its tests:\n{output}")

    def catchers(self, fault: dict[str, str]) -> list[str]:
        """The tests that fail with the fault."""
        text, path = mutated(fault), self.crate / fault["file"]
        pristine = path.read_text()
        path.write_text(text)
        try:
            selected = select(fault["target"])
            status, output = self.run("--no-run", *selected)
            if status != 0:
                raise SuiteError(f"{fault['name']}: does not compile, so that nothing is shown:\n{output}")
            status, output = self.run(*selected, "--", fault["filter"])
        finally:
            path.write_text(pristine)
        if status is None:
            raise SuiteError(f"{fault['name']}: {fault['filter']} did not end in {TIMEOUT_S} s; plant it differently")
        if status != 0:
            failed = re.findall(r"^---- (\S+) stdout ----$", output, re.MULTILINE)
            if not failed:
                raise SuiteError(f"{fault['name']}: cargo failed, but no test did:\n{output}")
            return failed
        if "0 passed" in output:
            raise SuiteError(f"{fault['name']}: {fault['target']} has no test {fault['filter']}")
        return []


def select(target: str) -> list[str]:
    """Cargo's options for a test target, a file in tests/."""
    return ["--test", target]


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", metavar="NAME", help="plant only this fault; can be repeated")
    parser.add_argument("--list", action="store_true", help="show the faults and what is to catch them")
    options = parser.parse_args()
    began = time.monotonic()
    survived, errors = [], []
    try:
        faults = load(CRATE / "tests" / "faults.toml")
        names = [fault["name"] for fault in faults]
        if unknown := set(options.only or []) - set(names):
            raise SuiteError(f"there is no fault {', '.join(sorted(unknown))}; --list shows all")
        faults = [fault for fault in faults if not options.only or fault["name"] in options.only]
        width = max(len(fault["name"]) for fault in faults)
        if options.list:
            for fault in faults:
                print(f"{fault['name']:{width}}  {fault['file']}  {fault['target']} {fault['filter']}")
            return 0
        for fault in faults:
            mutated(fault)
        copy = Copy(Path(os.environ.get("CARGO_TARGET_DIR", CRATE / "target")).absolute())
        copy.prepare(sorted({fault["target"] for fault in faults}))
    except SuiteError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"without a fault: all passed ({time.monotonic() - began:.0f} s)", flush=True)
    for fault in faults:
        try:
            caught = copy.catchers(fault)
        except SuiteError as error:
            errors.append(fault["name"])
            print(f"{fault['name']:{width}}  ERROR", flush=True)
            print(error, file=sys.stderr, flush=True)
            continue
        if not caught:
            survived.append(fault["name"])
        by = ", ".join(f"{fault['target']} {test}" for test in caught) or f"SURVIVED {fault['target']}"
        print(f"{fault['name']:{width}}  {by}", flush=True)
    caught = len(faults) - len(survived) - len(errors)
    print(f"{caught} of {len(faults)} faults caught in {time.monotonic() - began:.0f} s", flush=True)
    if survived:
        print(f"survived: {', '.join(survived)}", file=sys.stderr)
    if errors:
        print(f"not shown: {', '.join(errors)}", file=sys.stderr)
    return 2 if errors else 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
