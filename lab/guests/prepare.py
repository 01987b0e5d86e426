# SPDX-License-Identifier: MIT
"""Prepare a guest: from packages or from the user's medium to a disk image that the lab boots.

    python -m lab.guests.prepare debian
    python -m lab.guests.prepare freebsd --medium FreeBSD-disc1.iso --sha256 0123...

The machine is the lab's QEMU on the host's clock. Its console is read and typed to by the steps of the guest's entry
(console.py). The image and its manifest are put in place whole, behind the last step; then the image is booted once in
virtual time, and only if its agent reports is the receipt left without which nobody uses it (lab/cell/built.py).
"""

import argparse
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

from lab.cell import attempt, boot, built, guests, identity, lock, paths
from lab.cell.errors import SpindleError
from lab.cell.paths import ROOT
from lab.guest import imaging, lockfile, packages
from lab.guest.host import MTIME, BuildError, run
from lab.guests import console, debian, debian_disk, media

SCHEMA = "spindle-prepared-guest/1"
MANIFEST = "manifest.json"
SYSTEM = "system.img"
FIRMWARE = {
    "bios-256k.bin": "usr/share/seabios/bios-256k.bin",
    "kvmvapic.bin": "usr/share/qemu/kvmvapic.bin",
    "vgabios-stdvga.bin": "usr/share/seabios/vgabios-stdvga.bin",
}
"""What a machine loads that starts by its BIOS, by the locked packages' files."""
FIRMWARE_PACKAGES = ("qemu-system-data", "seabios")
LINUX_PROGRAMS = {"spindle-agent": "lab/guest/agent/agent.c", "stopwatch": "workloads/common/stopwatch.c"}
LINUX_SCRIPTS = {"confined": "lab/guest/agent/confined.sh"}
"""What the seed of a Linux has beside the entry's files."""
MEMORY_MIB = 512
CHECK_LABEL = "first-boot"


def say(text: str) -> None:
    """Tell the user what is going on."""
    print(f"guest: {text}", file=sys.stderr, flush=True)


def seed_files(about: guests.Guest, scratch: Path) -> dict[str, tuple[int, bytes]]:
    """What lies on the seed disk: mode and content by name."""
    found: dict[str, tuple[int, bytes]] = {}
    for name in about.data["prepare"].get("seed", ()):
        path = ROOT / name
        files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
        for file in files:
            if "tests" in file.relative_to(path.parent).parts:
                continue
            place = str(file.relative_to(path.parent))
            found[place] = (0o755 if file.suffix == ".sh" else 0o644, file.read_bytes())
    if about.settings_by == guests.SYSFS:
        for name, source in LINUX_PROGRAMS.items():
            imaging.compile_program(ROOT / source, scratch / name)
            found[name] = (0o755, (scratch / name).read_bytes())
        for name, source in LINUX_SCRIPTS.items():
            found[name] = (0o755, (ROOT / source).read_bytes())
    return found


def seed_disk(files: dict[str, tuple[int, bytes]]) -> bytes:
    """The seed disk: a tar archive from its first sector on, which every Unix reads without a file system."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, (mode, content) in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(content), mode, MTIME
            tar.addfile(entry, io.BytesIO(content))
    data = archive.getvalue()
    return data + bytes(-len(data) % 4096)


def put_firmware(target: Path, scratch: Path, cache: Path) -> None:
    """Firmware of the locked packages."""
    locked = lockfile.parse((ROOT / "envs" / "guest.lock").read_text(encoding="utf-8"))
    needed = [package for package in locked if package.name in FIRMWARE_PACKAGES]
    unpacked = scratch / "unpacked"
    debs, _ = packages.fetch_all(needed, cache, scratch / "download")
    for deb in debs.values():
        run(["dpkg-deb", "--extract", str(deb), str(unpacked)])
    target.mkdir()
    for name, source in FIRMWARE.items():
        shutil.copyfile(unpacked / source, target / name)


def make_floppy(about: guests.Guest, answer: Path, work: Path) -> None:
    """The floppy with a guest's answer file, under the name that its setup looks for, and what that calls."""
    image = work / f"{answer.name}.img"
    files = [answer, *(ROOT / name for name in about.data["prepare"].get("seed", ()))]
    run(["mformat", "-C", "-f", "1440", "-i", str(image), "::"])
    run(["mcopy", "-i", str(image), *(str(file) for file in files if file.is_file()), "::"])


