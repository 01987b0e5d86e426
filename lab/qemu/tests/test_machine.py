# SPDX-License-Identifier: MIT
"""What the machine offers besides the lab's own guest: boot by BIOS from each controller, and a sandbox around it."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from lab.cell import catalogue, job

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("SPINDLE_BUILD", ROOT / "build")).absolute()
QEMU = BUILD / "qemu" / "qemu-system-x86_64"
FIRMWARE = BUILD / "guest" / "firmware"
WORD = b"spindle boots\n"
CODE = bytes.fromhex(
    "31c0 8ed8 fc"  # xor ax, ax; mov ds, ax; cld
    "be1a7c baf803"  # mov si, word; mov dx, 0x3f8 (the first serial port)
    "ac 84c0 7403 ee ebf8"  # next: lodsb; test al, al; jz done; out dx, al; jmp next
    "b0fe e664 f4 ebfd"  # done: mov al, 0xfe; out 0x64, al (the keyboard controller's reset); hlt; jmp $-1
)
BOOT_SECTOR = (CODE + WORD + b"\0").ljust(510, b"\0") + b"\x55\xaa"
BUSES = {"ata": ("ata-100", "deskstar-75gxp"), "scsi": ("ultra2-scsi", "ultrastar-36zx")}
MACHINE = ["-machine", "pc", "-cpu", "qemu64", "-accel", "tcg,thread=single,tb-size=32", "-m", "64"]
MACHINE += ["-icount", "shift=0,sleep=off,lockstep=on", "-seed", "1", "-rtc", "clock=vm,base=2000-11-22T00:00:00"]
MACHINE += ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-sandbox", job.SANDBOX]
VIRTIO_BLK = "virtio-blk"
"""No controller of the catalogue, but the guest's root is on one."""
CONTROLLERS = {
    **{
        name: (limits.bus_kind, [limits.device] * bool(limits.device), limits.disk_device.format(node="disk"))
        for name in ("ide-ahci", "ide-piix", "scsi-megasas", "scsi-virtio")
        for limits in [catalogue.controller(name)]
    },
    VIRTIO_BLK: ("scsi", [], "virtio-blk-pci,drive=disk,ioeventfd=off"),
}


@pytest.fixture(autouse=True)
def built():
    """Skips where QEMU or the firmware is not built."""
    for path in (QEMU, FIRMWARE):
        if not path.exists():
            pytest.skip(f"{path} is not built; `make lab` builds it")


def boot(work, controller, *devices):
    """Boot a disk behind this controller to its end; what it said on the serial port, and the trace."""
    kind, adapters, disk = CONTROLLERS[controller]
    bus, drive = BUSES[kind]
    text = f'schema = "spindle-topology/1"\ncatalogue = "{ROOT}/lab/disk/catalogue"\n'
    text += f'[[bus]]\nname = "bus0"\nentry = "{bus}"\n'
    text += f'[[unit]]\nname = "disk0"\ndrive = "{drive}"\nbus = "bus0"\nmax_tags = 1\n'
    (work / "lab.toml").write_text(text)
    with open(work / "disk.img", "wb") as file:
        file.write(BOOT_SECTOR)
        file.truncate({"ata": 60036480, "scsi": 35843670}[kind] * 512)
    command = [QEMU, "-L", FIRMWARE, *MACHINE, "-serial", "file:serial.log", "-blockdev"]
    command += ["driver=spindle,node-name=disk,filename=disk.img,topology=lab.toml,unit=disk0,trace=io.trace"]
    for device in (*adapters, disk, *devices):
        command += ["-device", device]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return (work / "serial.log").read_bytes(), (work / "io.trace").read_text()


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_boots_by_bios(tmp_path, controller):
    """SeaBIOS reads the boot sector of a modelled drive, at its time, and runs it; twice, at the same nanosecond."""
    found = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        found.append(boot(tmp_path / name, controller))
    serial, trace = found[0]
    assert serial == WORD
    assert any(line.startswith("disk0 R 0 1 ") for line in trace.splitlines()), trace
    assert found[1] == found[0]


@pytest.mark.parametrize("display", ["VGA", "cirrus-vga"])
def test_boots_with_a_display_and_a_cd_drive(tmp_path, display):
    """What installers ask for; the adapter's own BIOS is another file, which this does without."""
    devices = [f"{display},romfile=", "ide-cd,bus=ide.1"]
    assert boot(tmp_path, "ide-piix", *devices)[0] == WORD


def test_has_no_network_device():
    """Nothing from outside can reach a guest."""
    listed = subprocess.run([QEMU, "-device", "help"], capture_output=True, text=True, check=True).stdout
    assert "Network devices" not in listed, listed


def test_runs_in_its_sandbox(tmp_path):
    """Every thread of QEMU is under a filter of system calls."""
    command = [QEMU, "-L", FIRMWARE, *MACHINE, "-S", "-pidfile", "pid"]
    with subprocess.Popen(command, cwd=tmp_path) as process:
        try:
            while not (tmp_path / "pid").exists() and process.poll() is None:
                time.sleep(0.05)
            tasks = list(Path(f"/proc/{process.pid}/task").glob("*/status"))
            modes = [line for task in tasks for line in task.read_text().splitlines() if line.startswith("Seccomp:")]
        finally:
            process.kill()
    assert len(modes) >= 2 and set(modes) == {"Seccomp:\t2"}
