# SPDX-License-Identifier: MIT
"""Each rule of the locks, in one process: the kernel's locks are those of open files, so that another holder need not
be another process. What real processes do to each other, test_lock.py has."""

import fcntl
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from lab.cell import lock, paths
from lab.cell.errors import AlreadyRunning

ROOT = Path(__file__).resolve().parents[3]


class Clock:
    """Stands for the module `time`: each sleep takes a second, and something may happen at a time."""

    def __init__(self):
        self.now, self.slept, self.then = 1000.0, [], {}

    def monotonic(self):
        return self.now

    def strftime(self, form):
        return "12:00"

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += 1
        assert self.now < 1300, "it waits for what nobody will do"
        if happens := self.then.pop(self.now - 1000, None):
            happens()


@pytest.fixture
def clock(tmp_path, monkeypatch):
    """A checkout with nothing in it, in which time passes only while somebody waits."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(paths, "BUILD", tmp_path / "build")
    monkeypatch.delenv(lock.HOLDS, raising=False)
    clock = Clock()
    monkeypatch.setattr(lock, "time", clock)
    yield clock
    for key in reversed(list(lock._held)):
        lock._let_go(key)


def other(name, alone=False, what="other"):
    """Another holder; returns what ends it. It stands not in this process's own books, and is not told what that
    holds."""
    told = os.environ.pop(lock.HOLDS, None)
    try:
        held = lock._take(name, alone, what, True, None)
    finally:
        if told is not None:
            os.environ[lock.HOLDS] = told

    def end():
        held.record.unlink(missing_ok=True)
        for number in held.numbers:
            os.close(number)

    return end


def nameless(name, how, suffix="lock"):
    """Somebody has locked a file and has left no record, as it is just beginning or just ending."""
    path = lock._file(lock.folder_of(name), name, suffix)
    path.parent.mkdir(parents=True, exist_ok=True)
    number = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.flock(number, how)
    return lambda: os.close(number)


def free(name):
    """Whether nobody holds a lock."""
    try:
        other(name, alone=True)()
    except AlreadyRunning:
        return False
    return True


# ---- where locks are ---------------------------------------------------------


def test_lock_folders(clock, tmp_path):
    assert lock.folder_of("results") == tmp_path / "results/.locks"
    assert lock.folder_of("qemu") == tmp_path / "build/locks"
    assert lock.folder_of("qemu", tmp_path / "elsewhere") == tmp_path / "elsewhere/locks"
    assert lock.folder_of("results", tmp_path / "elsewhere") == tmp_path / "results/.locks"


def test_lock_files_are_everybodys_to_read(clock, tmp_path):
    before = os.umask(0)
    try:
        with lock.hold("workloads/rawio", what="boot"), lock.scratch("run"):
            pass
    finally:
        os.umask(before)
    for name in ("workloads-rawio.lock", "run.door"):
        assert (tmp_path / "build/locks" / name).stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("again", [False, True])
def test_lock_on_a_file_that_was_removed_counts_for_nothing(clock, tmp_path, monkeypatch, again):
    path, real, calls = tmp_path / "a.lock", fcntl.flock, []

    def flock(number, how):
        if not calls:
            path.unlink()
            if again:
                path.touch()
        calls.append(how)
        real(number, how)

    monkeypatch.setattr(lock.fcntl, "flock", flock)
    number = lock._flock(path, fcntl.LOCK_EX)
    assert os.path.samestat(os.fstat(number), path.stat()) and len(calls) == 2
    os.close(number)


def test_lock_names_are_taken_in_one_order():
    assert lock._with_common(("qemu", "guest", "qemu")) == ["clean", "venv", "guest", "qemu"]
    assert lock._with_common(("venv",)) == ["clean", "venv"]
    assert lock._with_common(("results", "clean")) == ["clean", "results"]
    for name in ("../etc", "a/b/c", "", ".a"):
        with pytest.raises(ValueError, match="is no name of a lock"):
            lock._with_common(("qemu", name))


# ---- records -----------------------------------------------------------------


def test_record_says_who_and_goes_with_its_holder(clock):
    with lock.hold("qemu", what="boot"):
        (record,) = lock.folder_of("qemu").glob("qemu.holder-*")
        name, letters = record.name.rsplit("-", 1)
        assert name == f"qemu.holder-{os.getpid()}" and len(letters) == 8 and "." not in letters
        said = {"what": "boot", "process": os.getpid(), "since": "12:00", "host": socket.gethostname()}
        assert json.loads(record.read_text()) == said
        assert lock.holders("qemu") == [f"boot (process {os.getpid()}, since 12:00)"]
        assert lock._lives(record) and record.exists()
    assert not record.exists() and lock.holders("qemu") == []
    assert not lock._lives(record)


def test_record_of_a_dead_holder_is_removed_by_the_next(clock):
    lock.folder_of("qemu").mkdir(parents=True)
    dead = lock.folder_of("qemu") / "qemu.holder-1-abcdefgh"
    dead.touch()
    with lock.hold("qemu", what="boot"):
        assert not dead.exists()
    dead.touch()
    assert not lock._lives(dead) and not dead.exists()


def test_record_that_somebody_else_removes_meanwhile(clock, tmp_path, monkeypatch):
    record, real = tmp_path / "record", fcntl.flock
    record.touch()

    def flock(number, how):
        record.unlink()
        real(number, how)

    monkeypatch.setattr(lock.fcntl, "flock", flock)
    assert not lock._lives(record)


@pytest.mark.parametrize("text", [None, "no json", "{}", "[]"])
def test_record_that_cannot_be_read_hides_no_other(clock, monkeypatch, text):
    folder = lock.folder_of("qemu")
    folder.mkdir(parents=True)
    first = folder / "qemu.holder-1-aaaaaaaa"
    first.write_text(text or "")
    (folder / "qemu.holder-2-bbbbbbbb").write_text('{"what": "boot", "process": 2, "since": "12:00"}')

    def lives(record):
        if text is None:
            first.unlink(missing_ok=True)
        return True

    monkeypatch.setattr(lock, "_lives", lives)
    assert lock.holders("qemu") == ["boot (process 2, since 12:00)"]


def test_record_of_another_machine(tmp_path):
    record = tmp_path / "record"
    assert not lock._is_elsewhere(record)
    for text, elsewhere in (
        ("no json", False), ("[]", False), ("{}", False), ('{"host": ""}', False),
        (json.dumps({"host": socket.gethostname()}), False), ('{"host": "another-machine"}', True),
    ):  # fmt: skip
        record.write_text(text)
        assert lock._is_elsewhere(record) == elsewhere


def test_record_is_gone_when_its_process_ends_and_not_before(tmp_path):
    """A forked process has no say in it; and who finds it removed says nothing."""
    text = f"""
