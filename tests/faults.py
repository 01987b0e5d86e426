# SPDX-License-Identifier: MIT
"""Plants faults into copies of the code and shows that a test notices each.

    python tests/faults.py [--kind KIND ...] [--only NAME ...] [--list]

The faults of each kind are listed in tests/faults/<kind>.toml:

    model       the disk model in Rust
    interface   what the model offers to C: the functions, and the header that is made from them
    driver      QEMU's block driver and the patches; each of them links QEMU anew and needs the built lab
    agent       the guest's agent in C, and what reads its report on the host
    python      lab/cell and analysis

A fault has a `name`, says `why` somebody could make it, and replaces `old`, which stands in `file` exactly once, by
`new`. Then one of the tests of `target` that `filter` selects must fail: by cargo as a part of their names, by pytest
as `-k` has it. Paths are those from the root (`target` may be a pattern), but the `file` of a driver's fault is one of
QEMU's patched source.

A fault that survives shows that its test proves less than it claims. One whose text is no longer found, or that no
longer compiles, has to be written anew. The exit status is 1 or 2 then. A kind that this machine lacks something for is
skipped with the reason; with SPINDLE_NO_SKIP=1 that is an error, too. The copies lie below build/faults with builds of
their own, so that nothing faulty is ever taken for the lab.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Also where this is imported by its path.
sys.path.append(str(ROOT / "tests"))

from mutants import BUILD, copy_of, tracked  # noqa: E402

from lab.cell import lock  # noqa: E402
from lab.cell.errors import SpindleError  # noqa: E402

LISTS = ROOT / "tests" / "faults"
HOME = BUILD / "faults"
KEYS = {"name", "why", "file", "old", "new", "target", "filter"}
BASE = "without a fault"
Fault = dict[str, str]


class SuiteError(Exception):
    """The suite itself is wrong, whatever the code does."""


def load(path: Path) -> list[Fault]:
    """The faults of a list, checked; each has its `kind`, too."""
    faults = tomllib.loads(path.read_text(encoding="utf-8"))["fault"]
    for fault in faults:
        name = fault.get("name", "?")
        if missing := KEYS - fault.keys():
            raise SuiteError(f"{name}: lacks {', '.join(sorted(missing))}")
        if unknown := fault.keys() - KEYS:
            raise SuiteError(f"{name}: has unknown {', '.join(sorted(unknown))}")
        if fault["old"] == fault["new"]:
            raise SuiteError(f"{name}: changes nothing")
    return [fault | {"kind": path.stem} for fault in faults]


def load_all(folder: Path) -> list[Fault]:
    """The faults of all kinds, in their order."""
    faults = [fault for kind in KINDS for fault in load(folder / f"{kind}.toml")]
    names = [fault["name"] for fault in faults]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise SuiteError(f"{twice[0]}: two faults have this name")
    return faults


def mutated(fault: Fault, source: Path) -> str:
    """The faulty text of the fault's file, which lies below `source`."""
    text = (source / fault["file"]).read_text(encoding="utf-8")
    found = text.count(fault["old"])
    if found != 1:
        raise SuiteError(f"{fault['name']}: its old text is in {fault['file']} {found} times, not once; write it anew")
    return text.replace(fault["old"], fault["new"])


