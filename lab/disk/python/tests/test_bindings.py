# SPDX-License-Identifier: MIT
"""The Python library against the command line, its refusals, and its rate."""

import ast
import io
import json
import random
import re
import subprocess
import time
import types
from pathlib import Path

import pandas as pd
import pytest

from lab.cell import paths
from lab.cell.paths import ROOT

pytestmark = pytest.mark.lab
FOLDER = ROOT / "lab" / "disk" / "python"
CATALOGUE = ROOT / "lab" / "disk" / "catalogue"
DRIVES = sorted(path.stem for path in (CATALOGUE / "drives").glob("*.toml"))
REQUESTS = 400


@pytest.fixture
def disk():
    """The library; not imported at the top, because `make check` reads this file before it is built."""
    import spindle_disk

    return spindle_disk


def listed(sectors: int, seed: int) -> pd.DataFrame:
    """Requests of every kind at random and in runs, some of them close together."""
    draw = random.Random(seed)
    rows, at_ns, next_lbn = [], 0, 0
    for _ in range(REQUESTS):
        at_ns += draw.choice((0, 50_000, 3_000_000, 20_000_000))
        length = draw.choice((1, 8, 16, 128))
        op = draw.choices("RWUF", (12, 8, 2, 1))[0]
        lbn = next_lbn if draw.random() < 0.4 and next_lbn + length <= sectors else draw.randrange(sectors - length)
        next_lbn = lbn + length
        rows.append((at_ns, op, 0, 0) if op == "F" else (at_ns, op, lbn, length))
    return pd.DataFrame(rows, columns=["arrival_ns", "op", "lbn", "sectors"])


