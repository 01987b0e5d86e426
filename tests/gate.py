# SPDX-License-Identifier: MIT
"""The gate, behind `make test`, `make check` and `make nightly`: its parts by name, all of them, then the verdict.

    python tests/gate.py check|gate|nightly [--only PART ...] [--report docs/nightly.md]
    python tests/gate.py --list

A part belongs to `check` (needs no built lab, and takes at most five minutes once the Rust tests are compiled), to
`gate` (needs the lab, or takes longer) or to `nightly` (takes long). `make test` is `check` and `gate`; it builds the
lab before the tests, because some that need none use what its build has fetched. Two parts run at once where neither
needs both cores. A part also fails on a test that is skipped and not on the list tests/skips.toml. The end prints the
time of each part and the sum.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
import tomllib
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("SPINDLE_BUILD", ROOT / "build")).absolute()
BIN = BUILD / "venv" / "bin"
LOGS = BUILD / "logs" / "gate"
SMOKE = ["--profile", "config/profiles/smoke"]
SETS = {"check": ("check",), "gate": ("check", "gate"), "nightly": ("nightly",)}
"""What each name on the command line runs."""
CORES = 2
"""The gate is laid out for so many, and uses no more."""
TAIL_LINES = 60
LAB = "lab builds"
"""What needs the built lab comes after this part."""
REPORTS = ("analysis", "paper")
"""Their tests run LaTeX."""
LAB_TESTS = ("lab",)
"""Most of the lab's tests need nothing built, and take as long as those of all others without it."""
OTHERS = ("workloads", "vagrant", "cli", "notebooks", "tests")
ARRAYS = ("tests/test_arrays.py", "tests/test_ldm.py")
"""As long as all other tests with the lab."""
AFTER_SMOKE = ("tests/test_import.py", "workloads/fio", "workloads/sqlio")
"""They read what the smoke report measured."""


@dataclass
class Part:
    """One part: commands one after the other."""

    name: str
    sets: tuple[str, ...]
    commands: list[list]
    cores: int = CORES
    """1: another one may run beside it."""
    after: tuple[str, ...] = ()
    figure: str | None = None
    """Lines of its output that belong into the nightly report, as a regular expression."""
    lacks: str | None = None
    """Why it cannot be run on this machine; counts as a skip."""
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def slug(self) -> str:
        """Its name in file names."""
        return re.sub(r"[^a-z0-9]+", "-", self.name)


@dataclass
class Outcome:
    """What came of a part."""

    seconds: float
    trouble: str | None = None
    tests: int = 0
    skipped: int = 0
    figures: list[str] = field(default_factory=list)


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


def lacking(command: str) -> str | None:
    """Why a cargo command cannot be run here."""
    return None if has_cargo(command) else f"this Rust has no cargo {command}"


def workspaces() -> list[list[str]]:
    """For cargo: each workspace of the model. A crate that is none of another's is one of its own; the fuzz targets
    want another compiler."""
    manifests = [name for name in tracked("lab/disk/Cargo.toml", "lab/disk/*/Cargo.toml") if "/fuzz/" not in name]
    own = [name for name in manifests if "[workspace]" in (ROOT / name).read_text(encoding="utf-8")]
    return [["--manifest-path", name] for name in own or manifests[:1]]


def pytest(marks: str, *words: str) -> list:
    """A pytest command; its skips and times are read from what it leaves."""
    return [BIN / "pytest", "-m", marks, "-rs", "--durations=15", *words]


def without(*paths: str) -> list[str]:
    """For pytest: all but these. It heeds that only for what lies below a folder that it is given."""
    return [f"--ignore={path}" for path in paths]