def ended(words: list, folder: Path, environment: dict[str, str], timeout_s: float | None) -> tuple[int | None, str]:
    """Exit status (None: it did not end in time) and output of a command; what it started ends with it."""
    with subprocess.Popen(
        [str(word) for word in words],
        cwd=folder,
        # What is tested holds nothing of what this process does.
        env={name: value for name, value in os.environ.items() if name != lock.HOLDS} | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None, process.communicate()[0]
    return process.returncode, output


class Copy:
    """Code that may be broken, and the tests that run against it. Those of a kind say how it is built and tested."""

    timeout_s = 120.0
    """A fault that loops must not hold up the gate."""

    def __init__(self) -> None:
        self.checkout = HOME / "checkout"
        self.root = self.checkout
        """What `file` of a fault is below, in the copy."""
        self.source = ROOT
        """The same where the code is whole."""

    def lacks(self) -> str | None:
        """Why nothing can be planted on this machine."""
        return None

    def prepare(self, faults: list[Fault]) -> None:
        """Make the copy; without a fault, it must pass what all these are run against."""
        copy_of(tracked(), self.checkout)
        self.set_up()
        self.build(BASE, faults)
        status, output = self.test(faults)
        if status != 0:
            raise SuiteError(f"the copy without a fault fails its tests:\n{output}")

    @contextmanager
    def planted(self, fault: Fault) -> Iterator[None]:
        """The copy is broken meanwhile."""
        path = self.root / fault["file"]
        text, whole = mutated(fault, self.root), path.read_text(encoding="utf-8")
        path.write_text(text, encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(whole, encoding="utf-8")

    def catchers(self, fault: Fault) -> list[str]:
        """The tests that fail with the fault."""
        with self.planted(fault):
            self.build(fault["name"], [fault])
            status, output = self.test([fault])
        asked = f"{fault['target']} {fault['filter']}"
        if status is None:
            raise SuiteError(f"{fault['name']}: {asked} did not end in {self.timeout_s:.0f} s; plant it differently")
        failed, passed = self.outcome(status, output)
        if status != 0 and not failed:
            raise SuiteError(f"{fault['name']}: {asked} could not be run:\n{output}")
        if not failed and not passed:
            raise SuiteError(f"{fault['name']}: no such test was run: {asked}\n{output}")
        return failed

    def set_up(self) -> None:
        """What the copy needs besides."""

    def build(self, name: str, faults: list[Fault]) -> None:
        """Compile what the tests of these faults need. Raises SuiteError where it does not compile."""

    def test(self, faults: list[Fault]) -> tuple[int | None, str]:
        """Run the tests that these faults name; exit status and output."""
        raise NotImplementedError

    def outcome(self, status: int, output: str) -> tuple[list[str], bool]:
        """Names of the tests that failed, and whether any passed."""
        raise NotImplementedError


class Cargo(Copy):
    """The model and all that is tested with it."""

    def set_up(self) -> None:
        self.crate = self.checkout / "lab" / "disk"
        self.cargo = ["cargo", "test", "--quiet", "--offline"]

    def run(self, *words: str, timeout_s: float | None = None) -> tuple[int | None, str]:
        """Cargo in the copy."""
        environment = {
            "CARGO_TARGET_DIR": str(HOME / "target"),
            # Failures are expected, many, and only counted.
            "RUST_BACKTRACE": "0",
            "RUSTFLAGS": os.environ.get("RUSTFLAGS", "") + " --cap-lints warn",
            # The same random cases each time: a fault is caught always or never.
            "PROPTEST_RNG_SEED": "1",
        }
        return ended([*self.cargo, *words], self.crate, environment, timeout_s)

    @staticmethod
    def selected(faults: list[Fault]) -> list[list[str]]:
        """Cargo's options for the tests' programs, workspace by workspace: a file of lab/disk/tests is a program, the
        tests within the model's own sources are another one."""
        targets = sorted({fault["target"] for fault in faults})
        outside = [target for target in targets if target.startswith("lab/disk/tests/")]
        found = [[word for target in outside for word in ("--test", Path(target).stem)]] if outside else []
        if len(outside) < len(targets):
            found.append(["--manifest-path", "model/Cargo.toml", "--lib"])
        return found

    def build(self, name: str, faults: list[Fault]) -> None:
        for words in self.selected(faults):
            status, output = self.run("--no-run", *words)
            if status != 0 and name == BASE and "--offline" in self.cargo:
                # A machine that has not built the crate before fetches its dependencies.
                self.cargo.remove("--offline")
                status, output = self.run("--no-run", *words)
            if status != 0:
                raise SuiteError(f"{name}: does not compile, so that nothing is shown:\n{output}")

    def test(self, faults: list[Fault]) -> tuple[int | None, str]:
        output = ""
        # Cargo takes one filter; all faults together are run against all tests of their targets.
        words = ["--", faults[0]["filter"]] if len(faults) == 1 else []
        for selected in self.selected(faults):
            status, said = self.run(*selected, *words, timeout_s=self.timeout_s if words else None)
            output += said
            if status != 0:
                return status, output
        return 0, output

    def outcome(self, status: int, output: str) -> tuple[list[str], bool]:
        failed = re.findall(r"^---- (\S+)(?: stdout)? ----$", output, re.MULTILINE)
        return failed, re.search(r"\b[1-9]\d* passed", output) is not None


class Pytest(Copy):
    """Python, and programs in C that tests compile. Nothing of the built lab is there."""

    timeout_s = 300.0
    build_folder = HOME / "nothing-built"

    def test(self, faults: list[Fault]) -> tuple[int | None, str]:
        targets: dict[str, None] = {}
        for fault in faults:
            found = sorted(str(path.relative_to(self.checkout)) for path in self.checkout.glob(fault["target"]))
            if not found:
                raise SuiteError(f"{fault['name']}: there is no {fault['target']}")
            targets |= dict.fromkeys(found)
        chosen = " or ".join(dict.fromkeys(f"({fault['filter']})" for fault in faults))
        words = [BUILD / "venv" / "bin" / "python", "-m", "pytest", "-rfEs", "--tb=line", "-p", "no:cacheprovider"]
        environment = {
            # A fault of the same length, planted in the same second, would else be taken for compiled.
            "PYTHONDONTWRITEBYTECODE": "1",
            "SPINDLE_BUILD": str(self.build_folder),
        }
        timeout_s = self.timeout_s if len(faults) == 1 else None
        return ended([*words, "-k", chosen, *targets], self.checkout, environment, timeout_s)

    def outcome(self, status: int, output: str) -> tuple[list[str], bool]:
        # 1: tests were run and failed. What keeps a module from being imported at all is noticed by everything.
        failed = re.findall(r"^FAILED [^:]*::(.*?)(?: - .*)?$", output, re.MULTILINE) if status == 1 else []
        return failed, re.search(r"\b[1-9]\d* passed", output) is not None


class Driver(Pytest):
    """QEMU's block driver and patches: a copy of the built tree, in which only a changed file is compiled."""

    timeout_s = 600.0
    build_folder = HOME / "build"
    OWN = ("faults", "filesystems", "locks", "logs", "mutants", "qemu", "run", "tmp")
    """What the copy has itself: above all no faulty QEMU may make an image for the real lab."""

    def __init__(self) -> None:
        super().__init__()
        self.work = BUILD / "qemu" / "work"
        self.root = HOME / "qemu" / "work" / "source"
        self.source = self.work / "source"

    def lacks(self) -> str | None:
        driver = "block/spindle.c"
        if not (self.work / "build" / "qemu-system-x86_64").exists() or not (BUILD / "guest" / "built.json").exists():
            return f"the lab is not built in {BUILD}; `make lab` builds it"
        if (self.source / driver).read_bytes() != (ROOT / "lab" / "qemu" / driver).read_bytes():
            return f"the QEMU in {BUILD} was built with another driver; `make lab` builds it again"
        return None

    def set_up(self) -> None:
        # With the files' times, so that ninja takes them for built.
        shutil.rmtree(HOME / "qemu", ignore_errors=True)
        shutil.copytree(self.work, HOME / "qemu" / "work", symlinks=True)
        shutil.rmtree(self.build_folder, ignore_errors=True)
        (self.build_folder / "qemu").mkdir(parents=True)
        for path in BUILD.iterdir():
            if path.name not in self.OWN:
                (self.build_folder / path.name).symlink_to(path)

    def build(self, name: str, faults: list[Fault]) -> None:
        binary = HOME / "qemu" / "work" / "build" / "qemu-system-x86_64"
        words = ["ninja", "-C", binary.parent, binary.name]
        status, output = ended(words, HOME, {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, None)
        if status != 0:
            raise SuiteError(f"{name}: does not compile, so that nothing is shown:\n{output}")
        there = self.build_folder / "qemu"
        shutil.copy(binary, there / binary.name)
        # The lab boots only what has a receipt.
        receipt = json.loads((BUILD / "qemu" / "built.json").read_text(encoding="utf-8"))
        receipt["files"] = {f"qemu/{binary.name}": hashlib.sha256(binary.read_bytes()).hexdigest()}
        (there / "built.json").write_text(json.dumps(receipt), encoding="utf-8")


KINDS: dict[str, type[Copy]] = {
    "model": Cargo,
    "interface": Cargo,
    "driver": Driver,
    "agent": Pytest,
    "python": Pytest,
}


def run(faults: list[Fault], copy: Copy, width: int) -> dict[str, str]:
    """Plant these faults, one after the other; what came of each by its name: caught, survived, or not shown."""
    began = time.monotonic()
    copy.prepare(faults)
    kinds = " and ".join(dict.fromkeys(fault["kind"] for fault in faults))
    print(f"{kinds} {BASE}: all passed ({time.monotonic() - began:.0f} s)", flush=True)
    found = {}
    for fault in faults:
        name = fault["name"]
        try:
            caught = copy.catchers(fault)
        except SuiteError as error:
            found[name] = "not shown"
            print(f"{name:{width}}  ERROR", flush=True)
            print(error, file=sys.stderr, flush=True)
            continue
        found[name] = "caught" if caught else "survived"
        more = f" and {len(caught) - 1} more" if len(caught) > 1 else ""
        by = f"{fault['target']} {caught[0]}{more}" if caught else f"SURVIVED {fault['target']} {fault['filter']}"
        print(f"{name:{width}}  {by}", flush=True)
    return found


def main(argv: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", action="append", choices=tuple(KINDS), help="only this kind; can be repeated")
    parser.add_argument("--only", action="append", metavar="NAME", help="plant only this fault; can be repeated")
    parser.add_argument("--list", action="store_true", help="show the faults and what is to catch them")
    options = parser.parse_args(argv)
    began = time.monotonic()
    found: dict[str, str] = {}
    try:
        faults = load_all(LISTS)
        if unknown := set(options.only or []) - {fault["name"] for fault in faults}:
            raise SuiteError(f"there is no fault {', '.join(sorted(unknown))}; --list shows all")
        faults = [fault for fault in faults if not options.only or fault["name"] in options.only]
        faults = [fault for fault in faults if not options.kind or fault["kind"] in options.kind]
        width = max((len(fault["name"]) for fault in faults), default=0)
        if options.list:
            for fault in faults:
                print(
                    f"{fault['kind']:9}  {fault['name']:{width}}  {fault['file']}  {fault['target']} {fault['filter']}"
                )
            return 0
        todo = []
        for of in dict.fromkeys(KINDS.values()):
            copy, mine = of(), [fault for fault in faults if KINDS[fault["kind"]] is of]
            why = copy.lacks() if mine else None
            if why and os.environ.get("SPINDLE_NO_SKIP"):
                raise SuiteError(f"{mine[0]['kind']}: {why}")
            if why:
                print(f"{mine[0]['kind']}: skipped: {why}", flush=True)
                faults = [fault for fault in faults if fault not in mine]
            elif mine:
                todo.append((copy, mine))
        for copy, mine in todo:
            for fault in mine:
                mutated(fault, copy.source)
        if todo:
            # Another run would take away the copies.
            lock.keep("faults", alone=True, what="planting of faults", refuse=True, build=BUILD)
        for copy, mine in todo:
            found |= run(mine, copy, width)
    except (SuiteError, SpindleError) as error:
        print(error, file=sys.stderr)
        return 2
    of_kinds = []
    for kind in dict.fromkeys(fault["kind"] for fault in faults):
        outcomes = [found[fault["name"]] for fault in faults if fault["kind"] == kind]
        of_kinds.append(f"{kind} {outcomes.count('caught')} of {len(outcomes)}")
    caught = list(found.values()).count("caught")
    seconds = time.monotonic() - began
    print(f"{caught} of {len(faults)} faults caught in {seconds:.0f} s: {', '.join(of_kinds)}", flush=True)
    for outcome in ("survived", "not shown"):
        if names := [name for name, one in found.items() if one == outcome]:
            print(f"{outcome}: {', '.join(names)}", file=sys.stderr)
    return 2 if "not shown" in found.values() else 1 if "survived" in found.values() else 0


if __name__ == "__main__":
    sys.exit(main())
