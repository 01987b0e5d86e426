# SPDX-License-Identifier: MIT
"""What a result depends on: hashes of sources, locks and catalogue entries, never of built files.

Each input has a small file build/identity/<input>.json, rewritten only when its content changes, so that
Snakemake re-runs what a change touches and nothing else. The host's compilers are not part of it: model and
driver compute in integers, and `make determinism` checks that a rebuild gives the same bytes.
"""

import hashlib
import json
import os
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from lab.cell import catalogue, cells, config, filesystems, job, papers, volumes
from lab.cell.errors import EnvironmentMissing
from lab.cell.paths import ROOT, build

SOURCES = {
    "qemu": ("lab/qemu", "envs/qemu.lock"),
    "model": ("lab/disk",),
    "guest": ("lab/guest", "envs/guest.lock", "envs/kernel.lock", "envs/guest-packages.txt", "workloads/common"),
    **{name: (f"workloads/{name}", "workloads/common", "workloads/build.py") for name in cells.WORKLOADS},
    # Tools of software arrays; each kind of array is an input of its own (volume()).
    "volumes": (
        *(f"lab/volumes/{name}" for name in ("build.py", "modules.txt", "packages.txt")),
        *(f"lab/volumes/{path.name}" for path in sorted((ROOT / "lab" / "volumes").glob("*.sh"))),
        "envs/volumes.lock",
    ),
    # The code that reads what a run reports; what it asks of the run stands in the job and the command.
    "reader": tuple(f"lab/cell/{name}.py" for name in ("run", "judge", "agent", "trace", "members", "lost_members")),
}
IGNORED_FOLDERS = {"tests", "benches", "examples", "catalogue", "filesystems", "__pycache__", "target", "testdata"}
IGNORED_SUFFIXES = {".md", ".smk", ".pyc"}


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