def parts() -> list[Part]:
    """The table."""
    plain = "not lab and not nightly and not slow"
    lab = "lab and not nightly"
    rules = ["Snakefile", *tracked("*.smk")]
    scripts = [[name] for name in tracked("*/test_*.sh")]
    needs = (LAB,)
    built = (*LAB_TESTS, *OTHERS)
    crates = workspaces()
    rust_format = [["cargo", "fmt", *one, "--all", "--check"] for one in crates]
    strict = ["--workspace", "--locked", "--all-targets", "--", "-D", "warnings"]
    rust_lint = [["cargo", "clippy", *one, *strict] for one in crates]
    # The model's own tests run with the checks that it ships with; all others with those and more.
    profiles = [["--release"] if "/model/" in one[-1] else ["--profile", "checked"] for one in crates]
    rust_tests = [
        ["cargo", "test", *one, "--workspace", "--locked", *profile]
        for one, profile in zip(crates, profiles, strict=True)
    ]
    faults = [[sys.executable, "tests/faults.py"]]
    kills = [[sys.executable, "tests/kill_report.py"], [sys.executable, "tests/kill_report.py", "--what", "attempt"]]
    again = [["make", "determinism", "REBUILD=1"]]
    crosscheck = [pytest(lab, "-s", *AFTER_SMOKE)]
    no_skip = {"SPINDLE_NO_SKIP": "1"}
    return [
        Part("python format", ("check",), [[BIN / "ruff", "format", "--check", "."], [BIN / "ruff", "check", "."]], 1),
        Part("rules format", ("check",), [[BIN / "snakefmt", "--check", *rules]], 1),
        Part("shell lint", ("check",), [["shellcheck", "--external-sources", *shell_scripts()]], 1),
        Part("rust format", ("check",), rust_format, 1, lacks=lacking("fmt")),
        Part("rust lint", ("check",), rust_lint, lacks=lacking("clippy")),
        Part(LAB, ("gate", "nightly"), [[BIN / "snakemake", *SMOKE, "lab", "bindings"]]),
        Part("rust tests", ("check",), rust_tests),
        Part("python tests of the lab", ("check",), [pytest(plain, *LAB_TESTS)], 1),
        Part("python tests of reports", ("check",), [pytest(plain, *REPORTS)], 1),
        Part("other python tests", ("check",), [pytest(plain, *OTHERS)], 1),
        Part("slow python tests", ("gate",), [pytest("slow and not lab and not nightly")], 1),
        Part("lab tests of arrays", ("gate",), [pytest(lab, *ARRAYS)], 1, needs),
        Part("other lab tests", ("gate",), [pytest(lab, *built, *without(*ARRAYS, *AFTER_SMOKE))], 1, needs),
        Part("script tests", ("gate",), scripts, 1, needs),
        Part("smoke report", ("gate", "nightly"), [["make", "report", "PROFILE=smoke"]], after=needs),
        Part("tests of smoke results", ("gate",), crosscheck, 1, ("smoke report",), environment=no_skip),
        Part("determinism", ("gate",), [["make", "determinism"]], after=needs, figure="^compared"),
        Part("planted faults", ("nightly",), faults, after=needs, figure="faults caught", environment=no_skip),
        Part("long python tests", ("nightly",), [pytest("nightly", "-s")], after=needs, figure="^nightly: "),
        Part("killed commands", ("nightly",), kills, after=("smoke report",), figure="compared|goes on"),
        Part("determinism, rebuilt", ("nightly",), again, after=needs, figure="^compared"),
        # Last: it takes hours the first time, and goes on where it was stopped.
        Part("mutants", ("nightly",), [["make", "mutants"]], figure="^mutants: "),
    ]  # fmt: skip


# ---- skips -------------------------------------------------------------------


def allowed_skips(path: Path | None = None) -> list[dict]:
    """The list of skips that may be, each with a reason."""
    path = path or ROOT / "tests" / "skips.toml"
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["skip"]
    for entry in entries:
        wrong = ({"where", "message", "why"} - entry.keys()) | (entry.keys() - {"where", "message", "why", "only"})
        if wrong:
            raise ValueError(f"{path}: an entry has a wrong key or lacks one: {', '.join(sorted(wrong))}")
    return entries


