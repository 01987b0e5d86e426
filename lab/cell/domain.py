# SPDX-License-Identifier: MIT
"""The machine of a cell as a libvirt domain, so that it opens in the tools that people know.

    spindle domain CELL [--profile quick] [--folder DIR]

lays out what the cell's run boots from in DIR (build/domains/CELL), writes domain.xml there, and prints how to define
it. Started by libvirt, the machine does the run's job on the lab's clock, and leaves console.log, agent.log and
io.trace in DIR. It is for looking: nothing of it is a result.

libvirt has elements for processor, memory, kernel and serial ports. For the lab's clock, its block driver and what
hangs on it there are none, so that these stand as QEMU's own options. The lab's QEMU has neither USB, memory balloon
nor network; the domain says so, because libvirt would add them.
"""

from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

from lab.cell import boot, cells, config, identity, images, job, lock, paths
from lab.cell.errors import ConfigError

QEMU_NAMESPACE = "http://libvirt.org/schemas/domain/qemu/1.0"
ADDED_BY_LIBVIRT = {"-nodefaults": None, "-no-user-config": None, "-no-reboot": None, "-display": "none",
                    "-sandbox": job.SANDBOX}  # fmt: skip
"""Options that libvirt gives in the same form by itself, or for an element of ours: one that only QEMU's command line
here has in another form is an error."""
PROFILES = ("smoke", "quick", "full")


def options_of(command: list[str]) -> list[tuple[str, str | None]]:
    """QEMU's options in order, each with its value; the program's name is left out."""
    found: list[tuple[str, str | None]] = []
    for word in command[1:]:
        if word.startswith("-"):
            found.append((word, None))
        elif found and found[-1][1] is None:
            found[-1] = (found[-1][0], word)
        else:
            raise ConfigError(f"QEMU's command has {word!r} where an option is expected; correct lab/cell/job.py")
    return found


def fields(text: str) -> tuple[str, dict[str, str]]:
    """`tcg,thread=single` as its first word and its keys."""
    first, *rest = text.split(",")
    return first, dict(part.split("=", 1) for part in rest)


def element(parent: ElementTree.Element, tag: str, text: str | None = None, **attributes: str) -> ElementTree.Element:
    """Add an element."""
    made = ElementTree.SubElement(parent, tag, attributes)
    made.text = text
    return made