import os, sys
from pathlib import Path
from lab.cell import lock, paths
paths.ROOT = Path({str(tmp_path)!r})
paths.BUILD = paths.ROOT / "build"
lock.keep("qemu", "guest", what="boot")
if os.fork() == 0:
    sys.exit(0)
os.wait()
print(*sorted(path.name.split("-")[0] for path in lock.folder_of("qemu").glob("*.holder-*")))
next(lock.folder_of("qemu").glob("guest.holder-*")).unlink()
"""
    done = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("clean.holder guest.holder qemu.holder venv.holder\n", "")
    assert not list((tmp_path / "build/locks").glob("*.holder-*"))


# ---- who waits, who is refused -----------------------------------------------


def test_lock_shared_by_two_and_alone_by_one(clock):
    end = other("qemu")
    with lock.hold("qemu", what="boot"):
        assert len(lock.holders("qemu")) == 2
        end()
        assert not free("qemu")
    assert free("qemu")
    with lock.hold("qemu", alone=True, what="build"), pytest.raises(AlreadyRunning):
        other("qemu")
    assert free("qemu") and clock.slept == []


def test_lock_is_shared_by_who_says_nothing(clock):
    lock.keep("qemu", what="boot")
    other("qemu")()
    assert not free("qemu")


def test_lock_common_ones_are_shared_by_who_is_alone(clock):
    with lock.hold("qemu", alone=True, what="build"):
        other("venv")()
        other("clean")()
        assert not free("venv") and not free("clean")
    assert free("venv") and free("clean")


@pytest.mark.parametrize("way", [lock.hold, lambda *names, **more: lock.keep(*names, **more)], ids=["hold", "keep"])
@pytest.mark.parametrize(
    ("name", "held_alone", "alone"),
    [("qemu", True, False), ("qemu", False, True), ("qemu", True, True), ("results", False, True)],
)
def test_lock_is_waited_for(clock, capsys, way, name, held_alone, alone):
    """A built thing both ways, and results that are only shared."""
    clock.then[3] = other(name, held_alone, "the other")
    begun = way(name, alone=alone, what="this")
    if begun is not None:
        with begun:
            pass
    assert clock.now == 1003 and all(0 < seconds <= 0.5 for seconds in clock.slept)
    assert capsys.readouterr().err == (f"this: {name}: waiting for: the other (process {os.getpid()}, since 12:00)\n")


@pytest.mark.parametrize("alone", [False, True])
def test_lock_results_that_are_held_alone_are_refused_at_once(clock, alone):
    end = other("results", True, "report")
    said = (
        r"^these results: in use: report \(process \d+, since 12:00\); wait for it or end it, .* \(this was refused\)$"
    )
    with pytest.raises(AlreadyRunning, match=said):
        lock.keep("results", alone=alone, what="this")
    assert clock.now == 1000
    end()


def test_lock_of_what_is_built_is_refused_to_who_does_not_wait(clock):
    end = other("qemu", False, "boot")
    with pytest.raises(AlreadyRunning, match=r"^build directory .*: in use: boot \(process "):
        lock.keep("qemu", alone=True, what="clean", refuse=True)
    assert clock.now == 1000
    end()


@pytest.mark.parametrize(("seconds", "lines"), [(1, 1), (60, 1), (61, 2), (120, 2), (121, 3)])
def test_lock_who_waits_is_told_each_minute(clock, capsys, seconds, lines):
    clock.then[seconds] = other("qemu", True)
    lock.keep("qemu", what="boot")
    assert clock.now == 1000 + seconds
    assert capsys.readouterr().err.count("boot: qemu: waiting for: other") == lines


def test_lock_without_a_name_is_given_two_seconds(clock):
    """Who has no record is just beginning or just ending."""
    end = nameless("qemu", fcntl.LOCK_EX)
    with pytest.raises(AlreadyRunning, match="in use: a process that left no name;"):
        lock.keep("qemu", what="boot", refuse=True)
    assert clock.now == 1002
    clock.then[3] = end
    lock.keep("qemu", what="boot", refuse=True)
    assert clock.now == 1003


def test_lock_that_is_refused_leaves_none_behind(clock):
    end = other("qemu", True)
    with pytest.raises(AlreadyRunning):
        lock.keep("guest", "qemu", alone=True, what="build", refuse=True)
    assert not lock._held and lock.HOLDS not in os.environ
    assert free("guest") and free("venv") and free("clean")
    end()


# ---- what a killed command left ----------------------------------------------


def within(name, what="run"):
    """A process at work that a holder started who is gone."""
    end = nameless(name, fcntl.LOCK_SH, "within")
    _, number = lock._record(lock.folder_of(name), name, "within", what)
    return lambda: (end(), os.close(number))


@pytest.mark.parametrize("alone", [False, True])
def test_lock_results_are_refused_while_a_killed_ones_child_is_at_work(clock, alone):
    end = within("results")
    with pytest.raises(AlreadyRunning, match=r"what a killed command started is still at work: run \(process "):
        lock.keep("results", alone=alone, what="report")
    assert clock.now == 1000
    end()
    lock.keep("results", alone=alone, what="report")


def test_lock_is_not_kept_while_it_waits_for_a_child(clock, capsys):
    end = within("qemu")
    clock.then[1] = lambda: nameless("qemu", fcntl.LOCK_EX | fcntl.LOCK_NB)()
    clock.then[2] = end
    lock.keep("qemu", alone=True, what="build")
    assert clock.now == 1002
    assert "build: qemu: waiting for: run (process " in capsys.readouterr().err


def test_lock_child_without_a_name_counts_for_who_must_be_alone(clock):
    end = nameless("qemu", fcntl.LOCK_SH, "within")
    with lock.hold("qemu", what="boot"):
        assert clock.now == 1000
    clock.then[1] = end
    lock.keep("qemu", alone=True, what="build")
    assert clock.now == 1001


# ---- what a process is told that it holds ------------------------------------


def holds(*entries):
    os.environ[lock.HOLDS] = json.dumps(
        [[str(folder), name, alone, str(record)] for folder, name, alone, record in entries]
    )


def living(name):
    """A record whose holder is at work, for as long as the test is."""
    folder = lock.folder_of(name)
    folder.mkdir(parents=True, exist_ok=True)
    return lock._record(folder, name, "holder", "report")[0]


@pytest.fixture
def told(clock, monkeypatch):
    """Take back what a test writes into the environment."""
    monkeypatch.setenv(lock.HOLDS, "[]")
    return clock


def test_child_finds_the_last_that_is_about_its_lock(told, tmp_path):
    here, there = lock.folder_of("qemu"), tmp_path / "other/locks"
    holds((here, "qemu", False, "a"), (here, "qemu", False, "b"), (here, "qemu", True, "c"),
          (there, "qemu", False, "d"), (here, "guest", False, "e"))  # fmt: skip
    assert lock._inherited(here, "qemu") == (True, Path("c"))
    assert lock._inherited(here, "volumes") is None
    holds((here, "qemu", True, "a"))
    assert lock._inherited(here, "qemu") == (True, Path("a"))


@pytest.mark.parametrize("text", ["no json", "5", "[[]]", '[["a"]]', "[[1, 2, 3, 4]]"])
def test_child_that_is_told_nonsense_says_so(told, text):
    os.environ[lock.HOLDS] = text
    with pytest.raises(AlreadyRunning, match="is not what Spindle writes; unset it and try again"):
        lock._inherited(lock.folder_of("qemu"), "qemu")


def test_child_joins_who_has_it_alone(told):
    record = living("qemu")
    end = nameless("qemu", fcntl.LOCK_EX)
    holds((lock.folder_of("qemu"), "qemu", True, record))
    with lock.hold("qemu", what="run"):
        assert [said.split(" (")[0] for said in lock.holders("qemu", kind="within")] == ["run"]
        with lock.hold("qemu", alone=True, what="the same"):
            pass
        end()
        with pytest.raises(AlreadyRunning, match="what a killed command started"):
            other("qemu", True)
    assert free("qemu") and told.now == 1000


def test_child_of_who_has_ended_does_not_begin(told):
    dead = lock.folder_of("qemu") / "qemu.holder-1-abcdefgh"
    holds((dead.parent, "qemu", True, dead))
    for made in (False, True):
        if made:
            dead.parent.mkdir(parents=True, exist_ok=True)
            dead.write_text(json.dumps({"host": socket.gethostname()}))
        with pytest.raises(AlreadyRunning, match=r"^qemu: the command that started this \(run\) has ended; give that"):
            lock.keep("qemu", what="run")


def test_child_on_another_machine_goes_by_the_file(told):
    record = lock.folder_of("qemu") / "qemu.holder-1-abcdefgh"
    record.parent.mkdir(parents=True)
    record.write_text(json.dumps({"host": "another-machine"}))
    holds((record.parent, "qemu", True, record))
    with lock.hold("qemu", alone=True, what="run"):
        assert record.exists()
    record.unlink()
    with pytest.raises(AlreadyRunning, match="has ended"):
        lock.keep("qemu", what="run")


def test_child_of_who_shares_it_may_share_it_and_no_more(told):
    """It needs nobody's leave for that, so that the record does not matter."""
    holds((lock.folder_of("qemu"), "qemu", False, "gone"))
    with lock.hold("qemu", what="boot"):
        assert not lock.holders("qemu", kind="within")
    with pytest.raises(
        AlreadyRunning, match="build must have it alone, and the command that started it only shares it"
    ):
        lock.keep("qemu", alone=True, what="build")


