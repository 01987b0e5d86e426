# SPDX-License-Identifier: MIT
"""Mutation testing: small changes to the code, each of which some test should notice.

    python tests/mutants.py model [--sample 300] [--seed 1]   cargo-mutants on lab/disk: a sample drawn by the seed
    python tests/mutants.py python [MODULE ...]               cosmic-ray on modules of lab/cell: all mutants
    python tests/mutants.py page                              docs/mutants.md, from what has been run

Both work on a copy below build/mutants and leave each outcome there as it comes: the same command goes on where it was
stopped, as long as the code is the same, and begins anew where it is not. With `--again` it runs those again that
survived. cosmic-ray makes the mutants of Python (tests/mutated.py), and processes that are forked from a warm one run
the tests against them (tests/forked.py). A mutant takes 0.1 to 0.3 s of a processor so;
the fresh process that cosmic-ray starts for each takes 0.4 to 0.8 s for the same tests.

A mutant that survives is named in tests/mutants.toml, with why it changes nothing that anybody could see, or why it is
left; one that is not named there is shown as unexplained.

The share of all mutants that would survive is estimated from the sample by the exact binomial interval (Clopper and
Pearson 1934), two-sided at 95 %. Mutants that do not compile count for nothing. One that never ends counts as killed.
"""

import argparse
import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from analysis.verify import share_at_most  # noqa: E402

BUILD = Path(os.environ.get("SPINDLE_BUILD", ROOT / "build")).absolute()
HOME = BUILD / "mutants"
PAGE = ROOT / "docs" / "mutants.md"
NOTES = ROOT / "tests" / "mutants.toml"
SEED = 1
SAMPLE = 300
BATCH = 10
"""Mutants of one call of cargo-mutants; after each the outcomes are kept."""
CPU_S = 120
"""Of a processor for each process of one mutant: its tests take 7, and what builds them 10, the first time 50.
One that never ends takes all of it."""
MOST_BYTES = 4 << 30
"""Of address space for each process of one mutant: one that never ends may ask for memory all the time."""
TIMEOUT_S = 3600
"""By the clock, for the tests of one mutant. Long: a timeout counts as killed, and the machine may be busy."""
CONFIDENCE = 0.95

STAGES = ("quick", "all", "own")
"""Tests of all crates but for the slow ones; all of these; those inside the mutant's own crate. Each stage runs what
survived the one before, as Rust's harness goes on behind the first test that fails."""
SLOW_TESTS = ("array_layout", "inputs", "properties")
"""Test files that take 5 of the 7 seconds of processors which all of them take."""
KILLED, SURVIVED, UNVIABLE = "killed", "survived", "does not compile"

# What the sample is drawn from. The Python library's crate is not in it: its tests are Python's and need it installed.
CRATES = ("draw", "import", "model", "replay")
# They compare a file with what is made of the code, or read the code as text: a mutant that they notice is no fault
# that a test of behaviour found.
TEXTUAL = ("tidy", "header", "page")


def digest(text: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def tracked(*paths: str) -> list[str]:
    """Committed files below some folders."""
    listed = subprocess.run(["git", "ls-files", "--", *paths], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.splitlines() if (ROOT / name).exists()]


def copy_of(names: list[str], to: Path) -> None:
    """A fresh copy of files of the checkout, with the time of now: cargo would take an old one for built."""
    shutil.rmtree(to, ignore_errors=True)
    for name in names:
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, to / name)
        shutil.copymode(ROOT / name, to / name)


@dataclass
class Outcomes:
    """What came of mutants so far, in a file that is kept after each."""

    path: Path
    code: str
    """Hash of the code that was mutated."""
    found: dict[str, str]

    @classmethod
    def of(cls, name: str, code: str) -> "Outcomes":
        """Those that lie here, if they are of this code."""
        path = HOME / f"{name}.json"
        if path.exists():
            kept = json.loads(path.read_text(encoding="utf-8"))
            if kept["code"] == code:
                return cls(path, code, kept["found"])
            print(f"{name}: the code is another than {path} is of; begun anew", flush=True)
        return cls(path, code, {})

    def keep(self, found: dict[str, str]) -> None:
        """Add outcomes."""
        self.found |= found
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_suffix(".new")
        partial.write_text(json.dumps({"code": self.code, "found": self.found}, indent=1) + "\n", encoding="utf-8")
        partial.replace(self.path)

    def names(self, outcome: str) -> list[str]:
        """The mutants with an outcome."""
        return [name for name, one in self.found.items() if one == outcome]


