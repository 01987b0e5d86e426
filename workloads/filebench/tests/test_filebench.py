# SPDX-License-Identifier: MIT
"""The runner on the host: the language, what it leaves on disk, seeds, scale; and against the real filebench."""

import hashlib
import importlib.util
import io
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from lab.guest.imaging import compile_program

HERE = Path(__file__).resolve().parents[1]
PERSONALITIES = sorted(path.stem for path in (HERE / "share").glob("*.f"))
PATTERN_BYTES = 65536

spec = importlib.util.spec_from_file_location("filebench_real", HERE / "real.py")
real = importlib.util.module_from_spec(spec)
spec.loader.exec_module(real)


@pytest.fixture(scope="session")
def filebench(tmp_path_factory):
    folder = tmp_path_factory.mktemp("filebench")
    shutil.copytree(HERE / "share", folder / "share")
    compile_program(HERE / "filebench.c", folder / "filebench")
    return folder / "filebench"


class Outcome:
    """One run: what it printed, and the folder it worked in."""

    def __init__(self, done: subprocess.CompletedProcess, folder: Path):
        self.done, self.folder = done, folder
        rows = [line.split(" ") for line in done.stdout.splitlines()]
        self.metrics = {row[1]: int(row[2]) for row in rows if row[0] == "metric"}
        self.phases = [row[1] for row in rows if row[0] == "phase"]
        self.operations = [row[1:] for row in rows if row[0] == "operation"]
        assert len(self.metrics) == sum(row[0] == "metric" for row in rows), "a metric was printed twice"

    def files(self) -> dict[str, int]:
        return {str(p.relative_to(self.folder)): p.stat().st_size for p in self.folder.rglob("*") if p.is_file()}


@pytest.fixture
def run(filebench, tmp_path):
    numbers = iter(range(100))

    def start(personality: str, *options: str, seed: int = 1, fails: bool = False) -> Outcome:
        folder = tmp_path / f"run{next(numbers)}"
        folder.mkdir()
        command = [filebench, "--dir", folder, "--personality", personality, "--seed", str(seed), *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100)
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return Outcome(done, folder)

    return start


@pytest.fixture
def script(tmp_path):
    def write(text: str) -> str:
        path = tmp_path / "script.f"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def one_thread(flowops: str, fileset: str = "size=1k,entries=10,dirwidth=10,prealloc=50", count: int = 100) -> str:
    flowops = "\n".join(f"flowop {line}" for line in flowops.strip().splitlines())
    return f"""set $dir=/tmp
define fileset name=set,path=$dir,{fileset}
set mode quit firstdone
define process name=p {{ thread name=t {{
{flowops}
flowop finishoncount name=finish,value={count}
}} }}
run
"""


@pytest.mark.parametrize("personality", PERSONALITIES)
def test_personality_runs_and_leaves_what_it_says(run, personality):
    outcome = run(personality, "--scale", "0.01")
    assert outcome.phases == ["create", "run"]
    metrics = outcome.metrics
    assert metrics["elapsed_ns"] > 0 and metrics["operations"] > 0
    assert len(outcome.files()) == metrics["files"]
    assert sum(value for name, value in metrics.items() if name.startswith("ops_")) == metrics["operations"]


@pytest.mark.parametrize("personality", PERSONALITIES)
def test_flowops_of_a_loop_are_done_equally_often(run, personality):
    """Without other threads every flowop is done once a loop, or as often as its iters say."""
    names = [w for w in ("nthreads", "nusers", "nfeeds") if f"${w}=" in (HERE / f"share/{personality}.f").read_text()]
    outcome = run(personality, "--scale", "0.02", *(word for name in names for word in ("--set", f"{name}=1")))
    iterations = {"stat": 4, "scratch_delete": 2, "make_stat": 6}
    rounds = {v / iterations.get(n[4:], 1) for n, v in outcome.metrics.items() if n.startswith("ops_")}
    assert max(rounds) - min(rounds) <= 1  # timed runs end in the middle of a loop
    assert max(rounds) >= 4


def test_one_seed_is_one_sequence(run):
    options = ("--scale", "0.02", "--print-operations")
    one, again, other = (run("postmark-like", *options, seed=seed) for seed in (1, 1, 2))
    assert len(one.operations) == 2000
    assert one.operations == again.operations != other.operations
    assert one.files() == again.files() != other.files()


def test_seed_alone_lays_filesets_out(run):
    """Even with many threads, which run in any order on the host."""
    quick = ("--scale", "0.01")
    created = [run("varmail", *quick, seed=seed).metrics["created_bytes"] for seed in (1, 1, 2)]
    assert created[0] == created[1] != created[2]


