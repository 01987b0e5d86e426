# SPDX-License-Identifier: MIT
"""What was built: each thing below build/ has a receipt, which says what it was made from and what it is.

    python -m lab.cell.built qemu -- lab/qemu/build.sh

Two questions are kept apart. Whether something has to be built again is answered by its sources and the versions of the
host's tools: they are in the name of its stamp, which Snakemake looks for. What a result says of itself is answered by
the receipt: the hash of the sources that QEMU and the model were built from, and the bytes of all that the guest boots
and mounts. So a tool's new version builds again, and if the same bytes come out, every result stands.

The receipt `build/<thing>/built.json` is written whole, behind the build and before the stamp. A thing without a
receipt, with one of other sources, or with a file that is not the receipt's, is refused by whoever would run it.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from lab.cell import cells, config, guests, lock, paths, volumes
from lab.cell.errors import EnvironmentMissing, SpindleError
from lab.cell.paths import ROOT

SCHEMA = "spindle-built/1"
RECEIPT = "built.json"
SEEN = ".seen.json"
"""Beside a receipt: size and times of files whose bytes were compared, so that they are not read at each boot."""

IMAGE_TOOLS = (
    *(f"lab/guest/{name}.py" for name in ("host", "imaging", "lockfile", "packages", "toolchain", "wishes")),
    *(f"envs/{name}" for name in ("guest.lock", "toolchain.lock", "toolchain-packages.txt")),
)
"""What every image is made with, whatever is put into it: compiler, C library, erofs."""

PACKAGED = ("lab/guests/debian_disk.py", "lab/guests/debian.py", "lab/guest/cmdline")
"""What decides the disk of a guest that is made from packages."""

SOURCES = {
    # Beside these there are tests and a bench, which are in no binary.
    "qemu": ("lab/qemu/block", "lab/qemu/patches", "lab/qemu/build.sh", "envs/qemu.lock"),
    # What QEMU links, and so what a result has of the model.
    "model": ("lab/disk/model",),
    # The command line with all its crates, which only decides when it is built again.
    "disk": ("lab/disk",),
    "guest": (
        "lab/guest",
        *(f"envs/{name}" for name in ("guest.lock", "kernel.lock", "toolchain.lock")),
        *(f"envs/{name}" for name in ("guest-packages.txt", "toolchain-packages.txt")),
        "workloads/common",
    ),
    # Tools of software arrays; each kind of array is an input of its own (lab/cell/identity.py).
    "volumes": (
        *(f"lab/volumes/{name}" for name in ("build.py", "modules.txt", "packages.txt")),
        *(f"lab/volumes/{path.name}" for path in sorted((ROOT / "lab" / "volumes").glob("*.sh"))),
        "envs/volumes.lock",
    ),
    # Prepared guests: what is on their disks, not the code that talks to an installer.
    **{
        guests.guest(name).thing: (
            f"lab/guests/{name}.toml",
            *guests.guest(name).data["prepare"].get("seed", ()),
            *([answer] if (answer := guests.guest(name).data["prepare"].get("answer")) else ()),
            "lab/guest/agent",
            "workloads/common",
            *(PACKAGED if made == "packages" else ()),
        )
        for name, made in ((name, guests.guest(name).data["made_from"]) for name in guests.names())
        if name != guests.LEAN
    },
    **{name: (f"workloads/{name}", "workloads/common", "workloads/build.py", *IMAGE_TOOLS) for name in cells.WORKLOADS},
}
"""Folders and files below the root that something is built from."""
IGNORED_FOLDERS = {"tests", "benches", "examples", "catalogue", "filesystems", "__pycache__", "target", "testdata"}
IGNORED_SUFFIXES = {".md", ".smk", ".pyc"}


@dataclass(frozen=True)
class Thing:
    """Something below build/ that a rule of lab/lab.smk makes."""

    name: str
    """Its folder below build/."""
    sources: tuple[str, ...]
    """Entries of SOURCES that are built into it."""
    files: tuple[str, ...]
    """What it consists of: patterns below build/."""
    labels: tuple[str, ...]
    """Its labels. One that is an entry of `sources` while `bytes` is empty is the hash of these sources as they were
    built."""
    bytes: tuple[str, ...] = ()
    """Files whose bytes are its one label; empty where the sources are."""
    needs: tuple[str, ...] = ()
    """Things that are linked or packed into it."""
    tools: tuple[str, ...] = ()
    """Programs of the host whose version decides when it is built again."""


GUEST_BYTES = ("guest/vmlinux", "guest/initramfs.cpio", "guest/root.erofs", "guest/firmware/*")
THINGS = {
    thing.name: thing
    for thing in (
        Thing(
            "disk",
            ("model", "disk"),
            ("disk/release/libspindle_disk.a", "disk/release/spindle-disk"),
            ("model",),
            tools=("rustc",),
        ),
        # The model as a Python library. No result is made from it.
        Thing(
            "bindings",
            ("disk",),
            tuple(f"bindings/site/spindle_disk/{name}" for name in ("_model.abi3.so", "*.py", "*.pyi", "py.typed")),
            (),
            tools=("rustc",),
        ),
        Thing(
            "qemu",
            ("qemu", "model"),
            ("qemu/qemu-system-x86_64",),
            ("qemu", "model"),
            needs=("disk",),
            tools=("gcc", "rustc"),
        ),
        Thing("guest", ("guest",), (*GUEST_BYTES, "guest/manifest.json"), ("guest",), bytes=GUEST_BYTES),
        Thing(
            "volumes",
            ("volumes", "guest"),
            ("volumes/tools.erofs", "volumes/manifest.json"),
            ("volumes",),
            bytes=("volumes/tools.erofs",),
        ),
        *(
            Thing(
                thing,
                (thing,),
                (f"{thing}/system.img", f"{thing}/firmware/*", f"{thing}/manifest.json"),
                (thing,),
                bytes=(f"{thing}/system.img", f"{thing}/firmware/*"),
            )
            for thing in (guests.guest(name).thing for name in guests.names() if name != guests.LEAN)
        ),
        *(
            Thing(f"workloads/{name}", (name,), (f"workloads/{name}.erofs",), (name,), (f"workloads/{name}.erofs",))
            for name in cells.WORKLOADS
        ),
    )
}


def source_files(roots: tuple[str, ...]) -> list[Path]:
    """Files below these roots that decide what is built, in a stable order. A root that does not exist has none."""
    found = []
    for root in roots:
        path = ROOT / root
        if path.is_file():
            found.append(path)
        for folder, folders, files in os.walk(path):
            folders[:] = [name for name in folders if name not in IGNORED_FOLDERS and not name.startswith(".")]
            found += [Path(folder) / name for name in files if not name.startswith(".")]
    return sorted(path for path in found if path.suffix not in IGNORED_SUFFIXES)


_HASHES: dict[Path, tuple[tuple, str]] = {}


def signature(path: Path) -> list[int]:
    """What tells a file that was written again from the one that was there."""
    about = path.stat()
    return [about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino]


def file_sha256(path: Path) -> str:
    """SHA-256 of a file; one that was not written since is not read again."""
    now = tuple(signature(path))
    if _HASHES.get(path, (None,))[0] != now:
        with open(path, "rb") as file:
            _HASHES[path] = now, hashlib.file_digest(file, "sha256").hexdigest()
    return _HASHES[path][1]


def digest(data) -> str:
    """SHA-256 of data in its one JSON form."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def hashes(files: list[Path]) -> dict[str, str]:
    """SHA-256 of each file by its path from the root."""
    return {str(path.relative_to(ROOT)): file_sha256(path) for path in files}