def is_allowed(entries: list[dict], chosen: str, where: str, message: str) -> bool:
    """Whether a skip is on the list: by its place, its words, and (`only`) for which of check, gate and nightly."""
    return any(
        where.startswith(entry["where"]) and re.search(entry["message"], message) and chosen in entry.get("only", SETS)
        for entry in entries
    )


def skips_of(report: Path) -> tuple[int, list[tuple[str, str]]]:
    """Number of tests in a report of pytest, and place and words of those that were skipped."""
    cases = list(ElementTree.parse(report).iter("testcase"))
    found = []
    for case in cases:
        skip = case.find("skipped")
        if skip is not None and skip.get("type") != "pytest.xfail":
            found.append((f"{case.get('file')}::{case.get('name')}", skip.get("message") or ""))
    return len(cases), found


IGNORED = re.compile(r"^test (?:\[(?P<kind>.*)\] +)?(?P<name>\S+) +\.\.\. ignored(?:, (?P<why>.*))?$", re.MULTILINE)
"""A line of a Rust test that did not run: the harness of libtest-mimic has its reason in front, Rust's own behind."""


def rust_skips_of(text: str) -> list[tuple[str, str]]:
    """Name and words of the tests that `cargo test` printed as ignored."""
    return [(found["name"], found["kind"] or found["why"] or "") for found in IGNORED.finditer(text)]


def unlisted(part: Part, chosen: str, skipped: list[tuple[str, str]]) -> str | None:
    """What is wrong with a part's skips."""
    entries = allowed_skips()
    bad = [f"{where}: {message}" for where, message in skipped if not is_allowed(entries, chosen, where, message)]
    if not bad:
        return None
    more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
    return f"skipped, and not on the list in tests/skips.toml: {bad[0]}{more}"


# ---- running -----------------------------------------------------------------