def test_sizes_are_gamma_distributed(run, script):
    text = """set $dir=/tmp
set $size=cvar(type=cvar-gamma,parameters=mean:4000;gamma:1.5)
define fileset name=set,path=$dir,size=$size,entries=4000,dirwidth=100,dirgamma=0,prealloc
define process name=p { thread name=t { flowop statfile name=s,filesetname=set } }
run 1
"""
    sizes = list(run(script(text)).files().values())
    assert len(sizes) == 4000
    mean = sum(sizes) / 4000
    deviation = (sum((size - mean) ** 2 for size in sizes) / 4000) ** 0.5
    assert abs(mean / 4000 - 1) < 0.05
    assert abs(deviation / mean - 1.5**-0.5) < 0.05  # of a gamma distribution of shape 1.5
    below = sum(size < 4000 for size in sizes) / 4000
    assert abs(below - 0.608) < 0.03  # P(3/2, 3/2), the regularised incomplete gamma function


def test_sizes_are_uniform(run, script):
    text = one_thread("statfile name=s,filesetname=set", "size=$size,entries=2000,dirwidth=50,prealloc")
    text = "set $size=cvar(type=cvar-uniform,parameters=lower:500;upper:1500)\n" + text
    sizes = list(run(script(text)).files().values())
    assert min(sizes) >= 500 and max(sizes) <= 1500 and abs(sum(sizes) / 2000 - 1000) < 30


def splitmix64(state: int):
    mask = (1 << 64) - 1
    while True:
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        yield z ^ (z >> 31)


@pytest.mark.parametrize("personality", ["varmail", "fileserver", "sdet-like"])
def test_files_hold_what_was_written(run, personality):
    """Every write, of whichever thread, stores at an offset what belongs there: no hole, nothing torn."""
    outcome = run(personality, "--scale", "0.005")
    files = [path for path in outcome.folder.rglob("*") if path.is_file()]
    pattern = max(files, key=lambda path: path.stat().st_size).read_bytes()[:PATTERN_BYTES]
    assert len(set(pattern)) > 200
    for path in files:
        data = path.read_bytes()
        pages = len(data) // PATTERN_BYTES + 1
        assert len(pattern) == PATTERN_BYTES or pages == 1
        assert data == (pattern * pages)[: len(data)], path


def test_directories_as_filebench_makes_them(run):
    wide = run("varmail", "--scale", "0.01").files()
    assert {str(Path(name).parent) for name in wide} == {"mail/00000001"}
    deep = run("fileserver", "--scale", "0.02").files()
    per_directory = len(deep) / len({str(Path(name).parent) for name in deep})
    assert 8 < per_directory < 30  # 20 files in the mean, 80 % of them there
    assert {len(Path(name).name) for name in deep} == {8}


def test_directories_come_and_go(run, script):
    text = """set $dir=/tmp
define fileset name=trees,path=$dir,leafdirs=40,dirwidth=5,prealloc=50
set mode quit firstdone
define process name=p { thread name=t {
  flowop makedir name=mk,filesetname=trees,iters=2
  flowop listdir name=ls,filesetname=trees
  flowop removedir name=rm,filesetname=trees
} }
run
"""
    outcome = run(script(text), "--print-operations")  # ends when no directory is left to make
    made, removed = outcome.metrics["ops_mk"], outcome.metrics["ops_rm"]
    assert made > removed > 10
    assert "info ended at line 5: no file left" in outcome.done.stdout


def test_files_without_preallocation(run, script):
    text = one_thread(
        """createfile name=c,filesetname=set,fd=1
writewholefile name=w,fd=1,iosize=300
closefile name=x,fd=1""",
        "size=1k,entries=10,dirwidth=3",
        count=30,
    )
    outcome = run(script(text))
    assert list(outcome.files().values()) == [1024] * 10
    assert outcome.metrics["created_files"] == 0


def test_reads_and_writes_by_position(run, script):
    text = """set $dir=/tmp
define file name=log,path=$dir,size=10k,prealloc
define process name=p { thread name=t {
  flowop read name=sequential,filename=log,fd=1,iosize=4k,iters=4
  flowop read name=random,filename=log,fd=2,iosize=1k,random
  flowop appendfile name=append,filename=log,fd=3,iosize=100,dsync
  flowop write name=over,filename=log,fd=4,iosize=1k
  flowop finishonbytes name=finish,value=12000
} }
set mode quit firstdone
run
"""
    outcome = run(script(text), "--print-operations")
    sizes = [int(row[3]) for row in outcome.operations if row[1] == "sequential"]
    assert sizes == [4096, 4096, 2048, 0]  # and from the beginning again
    assert outcome.files() == {"log/00000001/00000001": 10340}


def test_timed_run(run):
    outcome = run("varmail", "--set", "runtime=1", "--scale", "0.2")
    assert 0.2e9 <= outcome.metrics["elapsed_ns"] < 2e9