# ---- the model ---------------------------------------------------------------


def model_code() -> str:
    """Hash of the sources that are mutated."""
    names = [name for name in tracked("lab/disk") if re.match(r"lab/disk/((draw|import|model|replay)/)?src/", name)]
    return digest("".join(f"{name}\0{(ROOT / name).read_text(encoding='utf-8')}\0" for name in names))


def edited(text: str, old: str, new: str) -> str:
    """A manifest with one change; raises ValueError where the text is not what this script knows."""
    if len(re.findall(old, text, re.MULTILINE)) != 1:
        raise ValueError(f"lab/disk's manifests have no single {old!r} any more: write tests/mutants.py anew")
    return re.sub(old, new, text, count=1, flags=re.MULTILINE)


def model_copy() -> Path:
    """The crate's copy: one workspace with the model in it, and one program of all tests, which links once."""
    top = HOME / "model" / "copy"
    copy_of(tracked("lab/disk", "lab/cell", "lab/qemu", "paper", "docs/catalogue.md"), top)
    crate = top / "lab" / "disk"
    members = ", ".join(f'"{name}"' for name in CRATES)
    text = (crate / "Cargo.toml").read_text(encoding="utf-8")
    text = edited(text, r"^members = .*$", f"members = [{members}]")
    text = edited(text, r"^exclude = .*$", 'exclude = ["python", "fuzz"]')
    text = edited(text, r"^publish\.workspace = true$", "publish.workspace = true\nautotests = false")
    text += (
        '\n[[test]]\nname = "all"\npath = "tests/all.rs"\n'
        '\n[profile.mutants]\ninherits = "dev"\nopt-level = 1\ndebug = 0\n'
        "\n[profile.mutants.package.spindle-disk]\nopt-level = 0\n"
        "\n[profile.mutants.package.spindle-disk-draw]\nopt-level = 0\n"
    )
    (crate / "Cargo.toml").write_text(text, encoding="utf-8")
    model = (crate / "model" / "Cargo.toml").read_text(encoding="utf-8")
    model = edited(model, r"^\[workspace\]$", "")
    (crate / "model" / "Cargo.toml").write_text(re.sub(r"(?ms)^\[profile.*", "", model), encoding="utf-8")
    tests = sorted(path.stem for path in (crate / "tests").glob("*.rs") if path.stem not in TEXTUAL)
    lines = [f'#[path = "{name}.rs"]\nmod {name};\n' for name in tests]
    (crate / "tests" / "all.rs").write_text("".join(lines), encoding="utf-8")
    return crate