class Gate:
    """Runs parts, two at once where both allow it."""

    def __init__(self, chosen: str, todo: list[Part], cores: int) -> None:
        self.chosen = chosen
        self.todo = todo
        self.cores = cores
        self.outcomes: dict[str, Outcome] = {}
        self.running: dict[str, subprocess.Popen | None] = {}
        self.stopped = False
        self.change = threading.Condition()

    def is_due(self, part: Part) -> bool:
        """Whether all that a part comes after is done."""
        names = {other.name for other in self.todo}
        return not any(name in names and name not in self.outcomes for name in part.after)

    def has_room(self, part: Part) -> bool:
        """Whether a part may run beside those at work."""
        busy = sum(other.cores for other in self.todo if other.name in self.running)
        return not self.running or busy + part.cores <= self.cores

    def run(self) -> dict[str, Outcome]:
        """All parts; returns what came of them."""
        left = list(self.todo)
        try:
            with self.change:
                while left or self.running:
                    # In the table's order: a part that waits for cores is not overtaken.
                    ready = next((part for part in left if self.is_due(part)), None)
                    if ready is None or not self.has_room(ready):
                        self.change.wait()
                        continue
                    left.remove(ready)
                    self.running[ready.name] = None
                    threading.Thread(target=self.one, args=(ready, ready.cores >= self.cores), daemon=True).start()
        except KeyboardInterrupt:
            self.stopped = True
            for process in self.running.values():
                if process is not None:
                    process.terminate()
            raise
        return self.outcomes

    def one(self, part: Part, live: bool) -> None:
        """One part in a thread of its own; if nothing runs beside it, its output goes to the terminal as it comes."""
        began = time.monotonic()
        try:
            outcome = self.carry_out(part, live)
        except Exception as error:  # a thread's exception would be lost
            outcome = Outcome(0, f"the gate itself failed: {error!r}")
        outcome.seconds = time.monotonic() - began
        with self.change:
            counted = f" ({outcome.tests} tests, {outcome.skipped} skipped)" if outcome.tests else ""
            verdict = f"FAILED: {outcome.trouble}" if outcome.trouble else "passed"
            print(f"== {part.name}: {verdict} in {outcome.seconds:.0f} s{counted}", flush=True)
            self.outcomes[part.name] = outcome
            self.running.pop(part.name)
            self.change.notify_all()

    def carry_out(self, part: Part, live: bool) -> Outcome:
        """The commands of a part."""
        outcome = Outcome(0)
        failed = [name for name in part.after if name in self.outcomes and self.outcomes[name].trouble]
        if failed:
            outcome.trouble = f"not run, because {failed[0]!r} failed"
            return outcome
        if part.lacks:
            outcome.skipped = 1
            outcome.trouble = unlisted(part, self.chosen, [(part.name, part.lacks)])
            return outcome
        LOGS.mkdir(parents=True, exist_ok=True)
        log = LOGS / f"{part.slug}.log"
        print(f"== {part.name}", flush=True)
        with open(log, "wb") as out:
            for number, command in enumerate(part.commands):
                words = [str(word) for word in command]
                report = None
                if Path(words[0]).name == "pytest":
                    report = LOGS / f"{part.slug}-{number}.xml"
                    report.unlink(missing_ok=True)
                    words += [f"--junitxml={report}", "-o", "junit_family=xunit1", "-p", "no:cacheprovider"]
                status = self.command(part, words, out, live)
                if status != 0:
                    outcome.trouble = f"status {status}: {shlex.join(words[:6])}"
                    break
                if report is not None:
                    count, skipped = skips_of(report)
                    outcome.tests += count
                    outcome.skipped += len(skipped)
                    outcome.trouble = outcome.trouble or unlisted(part, self.chosen, skipped)
        text = log.read_text(encoding="utf-8", errors="replace")
        ignored = rust_skips_of(text) if any(command[:2] == ["cargo", "test"] for command in part.commands) else []
        outcome.skipped += len(ignored)
        outcome.trouble = outcome.trouble or unlisted(part, self.chosen, ignored)
        if part.figure:
            outcome.figures = [line.strip() for line in text.splitlines() if re.search(part.figure, line)][-4:]
        if outcome.trouble and not live:
            tail = "\n".join(f"| {line}" for line in text.splitlines()[-TAIL_LINES:])
            print(f"{tail}\n== {part.name}: the whole output is in {log}", flush=True)
        return outcome

    def command(self, part: Part, words: list[str], out, live: bool) -> int:
        """One command, its output to the log and, if `live`, to the terminal; returns its exit status."""
        path = f"{BIN}:{os.environ['PATH']}"
        environment = {**os.environ, "CARGO_TARGET_DIR": str(BUILD / "disk"), "PATH": path, **part.environment}
        try:
            process = subprocess.Popen(
                words, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )  # fmt: skip
        except OSError as error:
            out.write(f"{words[0]}: {error.strerror}; `make doctor` names its package\n".encode())
            return 127
        self.running[part.name] = process
        if self.stopped:
            process.terminate()
        with process.stdout:
            for line in iter(process.stdout.readline, b""):
                out.write(line)
                if live:
                    sys.stdout.buffer.write(line)
                    sys.stdout.buffer.flush()
        return process.wait()


# ---- verdict -----------------------------------------------------------------


def minutes(seconds: float) -> str:
    """A time for people."""
    return f"{int(seconds) // 60} min {int(seconds) % 60:02} s"


def commit() -> str:
    """What was tested; a + says that there were changes on top."""
    head = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    # The report itself may be the one that is being replaced.
    status = ["git", "status", "--porcelain", "-uno", "--", ".", ":!docs/nightly.md"]
    changed = subprocess.run(status, cwd=ROOT, capture_output=True, text=True, check=True)
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "")