def test_scale_takes_files_and_work(run):
    small, large = (run("postmark-like", "--scale", scale).metrics for scale in ("0.01", "0.04"))
    assert (small["operations"], large["operations"]) == (1000, 4000)
    assert abs(large["created_files"] / small["created_files"] - 4) < 0.2


BAD = [
    ("set $dir=/tmp\nfrobnicate\nrun", 2, "command 'frobnicate'"),
    (one_thread("readbackwards name=r,filesetname=set"), 5, "flowop 'readbackwards'"),
    (one_thread("read name=r,filesetname=set,iosize=1k,workingset=1m"), 5, "attribute 'workingset'"),
    (one_thread("read name=r,filesetname=set,iosize=1k,directio"), 5, "attribute 'directio'"),
    (one_thread("read name=r,filesetname=set,iosize=$size"), 5, "$size has no value"),
    (one_thread("read name=r,filesetname=other,iosize=1k"), 5, "no fileset or file 'other'"),
    (one_thread("closefile name=x,fd=1"), 5, "is not open"),
    (one_thread("statfile name=s,filesetname=set\nstatfile name=s,filesetname=set"), 6, "two flowops 's'"),
    (one_thread("statfile name=s,filesetname=set,iters=$n"), 5, "$n has no value"),
    (one_thread("openfile name=o,filesetname=set,fd=1"), 5, "is open; close it first"),
    (one_thread("statfile name=s,filesetname=set", "size=1k,entries=10"), 2, "dirwidth"),
    (one_thread("statfile name=s,filesetname=set", "size=1k,entries=9,leafdirs=9,dirwidth=9"), 2, "one of them"),
    ("set $x=cvar(type=cvar-weibull,parameters=shape:1)\nrun", 1, "cvar type 'cvar-weibull'"),
    ("set $x=cvar(type=cvar-gamma,parameters=mean:1;gamma:1.3)\nrun", 1, "gamma of 0.5, 1"),
    ("set $x=randvar(type=uniform)\nrun", 1, "randvar is not supported"),
    ("set $dir=/tmp\ndefine fileset name=s,path=/elsewhere,entries=3,dirwidth=3\nrun", 2, "path must be $dir"),
    ("set $dir=/tmp\ndefine posset name=s\nrun", 2, "define 'posset'"),
    ('echo "never closed\nrun', 1, "a quote is not closed"),
    ("set $dir=/tmp\n", 2, "there is no run"),
    ("run 1", 1, "no process is defined"),
    ("run 1\nset $x=1", 2, "behind run"),
    ("eventgen rate=10\nrun", 1, "command 'eventgen'"),
]


@pytest.mark.parametrize(("text", "line", "message"), BAD, ids=[message for _, _, message in BAD])
def test_what_is_wrong_is_named_with_file_and_line(run, script, text, line, message):
    outcome = run(script(text), fails=True)
    [said] = outcome.done.stderr.splitlines()
    assert re.match(rf"filebench: .*/script\.f:{line}: ", said) and message in said, said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--scale", "2"], "--scale 2: give a decimal above 0 and up to 1"),
        (["--scale", "0"], "--scale 0: give a decimal above 0 and up to 1"),
        (["--set", "nosuch=1"], "sets no such variable; give one that it sets"),
        (["--set", "nothing"], "--set nothing: give NAME=VALUE"),
        (["--set", "=1"], "--set =1: give NAME=VALUE"),
        (["--seed", "x"], "--seed x: give a whole number from 0"),
        (["--seed", "12x"], "--seed 12x: give a whole number from 0"),
        (["--seed"], "--seed needs a value; give --seed N"),
        (["--speed", "1"], "--speed is no option; there are --dir, --personality,"),
    ],
)
def test_bad_option(run, options, message):
    outcome = run("varmail", *options, fails=True)
    [said] = outcome.done.stderr.splitlines()
    assert said.startswith("filebench: ") and message in said
    assert (outcome.done.returncode, outcome.done.stdout, outcome.files()) == (2, "", {})