def bounded() -> None:
    """Bound each process that this one starts."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))


def cargo(crate: Path, *words: str) -> subprocess.CompletedProcess:
    """cargo-mutants on the copy."""
    environment = {
        **os.environ,
        "CARGO_TARGET_DIR": str(HOME / "model" / "target"),
        "PROPTEST_RNG_SEED": "1",
        "RUST_BACKTRACE": "0",
    }
    command = [str(HOME / "tools" / "bin" / "cargo-mutants"), "mutants", "--colors", "never", *words]
    return subprocess.run(
        command, cwd=crate, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        preexec_fn=bounded,
    )  # fmt: skip


def drawn(names: list[str], seed: int, sample: int) -> list[str]:
    """A sample without replacement: the first in the order of hashes, so that a larger one contains a smaller one."""
    return sorted(names, key=lambda name: digest(f"{seed} {name}"))[:sample]


def tests_of(name: str, stage: str) -> list[str]:
    """For cargo-mutants: which tests run against a mutant at one of STAGES."""
    folder = name.split("/")[0]
    if stage == "own":
        package = f"spindle-disk-{folder}" if folder in CRATES else "spindle-disk"
        return ["--test-package", package, "--", "--lib" if folder in CRATES else "--bins"]
    skipped = [word for module in SLOW_TESTS for word in ("--skip", f"{module}::")]
    return ["--test-package", "spindle-disk", "--", "--test", "all", *(["--", *skipped] if stage == "quick" else [])]


LISTS = {"caught.txt": KILLED, "timeout.txt": KILLED, "missed.txt": SURVIVED, "unviable.txt": UNVIABLE}
"""What cargo-mutants leaves: mutants by what came of them."""


def one_batch(crate: Path, batch: list[str], stage: str) -> dict[str, str]:
    """Outcomes of a few mutants at one of STAGES; they are of one crate where it is its own tests."""
    out = HOME / "model" / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    patterns = ", ".join(json.dumps(f"^{re.escape(name)}$") for name in batch)
    (out / "config.toml").write_text(f"examine_re = [{patterns}]\n", encoding="utf-8")
    words = ["--in-place", "--workspace", "--baseline", "skip"]
    words += ["--timeout", str(TIMEOUT_S), "--build-timeout", str(TIMEOUT_S)]
    words += ["--config", str(out / "config.toml"), "--profile", "mutants", "--output", str(out)]
    done = cargo(crate, *words, *tests_of(batch[0], stage))
    listed = out / "mutants.out"
    if not listed.exists():
        raise SystemExit(f"cargo-mutants ended with status {done.returncode}:\n{done.stdout}{done.stderr}")
    found = {}
    for file, outcome in LISTS.items():
        found |= dict.fromkeys((listed / file).read_text(encoding="utf-8").splitlines(), outcome)
    if missing := set(batch) - found.keys():
        raise SystemExit(f"cargo-mutants said nothing of {min(missing)}:\n{done.stdout}{done.stderr}")
    return found


def batches(names: list[str]) -> Iterator[list[str]]:
    """In order, so that those beside each other build from the same code."""
    for at in range(0, len(names), BATCH):
        yield names[at : at + BATCH]


def model(sample: int, seed: int, again: bool) -> int:
    """Run the sample, or go on with it."""
    outcomes = Outcomes.of("model", model_code())
    crate = model_copy()
    listed = cargo(crate, "--list", "--workspace", "--exclude", "tests/**")
    names = [line for line in listed.stdout.splitlines() if line]
    if listed.returncode or not names:
        raise SystemExit(f"cargo-mutants lists nothing: {listed.stderr}")
    wanted = drawn(names, seed, sample)
    (HOME / "model.drawn.json").write_text(json.dumps({"of": len(names), "seed": seed, "drawn": wanted}, indent=1))
    environment = {**os.environ, "CARGO_TARGET_DIR": str(HOME / "model" / "target"), "PROPTEST_RNG_SEED": "1"}
    ready = [["--test", "all"], ["--workspace", "--lib", "--bins"]]
    for words in ready:
        command = ["cargo", "test", "--quiet", "--profile", "mutants", *words]
        if subprocess.run(command, cwd=crate, env=environment, check=False).returncode:
            raise SystemExit("the copy without a mutant fails its tests")
    todo = [name for name in wanted if name not in outcomes.found or (again and outcomes.found[name] == SURVIVED)]
    print(f"model: {len(names)} mutants, {len(wanted)} drawn with seed {seed}, {len(todo)} to run", flush=True)
    for batch in batches(todo):
        found = one_batch(crate, batch, STAGES[0])
        for stage in STAGES[1:]:
            for name in [name for name, outcome in found.items() if outcome == SURVIVED]:
                found |= one_batch(crate, [name], stage)
        outcomes.keep(found)
        for name in batch:
            print(f"{found[name]:16}  {name}", flush=True)
    return 0


# ---- Python ------------------------------------------------------------------

MODULES = {
    "identity": ["lab/cell/tests/test_identity_rules.py", "lab/cell/tests/test_named_mutants.py"],
    "archive": ["lab/cell/tests/test_archive_rules.py"],
    "lock": ["lab/cell/tests/test_lock_rules.py"],
    "trace": ["lab/cell/tests/test_trace.py"],
    "judge": ["lab/cell/tests/test_judge.py"],
}
"""Modules of lab/cell, and the tests that run against each of their mutants until one fails: those of the module
itself, which need no process but their own. Longer ones, as those with a QEMU that only pretends, would notice more;
what they alone notice counts as survived."""
IN_PROCESSES = {"lock": ["--all"]}
"""Modules whose functions run in processes that the tests start (tests/forked.py)."""
OPERATORS = (
    "AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "NumberReplacer", "ExceptionReplacer", "RemoveDecorator",
    "ZeroIterationForLoop", "ReplaceUnaryOperator_.*",
    "ReplaceComparisonOperator_(Eq_NotEq|NotEq_Eq|Lt_LtE|LtE_Lt|Gt_GtE|GtE_Gt|Is_IsNot|IsNot_Is|In_NotIn|NotIn_In)",
    "ReplaceBinaryOperator_(Add_Sub|Sub_Add|Mul_FloorDiv|FloorDiv_Mul|Div_Mul|Mod_Mul|BitAnd_BitOr|BitOr_BitAnd)",
)  # fmt: skip
"""One replacement of each operator: cosmic-ray's others mostly do not survive the first line that runs."""