def test_lock_tells_children_what_it_holds_once(told, tmp_path):
    elsewhere = [str(tmp_path / "other/locks"), "qemu", True, "a record"]
    os.environ[lock.HOLDS] = json.dumps([elsewhere])
    with lock.hold("guest", what="boot"), lock.hold("qemu", alone=True, what="build"):
        entries = json.loads(os.environ[lock.HOLDS])
        assert entries[0] == elsewhere
        names = [(name, alone) for _, name, alone, _ in entries[1:]]
        assert names == [("clean", False), ("venv", False), ("guest", False), ("qemu", True)]
        assert all(Path(record).exists() for *_, record in entries[1:])
    assert json.loads(os.environ[lock.HOLDS]) == [elsewhere]
    os.environ[lock.HOLDS] = "[]"
    with lock.hold("guest", what="boot"):
        pass
    assert lock.HOLDS not in os.environ


# ---- twice in one process ----------------------------------------------------


def test_lock_twice_in_one_process(clock):
    with lock.hold("guest", what="boot"):
        with lock.hold("guest", "qemu", what="more"):
            assert len(lock.holders("guest")) == len(lock.holders("qemu")) == 1
        assert free("qemu") and not free("guest")
        with pytest.raises(AlreadyRunning, match="build must have it alone, and this very process only shares it"):
            lock.keep("guest", alone=True, what="build")
    with lock.hold("guest", alone=True, what="build"), lock.hold("guest", alone=True, what="part"):
        with lock.hold("guest", what="look"):
            pass
        assert not free("guest")
    assert free("guest")


