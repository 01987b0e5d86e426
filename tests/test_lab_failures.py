# SPDX-License-Identifier: MIT
"""What goes wrong inside a real guest, and on a real full disk: one clear message each, and no QEMU left."""

import os
import re
import shutil
import struct
import subprocess
from dataclasses import replace

import pytest

from lab.cell import boot, cells, config, identity, images, job, judge, paths, run, trace
from lab.cell.errors import EnvironmentMissing

pytestmark = pytest.mark.lab

RUN = "scsi-virtio.ultrastar-36zx.t32.both"
DRAINED = re.compile(r"^# drained [1-9]\d* commands now_ns \d+$", re.MULTILINE)
"""What the trace says of commands that ended outside virtual time."""
FS_RUN = "scsi-virtio.ultrastar-36zx.t64.both.ffs.postmark-x0.05.s01"


@pytest.fixture
def built():
    """The built lab; skips where it is not there."""
    build = paths.build()
    try:
        boot.require_built(cells.run("smoke", RUN), build)
    except EnvironmentMissing as reason:
        pytest.skip(str(reason))
    return build


def with_first_command(monkeypatch, line):
    """Let each cell begin with something else."""
    lines = job.cell_lines
    monkeypatch.setattr(job, "cell_lines", lambda of_run, cell: [line, *lines(of_run, cell)[1:]])


def reasons(build, work, run_id=RUN):
    """Reasons of failure of all cells of the run, in order."""
    outcome = run.execute(cells.run("smoke", run_id), build, work, lambda line: None)
    return [result["reason"] for result in outcome.results.values()]


def test_guest_panic_is_named(built, tmp_path, monkeypatch):
    with_first_command(monkeypatch, "set /proc/sysrq-trigger c")
    found = reasons(built, tmp_path)
    assert all("the guest's kernel panicked: 'Kernel panic" in reason for reason in found), found


def test_guest_panic_on_a_file_system_is_named(built, tmp_path, monkeypatch):
    images.ensure(identity.start_of(cells.run("smoke", FS_RUN)), built)
    with_first_command(monkeypatch, "set /proc/sysrq-trigger c")
    (found,) = reasons(built, tmp_path, FS_RUN)
    assert "the guest's kernel panicked: 'Kernel panic" in found


def test_guest_hang_ends_at_the_limit_of_virtual_time(built, tmp_path, monkeypatch):
    with_first_command(monkeypatch, "exec sleep 1000000")
    found = reasons(built, tmp_path)
    assert all("the guest hung: the limit of virtual time was reached" in reason for reason in found), found


def test_full_disk_voids_the_run(built, tmp_path, monkeypatch):
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "spindle-test", tmp_path], capture_output=True)
    if mount.returncode != 0:
        pytest.skip("mounting a small file system needs root")
    try:
        monkeypatch.setattr(boot, "require_space", lambda folder, needed_bytes: None)
        with pytest.raises(EnvironmentMissing, match=r"No space left on device.*make room"):
            reasons(built, tmp_path)
    finally:
        subprocess.run(["umount", "-l", tmp_path], check=True)


def slow_and_impatient(folder, monkeypatch, one, overhead_ms, seek_ms, cache=True):
    """A disk that takes its time, and a guest that waits for one second only."""
    folder.mkdir()
    entries = folder / "catalogue"
    shutil.copytree(paths.ROOT / "lab/disk/catalogue", entries)
    entry = entries / "drives" / f"{one.drive}.toml"
    text = entry.read_text(encoding="utf-8")
    for name, value in (
        ("overhead_(?:read|write)_miss_ns", f"[{overhead_ms}_000_000, {overhead_ms}_000_001]"),
        ("seek_(?:read|write)", f"{{ curve_ns = [{seek_ms}_000_000, 40_200, 254] }}"),
        ("seek_(?:read|write)_mean_ns", f"{seek_ms * 1000 + 5840}_000"),
    ):
        text, count = re.subn(rf"(?<=\n)(\[{name}\]\nvalue = ).*", rf"\g<1>{value}", text)
        assert count == 2, name
    entry.write_text(text, encoding="utf-8")
    topology, lines, assumption = job.topology_text, job.disk_lines, config.assumption
    monkeypatch.setattr(job, "topology_text", lambda of_run, _: topology(of_run, str(entries)))
    impatient = [f"set /sys/block/{job.disk_name(one)}/device/timeout 1"]
    monkeypatch.setattr(job, "disk_lines", lambda of_run, cell: lines(of_run, cell) + impatient)
    monkeypatch.setattr(
        config, "assumption", lambda paper, key: cache if key == "write_cache" else assumption(paper, key)
    )