def row_of(name: str, outcome: Outcome, tested: str) -> str:
    """A part's line in the page."""
    said = [f"{outcome.tests} tests, {outcome.skipped} skipped"] if outcome.tests else []
    verdict = f"**failed**: {outcome.trouble}" if outcome.trouble else "passed"
    words = [verdict, f"`{tested}`", minutes(outcome.seconds), "; ".join([*said, *outcome.figures])]
    return " | ".join([f"| {name}", *(word.replace("|", "\\|") for word in words)]) + " |"


def rows_in(page: str) -> dict[str, str]:
    """The lines of parts in a page, by the part's name."""
    rows = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| part |")]
    return {row.split(" | ")[0].removeprefix("| "): row for row in rows}


def report_text(chosen: str, outcomes: dict[str, Outcome], tested: str, cores: int, before: str = "") -> str:
    """The page that `make nightly` leaves, to be committed. The parts that did not run now keep their lines of the
    page `before`, with the commit that they ran on."""
    rows = rows_in(before) | {name: row_of(name, outcome, tested) for name, outcome in outcomes.items()}
    kept = {part.name for part in parts() if chosen in part.sets}
    rows = {name: row for name, row in rows.items() if name in kept or name in outcomes}
    failed = sum("| **failed**" in row for row in rows.values())
    lines = [
        "# The last nightly run",
        "",
        f"`make {chosen}` wrote this page on {cores} cores. Of its {len(rows)} parts {len(rows) - failed} passed.",
        "A part that was mended and run alone (`python tests/gate.py nightly --only PART --report docs/nightly.md`)"
        " has another commit than the rest. A + says that there were changes on top of the commit.",
        "",
        "| part | outcome | commit | time | what it says |",
        "|---|---|---|---|---|",
        *rows.values(),
    ]
    return "\n".join(lines).replace(f"{ROOT}/", "") + "\n"


def main(argv: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("set", nargs="?", default="gate", choices=tuple(SETS))
    parser.add_argument("--only", action="append", default=[], metavar="PART", help="only this part; repeatable")
    parser.add_argument("--list", action="store_true", help="name the parts and where each belongs")
    parser.add_argument("--report", type=Path, help="write the outcome as a page of Markdown")
    options = parser.parse_args(argv)
    if not shutil.which("git"):
        parser.error("git is missing; `make doctor` names its package")
    known = parts()
    if options.list:
        for part in known:
            print(f"{', '.join(part.sets):14} {part.name}")
        return 0
    unknown = sorted(set(options.only) - {part.name for part in known})
    if unknown:
        parser.error(f"no part {unknown[0]!r}; known are: {', '.join(part.name for part in known)}")
    wanted = SETS[options.set]
    todo = [
        part
        for part in known
        if (part.name in options.only if options.only else any(name in part.sets for name in wanted))
    ]
    cores = min(CORES, os.cpu_count() or 1)
    began, tested = time.monotonic(), commit()
    outcomes = Gate(options.set, todo, cores).run()
    total_s = time.monotonic() - began
    failed = [name for name, outcome in outcomes.items() if outcome.trouble]
    for name, outcome in sorted(outcomes.items(), key=lambda item: -item[1].seconds):
        print(f"== {minutes(outcome.seconds):>13}  {name}")
    print(f"== {minutes(sum(outcome.seconds for outcome in outcomes.values())):>13}  in sum, in {minutes(total_s)}")
    if options.report:
        partial = options.report.with_name(f".{options.report.name}.new")
        # All that belong to the set ran: what stood there before says nothing more.
        before = options.report.read_text(encoding="utf-8") if options.only and options.report.exists() else ""
        partial.write_text(report_text(options.set, outcomes, tested, cores, before), encoding="utf-8")
        partial.replace(options.report)
        print(f"== {options.report} has the outcome; commit it")
    print(
        f"== {len(outcomes) - len(failed)} of {len(outcomes)} parts passed" + "".join(f"; FAILED: {n}" for n in failed)
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