def sources(name: str) -> str:
    """Hash of one entry of SOURCES as it lies here."""
    return digest(hashes(source_files(SOURCES[name])))


def thing_sources(thing: Thing) -> str:
    """Hash of all that a thing is built from, as it lies here."""
    return digest({name: sources(name) for name in thing.sources})


_VERSIONS: dict[str, str] = {}


def version(tool: str) -> str:
    """The first line of what a program says of its version; `missing` where there is none."""
    if tool not in _VERSIONS:
        try:
            said = subprocess.run([tool, "--version"], capture_output=True, text=True, check=False, cwd=ROOT).stdout
        except OSError:
            said = ""
        _VERSIONS[tool] = (said.splitlines() or ["missing"])[0]
    return _VERSIONS[tool]


def tools(thing: Thing) -> dict[str, str]:
    """Versions of the host's programs that build a thing."""
    return {name: version(name) for name in thing.tools}


def stamp(name: str) -> str:
    """Name of the stamp of a thing: with other sources or tools it has another name, so the thing is built again."""
    thing = THINGS[name]
    return f"built-{digest([thing_sources(thing), tools(thing)])[:16]}"


def files_of(thing: Thing, build: Path, patterns: tuple[str, ...]) -> list[Path]:
    """Files of a thing in a build directory. A name without a pattern is among them whether it is there or not."""
    return [
        path for pattern in patterns for path in (sorted(build.glob(pattern)) if "*" in pattern else [build / pattern])
    ]