def test_lock_whose_record_was_removed_is_let_go(clock):
    with lock.hold("qemu", what="boot"):
        for path in lock.folder_of("qemu").iterdir():
            path.unlink()
    assert free("qemu")


# ---- scratch folders ---------------------------------------------------------


def test_scratch_is_held_and_goes(clock, tmp_path):
    with lock.scratch("run") as one, lock.scratch("run") as two:
        assert one != two and one.parent == tmp_path / "build/run" and one.name.startswith("run-")
        (one / "file").touch()
        assert lock.sweep() == [] and (one / "file").exists()
    assert not one.exists() and not two.exists()
    with lock.scratch("run") as gone:
        gone.rmdir()


def test_sweep_removes_what_nobody_holds(clock, tmp_path):
    run = tmp_path / "build/run"
    target = tmp_path / "target"
    target.mkdir()
    with lock.scratch("b") as held:
        (run / "a-file").touch()
        (run / "a-link").symlink_to(target)
        (run / "a-loose-link").symlink_to(tmp_path / "nothing")
        (run / "a-old" / "deep").mkdir(parents=True)
        (run / "c-old").mkdir()
        assert lock.sweep() == ["a-old", "c-old"]
        assert [path.name for path in run.iterdir()] == [held.name]
    assert target.is_dir()