def one_cell(profile, run_id, words):
    """A run cut to the first cell with these words."""
    whole = cells.run(profile, run_id)
    return replace(whole, cells=tuple(cell for cell in whole.cells if words in cell.id)[:1])


def test_reset_of_a_port_with_commands_outstanding_is_no_result(built, tmp_path, monkeypatch):
    """The guest goes on, the cell fails with the kernel's words, and all that twice alike."""
    one = one_cell("smoke", "ide-ahci.deskstar-75gxp.t32.both", "rawio-read-random")
    slow_and_impatient(tmp_path / "slow", monkeypatch, one, overhead_ms=100, seek_ms=1)
    found = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        outcome = run.execute(one, built, tmp_path / name, lambda line: None, stall_s=120)
        found.append((outcome.results, outcome.traces, outcome.console))
    assert found[0] == found[1]
    assert DRAINED.search("".join(found[0][1].values()))
    (result,) = found[0][0].values()
    assert result["status"] == "failed" and result["metrics"] is None
    assert re.match(
        r"the guest reset the disk's port: 'ata1.00: exception Emask 0x0 .* frozen': a command took longer than its "
        r"time-out; the guest reports: exec rawio: exit status 1: rawio: child \d+: read at byte \d+: Input",
        result["reason"],
    )


@pytest.mark.parametrize("tags", ["t4", "tnone"])
def test_workload_ends_right_after_resets(built, tmp_path, monkeypatch, tags):
    """Linux gives a command again after the reset; queued (NCQ) or not (DMA), the data is where it belongs."""
    one = one_cell("quick", f"ide-ahci.deskstar-75gxp.{tags}.both", "rawio-write-random")
    slow_and_impatient(tmp_path / "slow", monkeypatch, one, overhead_ms=300, seek_ms=900, cache=False)
    command = job.workload_command
    small = {"--bytes": 4 * 8192, "--children": 1}

    def shortened(of_run, cell):
        words = command(of_run, cell).split(" ")
        return " ".join(str(small.get(before, word)) for before, word in zip(["", *words], words, strict=False))

    monkeypatch.setattr(job, "workload_command", shortened)
    work = tmp_path / "work"
    work.mkdir()
    left = boot.boot(one, built, work, lambda line: None, stall_s=120)
    (cell,) = one.cells
    assert left.problem is None
    assert DRAINED.search(left.traces[cell.id])
    said = left.report.cells[cell.id]
    assert (said.exit_status, said.problem, said.metrics["requests"]) == (0, None, 4)
    facts = judge.facts(one, left.report, left.traces, left.problem, left.console, left.marks)
    verdict = judge.verdict(cell, facts[cell.id])
    assert verdict[1].startswith("the guest reset the disk's port: 'ata1.00: exception Emask 0x0 ")
    written = [request.lbn for request in trace.parse(left.traces[cell.id]) if request.op == "W"]
    assert len(written) > len(set(written)) == 4
    disk = os.open(work / "disk.img", os.O_RDONLY)
    try:
        assert all(os.pread(disk, 8192, lbn * trace.SECTOR_BYTES) == bytes([1]) * 8192 for lbn in written)
        assert os.pread(disk, 8192, 0) == bytes(8192)  # a DMA that loses its state in the reset writes here
    finally:
        os.close(disk)


