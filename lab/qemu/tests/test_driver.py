# SPDX-License-Identifier: MIT
"""Nodes of the block driver that come and go while QEMU runs: nothing of a failed or closed one stays behind.

The machine has no processor, so its virtual clock is the host's: times below are far enough apart for a busy host.
"""

import json
import os
import select
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("SPINDLE_BUILD", ROOT / "build"))
QEMU = BUILD / "qemu" / "qemu-system-x86_64"
SECTORS = 60036480
"""Of a Deskstar 75GXP."""
POWER_CUT_STATUS = 80
TIME_LIMIT_STATUS = 70
TIMEOUT_S = 20


class Monitor:
    """A QEMU without a guest, and its monitor."""

    def __init__(self, work, *arguments):
        text = f'schema = "spindle-topology/1"\ncatalogue = "{ROOT}/lab/disk/catalogue"\n'
        text += '[[bus]]\nname = "bus0"\nentry = "ata-100"\n'
        for name in ("disk0", "disk1"):
            text += f'[[unit]]\nname = "{name}"\ndrive = "deskstar-75gxp"\nbus = "bus0"\nmax_tags = 1\n'
            with open(work / f"{name}.img", "wb") as disk:
                disk.truncate(SECTORS * 512)
        (work / "lab.toml").write_text(text + '[[unit]]\nname = "job"\nnull_latency_ns = 20000\n')
        (work / "job.img").write_bytes(bytes(4096))
        command = [QEMU, "-nodefaults", "-display", "none", "-M", "none", "-qmp", "stdio", *arguments]
        self.process = subprocess.Popen(
            command, cwd=work, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )

    def __enter__(self):
        assert self.process.stdout.readline(), self.process.stderr.read()
        self.ask("qmp_capabilities")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def ask(self, execute, **arguments):
        """Answer to a command; None if QEMU has ended."""
        self.process.stdin.write(json.dumps({"execute": execute, "arguments": arguments}).encode() + b"\n")
        self.process.stdin.flush()
        while True:
            ready, _, _ = select.select([self.process.stdout], [], [], TIMEOUT_S)
            if not ready:
                pytest.fail(f"QEMU does not answer to {execute} {arguments}")
            line = self.process.stdout.readline()
            if not line:
                return None
            answer = json.loads(line)
            if "return" in answer or "error" in answer:
                return answer

    def add(self, node, unit, **options):
        """Open a node; the message if that fails."""
        files = {"filename": f"{unit}.img", "topology": "lab.toml", "unit": unit}
        answer = self.ask("blockdev-add", driver="spindle", **{"node-name": node}, **files, **options)
        return answer.get("error", {}).get("desc")


@pytest.fixture(autouse=True)
def built():
    """Skips where QEMU is not built."""
    if not QEMU.exists():
        pytest.skip(f"{QEMU} is not built in {BUILD}; `make lab` builds it")


def disk(unit, *options):
    """Argument for a node with the name of its unit."""
    head = f"driver=spindle,node-name={unit},filename={unit}.img,topology=lab.toml,unit={unit}"
    return ["-blockdev", ",".join([head, *options])]


def test_failed_open_leaves_no_timer(tmp_path):
    """The limit of virtual time of a node that was never opened ended QEMU, and read its freed memory."""
    with Monitor(tmp_path, *disk("disk0")) as qemu:
        assert "is too large" in qemu.add("j", "job", **{"time-limit-s": 1, "power-cut-ns": (1 << 63) + 1})
        time.sleep(2)
        assert qemu.ask("query-status") is not None, qemu.process.stderr.read()


def test_failed_open_leaves_no_trace(tmp_path):
    """The lab can be traced by the next node."""
    with Monitor(tmp_path, *disk("disk0")) as qemu:
        assert "is too large" in qemu.add("j", "job", trace="a.trace", **{"time-limit-s": 1 << 60})
        assert "none.trace" in qemu.add("j", "job", trace="none/none.trace", **{"power-cut-ns": 10**18})
        assert qemu.add("j", "job", trace="b.trace", **{"power-cut-ns": 10**18}) is None


def test_a_unit_has_one_node_at_a_time(tmp_path):
    """Two files behind one drive would be one of them lost; a closed node leaves its unit free."""
    with Monitor(tmp_path, *disk("disk0")) as qemu:
        assert "unit 'disk0' is in use by another node" in qemu.add("again", "disk0")
        assert qemu.add("j", "job") is None
        assert "return" in qemu.ask("blockdev-del", **{"node-name": "j"})
        assert qemu.add("j", "job") is None


def test_closed_node_is_flushed_and_forgotten(tmp_path):
    """A written node can be closed while the machine runs; the power cut that follows leaves its file alone."""
    with Monitor(tmp_path, *disk("disk0", "power-cut-ns=6000000000", "trace=io.trace"), *disk("disk1")) as qemu:
        for unit in ("disk0", "disk1"):
            wrote = {"command-line": f'qemu-io {unit} "aio_write -q -P 1 8k 4k"'}
            assert "return" in qemu.ask("human-monitor-command", **wrote)
        assert "return" in qemu.ask("blockdev-del", **{"node-name": "disk1"})
        _, said = qemu.process.communicate(timeout=TIMEOUT_S)
    assert qemu.process.returncode == POWER_CUT_STATUS, said
    assert b"power cut at" in said
    assert "# drained 1 commands now_ns " in (tmp_path / "io.trace").read_text()
    with open(tmp_path / "disk1.img", "rb") as file:
        assert file.read(16384) == bytes(8192) + b"\1" * 4096 + bytes(4096)


def written(work, words, **options):
    """Write to the first disk and close its node; the beginning of its file, and the requests in the trace."""
    with Monitor(work) as qemu:
        assert qemu.add("d", "disk0", trace="io.trace", **options) is None
        assert "return" in qemu.ask("human-monitor-command", **{"command-line": f'qemu-io d "aio_write -q {words}"'})
        assert "return" in qemu.ask("blockdev-del", **{"node-name": "d"})
    with open(work / "disk0.img", "rb") as file:
        data = file.read(8192)
    lines = [line.split() for line in (work / "io.trace").read_text().splitlines() if not line.startswith("#")]
    return data, [(words[1], words[-1]) for words in lines if words[1] in "WU"]


def test_first_sector_of_a_disk_is_data(tmp_path):
    """Only the job disk has a control sector: a disk's boot sector and superblock are data."""
    assert written(tmp_path, "-P 1 0 4k") == (b"\1" * 4096 + bytes(4096), [("W", "cached")])


def test_forced_write_goes_through_the_cache(tmp_path):
    assert written(tmp_path, "-f -P 1 4k 4k") == (bytes(4096) + b"\1" * 4096, [("U", "through")])


@pytest.mark.parametrize(("on", "how"), [(True, "cached"), (False, "through")])
def test_write_cache_is_that_of_the_option(tmp_path, on, how):
    assert written(tmp_path, "-P 1 0 4k", **{"write-cache": on})[1] == [("W", how)]


def test_limit_of_time_is_in_seconds(tmp_path):
    limit_s, began = 2, time.monotonic()
    with Monitor(tmp_path) as qemu:
        assert qemu.add("j", "job", **{"time-limit-s": limit_s}) is None
        _, said = qemu.process.communicate(timeout=TIMEOUT_S)
    assert qemu.process.returncode == TIME_LIMIT_STATUS, said
    assert time.monotonic() - began >= limit_s
    assert f"within {limit_s} virtual seconds (time-limit-s)".encode() in said