def qemu_command(about: guests.Guest, build: Path, work: Path, boots: str, medium: Path | None) -> list[str]:
    """QEMU's command while a guest is prepared: on the host's clock, with its console on standard input and output."""
    prepare = about.data["prepare"]
    disk = prepare.get("system_disk", about.data["boot"].get("system_disk", ""))
    command = [str(build / "qemu/qemu-system-x86_64"), "-L", str(work / "firmware"), "-machine", "pc", "-cpu", "qemu64"]
    # The guest's clock counts instructions while it works and follows the host's while it waits: a loaded host lets
    # no time run out, and a prompt waits as long as it takes.
    command += [
        "-accel",
        "tcg,thread=single",
        "-icount",
        "shift=0,sleep=on",
        "-m",
        str(prepare.get("memory_mib", MEMORY_MIB)),
        "-nodefaults",
        "-no-user-config",
    ]
    command += [
        "-display",
        "none",
        "-no-reboot",
        "-chardev",
        "stdio,id=console,signal=off",
        "-serial",
        "chardev:console",
    ]
    command += ["-serial", f"file:{work / 'agent.log'}"]
    if display := about.data["boot"].get("display"):
        command += ["-device", display]
    command += [
        "-blockdev",
        f"driver=file,node-name=root,filename={work / SYSTEM}",
        "-device",
        disk.format(node="root"),
    ]
    command += ["-blockdev", f"driver=file,node-name=seed,filename={work / 'seed.img'}"]
    command += ["-device", "virtio-blk-pci,drive=seed,serial=seed"]
    if boots == "medium":
        command += ["-blockdev", f"driver=file,node-name=medium,filename={medium},read-only=on"]
        command += ["-device", "ide-cd,bus=ide.1,drive=medium,bootindex=1"]
    if answer := prepare.get("answer"):
        command += ["-blockdev", f"driver=file,node-name=answer,filename={work / Path(answer).name}.img,read-only=on"]
        command += ["-device", "floppy,drive=answer"]
    return command


class Machine:
    """The machine that a guest is prepared on, started anew for each step that asks for it."""

    def __init__(self, about: guests.Guest, build: Path, work: Path, medium: Path | None, log: Path):
        self._about, self._build, self._work, self._medium, self._log = about, build, work, medium, log
        self._process: subprocess.Popen | None = None

    def start(self, boots: str) -> console.Console:
        """Start it from its medium or from its disk."""
        self.stop()
        command = qemu_command(self._about, self._build, self._work, boots, self._medium)
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self._work,
            preexec_fn=boot.die_with_parent(os.getpid()),
        )
        self._process = process

        def note(data: bytes) -> None:
            with open(self._log, "ab") as file:
                file.write(data)

        refuse = [(pattern, meaning) for pattern, meaning in self._about.data["prepare"].get("refuse", [])]
        pipes = console.Pipes(process.stdout.fileno(), process.stdin.fileno())
        return console.Console(pipes, refuse, note, clock=boot.Patience(process.pid))

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process.stdin.close()
            self._process.stdout.close()
            self._process = None


def make_system(about: guests.Guest, work: Path) -> dict[str, str]:
    """The disk that the first step starts from: Debian's packages on it, or empty. Returns versions of packages."""
    if about.data["made_from"] == "packages":
        folder = work / "packages"
        folder.mkdir()
        made = debian_disk.make(debian.disk(), work / SYSTEM, folder)
        shutil.rmtree(folder)
        return made
    with open(work / SYSTEM, "wb") as disk:
        disk.truncate(about.data["prepare"]["disk_gib"] << 30)
    return {}


