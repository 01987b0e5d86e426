# SPDX-License-Identifier: MIT
"""libvirt domains of cells: what is in them, and that libvirt takes them."""

import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from lab.cell import cells, domain, identity, job, paths
from lab.cell.errors import ConfigError
from lab.cell.tests import ordinary

DRIVERS = Path("/usr/lib/x86_64-linux-gnu/libvirt/connection-driver")
KINDS = {
    "disk": lambda run: run.array == "none" and run.cells[0].raw,
    "file system": lambda run: run.array == "none" and not run.cells[0].raw,
    "software array": lambda run: run.array.startswith("md-"),
    "hardware array": lambda run: run.hardware is not None,
}
"""One run of each is enough: their commands differ in blocks of options."""


def command(run: cells.Run, build: str = "/build") -> list[str]:
    return job.qemu_command(run, build, "/scratch", identity.kernel_append())


def one_run(kind: str) -> cells.Run:
    return next(run for run in cells.runs("smoke").values() if KINDS[kind](run))


def xml(run: cells.Run) -> ElementTree.Element:
    return ElementTree.fromstring(domain.domain_xml("one", command(run)))


def passed(root: ElementTree.Element) -> list[str]:
    return [word.get("value") for word in root.iter(f"{{{domain.QEMU_NAMESPACE}}}arg")]


def test_what_libvirt_has_elements_for():
    root = xml(one_run("disk"))
    assert root.find("devices/emulator").text == "/build/qemu/qemu-system-x86_64"
    assert (root.find("memory").get("unit"), root.find("memory").text) == ("MiB", "512")
    assert root.find("os/type").attrib == {"arch": "x86_64", "machine": "pc"}
    assert root.find("os/kernel").text == "/build/guest/vmlinux"
    assert root.find("os/cmdline").text == identity.kernel_append()
    assert [port.get("path") for port in root.findall("devices/serial/source")] == [
        "/scratch/console.log",
        "/scratch/agent.log",
    ]
    # 2000-11-22T00:00:00Z
    assert root.find("clock").attrib == {"offset": "absolute", "start": "974851200"}
    assert root.find("clock/timer").attrib == {"name": "rtc", "track": "guest"}
    assert root.find("features/tcg/tb-cache").text == "256"


def test_what_the_lab_has_not():
    root = xml(one_run("disk"))
    assert root.find("devices/controller").attrib == {"type": "usb", "model": "none"}
    assert root.find("devices/memballoon").get("model") == "none"
    assert root.find("devices/interface") is None


@pytest.mark.parametrize("kind", KINDS)
def test_no_option_is_lost(kind):
    """Each word of the command is an element, QEMU's own option, or what libvirt gives anyway."""
    run = one_run(kind)
    own = passed(xml(run))
    assert own[:2] == ["-L", "/build/guest/firmware"]
    assert own.count("-blockdev") == command(run).count("-blockdev")
    assert own.count("-device") == command(run).count("-device")
    assert "shift=0,sleep=off,lockstep=on" in own
    elements = {"-machine", "-cpu", "-accel", "-m", "-rtc", "-kernel", "-initrd", "-append", "-serial"}
    known = elements | set(domain.ADDED_BY_LIBVIRT)
    assert {option for option, _ in domain.options_of(command(run))} - set(own) == known


def test_a_machine_without_a_kernel_boots_from_its_disks():
    words = command(one_run("disk"))
    at = words.index("-kernel")
    assert passed(ElementTree.fromstring(domain.domain_xml("one", words[:at] + words[at + 6 :])))[-2:] == [
        "-boot",
        "strict=off",
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("pc", "pc,usb=on"),
        ("tcg,thread=single,tb-size=256", "kvm"),
        (job.SANDBOX, "on"),
        ("file:/scratch/agent.log", "pty"),
    ],
)
def test_what_is_not_known_is_refused(old, new):
    words = [new if word == old else word for word in command(one_run("disk"))]
    with pytest.raises(ConfigError, match=r"domain\.py"):
        domain.domain_xml("one", words)


def test_an_unknown_cell():
    with pytest.raises(ConfigError, match="rawio-read-random"):
        domain.write("ide-piix.deskstar-75gxp.tnone.both.rawio-read-randon.s01")


@pytest.mark.parametrize("kind", KINDS)
def test_libvirts_schema_takes_it(kind, tmp_path):
    if not shutil.which("virt-xml-validate") or not shutil.which("xmllint"):
        pytest.skip("libvirt-clients and libxml2-utils are not installed")
    file = tmp_path / "domain.xml"
    file.write_text(domain.domain_xml("one", command(one_run(kind))))
    done = subprocess.run(["virt-xml-validate", file, "domain"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


user = pytest.fixture(scope="module")(ordinary.make_user)


@pytest.mark.lab
@pytest.mark.parametrize("kind", KINDS)
def test_libvirt_defines_it(kind, user):
    """With the lab's QEMU, whose abilities libvirt asks it for. In virsh itself: no daemon, and nothing outside the
    folder."""
    if not shutil.which("virsh") or not DRIVERS.is_dir():
        pytest.skip("libvirt-clients and libvirt-daemon-driver-qemu are not installed")
    user.require_access(paths.build() / "qemu" / "qemu-system-x86_64")
    name = kind.replace(" ", "-")
    file = user.home / f"{name}.xml"
    file.write_text(domain.domain_xml(name, command(one_run(kind), str(paths.build()))))
    virsh = ["virsh", "-c", f"qemu:///embed?root={user.home}/data/libvirt"]
    done = user.run(*virsh, f"define --validate {file}; dumpxml {name}")
    assert done.returncode == 0, done.stderr
    assert f"<emulator>{paths.build()}" in done.stdout