@cache
def file_sha256(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def hashes(paths: list[Path]) -> dict[str, str]:
    """SHA-256 of each file by its path from the root."""
    return {str(path.relative_to(ROOT)): file_sha256(path) for path in paths}


def digest(data) -> str:
    """SHA-256 of data in its one JSON form."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def kernel_append() -> str:
    """The guest kernel's command line: lab/guest/cmdline, its comment lines left out."""
    path = ROOT / "lab" / "guest" / "cmdline"
    lines = config.read_text(path, "the kernel's command line").splitlines()
    return " ".join(line.strip() for line in lines if line.strip() and not line.startswith("#"))


def sources(name: str) -> str:
    """Hash of one entry of SOURCES."""
    return digest(hashes(source_files(SOURCES[name])))


def drive(name: str) -> str:
    """Hash of a drive's catalogue entry."""
    return digest(hashes([catalogue.entry_path("drives", name)]))


def controller(name: str) -> str:
    """Hash of the catalogue entries of a controller and its bus."""
    bus = catalogue.controller(name).bus
    return digest(hashes([catalogue.entry_path("controllers", name), catalogue.entry_path("buses", bus)]))


def file_system(name: str) -> str:
    """Hash of a file system's description."""
    return digest(hashes([filesystems.entry_path(name)]))


def array(name: str) -> str:
    """Hash of what describes an array, and of the tools that a software array needs."""
    tools = [sources("volumes")] if volumes.software(name) else []
    return digest([hashes(volumes.sources(name)), *tools])


@dataclass(frozen=True)
class Image:
    """What the disk of a cell starts as: an empty file system, or one with a workload's data on it."""

    file_system: str
    drive: str
    workload: str | None = None
    scale: str = "1"
    array: str = volumes.NONE
    paper: str = field(default_factory=lambda: papers.ids()[0])
    """Whose assumptions hold while it is made."""

    @property
    def name(self) -> str:
        """Drive, array if there is one, file system, and what is on it."""
        array = [] if self.array == volumes.NONE else [self.array]
        filled = [] if self.workload is None else [self.workload + ("" if self.scale == "1" else f"-x{self.scale}")]
        return ".".join([self.drive, *array, self.file_system, *filled])

    @property
    def empty(self) -> "Image":
        """The empty file system behind it."""
        return Image(self.file_system, self.drive, array=self.array, paper=self.paper)


def image_of(one: cells.Cell) -> Image:
    """What the disk of a cell starts as."""
    if cells.preparation(one.workload) is None:
        return Image(one.file_system, one.drive, array=one.array, paper=one.paper)
    under = filesystems.file_system(one.file_system).fill_as
    return Image(under, one.drive, one.workload, one.scale, one.array, one.paper)


def start_of(run: cells.Run) -> Image | None:
    """What the disk of a run starts as; None for an empty disk."""
    one = run.cells[0]
    if one.raw:
        return None
    return Image(one.file_system, one.drive, array=one.array, paper=one.paper) if run.fills else image_of(one)


def image_controller(image: Image) -> str:
    """The controller behind which an image is made: the first one of the drive's kind that queues commands, and for a
    hardware array one that speaks SCSI."""
    kind = "scsi" if volumes.hardware(image.array) else catalogue.drive_value(image.drive, "bus_kind")
    return catalogue.queueing_controller(kind).name


def image_run(image: Image) -> cells.Run:
    """The run that makes an image."""
    controller = image_controller(image)
    cell = cells.Cell(
        paper=image.paper,
        controller=controller,
        drive=image.drive,
        tags=str(min(32, catalogue.controller(controller).max_tags)),
        scheduler="both",
        file_system=image.file_system if image.workload else cells.RAW,
        workload=image.workload or job.IMAGE_LABEL,
        words=(),
        scale=image.scale,
        seed=1,
        tables=(),
        array=image.array,
    )
    run_id = f"{job.IMAGE_LABEL}.{image.name}"
    one = cells.Run(run_id, cell.paper, controller, image.drive, cell.tags, (cell,), fills=True)
    if image.workload:
        script = job.fill_script(one, cell)
    else:
        about = filesystems.file_system(image.file_system)
        making = [f"exec {line.format(device=job.device(one))}" for line in about.make]
        script = (f"cell {job.IMAGE_LABEL} 1", *making, "end")
    return replace(one, script=script)


def image_hash(image: Image) -> str:
    """Hash of what decides an image."""
    one = image_run(image)
    parts = [sources("qemu"), sources("model"), sources("guest"), drive(image.drive), controller(one.controller)]
    if image.array != volumes.NONE:
        parts.append(array(image.array))
    if image.workload:
        parts += [sources(image.workload), image_hash(image.empty)]
    return digest([*parts, run_texts(one)])


def image_paths(built: Path, image: Image) -> list[Path]:
    """Where an image lies in a build directory: one file, or one for each disk of a software array."""
    found = volumes.software(image.array)
    parts = [f".disk{number}" for number in range(found.count)] if found else [""]
    stem = f"{image.name}.{image_hash(image)[:16]}"
    return [built / "filesystems" / f"{stem}{part}.img" for part in parts]


def run_texts(run: cells.Run, until: cells.Cell | None = None) -> dict:
    """What a run is asked to do, with placeholders for paths; with `until`, up to the end of that cell.

    The time limit counts with the whole run only: it grows with the number of cells and changes no result.
    """
    command = job.qemu_command(run, "BUILD", "WORK", kernel_append())
    if until is not None:
        command = [item.replace(f",time-limit-s={job.time_limit_s(run)}", "") for item in command]
    return {"command": command, "topology": job.topology_text(run, "CATALOGUE"), "job": job.job_text(run, until)}


def cell(run: cells.Run, one: cells.Cell) -> str:
    """Hash of what leads to one cell of a run."""
    return digest({"texts": run_texts(run, one), "reader": sources("reader")})


def manifest(built: Path, folder: str) -> dict:
    """Manifest of an image that was built from locked packages."""
    path = built / folder / "manifest.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise EnvironmentMissing(f"{path}: the {folder} image is not built; run `make report`") from None


def guest_built(built: Path, array_name: str = volumes.NONE) -> dict:
    """lock and moved packages of the guest image in a build directory; the tools of a software array may have moved,
    too."""
    image = manifest(built, "guest")
    tools = manifest(built, "volumes")["moved"] if volumes.software(array_name) else []
    return {"guest": image["lock"], "moved": [*image["moved"], *tools]}


def of_cell(run: cells.Run, one: cells.Cell, moved: list[str]) -> dict[str, str]:
    """The `identity` of a cell's result; `moved` as the guest's manifest has it."""
    return {
        "qemu": sources("qemu"),
        "model": sources("model"),
        "drive": drive(run.drive),
        "controller": controller(run.controller),
        "guest": digest({"sources": sources("guest"), "moved": moved}),
        "workload": sources(one.workload),
        **({} if one.raw else {"file_system": image_hash(image_of(one))}),
        **({} if one.array == volumes.NONE else {"array": array(one.array)}),
        "cell": cell(run, one),
    }


def other_inputs(run: cells.Run, one: cells.Cell, result: dict) -> list[str]:
    """Inputs of a result that are not those which lie here; none for a result that still holds."""
    here = of_cell(run, one, result["lock"]["moved"])
    return sorted(name for name in here if result["identity"].get(name) != here[name])


def files(profile: str) -> dict[str, object]:
    """Name and content of every identity file that a profile needs."""
    found: dict[str, object] = {}
    for name in SOURCES:
        found[name] = hashes(source_files(SOURCES[name]))
    runs = cells.runs(profile)
    for name in sorted({run.drive for run in runs.values()} | set(catalogue.names("drives"))):
        found[f"drive-{name}"] = hashes([catalogue.entry_path("drives", name)])
    for name in sorted({run.controller for run in runs.values()}):
        found[f"controller-{name}"] = {"sha256": controller(name)}
    for name in sorted({run.array for run in runs.values()} - {volumes.NONE}):
        found[f"array-{name}"] = {"sha256": array(name)}
    for run in runs.values():
        found[f"run-{profile}-{run.id}"] = run_texts(run)
    return found


BUILT_FROM = {
    "disk": ("model",),
    "qemu": ("qemu", "model"),
    "guest": ("guest",),
    "volumes": ("volumes", "guest"),
    **{f"workloads/{name}": (name,) for name in cells.WORKLOADS},
}
"""Folder or image below build/ -> what is compiled into it."""


def stamp(folder: str) -> str:
    """Name of the stamp of a built thing: with other sources it has another name, so it is built again."""
    return f"built-{digest([sources(name) for name in BUILT_FROM[folder]])[:16]}"


def path(name: str) -> Path:
    """Identity file of one input."""
    return build() / "identity" / f"{name}.json"


def write(profile: str) -> None:
    """Bring the identity files up to date, touching only those whose content changes."""
    (build() / "identity").mkdir(parents=True, exist_ok=True)
    for name, content in files(profile).items():
        target = path(name)
        text = json.dumps(content, indent=1, sort_keys=True) + "\n"
        if target.is_file() and target.read_text(encoding="utf-8") == text:
            continue
        partial = target.with_name(f".{target.name}.{os.getpid()}")
        partial.write_text(text, encoding="utf-8")
        partial.replace(target)