class Domain:
    """A domain in the making."""

    def __init__(self, name: str, emulator: str) -> None:
        self.root = ElementTree.Element("domain", {"type": "qemu"})
        element(self.root, "name", name)
        self.memory = element(self.root, "memory", unit="MiB")
        element(self.root, "vcpu", "1")
        self.os = element(self.root, "os")
        self.features = element(self.root, "features")
        # Without this libvirt takes ACPI's tables out of the machine, which the lab's has.
        element(self.features, "acpi")
        self.cpu = element(self.root, "cpu", mode="custom", match="exact")
        self.clock = element(self.root, "clock")
        for event in ("poweroff", "reboot", "crash"):
            element(self.root, f"on_{event}", "destroy")
        self.devices = element(self.root, "devices")
        element(self.devices, "emulator", emulator)
        element(self.devices, "controller", type="usb", model="none")
        element(self.devices, "memballoon", model="none")
        self.serials = 0
        self.passed: list[str] = []

    def take(self, option: str, value: str | None) -> None:
        """One option of QEMU's, as an element where libvirt has one."""
        name = f"_{option.lstrip('-')}"
        if option in ADDED_BY_LIBVIRT:
            if value != ADDED_BY_LIBVIRT[option]:
                raise ConfigError(
                    f"{option} {value}: libvirt gives {ADDED_BY_LIBVIRT[option]}; teach lab/cell/domain.py"
                )
        elif hasattr(self, name):
            getattr(self, name)(value)
        else:
            self.passed += [option] if value is None else [option, value]

    def _machine(self, value: str) -> None:
        kind, more = fields(value)
        if more:
            raise ConfigError(f"-machine {value}: only the machine's type is known here; teach lab/cell/domain.py")
        element(self.os, "type", "hvm", arch="x86_64", machine=kind)

    def _cpu(self, value: str) -> None:
        element(self.cpu, "model", value, fallback="forbid")

    def _accel(self, value: str) -> None:
        kind, more = fields(value)
        # The lab's clock has one thread anyway.
        if kind != "tcg" or more.pop("thread", "single") != "single" or set(more) - {"tb-size"}:
            raise ConfigError(f"-accel {value}: libvirt knows only the size of TCG's cache; teach lab/cell/domain.py")
        if "tb-size" in more:
            element(element(self.features, "tcg"), "tb-cache", more["tb-size"], unit="MiB")

    def _m(self, value: str) -> None:
        self.memory.text = value

    def _rtc(self, value: str) -> None:
        _, more = fields(f"rtc,{value}")
        start = datetime.fromisoformat(more["base"]).replace(tzinfo=UTC)
        self.clock.attrib = {"offset": "absolute", "start": str(int(start.timestamp()))}
        element(self.clock, "timer", name="rtc", track={"vm": "guest", "rt": "boot", "host": "wall"}[more["clock"]])

    def _kernel(self, value: str) -> None:
        element(self.os, "kernel", value)

    def _initrd(self, value: str) -> None:
        element(self.os, "initrd", value)

    def _append(self, value: str) -> None:
        element(self.os, "cmdline", value)

    def _serial(self, value: str) -> None:
        kind, _, path = value.partition(":")
        if kind != "file":
            raise ConfigError(f"-serial {value}: only files are known here; teach lab/cell/domain.py")
        port = element(self.devices, "serial", type="file")
        element(port, "source", path=path)
        element(port, "target", port=str(self.serials))
        self.serials += 1

    def text(self) -> str:
        """The whole document."""
        if self.os.find("kernel") is None:
            # libvirt boots from the disks that it knows, and the lab's are none of them.
            self.passed += ["-boot", "strict=off"]
        # By its usual name, as people write it: ElementTree takes it from a table of the whole program.
        ElementTree.register_namespace("qemu", QEMU_NAMESPACE)
        line = ElementTree.SubElement(self.root, f"{{{QEMU_NAMESPACE}}}commandline")
        for word in self.passed:
            ElementTree.SubElement(line, f"{{{QEMU_NAMESPACE}}}arg", {"value": word})
        ElementTree.indent(self.root)
        return ElementTree.tostring(self.root, encoding="unicode") + "\n"


def domain_xml(name: str, command: list[str]) -> str:
    """A QEMU command of the lab's as libvirt's domain XML (https://libvirt.org/formatdomain.html)."""
    domain = Domain(name, command[0])
    for option, value in options_of(command):
        domain.take(option, value)
    return domain.text()


def run_with(cell_id: str, profile: str | None) -> cells.Run:
    """The run that a cell is in: of a profile, or of the smallest that has it."""
    profiles = [profile] if profile else PROFILES
    for name in profiles:
        config.require_profile(name)
        for run in cells.runs(name).values():
            if any(one.id == cell_id for one in run.cells):
                return run
    known = [one.id for name in profiles for one in cells.cells(name)]
    raise ConfigError(
        f"cell: {cell_id!r} is unknown; {config.nearest(cell_id, known, 'spindle status --profile full --cells')}"
    )


def lay_out(run: cells.Run, name: str, build: Path, folder: Path) -> Path:
    """What a run boots from, in a folder that is empty or was laid out for the same; returns its domain.xml."""
    start = identity.start_of(run)
    if start is not None:
        images.ensure(start, build)
    with lock.hold(*boot.things(run, build), what=f"domain of {name}", build=build):
        boot.require_built(run, build)
        folder.mkdir(parents=True, exist_ok=True)
        boot.prepare(run, build, folder)
        command = job.qemu_command(run, str(build), str(folder), identity.kernel_append())
    target = folder / "domain.xml"
    target.write_text(domain_xml(name, command), encoding="utf-8")
    return target


def write(cell: str, profile: str | None = None, folder: Path | None = None) -> Path:
    """Lay out the domain of a cell in a folder (default: build/domains/CELL), and return its file. Without `profile` it
    is of the first one that has the cell. Raises SpindleError where none has it or the lab is not built."""
    run = run_with(cell, profile)
    build = paths.build()
    return lay_out(run, cell, build, (folder or build / "domains" / cell).absolute())
