# SPDX-License-Identifier: MIT
"""Who may build, boot, write and remove: one protocol for a build directory and the results that belong to it.

    python3 -m lab.cell.lock [--alone] [--refuse] --what WORDS NAME ... -- COMMAND ...

A lock has a name. It is held alone by whoever changes what the name stands for, and shared by whoever only uses it:

| name | stands for | alone | shared |
|---|---|---|---|
| `results` | everything below results/ | report, part, import, retry, a run by hand, clean | export |
| `disk`, `qemu`, `guest`, `volumes`, `workloads/<name>` | that built thing | whoever builds it | whoever boots it |
| `filesystems/<image>` | one image of a file system | whoever makes or drops it | whoever starts from it |
| `venv` | the locked Python | envs/bootstrap while it makes it | everybody who holds anything else |

Who waits, and who is refused:

- A built thing is waited for, both ways: who boots waits for who builds, who builds waits for who boots.
- Results are refused to whoever finds them held alone, because a report takes hours. Who finds them only shared waits.
- `make clean` is refused by whoever holds anything.

Whoever waits reads for whom, at once and then each minute; whoever is refused reads by whom.

The results' locks lie in results/.locks and all others in the build directory's locks/, so that two checkouts that
share a build directory (SPINDLE_BUILD) meet in it, each with its own results. A lock is the kernel's (flock): it goes
with the processes that hold it, and a SIGKILL leaves nothing to clean up. Beside the lock each holder leaves a file
with what it is; that file is locked, too, so that nobody believes one whose holder is gone.

What a process holds covers the processes that it starts: their environment (SPINDLE_HOLDS) says so. They then hold
the lock's `within` file, so that a run which outlives its killed report still keeps the next report out.

A kernel knows its own machine's processes only, and not every shared file system carries locks to other machines. A
process on another one than its holder's (a job of Slurm) therefore goes by the holder's file: it works as long as that
is there. What it outlives there is kept out by nobody, and is ended with `scancel`.

Scratch folders come from `scratch`. Each is locked while it is in use; `sweep` removes the others.

Standard library only: envs/bootstrap and `make clean` call it with the machine's own Python.
"""

import argparse
import atexit
import fcntl
import json
import os
import re
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from lab.cell import paths
from lab.cell.errors import AlreadyRunning, SpindleError

RESULTS = "results"
VENV = "venv"
CLEAN = "clean"
"""Held alone by `make clean`, and shared by everybody who holds anything else: so clean need not know all names."""
HOLDS = "SPINDLE_HOLDS"
"""Environment: what the processes behind this one hold, a JSON list of name, folder, mode, and record."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=-]*(/[A-Za-z0-9][A-Za-z0-9._+=-]*)?")
POLL_S = 0.1
AGAIN_S = 60
"""Whoever waits is told so again after this time."""
GRACE_S = 2
"""Who has no record is just beginning or just ending; after this time it counts as at work."""


@dataclass
class _Held:
    """A lock that this process holds, by its folder and name."""

    alone: bool
    record: Path
    numbers: list[int] = field(default_factory=list)
    """Open files; closing them lets the lock go."""
    process: int = field(default_factory=os.getpid)


_held: dict[tuple[Path, str], _Held] = {}
_written: set[str] = set()
"""Records that this process wrote."""


def folder_of(name: str, build: Path | None = None) -> Path:
    """Where a lock lies; links are followed, so that a folder has one name."""
    if name == RESULTS:
        return (paths.ROOT / "results" / ".locks").resolve()
    return (build or paths.build()).resolve() / "locks"


def _file(folder: Path, name: str, suffix: str) -> Path:
    return folder / f"{name.replace('/', '-')}.{suffix}"


def _flock(path: Path, how: int) -> int | None:
    """Open a file and lock it without waiting; None if somebody else has it. A file that was removed meanwhile counts
    for nothing: the next one opens a new one."""
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        number = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(number, how | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(number)
            return None
        try:
            if os.path.samestat(os.fstat(number), os.stat(path)):
                return number
        except FileNotFoundError:
            pass
        os.close(number)


def _record(folder: Path, name: str, kind: str, what: str) -> tuple[Path, int]:
    """Leave who holds a lock, in a file that is locked as long as its holder lives; those of the dead are removed."""
    for old in folder.glob(f"{name.replace('/', '-')}.{kind}-*"):
        _lives(old)
    said = {"what": what, "process": os.getpid(), "since": time.strftime("%H:%M"), "host": socket.gethostname()}
    text = json.dumps(said) + "\n"
    number, partial = tempfile.mkstemp(prefix=f".{name.replace('/', '-')}.", dir=folder)
    fcntl.flock(number, fcntl.LOCK_EX)
    os.write(number, text.encode())
    path = _file(folder, name, f"{kind}-{os.getpid()}-{Path(partial).name[-8:]}")
    os.rename(partial, path)
    return path, number


def _lives(record: Path) -> bool:
    """Whether a record's holder still holds it; a dead one's is removed."""
    try:
        number = os.open(record, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
        record.unlink(missing_ok=True)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(number)


def _is_elsewhere(record: Path) -> bool:
    """Whether a record's holder is a process of another machine."""
    try:
        said = json.loads(record.read_text(encoding="utf-8"))
        return said.get("host", "") not in ("", socket.gethostname())
    except (OSError, ValueError, AttributeError):
        return False