def file_hashes(thing: Thing, build: Path, patterns: tuple[str, ...]) -> dict[str, str]:
    """SHA-256 of a thing's files by their path below build/."""
    found = files_of(thing, build, patterns)
    for path in found:
        if not path.is_file():
            raise EnvironmentMissing(f"{path}: missing; run `{remedy(thing.name)}`, which builds it")
    return {str(path.relative_to(build)): file_sha256(path) for path in found}


def write_json(path: Path, data: dict) -> None:
    """A JSON file, whole or not at all."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    partial.replace(path)


def write_receipt(name: str, build: Path, made_from: dict[str, str]) -> None:
    """The receipt of a thing that was just built, and its stamp. `made_from` are the hashes of its sources."""
    thing = THINGS[name]
    found = file_hashes(thing, build, thing.files)
    if thing.bytes:
        bytes_of = file_hashes(thing, build, thing.bytes)
        labels = dict.fromkeys(thing.labels, digest(bytes_of))
    else:
        labels = {label: made_from[label] for label in thing.labels}
    folder = build / name
    folder.mkdir(parents=True, exist_ok=True)
    data = {"schema": SCHEMA, "sources": digest(made_from), "tools": tools(thing), "labels": labels, "files": found}
    write_json(folder / RECEIPT, data)
    write_json(folder / SEEN, {file: [found[file], *signature(build / file)] for file in found})
    (folder / stamp(name)).touch()


def forget(name: str, build: Path) -> None:
    """Take back the receipt and the stamps of a thing, so that it is built again."""
    for old in [build / name / RECEIPT, *(build / name).glob("built-*")]:
        old.unlink(missing_ok=True)


def make(name: str, command: list[str], build: Path) -> int:
    """Build a thing by a command and write its receipt; returns the command's exit status."""
    thing = THINGS[name]
    with ExitStack() as held:
        if thing.needs:
            held.enter_context(lock.hold(*thing.needs, what=f"build of {name}", build=build))
        held.enter_context(lock.hold(name, alone=True, what=f"build of {name}", build=build))
        for other in thing.needs:
            check(other, build)
        forget(name, build)
        before = {entry: sources(entry) for entry in thing.sources}
        status = subprocess.run(command, check=False).returncode
        if status:
            return status if status > 0 else 128 - status
        if {entry: sources(entry) for entry in thing.sources} != before:
            raise SpindleError(
                f"{build / name}: its sources were changed while it was built, so nobody can say what it is made of; "
                "give the same command again"
            )
        write_receipt(name, build, before)
    return 0


def remedy(name: str) -> str:
    """The command that builds a thing."""
    if name.startswith("guests/"):
        return f"make guest NAME={name.removeprefix('guests/')}"
    return "make bindings" if name == "bindings" else "make lab"


def receipt(name: str, build: Path) -> dict | None:
    """The receipt of a thing; None if there is none that can be read."""
    try:
        data = json.loads((build / name / RECEIPT).read_text(encoding="utf-8"))
        return data if data["schema"] == SCHEMA and set(data["labels"]) == set(THINGS[name].labels) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def what_differs(name: str, build: Path) -> str | None:
    """Why a thing is not what its sources here give; None if it is. Its files are not looked at."""
    thing = THINGS[name]
    there = receipt(name, build)
    if there is None:
        missing = next((path for path in files_of(thing, build, thing.files) if not path.is_file()), None)
        if missing:
            return f"{missing}: missing; run `{remedy(name)}`, which builds it"
        return (
            f"{build / name / RECEIPT}: missing, so {name} was not built to its end; `{remedy(name)}` builds it again"
        )
    if there["sources"] != thing_sources(thing):
        places = ", ".join(SOURCES[thing.sources[0]])
        return (
            f"{build / name}: it was built from other sources than lie here now ({places}); "
            f"`{remedy(name)}` builds it again"
        )
    return None