def test_options_that_are_needed(filebench):
    done = subprocess.run([filebench, "--seed", "1"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "filebench: the command line lacks --dir DIR --personality NAME; add what is missing\n"


def test_directory_that_is_not_there(filebench, tmp_path):
    words = ["--dir", tmp_path / "none", "--personality", "varmail", "--seed", "1"]
    done = subprocess.run([filebench, *words], capture_output=True, text=True)
    assert done.returncode == 1
    assert "none is not a directory; give the file system under test" in done.stderr


def test_unknown_personality(run):
    assert "share/" in run("nosuch", fails=True).done.stderr


def test_files_run_out(run, script):
    text = one_thread("deletefile name=d,filesetname=set").replace("set mode quit firstdone", "set mode quit timeout")
    assert "finds no file any more" in run(script(text), fails=True).done.stderr


# The real one.

KEYWORDS = """create define debug domultisync echo enable eventgen exit flowop foreach fscheck fsflush help list load
log nousestats run set shutdown sleep stats system usage vars version warmup quit file files fileset filesets posset
directory command process processes thread randvar cvar clear snap dump all mode multi alldone blocking cached client
dirwidth directio dsync entries fd filename filesize firstdone fstype gamma highwater indexed instances iosize iters
leafdirs master mean memsize min max name nice opennext paralloc parameters path prealloc random randsrc rate readonly
reuse round seed size srcfd target timeout trusttree type useism value workingset writeonly uniform tabular in true
false"""  # of filebench's parser_lex.l


@pytest.mark.parametrize("personality", PERSONALITIES)
def test_real_takes_our_names_for_names(personality):
    """Its lexer knows no context: what is a keyword anywhere is one behind name=, too."""
    text = (HERE / "share" / f"{personality}.f").read_text(encoding="utf-8")
    named = set(re.findall(r"name=([^$,\s]+)", text))
    assert named and not named & set(KEYWORDS.split())


def fake_release(folder: Path, configure: str) -> Path:
    archive = folder / "filebench-0.tar.gz"
    with tarfile.open(archive, "w:gz") as bundle:
        for name, text, mode in (
            ("configure", configure, 0o755),
            ("Makefile", "all:\ninstall:\n\tsh ./place\n", 0o644),
        ):
            entry = tarfile.TarInfo(f"filebench-0/{name}")
            entry.size, entry.mode = len(text), mode
            bundle.addfile(entry, io.BytesIO(text.encode()))
    return archive


def test_real_is_built_from_a_checked_archive(tmp_path):
    configure = '#!/bin/sh\nprefix=${1#--prefix=}\necho "mkdir -p $prefix/bin; : >$prefix/bin/filebench" > place\n'
    archive, lock = fake_release(tmp_path, configure), tmp_path / "real.lock"
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    with pytest.raises(real.NotSupplied, match="no release archive"):
        real.build(tmp_path / "build", lock)
    lock.write_text(f"{archive} {'0' * 64}\n")
    with pytest.raises(real.RealError, match="nothing of it was run"):
        real.build(tmp_path / "build", lock)
    lock.write_text(f"{archive}\n")
    with pytest.raises(real.RealError, match="PATH SHA256"):
        real.build(tmp_path / "build", lock)
    lock.write_text(f"{archive} {digest}\n")
    assert real.build(tmp_path / "build", lock) == tmp_path / "build" / digest / "bin" / "filebench"


def test_real_that_does_not_build_says_so(tmp_path):
    archive, lock = fake_release(tmp_path, "#!/bin/sh\necho no compiler >&2\nexit 1\n"), tmp_path / "real.lock"
    lock.write_text(f"{archive} {hashlib.sha256(archive.read_bytes()).hexdigest()}\n")
    with pytest.raises(real.RealError, match="no compiler"):
        real.build(tmp_path / "build", lock)


def test_real_breakdown_is_read():
    text = "1.0: Per-Operation Breakdown\nshow-read   12ops  1ops/s  0.1mb/s\nlook  7ops 1ops/s\nIO Summary: 19 ops"
    assert real.read_breakdown(text) == {"show_read": 12, "look": 7}
    with pytest.raises(real.RealError, match="no per-operation"):
        real.read_breakdown("nothing")


@pytest.mark.parametrize("personality", PERSONALITIES)
def test_real_filebench_does_the_same_operations(run, tmp_path, personality):
    """Each flowop's share of all operations, in the real one and in ours, within 10 %."""
    target = Path(os.environ.get("SPINDLE_BUILD", HERE.parents[1] / "build")).absolute() / "filebench-real"
    try:
        program = real.build(target)
    except real.NotSupplied as reason:
        pytest.skip(str(reason))
    work = tmp_path / "real"
    work.mkdir()
    text = (HERE / "share" / f"{personality}.f").read_text(encoding="utf-8")
    # The same smaller sets and work for both; the real one has no --scale and no --set.
    small = {"dir": str(work), "runtime": "5", "count": "2000", "nfiles": "2000", "nthreads": "4", "nfeeds": "4"}
    for name, value in small.items():
        text = re.sub(rf"^set \${name}=.*$", f"set ${name}={value}", text, flags=re.MULTILINE)
    path = tmp_path / f"{personality}.f"
    path.write_text(text, encoding="utf-8")
    done = subprocess.run([program, "-f", path], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    theirs = real.read_breakdown(done.stdout)
    ours = {name[4:]: value for name, value in run(str(path)).metrics.items() if name.startswith("ops_")}
    theirs = {name: theirs.get(name, 0) for name in ours}
    for name, value in ours.items():
        share, other = value / sum(ours.values()), theirs[name] / sum(theirs.values())
        assert abs(share / other - 1) < 0.1, (name, share, other)