def python_code(name: str) -> str:
    """Hash of what a module's mutants follow from."""
    return digest((ROOT / f"lab/cell/{name}.py").read_text(encoding="utf-8") + "\0" + " ".join(OPERATORS))


def changed_lines(old: str, new: str) -> str:
    """What stands in the lines that a mutant changed."""
    before, after = old.splitlines(), new.splitlines()
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
    rest = zip(reversed(before[same:]), reversed(after[same:]), strict=False)
    behind = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], rest))
    return " ".join(" ".join(after[same : len(after) - behind]).split())


def mutants_of(name: str) -> dict[str, dict]:
    """All mutants of a module by name: where, by which of cosmic-ray's operators, and how its line reads then."""
    module = f"lab/cell/{name}.py"
    text = (ROOT / module).read_text(encoding="utf-8")
    command = [str(HOME / "venv/bin/python"), str(ROOT / "tests/mutated.py"), str(ROOT / module), "|".join(OPERATORS)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name}: cosmic-ray ended with status {done.returncode}; envs/mutants installs it")
    found = {}
    for one in map(json.loads, done.stdout.splitlines()):
        place = f"{module}:{one['row']}:{one['column']}: {one['operator']}"
        found[f"{place}: {changed_lines(text, one['source']) or 'nothing'}"] = one
    return found


def compiles(source: str) -> bool:
    """Whether it is Python at all."""
    try:
        compile(source, "mutant", "exec")
    except SyntaxError:
        return False
    return True


def python(names: list[str], again: bool) -> int:
    """Run all mutants of some modules, or go on with them."""
    for name in names:
        outcomes = Outcomes.of(f"python-{name}", python_code(name))
        mutants = mutants_of(name)
        todo = [one for one in mutants if outcomes.found.get(one) in (None, SURVIVED if again else None)]
        print(f"{name}: {len(mutants)} mutants, {len(todo)} to run", flush=True)
        if not todo:
            continue
        copy = HOME / "python" / name
        copy_of(tracked(), copy)
        command = [str(BUILD / "venv/bin/python"), str(copy / "tests/forked.py"), *IN_PROCESSES.get(name, ())]
        command += [f"lab/cell/{name}.py", *MODULES[name]]
        with subprocess.Popen(
            command, cwd=copy, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        ) as runner:
            for one in todo:
                if not compiles(mutants[one]["source"]):
                    outcomes.keep({one: UNVIABLE})
                    continue
                with suppress(BrokenPipeError):
                    print(json.dumps(mutants[one]), file=runner.stdin, flush=True)
                line = runner.stdout.readline()
                if not line:
                    raise SystemExit(f"{name}: the tests' process ended with status {runner.wait()}")
                said = json.loads(line)
                if said["status"] and not said["failed"]:
                    raise SystemExit(f"{name}: {one}: pytest ended with status {said['status']} and no test failed")
                outcomes.keep({one: SURVIVED if said["status"] == 0 else KILLED})
                print(f"{outcomes.found[one]:8} {said['seconds']:7.2f} s  {one}: {said['failed']}", flush=True)
            runner.stdin.close()
    return 0


# ---- the page ----------------------------------------------------------------