def check(name: str, build: Path, anew: bool = False) -> dict[str, str]:
    """Refuse a thing that is not there, or that is not what its sources here give; returns its labels. `anew` compares
    the bytes of its files also where nobody seems to have written them since they were compared last."""
    problem = what_differs(name, build)
    there = receipt(name, build)
    if problem or there is None:
        raise EnvironmentMissing(problem)
    seen_path = build / name / SEEN
    try:
        seen = json.loads(seen_path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        seen = {}
    seen = {} if anew else seen
    found = files_of(THINGS[name], build, THINGS[name].files)
    names = {str(path.relative_to(build)) for path in found if path.is_file()}
    if missing := sorted(there["files"].keys() - names):
        raise EnvironmentMissing(f"{build / missing[0]}: missing; run `{remedy(name)}`, which builds it")
    changed = False
    for file in sorted(names):
        wanted = there["files"].get(file)
        if wanted is not None and seen.get(file) == [wanted, *signature(build / file)]:
            continue
        if file_sha256(build / file) != wanted:
            raise EnvironmentMissing(
                f"{build / file}: it is not the file that was built here; `{remedy(name)}` builds it again"
            )
        seen[file], changed = [wanted, *signature(build / file)], True
    if changed:
        write_json(seen_path, seen)
    return there["labels"]


def drop_damaged(build: Path) -> list[str]:
    """Take back the receipts of things whose files are not those that were built; returns why. Those of other sources
    have other stamps and are built again anyway."""
    found = []
    for name in THINGS:
        if receipt(name, build) is None or what_differs(name, build):
            continue
        try:
            check(name, build)
        except EnvironmentMissing as error:
            with lock.hold(name, alone=True, what=f"removal of the receipt of {name}", build=build):
                forget(name, build)
            found.append(str(error))
    return found


def used_by(run: cells.Run) -> list[str]:
    """Things that a run boots and mounts, and the guest that made the file system it starts from."""
    guest_things = [run.guest.thing]
    if not all(cell.raw for cell in run.cells):
        guest_things.append(guests.guest(run.guest.makes_images).thing)
    arrays = ["volumes"] if volumes.software(run.array) else []
    return ["disk", "qemu", *dict.fromkeys(guest_things), *arrays, *(f"workloads/{name}" for name in run.workloads)]


def check_all(run: cells.Run, build: Path) -> dict[str, str]:
    """Refuse to start a run with things that are not there or are not what they should be; returns their labels."""
    return {label: value for name in used_by(run) for label, value in check(name, build).items()}


def stands(name: str, build: Path) -> bool:
    """Whether a thing need not be built again."""
    return what_differs(name, build) is None and (build / name / stamp(name)).is_file()


def known_labels(build: Path) -> dict[str, str]:
    """Labels of all things that lie in a build directory and need not be built again: what planning knows."""
    return {
        label: value
        for name in THINGS
        if stands(name, build)
        for label, value in (receipt(name, build) or {"labels": {}})["labels"].items()
    }


def labels(run: cells.Run, build: Path) -> dict[str, str]:
    """Labels of what a run uses, from the receipts; raises EnvironmentMissing where there is none that holds."""
    found = {}
    for name in used_by(run):
        there = receipt(name, build)
        problem = what_differs(name, build)
        if problem or there is None:
            raise EnvironmentMissing(problem)
        found |= there["labels"]
    return found


def main(argv: list[str] | None = None) -> int:
    """Command line."""
    words = sys.argv[1:] if argv is None else argv
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        if len(words) < 3 or words[1] != "--":
            raise SpindleError("usage: python -m lab.cell.built THING -- COMMAND...")
        if words[0] not in THINGS:
            raise SpindleError(f"nothing called {words[0]!r} is built; {config.nearest(words[0], THINGS)}")
        return make(words[0], words[2:], paths.build())
    except SpindleError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