def holders(name: str, build: Path | None = None, kind: str = "holder") -> list[str]:
    """Who holds a lock: what it is, its process and since when."""
    folder, found = folder_of(name, build), []
    for record in sorted(folder.glob(f"{name.replace('/', '-')}.{kind}-*")):
        if _lives(record):
            try:
                said = json.loads(record.read_text(encoding="utf-8"))
                found.append(f"{said['what']} (process {said['process']}, since {said['since']})")
            except (OSError, ValueError, KeyError, TypeError):
                continue
    return found


def _who(name: str, build: Path | None, kind: str = "holder") -> str:
    return ", ".join(holders(name, build, kind)) or "a process that left no name"


def _inherited(folder: Path, name: str) -> tuple[bool, Path] | None:
    """Whether a process behind this one holds a lock: alone or not, and its record."""
    try:
        entries = json.loads(os.environ.get(HOLDS, "[]"))
        mine = [entry for entry in entries if (Path(entry[0]), entry[1]) == (folder, name)]
        found = [(bool(alone), Path(record)) for _, _, alone, record in mine]
    except (ValueError, TypeError, IndexError):
        raise AlreadyRunning(f"the environment's {HOLDS} is not what Spindle writes; unset it and try again") from None
    return found[-1] if found else None


def _announce() -> None:
    """Tell the processes that this one starts what it holds, behind what it was told itself."""
    told = json.loads(os.environ.get(HOLDS, "[]"))
    entries = [entry for entry in told if entry[3] not in _written]
    entries += [[str(where), name, held.alone, str(held.record)] for (where, name), held in _held.items()]
    if entries:
        os.environ[HOLDS] = json.dumps(entries)
    else:
        os.environ.pop(HOLDS, None)


