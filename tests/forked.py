# SPDX-License-Identifier: MIT
"""Run the tests of a module against mutants of it, each in a process of its own that is forked from this one.

    python tests/forked.py MODULE PYTEST-ARGUMENT ...

In the folder of a copy of the checkout. Reads a line of JSON for each mutant (`row` and `source`), and writes one:
what came of it, by which test, and the seconds of processors that it took.

What a fresh process would spend most of its time with is spent once: packages, and modules of the checkout that can be
imported without the mutated one, are imported here before any fork. What imports the mutated module, and so may follow
from it, is imported anew for each mutant, and so are all tests.

The first fork runs all tests against the source as it is, and notes which functions of the module each test calls. A
mutant in a function is then shown to the tests that call it, and any other mutant to all tests. A test that does not
call a function cannot see a change in it, with one exception: a process that the test starts. Modules whose functions
run in such processes are given with `--all`, and all tests see each mutant.

The quick tests come first, and before them the one that noticed the mutant before. The first that fails ends a mutant.
One whose tests take TIMES as many seconds of a processor as they took before, or WAIT_S by the clock, never ends.
"""

import ast
import gc
import importlib
import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from ctypes import CDLL
from pathlib import Path

TIMES = 3
LEAST_S = 3
MOST_BYTES = 4 << 30
"""Of memory; a mutant that wants more fails its test."""
WAIT_S = 600
"""Long, as the machine may have other things to do."""
OUTSIDE = "outside all tests"
PR_SET_CHILD_SUBREAPER = 36


class Noting:
    """For pytest: which functions of a file each test calls, by their first line, and how long it takes."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.test = OUTSIDE
        self.called: dict[str, set[int]] = {OUTSIDE: set()}
        self.seconds: dict[str, float] = {}

    def trace(self, frame, event, argument):
        """For each call of a function."""
        if frame.f_code.co_filename == self.path:
            self.called[self.test].add(frame.f_code.co_firstlineno)

    def pytest_runtest_logstart(self, nodeid):
        """A test begins, with its fixtures."""
        self.test, self.began = nodeid, processor_s()
        self.called[nodeid] = set()

    def pytest_runtest_logfinish(self, nodeid):
        """It has ended."""
        self.seconds[nodeid] = processor_s() - self.began
        self.test = OUTSIDE


class Choosing:
    """For pytest: which tests are run, in which order, and which one fails first."""

    def __init__(self, tests: list[str] | None) -> None:
        self.tests = tests
        self.failed = ""

    def pytest_collection_modifyitems(self, items):
        """Leave the tests that are wanted."""
        if self.tests is not None:
            by_id = {item.nodeid: item for item in items}
            items[:] = [by_id[name] for name in self.tests if name in by_id]

    def pytest_runtest_logreport(self, report):
        """A test has failed."""
        if report.failed:
            self.failed = self.failed or report.nodeid

    def pytest_collectreport(self, report):
        """A file could not be read."""
        if report.failed:
            self.failed = self.failed or report.nodeid


def processor_s() -> float:
    """Time on processors of this process and of those that it started and that have ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def descendants_end() -> None:
    """End what a mutant left behind; it has become this process's child."""
    while True:
        children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text(encoding="ascii").split()
        if not children:
            return
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(int(child), 0)