def test_sweep_of_what_its_own_process_removes_meanwhile(clock, tmp_path, monkeypatch):
    run = tmp_path / "build/run"
    for name in ("b", "c"):
        (run / name).mkdir(parents=True)
    (run / "a").touch()
    real = Path.is_dir

    def is_dir(path):
        found = real(path)
        if path.name == "a":
            path.unlink()
        if path.name == "b":
            path.rmdir()
        return found

    with monkeypatch.context() as patch:
        patch.setattr(Path, "is_dir", is_dir)
        assert lock.sweep() == ["c"]
    assert not list(run.iterdir())


# ---- command line ------------------------------------------------------------


class Became(Exception):
    """This process would be another program now."""


@pytest.fixture
def becomes(clock, monkeypatch):
    """What the process becomes, and what it then holds."""
    seen = []

    def execvp(program, command):
        numbers = [number for held in lock._held.values() for number in held.numbers]
        seen.append((program, command, [(name, held.alone) for (_, name), held in lock._held.items()]))
        assert numbers and all(os.get_inheritable(number) for number in numbers)
        raise Became

    monkeypatch.setattr(lock.os, "execvp", execvp)
    return seen


@pytest.mark.parametrize(("more", "alone"), [([], False), (["--alone"], True)])
@pytest.mark.parametrize("own", [False, True])
def test_command_becomes_what_it_runs(becomes, monkeypatch, more, alone, own):
    words = [*more, "--what", "make part", "results", "--", "sh", "-c", "--", "true"]
    monkeypatch.setattr(
        sys, "argv", ["/bin/lock", *words] if own else ["/bin/lock", "--what", "x", "guest", "--", "no"]
    )
    with pytest.raises(Became):
        lock.main(None if own else words)
    held = [("clean", False), ("venv", False), ("results", alone)]
    assert becomes == [("sh", ["sh", "-c", "--", "true"], held)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--what", "x", "results", "--"], "which command? It stands behind --"),
        (["--what", "x", "results"], "which command? It stands behind --"),
        (["results", "--", "true"], "the following arguments are required: --what"),
        (["--what", "x", "../etc", "--", "true"], "'../etc' is no name of a lock"),
    ],
)
def test_command_that_is_wrong(becomes, capsys, words, said):
    with pytest.raises(SystemExit) as ended:
        lock.main(words)
    assert ended.value.code == 2 and said in capsys.readouterr().err and becomes == []


def test_command_that_is_refused(becomes, capsys):
    end = other("qemu", True, "build")
    assert lock.main(["--refuse", "--what", "clean", "qemu", "--", "true"]) == 1
    assert capsys.readouterr().err.startswith("error: build directory ")
    assert becomes == []
    end()


def test_command_that_is_not_there(clock, capsys):
    assert lock.main(["--what", "x", "qemu", "--", "no-such-program", "a", "word"]) == 127
    assert capsys.readouterr().err == "error: no-such-program: No such file or directory\n"


def test_command_says_what_it_is_for(capsys):
    with pytest.raises(SystemExit):
        lock.main(["--help"])
    assert "Who may build, boot, write and remove" in capsys.readouterr().out
