# SPDX-License-Identifier: MIT
"""The whole way, as an ordinary user: a box, a machine on the host's clock, a benchmark over SSH, the disk packed, and
the same disk in virtual time. For `make nightly`, on a machine that has the Debian packages of the group `boxes`."""

import shutil
import socket
import subprocess
import sys
import time

import pytest

from lab.cell.paths import ROOT, build
from lab.cell.tests import ordinary
from vagrant import box

user = pytest.fixture(scope="module")(ordinary.make_user)
PROGRAM = "sudo /opt/spindle/workloads/rawio/rawio"
# One child: on the host's clock a sparse file answers before many of them have begun, and rawio calls that a failure.
RAWIO = f"{PROGRAM} --children 1 --op read --pattern random --seed 1 --device /dev/disk/by-id/"


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.mark.nightly
@pytest.mark.lab
def test_a_box_its_machine_and_the_lab(user, tmp_path):
    for program, package in (("vagrant", "vagrant"), ("virsh", "libvirt-clients"), ("mmdebstrap", "mmdebstrap")):
        if not shutil.which(program):
            pytest.skip(f"{package} is not installed")
    user.require_access(ROOT / "vagrant" / "Vagrantfile")
    places = {
        "VAGRANT_HOME": f"{user.home}/data/vagrant",
        "VAGRANT_DOTFILE_PATH": f"{user.home}/data/machines",
        "VAGRANT_CWD": str(ROOT / "vagrant"),
        "SPINDLE_BOXES": str(build() / "boxes"),
        "SPINDLE_SSH_PORT": str(free_port()),
    }
    took: dict[str, float] = {}

    def timed(name: str, call) -> subprocess.CompletedProcess:
        began = time.monotonic()
        done = call()
        took[name] = time.monotonic() - began
        assert done.returncode == 0, f"{name}: {done.stdout[-2000:]}{done.stderr[:4000]}"
        return done

    def vagrant(name: str, *words: str) -> subprocess.CompletedProcess:
        return timed(name, lambda: user.run("vagrant", *words, timeout=1500, **places))

    def python(name: str, *words: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", *words]
        return timed(name, lambda: subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False))

    python("box", "vagrant.box", "linux")
    try:
        up = vagrant("up", "up", "linux")
        assert "workloads are in /opt/spindle/workloads" in up.stdout
        disks = vagrant("ssh", "ssh", "linux", "--command", "ls /dev/disk/by-id").stdout
        for _, _, serial in box.DISKS:
            assert serial in disks
        disk = next(name for name in disks.split() if name.endswith("_ahci"))
        said = vagrant("rawio", "ssh", "linux", "--command", RAWIO + disk).stdout
        assert "metric bytes 10485760" in said
        vagrant("halt", "halt", "linux")
        images = sorted(
            (user.home / ".local/share/libvirt/images").glob("*linux*.img"), key=lambda path: path.stat().st_mtime
        )
        system = tmp_path / "system.qcow2"
        flatten = ["qemu-img", "convert", "-O", "qcow2", images[-1], system]
        timed("flatten", lambda: subprocess.run(flatten, capture_output=True, text=True, check=False))
    finally:
        user.run("vagrant", "destroy", "--force", "linux", timeout=300, **places)
    lines = []
    for name in ("one", "two"):
        words = ["--disk", str(system), "--out", str(tmp_path / name), "--controller", "ide-ahci", "--drive",
                 "deskstar-75gxp", "--workload", "rawio", "--", "op=read", "pattern=random"]  # fmt: skip
        lines.append(python(f"lab {name}", "vagrant.measure", *words).stdout)
    assert lines[0] == lines[1] and "bytes 10485760" in lines[0]
    for file in ("io.trace", "agent.log", "console.log"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes(), file
    python("pack", "vagrant.box", "linux", "--disk", str(system))
    print("nightly: vagrant: " + ", ".join(f"{name} {seconds:.0f} s" for name, seconds in took.items()))