def command_line(tmp_path: Path, requests: pd.DataFrame, *words: str) -> tuple[dict, pd.DataFrame, str]:
    """What `spindle-disk replay` makes of the same requests: summary, results, trace."""
    requests.to_csv(tmp_path / "list", sep=" ", header=False, index=False)
    program = paths.build() / "disk" / "release" / "spindle-disk"
    files = ["--results", tmp_path / "results.csv", "--trace", tmp_path / "trace"]
    ran = subprocess.run(
        [program, "replay", tmp_path / "list", *words, *files], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    summary = json.loads(ran.stdout)
    for key in ("format", "trims_skipped", "passed_through_skipped"):
        del summary[key]
    return summary, pd.read_csv(tmp_path / "results.csv", index_col="number"), (tmp_path / "trace").read_text()


def assert_equal(replay, wanted: tuple[dict, pd.DataFrame, str]) -> None:
    summary, results, trace = wanted
    assert replay.summary == summary
    assert replay.frame.to_csv() == results.astype(replay.frame.dtypes.to_dict()).to_csv(index_label="")
    assert replay.trace == trace


# ---- the command line --------------------------------------------------------


@pytest.mark.parametrize("drive", DRIVES)
@pytest.mark.parametrize(("words", "options"), [
    ((), {}),
    (("--depth", "1", "--think-ns", "100000"), {"depth": 1, "think_ns": 100_000}),
], ids=["open", "closed"])  # fmt: skip
def test_replay_is_the_command_lines(disk, tmp_path, drive, words, options):
    about = disk.Drive(drive)
    requests, bus = listed(about.sectors, DRIVES.index(drive)), about.buses[0]
    wanted = command_line(tmp_path, requests, "--drive", drive, "--bus", bus, "--seed", "7", *words)
    assert_equal(disk.replay(disk.Lab.of_drive(drive, bus), requests, seed=7, **options), wanted)


@pytest.mark.parametrize("queue", ["fcfs", "sptf"])
def test_replay_takes_the_settings_of_the_command_line(disk, tmp_path, queue):
    requests = listed(35_000_000, 1)
    words = ("--queue", queue, "--write-cache", "off", "--max-tags", "8", "--depth", "32")
    wanted = command_line(tmp_path, requests, "--drive", "ultrastar-36zx", "--bus", "ultra2-scsi", *words)
    lab = disk.Lab.of_drive("ultrastar-36zx", "ultra2-scsi", queue=queue, write_cache=False, max_tags=8)
    assert_equal(disk.replay(lab, requests, depth=32), wanted)


def test_a_power_cut_is_the_command_lines(disk, tmp_path):
    requests = listed(35_000_000, 2)
    one = ("--drive", "ultrastar-36zx", "--bus", "ultra2-scsi")
    wanted = command_line(tmp_path, requests, *one, "--power-cut-ns", "1000000000")
    assert wanted[0]["lost_writes"] > 0
    lab = disk.Lab.of_drive("ultrastar-36zx", "ultra2-scsi")
    got = disk.replay(lab, requests, power_cut_ns=1_000_000_000)
    assert (got.summary, got.trace) == (wanted[0], wanted[2])
    assert got.frame["lost_sectors"].tolist() == wanted[1]["lost_sectors"].tolist()
    assert got.frame["acknowledged_ns"].isna().tolist() == wanted[1]["acknowledged_ns"].isna().tolist()
    with pytest.raises(disk.DiskError, match="the power is off"):
        lab.submit("R", 0, 8)


def test_a_topology_of_an_array_is_the_command_lines(disk, tmp_path):
    members = [f"m{number}" for number in range(4)]
    text = f'schema = "spindle-topology/1"\ncatalogue = "{CATALOGUE}"\n'
    for name in members:
        text += f'[[bus]]\nname = "{name}"\nentry = "ata-100"\n[[unit]]\nname = "{name}"\ndrive = "deskstar-75gxp"\n'
        text += f'bus = "{name}"\nmax_tags = 1\nmember = true\n'
    text += f'[[array]]\nname = "disk0"\ncontroller = "raid0-4"\nmembers = {json.dumps(members)}\n'
    (tmp_path / "topology.toml").write_text(text)
    requests = listed(100_000_000, 3)
    requests = requests[requests["op"] != "U"].reset_index(drop=True)
    words = ("--topology", str(tmp_path / "topology.toml"), "--unit", "disk0", "--depth", "4")
    wanted = command_line(tmp_path, requests, *words)
    for lab in (disk.Lab.of_topology(tmp_path / "topology.toml"), disk.Lab.of_toml(text)):
        assert [unit.name for unit in lab.units] == [*members, "disk0"]
        assert_equal(disk.replay(lab, requests, unit="disk0", depth=4), wanted)


# ---- one command at a time ---------------------------------------------------


def test_commands_are_what_a_replay_is(disk):
    requests = listed(35_000_000, 4)
    replayed = disk.replay(disk.Lab.of_drive("ultrastar-36zx", "ultra2-scsi"), requests)
    lab = disk.Lab.of_drive("ultrastar-36zx", "ultra2-scsi")
    start_ns, done = lab.reset("replay", seed=0), []
    for row in requests.itertuples():
        while lab.next_event_ns is not None and lab.next_event_ns < start_ns + row.arrival_ns:
            lab.advance(lab.next_event_ns)
        assert lab.submit(row.op, row.lbn, row.sectors, at_ns=start_ns + row.arrival_ns) == row.Index
        done += lab.completions()
    done += lab.finish()
    assert lab.idle and lab.outstanding == 0 and lab.next_event_ns is None
    assert [one.ordinal for one in done] == list(range(len(requests)))
    times = {one.cookie: one.acknowledged_ns for one in done}
    assert [times[index] for index in requests.index] == replayed.frame["acknowledged_ns"].tolist()
    assert lab.trace() == replayed.trace


def test_a_list_in_parts_is_the_whole_list(disk):
    requests = listed(35_000_000, 5)[["op", "lbn", "sectors"]]
    whole = disk.replay(disk.Lab.of_drive("ultrastar-36zx", "ultra2-scsi", write_cache=False), requests, depth=1)
    lab = disk.Lab.of_drive("ultrastar-36zx", "ultra2-scsi", write_cache=False)
    started = lab.reset(seed=0)
    lab.advance(started)
    parts = [disk.replay(lab, part, depth=1, seed=None) for part in (requests[:150], requests[150:])]
    assert parts[0].frame.index[-1] == 149 and parts[1].frame.index[0] == 150
    # Behind the first part the drive goes on reading ahead, and the second begins when that is done.
    assert parts[0].frame.equals(whole.frame[:150])
    assert len(parts[1].frame) == len(requests) - 150


def test_the_same_calls_give_the_same_bytes(disk):
    requests = listed(60_000_000, 6)
    runs = [disk.replay(disk.Lab.of_drive("deskstar-75gxp", "ata-100"), requests, seed=3) for _ in range(2)]
    assert runs[0].trace == runs[1].trace and runs[0].summary == runs[1].summary
    assert runs[0].frame.equals(runs[1].frame)
    other = disk.replay(disk.Lab.of_drive("deskstar-75gxp", "ata-100"), requests, seed=4)
    assert other.trace != runs[0].trace


def test_a_drive_says_what_the_command_line_shows(disk):
    program = paths.build() / "disk" / "release" / "spindle-disk"
    shown = subprocess.run([program, "show", "deskstar-75gxp", "--json"], cwd=ROOT, capture_output=True, check=True)
    drive = disk.Drive("deskstar-75gxp")
    about = disk.about(drive)
    assert about == json.loads(shown.stdout)
    assert (drive.sectors, drive.cylinders, drive.heads) == (about["sectors"], about["cylinders"], about["heads"])
    assert drive.revolution_ns == about["revolution_ns"]
    for seek in about["seeks"]:
        assert round(drive.seek_ns(seek["cylinders"]) / 1e6, 3) == pytest.approx(seek["read_ms"], abs=0.001)
    assert drive.locate(0)[:2] == (0, 0)
    assert drive.locate(drive.sectors - 1)[0] < drive.cylinders
    assert 0 <= drive.locate(12_345)[2] < drive.revolution_ns
    assert "ata-100" in drive.buses and disk.names() == DRIVES


# ---- refusals ----------------------------------------------------------------


@pytest.mark.parametrize(("call", "message"), [
    (lambda disk: disk.Lab.of_drive("deskstar", "ata-100"), 'no entry "deskstar"; there are: .*deskstar-75gxp'),
    (lambda disk: disk.Lab.of_drive("deskstar-75gxp", "ultra2-scsi"), "does not fit on bus ultra2-scsi"),
    (lambda disk: disk.Lab.of_drive("none.toml", "ata-100"), r"none\.toml: cannot be read"),
    (lambda disk: disk.Lab.of_drive("ultrastar-36zx", "ultra2-scsi", max_tags=0), "0 tags"),
    (lambda disk: disk.Lab.of_drive("ultrastar-36zx", "ultra2-scsi", queue="best"), '"best" is not offered'),
    (lambda disk: disk.Lab.of_topology("none.toml"), r"none\.toml"),
    (lambda disk: disk.Lab.of_toml("units = 3"), r"topology: [\s\S]*unknown field"),
    (lambda disk: disk.Drive("deskstar-75gxp").seek_ns(10**6), "farther than its arm moves; the most is"),
    (lambda disk: disk.Drive("deskstar-75gxp").locate(10**10), "there is no sector 10000000000"),
    (lambda disk: disk.names("disks"), "is this a catalogue folder"),
    (lambda disk: disk.names(catalogue="/none"), "is this a catalogue folder"),
    (lambda disk: disk.read_requests("none.list"), r"none\.list: cannot be read"),
    (lambda disk: disk.read_trace("none.trace"), r"none\.trace: cannot be read"),
])  # fmt: skip
def test_what_is_not_there_is_refused(disk, call, message):
    with pytest.raises(disk.DiskError, match=message):
        call(disk)


def frame(**columns) -> pd.DataFrame:
    return pd.DataFrame({"arrival_ns": [0, 10], "op": "R", "lbn": [0, 100], "sectors": 8} | columns)


@pytest.mark.parametrize(("requests", "message"), [
    (frame(lbn=[0, 35_843_670]), 'row 1: unit "disk0": R of 8 sectors at 35843670 is outside the drive'),
    (frame(lbn=[0.0, 100.5]), r"row 1: lbn .*100\.5.* is not a whole number"),
    (frame(lbn=[0, None]), "row 1: lbn .* is not a whole number"),
    (frame(lbn=[0, -8]), "row 1: lbn -8 is below 0"),
    (frame(lbn=pd.Series([0, 2**63], dtype="uint64")), "does not fit into 63 bits"),
    (frame(sectors=[8, 0]), "R of 0 sectors"),
    (frame(op=["R", "X"]), 'row 1: no operation "X"; there are: R'),
    (frame(op=["R", "read"]), "row 1: no operation 'read'"),
    (frame(op=["R", None]), "row 1: the operation is missing"),
    (frame(arrival_ns=[10, 0]), r"row 1: disk0: time \d+ ns lies before the lab's"),
    (frame().drop(columns="sectors"), "no column sectors"),
    (frame().drop(columns="arrival_ns"), "no column arrival_ns; give a depth"),
])  # fmt: skip
def test_a_bad_request_is_refused_by_its_row(disk, requests, message):
    lab = disk.Lab.of_drive("ultrastar-36zx", "ultra2-scsi")
    with pytest.raises(disk.DiskError, match=message):
        disk.replay(lab, requests)
    # The lab goes on: nothing of it is broken.
    lab.finish()
    assert lab.idle
    assert disk.replay(lab, frame()).summary["acknowledged"] == 2


@pytest.mark.parametrize(("options", "message"), [
    ({"depth": 0}, "the depth must be 1 or more"),
    ({"depth": 1, "think_ns": -1}, "the think time must be 0 to"),
    ({"power_cut_ns": -1}, "the time of the power cut must be 0 to"),
    ({"unit": "disk9"}, 'no unit "disk9"; it has: disk0'),
])  # fmt: skip
def test_a_bad_plan_is_refused(disk, options, message):
    lab = disk.Lab.of_drive("ultrastar-36zx", "ultra2-scsi")
    with pytest.raises(disk.DiskError, match=message):
        disk.replay(lab, frame(), **options)
    assert lab.now_ns == 0


def test_time_does_not_go_back(disk):
    lab = disk.Lab.of_drive("deskstar-75gxp", "ata-100")
    lab.advance(1000)
    for call in (
        lambda: lab.advance(999),
        lambda: lab.submit("R", 0, 8, at_ns=999),
        lambda: lab.reset(at_ns=999),
        lambda: lab.mark("words", at_ns=999),
        lambda: lab.cut_power(at_ns=999),
    ):
        with pytest.raises(disk.DiskError, match=r"time 999 ns lies before the lab's 1000 ns"):
            call()
    with pytest.raises(disk.DiskError, match="after its end"):
        lab.advance(2**62)
    assert lab.now_ns == 1000
    lab.submit("R", 0, 8)
    with pytest.raises(disk.DiskError, match="the lab is not idle"):
        lab.reset()
    with pytest.raises(disk.DiskError, match="the lab is not idle"):
        disk.replay(lab, frame(), seed=None)
    while not lab.idle:
        lab.advance(lab.next_event_ns)
    with pytest.raises(disk.DiskError, match=r"take them with completions\(\)"):
        disk.replay(lab, frame())


def test_a_trace_with_a_short_line_is_refused(disk):
    lab = disk.Lab.of_drive("ultrastar-36zx", "ultra2-scsi")
    trace = disk.replay(lab, frame()).trace
    assert disk.read_trace(trace)["lbn"].tolist() == [0, 100]
    with pytest.raises(disk.DiskError, match="cannot be read as a trace"):
        disk.read_trace(trace[:-20] + "\n")


# ---- formats, types, words ---------------------------------------------------


def test_lists_of_other_programs_are_read(disk, tmp_path):
    (tmp_path / "log").write_text("fio version 3 iolog\n0 /dev/a add\n1 /dev/a read 0 4096\n2 /dev/a write 8192 512\n")
    requests = disk.read_requests(tmp_path / "log")
    assert requests.to_dict("list") == {
        "arrival_ns": [1000, 2000], "op": ["R", "W"], "lbn": [0, 16], "sectors": [8, 1], "ordered": [False, False],
    }  # fmt: skip
    lab = disk.Lab.of_drive("deskstar-75gxp", "ata-100")
    replayed = disk.replay(lab, requests)
    (tmp_path / "io.trace").write_text(replayed.trace)
    assert disk.read_requests(tmp_path / "io.trace")["lbn"].tolist() == [0, 16]
    assert disk.read_trace(tmp_path / "io.trace").equals(disk.read_trace(replayed.trace))


def test_the_types_name_what_there_is(disk):
    """Every public name of the part in Rust has its type and its words, and nothing else has."""
    import spindle_disk._model as native

    stub = ast.parse((FOLDER / "package" / "spindle_disk" / "_model.pyi").read_text())
    told = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    assert told.keys() == {name for name in vars(native) if not name.startswith("_")}
    for name, node in told.items():
        if isinstance(node, ast.ClassDef) and name != "DiskError":
            members = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
            there = {
                key for key, value in vars(getattr(native, name)).items()
                if not key.startswith("__") and not isinstance(value, types.MappingProxyType)
            }  # fmt: skip
            assert members - {"__new__"} == there, name
    assert (paths.build() / "bindings" / "site" / "spindle_disk" / "py.typed").is_file()


@pytest.mark.parametrize("example", range(2))
def test_the_readme_runs(disk, example, monkeypatch):
    monkeypatch.chdir(ROOT)
    code = re.findall(r"^```python\n(.*?)^```", (FOLDER / "README.md").read_text(), re.M | re.S)
    assert len(code) == 2
    out = io.StringIO()
    exec(compile(code[example], "README.md", "exec"), {"print": lambda *words: print(*words, file=out)})
    assert out.getvalue().strip()


@pytest.mark.nightly
def test_rate():
    """Requests a second of the host at depth 1; outside pass and fail."""
    import spindle_disk as disk

    count = 400_000
    draw = random.Random(1)
    blocks = disk.Drive("ultrastar-36zx").sectors // 16
    for name, lbn in (
        ("random reads", [draw.randrange(blocks) * 16 for _ in range(count)]),
        ("sequential reads", [16 * number for number in range(count)]),
    ):
        requests = pd.DataFrame({"op": "R", "lbn": lbn, "sectors": 16})
        for trace in (False, True):
            lab = disk.Lab.of_drive("ultrastar-36zx", "ultra2-scsi", trace=trace)
            began = time.process_time()
            disk.replay(lab, requests, depth=1)
            rate = count / (time.process_time() - began)
            kept = "with a trace" if trace else "without a trace"
            print(f"nightly: spindle_disk, {name} at depth 1 {kept}: {rate:.0f} requests a second of processor time")