def prepare(name: str, medium: media.Medium | None, build: Path) -> None:
    """Prepare a guest's image in build/guests/<name>, whole or not at all."""
    about = guests.guest(name)
    target = build / about.thing
    log = build / "logs" / f"guest-{name}.console"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    boot.require_space(build, boot.SYSTEM_BYTES * 2)
    with lock.hold("qemu", what=f"preparation of guest {name}", build=build), lock.scratch("guest") as work:
        took = {"disk_s": time.monotonic()}
        put_firmware(work / "firmware", work, build / "cache" / "debs")
        say(f"{name}: making its disk")
        versions = make_system(about, work)
        took["disk_s"] = round(time.monotonic() - took["disk_s"], 1)
        (work / "seed.img").write_bytes(seed_disk(seed_files(about, work)))
        if answer := about.data["prepare"].get("answer"):
            make_floppy(about, ROOT / answer, work)
        machine = Machine(about, build, work, medium.path if medium else None, log)
        took["steps_s"] = time.monotonic()
        try:
            console.play(name, about.data["prepare"]["steps"], machine.start, say)
        except console.Stopped as error:
            raise SpindleError(f"{error}; the whole console is in {log}") from None
        finally:
            machine.stop()
        took["steps_s"] = round(time.monotonic() - took["steps_s"], 1)
        say(f"{name}: {took['disk_s']:.0f} s for its disk, {took['steps_s']:.0f} s for its steps")
        made_from = medium.sha256 if medium else built.digest(versions)
        manifest = {
            "schema": SCHEMA,
            "system": about.data["system"],
            "version": about.data["version"],
            "lock": made_from,
            "moved": [],
            "medium": {"sha256": medium.sha256, "volume": medium.volume} if medium else None,
            "packages": versions,
        }
        new = work / "new"
        new.mkdir()
        boot.copy_sparse(work / SYSTEM, new / SYSTEM)
        shutil.move(work / "firmware", new / "firmware")
        (new / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
        put_in_place(new, target)


def put_in_place(new: Path, target: Path) -> None:
    """Replace a prepared image as a whole."""
    beside = target.with_name(f".{target.name}.new")
    shutil.rmtree(beside, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(new, beside)
    shutil.rmtree(target, ignore_errors=True)
    beside.rename(target)


def first_boot(name: str, build: Path) -> str:
    """Boot a prepared guest once in virtual time, with a job that only ends; returns what its kernel calls itself.
    Raises SpindleError if its agent does not report."""
    words = ["--guest", name]
    about = guests.guest(name)
    if about.settings_by == guests.COMMANDS:
        words += ["--controller", next(iter(about.data["settings"]["disk"]))]
    one = attempt.run_of(attempt.parse(words))
    with lock.scratch("guest") as work:
        left = boot.boot(one, build, work, say)
    if left.problem or left.report.kernel is None:
        raise SpindleError(f"{name}: its image was prepared, but does not run a job: {left.problem or 'no word came'}")
    say(f"{name}: its agent reports, {left.timing.total_s:.0f} s for a boot in virtual time")
    return left.report.kernel


def current(name: str, medium: media.Medium | None, build: Path) -> bool:
    """The image is there, and was prepared from this."""
    about = guests.guest(name)
    if not built.stands(about.thing, build):
        return False
    there = identity.manifest(build, about.thing)["medium"]
    return medium is None or (there is not None and there["sha256"] == medium.sha256)


def require(name: str) -> guests.Guest:
    """A guest that can be prepared."""
    guests.require(name, "NAME")
    about = guests.guest(name)
    if about.lean:
        raise SpindleError(f"NAME={name}: `make lab` builds this guest; {', '.join(guests.names()[1:])} are prepared")
    return about


def ensure(name: str, medium_words: tuple[str, str], build: Path) -> None:
    """Prepare a guest unless that was done, and check that it runs a job."""
    about = require(name)
    medium = None
    if about.data["made_from"] == "medium":
        there = built.stands(about.thing, build) and not medium_words[0]
        medium = None if there else media.check(name, *medium_words)
    elif medium_words[0]:
        raise SpindleError(f"NAME={name}: it is made from packages and takes no MEDIA; leave MEDIA and SHA256 out")
    if current(name, medium, build):
        say(f"{name}: it is prepared already, in {build / about.thing}")
        return
    for thing in ("disk", "qemu"):
        built.check(thing, build)
    again = [sys.executable, "-m", "lab.guests.prepare", name, "--now"]
    if medium:
        again += ["--medium", str(medium.path), "--sha256", medium.sha256]
    if built.make(about.thing, again, build):
        raise SpindleError(f"{name}: it was not prepared; nothing of it is used")
    try:
        kernel = first_boot(name, build)
    except SpindleError:
        built.forget(about.thing, build)
        raise
    say(f"{name}: ready, {kernel}")


def main(argv: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="lab.guests.prepare", description=__doc__.splitlines()[0])
    parser.add_argument("name", help=f"one of {', '.join(guests.names()[1:])}")
    parser.add_argument("--medium", default="", help="installation medium: a file, or a URL where there is a network")
    parser.add_argument("--sha256", default="", help="its checksum, from where the medium is from")
    parser.add_argument("--now", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    build = paths.build()
    try:
        if options.now:
            about = require(options.name)
            from_medium = about.data["made_from"] == "medium"
            found = (
                media.Medium(Path(options.medium), options.sha256, media.volume_of(Path(options.medium)))
                if from_medium
                else None
            )
            prepare(options.name, found, build)
        else:
            ensure(options.name, (options.medium, options.sha256), build)
    except (SpindleError, BuildError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
