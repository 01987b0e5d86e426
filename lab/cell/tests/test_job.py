# SPDX-License-Identifier: MIT
"""Job disk, topology and QEMU's command."""

import tomllib

import pytest

from lab.cell import cells, job

HOST_ON = "scsi-virtio.ultrastar-36zx.t32.both"
HOST_OFF = "ide-piix.deskstar-75gxp.tnone.disk"


def lines(run_id):
    return job.job_text(cells.run("full", run_id)).splitlines()


def test_job_begins_and_ends(lab):
    text = lines(HOST_ON)
    assert text[:3] == ["spindle-job 1", "modules virtio_scsi sd_mod", "wait_disk sda"]
    assert text[-1] == "poweroff"
    assert sum(line == "end" for line in text) == 67
    programs = [line.split()[1] for line in text if line.startswith("exec ")]
    assert programs == ["rawio"] * 60 + ["fio-rawio"] * 6


def test_job_elevator_before_its_settings(lab):
    sets = [line.split()[1:] for line in lines(HOST_ON) if line.startswith("set ")]
    files = [file.rsplit("/", 1)[1] for file, _ in sets]
    assert files.index("queue_depth") < files.index("scheduler") < files.index("nr_requests")
    assert dict(sets)["/sys/block/sda/device/queue_depth"] == "32"
    assert int(dict(sets)["/sys/block/sda/queue/nr_requests"]) >= 256


def test_job_no_host_scheduler_no_tags(lab):
    sets = dict(line.split()[1:] for line in lines(HOST_OFF) if line.startswith("set "))
    assert "/sys/block/sda/device/queue_depth" not in sets
    # In the order of arrival: every request has expired, and each is looked at.
    assert sets["/sys/block/sda/queue/iosched/read_expire"] == "0"
    assert sets["/sys/block/sda/queue/iosched/write_expire"] == "0"
    assert sets["/sys/block/sda/queue/iosched/fifo_batch"] == "1"


def test_job_disk_layout():
    data = job.job_disk("spindle-job 1\n")
    assert len(data) == 4096 + 65536
    assert data[:4096] == bytes(4096)
    assert data[4096:4110] == b"spindle-job 1\n"
    assert data[4110:] == b"\n" * 65521 + b"\0"


def test_job_disk_too_long():
    with pytest.raises(ValueError, match="the job has 65536 bytes"):
        job.job_disk("x" * 65536)


def test_topology_is_toml(lab):
    topology = tomllib.loads(job.topology_text(cells.run("full", HOST_OFF), "/c"))
    disk, system, job_unit, *_workloads = topology["unit"]
    assert (disk["drive"], disk["max_tags"], disk["queue"]) == ("deskstar-75gxp", 1, "sptf")
    assert (system["name"], job_unit["name"]) == ("system", "job")


def test_qemu_command_follows_the_contract(lab):
    command = " ".join(job.qemu_command(cells.run("smoke", HOST_ON), "BUILD", "WORK", "console=ttyS0"))
    for part in (
        "BUILD/qemu/qemu-system-x86_64 -L BUILD/guest/firmware",
        "-accel tcg,thread=single,tb-size=256 -icount shift=0,sleep=off,lockstep=on -seed 1",
        "-rtc clock=vm,base=2000-11-22T00:00:00 -m 512",
        "-nodefaults -no-user-config -display none -no-reboot",
        "-serial file:WORK/console.log -serial file:WORK/agent.log",
        "unit=job,control=on,time-limit-s=1560",
        "-device virtio-scsi-pci,id=scsi -device scsi-hd,drive=disk",
    ):
        assert part in command