def _take(name: str, alone: bool, what: str, refuse: bool, build: Path | None) -> _Held:
    """Take one lock for this process, with waiting."""
    folder = folder_of(name, build)
    outer = _inherited(folder, name)
    if outer is not None and outer[0]:
        return _join(folder, name, what, outer[1])
    if outer is not None and alone:
        raise AlreadyRunning(
            f"{name}: {what} must have it alone, and the command that started it only shares it; "
            "end that one and give this command by itself"
        )
    lock, within = _file(folder, name, "lock"), _file(folder, name, "within")
    told, began = None, time.monotonic()
    while True:
        number = _flock(lock, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        kind = "holder"
        if number is not None:
            if not _left_within(name, within, alone, build):
                break
            os.close(number)
            kind = "within"
        now = time.monotonic()
        if now - began < GRACE_S and not holders(name, build, kind):
            time.sleep(POLL_S)
            continue
        if refuse or (name == RESULTS and (kind == "within" or not _only_shared(lock))):
            raise AlreadyRunning(_refusal(name, what, kind, build))
        if told is None or now - told >= AGAIN_S:
            told = now
            print(f"{what}: {name}: waiting for: {_who(name, build, kind)}", file=sys.stderr, flush=True)
        time.sleep(POLL_S)
    path, its = _record(folder, name, "holder", what)
    return _Held(alone, path, [number, its])


def _join(folder: Path, name: str, what: str, record: Path) -> _Held:
    """Hold a lock with the process behind this one, which has it alone."""
    works = record.exists() if _is_elsewhere(record) else _lives(record)
    number = _flock(_file(folder, name, "within"), fcntl.LOCK_SH) if works else None
    if number is None:
        raise AlreadyRunning(f"{name}: the command that started this ({what}) has ended; give that command again")
    path, its = _record(folder, name, "within", what)
    return _Held(True, path, [number, its])


def _left_within(name: str, within: Path, alone: bool, build: Path | None) -> bool:
    """Whether processes are at work that a holder started who is gone."""
    if not alone:
        return bool(holders(name, build, "within"))
    number = _flock(within, fcntl.LOCK_EX)
    if number is not None:
        os.close(number)
    return number is None


def _only_shared(lock: Path) -> bool:
    number = _flock(lock, fcntl.LOCK_SH)
    if number is not None:
        os.close(number)
    return number is not None


def _refusal(name: str, what: str, kind: str, build: Path | None) -> str:
    who = _who(name, build, kind)
    where = "these results" if name == RESULTS else f"build directory {paths.shown_build()}"
    left = "what a killed command started is still at work" if kind == "within" else "in use"
    return f"{where}: {left}: {who}; wait for it or end it, then give the same command again ({what} was refused)"


def _let_go(key: tuple[Path, str]) -> None:
    held = _held.pop(key)
    held.record.unlink(missing_ok=True)
    for number in held.numbers:
        os.close(number)
    _announce()


@atexit.register
def _at_the_end() -> None:
    """The kernel drops the locks; the records are only tidier gone. A forked process has no say in them."""
    for held in _held.values():
        if held.process == os.getpid():
            held.record.unlink(missing_ok=True)


def _with_common(names: tuple[str, ...]) -> list[str]:
    """Names in the one order in which all take them, so that no two wait for each other."""
    for name in names:
        if not NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a lock")
    common = [name for name in (CLEAN, VENV) if CLEAN not in names and name not in names]
    return [*common, *sorted(set(names))]


def keep(*names: str, alone: bool = False, what: str, refuse: bool = False, build: Path | None = None) -> None:
    """Hold locks until this process ends."""
    taken: list[tuple[Path, str]] = []
    try:
        for name in _with_common(names):
            key = (folder_of(name, build), name)
            mine = alone and name in names
            if key in _held:
                if mine and not _held[key].alone:
                    raise AlreadyRunning(f"{name}: {what} must have it alone, and this very process only shares it")
                continue
            _held[key] = _take(name, mine, what, refuse, build)
            _written.add(str(_held[key].record))
            taken.append(key)
            _announce()
    except BaseException:
        for key in reversed(taken):
            _let_go(key)
        raise


@contextmanager
def hold(
    *names: str, alone: bool = False, what: str, refuse: bool = False, build: Path | None = None
) -> Iterator[None]:
    """Hold locks, alone or shared; `what` is this work in words, for those who wait. What this process holds already it
    does not take again. With `refuse` nothing is waited for. `build`: another build directory than this checkout's."""
    before = set(_held)
    keep(*names, alone=alone, what=what, refuse=refuse, build=build)
    taken = [key for key in _held if key not in before]
    try:
        yield
    finally:
        for key in reversed(taken):
            _let_go(key)


# ---- scratch folders ---------------------------------------------------------


def _run_folder() -> Path:
    return paths.build() / "run"


@contextmanager
def _door(how: int) -> Iterator[None]:
    """Between the making of a scratch folder and its lock nobody may sweep. Held for a moment only."""
    number = os.open(_door_file(), os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(number, how)
        yield
    finally:
        os.close(number)


def _door_file() -> Path:
    folder = folder_of("run")
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "run.door"


@contextmanager
def scratch(kind: str) -> Iterator[Path]:
    """An empty folder below build/run for the time of the `with`; nobody sweeps it meanwhile."""
    with ExitStack() as stack:
        with _door(fcntl.LOCK_SH):
            _run_folder().mkdir(parents=True, exist_ok=True)
            path = Path(tempfile.mkdtemp(prefix=f"{kind}-", dir=_run_folder()))
            number = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            stack.callback(os.close, number)
            fcntl.flock(number, fcntl.LOCK_EX)
        stack.callback(shutil.rmtree, path, ignore_errors=True)
        yield path


def sweep() -> list[str]:
    """Remove the scratch folders that nobody holds, left by what was killed; returns their names."""
    swept = []
    with _door(fcntl.LOCK_EX):
        for path in sorted(_run_folder().glob("*")):
            if not path.is_dir() or path.is_symlink():
                path.unlink(missing_ok=True)
                continue
            try:
                number = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            except FileNotFoundError:
                # Its own process has just removed it.
                continue
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if path.exists():
                    shutil.rmtree(path)
                    swept.append(path.name)
            except BlockingIOError:
                continue
            finally:
                os.close(number)
    return swept


# ---- command line ------------------------------------------------------------


def main(argv: list[str] | None = None) -> int:
    """Command line: become another command that holds the locks as long as it lives."""
    parser = argparse.ArgumentParser(prog="lab.cell.lock", description=__doc__.splitlines()[0])
    parser.add_argument("--alone", action="store_true", help="hold alone; default: shared")
    parser.add_argument("--refuse", action="store_true", help="do not wait for built things either")
    parser.add_argument("--what", required=True, help="this work in words, for those who wait or are refused")
    parser.add_argument("words", nargs="+", metavar="NAME ... -- COMMAND", help="locks, and the command to run")
    words = sys.argv[1:] if argv is None else argv
    split = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:split])
    command = words[split + 1 :]
    if not command:
        parser.error("which command? It stands behind --")
    try:
        keep(*options.words, alone=options.alone, what=options.what, refuse=options.refuse)
    except ValueError as error:
        parser.error(str(error))
    except SpindleError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for held in _held.values():
        for number in held.numbers:
            os.set_inheritable(number, True)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"error: {command[0]}: {error.strerror}", file=sys.stderr)
        return 127


if __name__ == "__main__":
    sys.exit(main())