def program(code, data):
    """A program of the guest, small enough for a line of the job: machine code that finds `data` in rbx."""
    lea = b"\x48\x8d\x1d"  # lea rbx, [rip + distance]
    text = lea + struct.pack("<i", len(code)) + code + data
    begin, headers = 0x400000, 64 + 56
    size = headers + len(text)
    ident = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    head = ident + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, begin + headers, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    return head + struct.pack("<IIQQQQQQ", 1, 7, 0, begin, begin, size, size, 4096) + text


OPEN = bytes.fromhex("488d7b08 be02080000 b802000000 0f05 89c7")  # edi = open(rbx + 8, O_RDWR | O_NONBLOCK)
IOCTL = bytes.fromhex("be84220000 4889da b810000000 0f05")  # ioctl(edi, SG_SCSI_RESET, rbx)
EXIT = bytes.fromhex("89c7 f7df b83c000000 0f05")  # exit(-eax)
PORTS = "/sys/module/megaraid_sas/drivers/pci:megaraid_sas/0000:*/resource2"
"""The adapter's registers as ports; the kernel does not let anyone else map them."""


def written(file, data):
    """A command of the shell that writes bytes to a file, at its begin."""
    octal = "".join(f"\\{byte:03o}" for byte in data)
    return f"printf '{octal}' >{file}"


def doorbell(word):
    """Commands that write to the adapter's doorbell, which is at 0x20."""
    return [
        written("/run/word", struct.pack("<I", word)),
        f"dd bs=4 seek=8 conv=notrunc if=/run/word of=$(echo {PORTS})",
    ]


SG_RESET = program(OPEN + IOCTL + EXIT, struct.pack("<Q", 1) + b"/dev/sda\0")
RESETS = {
    # A task management function: reset of the logical unit (SG_SCSI_RESET_DEVICE).
    "scsi-virtio": [written("/run/reset", SG_RESET), "chmod 755 /run/reset", "/run/reset"],
    # The firmware aborts all frames, or resets itself.
    "scsi-megasas-abort": doorbell(1),
    "scsi-megasas-reset": doorbell(2),
}


@pytest.mark.parametrize("reset", RESETS)
def test_what_a_scsi_reset_drains_is_marked_in_the_trace(built, tmp_path, monkeypatch, reset):
    """Commands that end outside virtual time leave a mark, the run ends, and all that twice alike."""
    controller = "-".join(reset.split("-")[:2])
    one = one_cell("quick", f"{controller}.ultrastar-36zx.t32.both", "rawio-read-random")
    *before, last = RESETS[reset]
    workload = job.workload_command(one, one.cells[0])
    commands = [*before, f"{workload} &", "sleep 1", last, "echo reset: $?", "wait"]
    line = "exec sh -c " + "\n".join(commands).replace("&\n", "& ").replace("\n", ";").replace(" ", "${IFS}")
    monkeypatch.setattr(job, "cell_lines", lambda of_run, cell: [line, "end"])
    found = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        left = boot.boot(one, built, tmp_path / name, lambda line: None, stall_s=120)
        found.append((left.traces, left.console, left.problem, (tmp_path / name / "agent.log").read_text()))
    assert found[0] == found[1]
    traces, _, _, said = found[0]
    assert "reset: 0" in said
    assert DRAINED.search("".join(traces.values()))
    facts = judge.facts(one, left.report, left.traces, left.problem, left.console, left.marks)
    (cell,) = one.cells
    verdict = judge.verdict(cell, facts[cell.id])
    reason = r"the guest reset the disk while (1 command was|\d+ commands were) outstanding, at \d+ ns(; .*)?"
    assert verdict[0] is None and re.fullmatch(reason, verdict[1])