def interval(survived: int, count: int) -> tuple[float, float]:
    """The exact binomial interval of a share, two-sided: each end leaves half of what the confidence leaves."""
    tail = (1 + CONFIDENCE) / 2
    # The lower end for the survivors is one less the upper end for the killed.
    return 1 - share_at_most(count, count - survived, tail), share_at_most(count, survived, tail)


def notes() -> dict[str, str]:
    """Why a survivor changes nothing, or why it is left, by its name."""
    entries = tomllib.loads(NOTES.read_text(encoding="utf-8")).get("survivor", []) if NOTES.exists() else []
    return {entry["name"]: entry["why"] for entry in entries}


def row_of(name: str, outcomes: Outcomes, of: str, why: dict[str, str]) -> str:
    """A line of the table."""
    counted = Counter(outcomes.found.values())
    count = counted[KILLED] + counted[SURVIVED]
    if not count:
        return f"| {name} | {of} | none yet | | | | |"
    low, high = interval(counted[SURVIVED], count)
    share = f"{counted[SURVIVED] / count:.1%} ({low:.1%} to {high:.1%})"
    explained = sum(one in why for one in outcomes.names(SURVIVED))
    return f"| {name} | {of} | {counted[KILLED]} | {counted[SURVIVED]} | {explained} | {counted[UNVIABLE]} | {share} |"


def page() -> int:
    """Write docs/mutants.md."""
    why = notes()
    drawn_path = HOME / "model.drawn.json"
    about = json.loads(drawn_path.read_text(encoding="utf-8")) if drawn_path.exists() else {"of": 0, "drawn": []}
    model_found = Outcomes.of("model", model_code())
    lines = [
        "# Mutants",
        "",
        "`make mutants` changes the code in small ways and runs tests against each change, which is called a mutant. "
        "A mutant that no test notices has survived. `tests/mutants.py` writes this page and says at its top how the "
        "mutants are drawn. The interval in brackets is the exact binomial one at 95 %. A run that was stopped has "
        "done the first ones of the drawn order, which are a smaller sample of the same kind. Where tests were written "
        "for survivors of a sample, its share says less of the mutants that were not drawn; `--seed` draws others. Of "
        "the modules of `lab/cell` all mutants are run, against the tests of the module itself.",
        "",
        "| code | mutants | killed | survived | of them explained | do not compile | share that survived |",
        "|---|---|---|---|---|---|---|",
    ]
    of = f"{len(model_found.found)} of {len(about['drawn'])} drawn, of {about['of']}"
    lines.append(row_of("lab/disk", model_found, of, why))
    survivors = model_found.names(SURVIVED)
    only_model = {name: one for name, one in model_found.found.items() if name.startswith("model/")}
    part = Outcomes(Path(), "", only_model)
    lines.append(row_of("of these, lab/disk/model", part, str(len(only_model)), why))
    for name in MODULES:
        found = Outcomes.of(f"python-{name}", python_code(name))
        of = str(len(found.found)) if found.found else "not run"
        lines.append(row_of(f"lab/cell/{name}.py", found, of, why))
        survivors += found.names(SURVIVED)
    lines += ["", "## Survivors", "", "| mutant | why |", "|---|---|"]
    lines += [
        f"| `{name.replace('|', chr(92) + '|')}` | {why.get(name, 'unexplained')} |" for name in sorted(survivors)
    ]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    unexplained, idle = sum(name not in why for name in survivors), len(why.keys() - survivors)
    print(f"mutants: {len(survivors)} survived, {unexplained} of them unexplained; {idle} notes are of no survivor")
    return 0


def main(argv: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("model", "python", "page"))
    parser.add_argument("module", nargs="*", metavar="MODULE", help=f"python: {', '.join(MODULES)}; default: all")
    parser.add_argument(
        "--sample", type=int, default=SAMPLE, help="how many mutants of the model (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=SEED, help="which sample (default: %(default)s)")
    parser.add_argument("--again", action="store_true", help="run those again that survived")
    options = parser.parse_args(argv)
    if options.what == "model":
        return model(options.sample, options.seed, options.again)
    if unknown := set(options.module) - MODULES.keys():
        parser.error(f"no module {min(unknown)!r}; known are: {', '.join(MODULES)}")
    return python(options.module or list(MODULES), options.again) if options.what == "python" else page()


if __name__ == "__main__":
    sys.exit(main())