def forked(work: Callable[[], dict], most_s: int) -> dict | None:
    """What `work` returns, from a process of its own; None if that did not end in time or ended without a word."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.setpgid(0, 0)
        quiet = tempfile.TemporaryFile()  # noqa: SIM115
        null = os.open(os.devnull, os.O_RDONLY)
        for number, to in ((null, 0), (quiet.fileno(), 1), (quiet.fileno(), 2)):
            os.dup2(number, to)
        resource.setrlimit(resource.RLIMIT_CPU, (most_s, most_s))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
        with open(write, "w", encoding="utf-8") as pipe:
            try:
                said = work()
            except BaseException as error:
                said = {"status": -1, "failed": repr(error)}
            sys.stdout.flush()
            os.lseek(1, max(0, os.lseek(1, 0, os.SEEK_END) - 4000), os.SEEK_SET)
            said["said"] = os.read(1, 4000).decode(errors="replace")
            json.dump(said, pipe)
        os._exit(0)
    os.close(write)
    os.set_inheritable(read, False)
    text, until = b"", time.monotonic() + WAIT_S
    while select.select([read], [], [], max(0, until - time.monotonic()))[0]:
        part = os.read(read, 1 << 16)
        text += part
        if not part or text.endswith(b"}"):
            with suppress(ValueError):
                json.loads(text)
                break
        if not part:
            break
    os.close(read)
    descendants_end()
    try:
        return json.loads(text)
    except ValueError:
        return None


def tested(words: list[str], plugin: object, noting: bool = False) -> int:
    """Run pytest in this process."""
    import pytest

    if noting:
        threading.settrace(plugin.trace)
        sys.settrace(plugin.trace)
    try:
        return int(pytest.main(words, plugins=[plugin]))
    finally:
        sys.settrace(None)


def baseline(module: Path, words: list[str]) -> dict:
    """The tests against the source as it is."""
    noting = Noting(module)
    status = tested(words, noting, noting=True)
    # Tests are imported by pytest, which changes their asserts.
    names = [name for name in list(sys.modules) if "tests" not in name.split(".") and not name.startswith("__m")]
    called = {test: sorted(lines) for test, lines in noting.called.items()}
    return {"status": status, "called": called, "seconds": noting.seconds, "modules": names}


def import_without(module: str, names: list[str]) -> None:
    """Import what can be imported without a module."""
    sys.modules[module] = None
    for name in names:
        # What needs the module fails, and is then not imported.
        with suppress(Exception):
            importlib.import_module(name)
    del sys.modules[module]


def against(words: list[str], tests: list[str]) -> dict:
    """Some of the tests against the source as it lies there."""
    # What is compiled from a mutant must not be taken for another one's.
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    choosing = Choosing(tests)
    status = tested(words, choosing)
    # 4: a conftest.py cannot be imported, of which pytest makes no report.
    return {"status": status, "failed": choosing.failed or ("conftest.py" if status == 4 else "")}


def functions(source: str) -> list[tuple[int, int, int]]:
    """First line with its decorators, first line of its own, and last line of each function that is in no other."""
    found, left = [], list(ast.parse(source).body)
    while left:
        node = left.pop(0)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            found.append((first, node.lineno, node.end_lineno))
        elif isinstance(node, ast.ClassDef):
            left += node.body
    return found


def seeing(row: int, spans: list[tuple[int, int, int]], called: dict[str, list[int]]) -> list[str]:
    """Tests that a mutant in a row may change something for."""
    everybody = [test for test in called if test != OUTSIDE]
    for first, begin, end in spans:
        if begin <= row <= end:
            if any(first <= line <= end for line in called[OUTSIDE]):
                return everybody
            return [test for test in everybody if any(first <= line <= end for line in called[test])]
    return everybody


def main(words: list[str]) -> int:
    """Command line."""
    all_of = words[0] == "--all"
    module, *tests = words[1:] if all_of else words
    path = Path(module).absolute()
    os.environ |= {"PYTHONPATH": os.getcwd(), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    sys.path[0] = os.getcwd()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    folder = Path(tempfile.mkdtemp(prefix="mutants-"))
    tests += ["-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=line", f"--basetemp={folder / 'tests'}"]
    tests += ["-o", "tmp_path_retention_policy=none"]
    text = path.read_text(encoding="utf-8")
    try:
        began = processor_s()
        first = forked(lambda: baseline(path, tests), 3600)
        if first is None or first["status"] != 0:
            print(f"{module} without a mutant fails its tests: {(first or {}).get('said', '')}", file=sys.stderr)
            return 1
        print(f"{module}: {len(first['seconds'])} tests, {processor_s() - began:.1f} s", file=sys.stderr, flush=True)
        import_without(module.removesuffix(".py").replace("/", "."), first["modules"])
        gc.freeze()
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()
        spans, seconds = functions(text), first["seconds"]
        noticed: list[str] = []
        for line in sys.stdin:
            mutant = json.loads(line)
            chosen = list(seconds) if all_of else seeing(mutant["row"], spans, first["called"])
            recent = noticed[-1:] if noticed and noticed[-1] in chosen else []
            chosen = recent + sorted(set(chosen) - set(recent), key=lambda name: (seconds[name], name))
            began = processor_s()
            path.write_text(mutant["source"], encoding="utf-8")
            # No test calls the function: nothing is to be run.
            most_s = LEAST_S + round(TIMES * sum(seconds[name] for name in chosen))
            found = {"status": 0, "failed": ""}
            if chosen:
                found = forked(lambda chosen=chosen: against(tests, chosen), most_s)
            if found and found["failed"] in seconds:
                noticed.append(found["failed"])
            taken = {"tests": len(chosen), "seconds": round(processor_s() - began, 3)}
            print(json.dumps((found or {"status": None, "failed": "no end"}) | taken), file=out, flush=True)
    finally:
        path.write_text(text, encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
