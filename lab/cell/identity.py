# SPDX-License-Identifier: MIT
"""What a result depends on: what was built and booted, what was described, and what was asked for.

Labels (lab/cell/built.py) say what was built: the bytes of the guest, of workloads' and tools' images, the sources that
QEMU and the model were built from. Of the catalogue the values count that the model reads, in every entry that a
topology leads to, with a row's own values in place of an entry's; comments, marks and sources move nothing. Then the
topology, the job up to the end of the cell, QEMU's command, the commands that prepare a disk on the host, the
assumptions that were read for all that, and the code that reads what the run reports.

Nothing here writes a file. Planning compares (lab/cell/planning.py), a run puts its cells' identity into their results.
"""

import hashlib
import json
import tomllib
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from lab.cell import built, catalogue, cells, config, filesystems, guests, job, papers, paths, settings, volumes
from lab.cell.built import digest
from lab.cell.errors import EnvironmentMissing
from lab.cell.paths import ROOT

READER = tuple(f"lab/cell/{name}.py" for name in ("judge", "evidence", "agent", "trace", "members"))
"""The code that reads what a run reports; what it asks of the run stands in the job and the command."""

IN_TOPOLOGY = {("arrays", "member_buses")}
"""Values that only the lab reads, and that stand in the topology as what follows from them."""


def kernel_append() -> str:
    """The guest kernel's command line: lab/guest/cmdline, its comment lines left out."""
    path = ROOT / "lab" / "guest" / "cmdline"
    lines = config.read_text(path, "the kernel's command line").splitlines()
    return " ".join(line.strip() for line in lines if line.strip() and not line.startswith("#"))


def reader() -> str:
    """Hash of the code that judges."""
    return digest(built.hashes(built.source_files(READER)))


@dataclass(frozen=True)
class Image:
    """What the disk of a cell starts as: an empty file system, or one with a workload's data on it."""

    file_system: str
    drive: str
    workload: str | None = None
    scale: str = "1"
    array: str = volumes.NONE
    set: tuple[str, ...] = ()
    """Overrides of the cells that start from it."""
    paper: str = field(default_factory=lambda: papers.ids()[0])
    """Whose assumptions hold while it is made."""
    guest: str = guests.LEAN
    """The guest that makes it."""

    @property
    def name(self) -> str:
        """Drive, array if there is one, file system with the cells' overrides, and what is on it."""
        array = [] if self.array == volumes.NONE else [self.array]
        filled = [] if self.workload is None else [self.workload + ("" if self.scale == "1" else f"-x{self.scale}")]
        guest = [] if self.guest == guests.LEAN else [self.guest]
        return ".".join([*guest, self.drive, *array, "+".join([self.file_system, *self.set]), *filled])

    @property
    def empty(self) -> "Image":
        """The empty file system behind it."""
        return replace(self, workload=None, scale="1")


def image_of(one: cells.Cell) -> Image:
    """What the disk of a cell starts as."""
    by = guests.guest(one.guest).makes_images
    if cells.preparation(one.workload) is None:
        return Image(one.file_system, one.drive, array=one.array, set=one.set, paper=one.paper, guest=by)
    fill_as = filesystems.file_system(one.file_system).fill_as
    return Image(fill_as, one.drive, one.workload, one.scale, one.array, one.set, one.paper, by)


def start_of(run: cells.Run) -> Image | None:
    """What the disk of a run starts as; None for an empty disk."""
    one = run.cells[0]
    if one.raw:
        return None
    if run.fills:
        by = guests.guest(one.guest).makes_images
        return Image(one.file_system, one.drive, array=one.array, set=one.set, paper=one.paper, guest=by)
    return image_of(one)


def image_controller(image: Image) -> str:
    """The controller behind which an image is made: the first one of the drive's kind that queues commands, and for a
    hardware array one that speaks SCSI."""
    kind = "scsi" if volumes.hardware(image.array) else catalogue.drive_value(image.drive, "bus_kind")
    by = guests.guest(image.guest)
    if by.settings_by == guests.COMMANDS:
        known = [catalogue.controller(name) for name in by.data["settings"]["disk"]]
        return max((one for one in known if one.bus_kind == kind), key=lambda one: one.max_tags).name
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
        set=image.set,
        guest=image.guest,
    )
    run_id = f"{job.IMAGE_LABEL}.{image.name}"
    one = cells.Run(run_id, cell.paper, controller, image.drive, cell.tags, (cell,), fills=True)
    if image.workload:
        script = job.fill_script(one, cell)
    else:
        script = (f"cell {job.IMAGE_LABEL} 1", *job.make_lines(one, image.file_system), "end")
    return replace(one, script=script)


def image_hash(image: Image, labels: dict[str, str]) -> str:
    """Hash of what decides an image. `labels` are those of what makes it (lab/cell/built.py)."""
    one = image_run(image)
    with settings.noted() as read:
        parts = {
            "labels": {name: labels[name] for name in label_names(one)},
            "texts": run_texts(one),
            "catalogue": catalogue_digests(one),
        }
        if image.workload:
            parts["empty"] = image_hash(image.empty, labels)
        else:
            parts["host"] = host_texts(one)
    return digest(parts | {"read": read})


def image_paths(build: Path, image: Image, labels: dict[str, str] | None = None) -> list[Path]:
    """Where an image lies in a build directory: one file, or one for each disk of a software array. Without `labels`
    they are those of what is built there."""
    known = built.labels(image_run(image), build) if labels is None else labels
    return image_files(build, image, image_hash(image, known))


def image_files(build: Path, image: Image, hashed: str) -> list[Path]:
    """The same of an image whose hash is known."""
    found = volumes.software(image.array)
    parts = [f".disk{number}" for number in range(found.count)] if found else [""]
    return [build / "filesystems" / f"{image.name}.{hashed[:16]}{part}.img" for part in parts]


def label_names(run: cells.Run) -> list[str]:
    """Labels that a run's identity has."""
    return ["qemu", "model", run.guest.thing, *(["volumes"] if volumes.software(run.array) else []), *run.workloads]


@cache
def parsed(text: str) -> dict:
    """A topology; many runs have the same, and none may change it."""
    return tomllib.loads(text)


def topology_names(run: cells.Run) -> dict[str, list[str]]:
    """Catalogue entries that a run's topology leads to, by the part of the identity that they belong to."""
    topology = parsed(job.topology_text(run, "CATALOGUE"))
    found: dict[str, list[str]] = {"drive": [], "controller": [], "array": []}
    found["drive"] += [f"drives/{unit['drive']}" for unit in topology["unit"] if "drive" in unit]
    # What a card shows singly are drives to the guest: the card is the controller.
    part = "array" if run.hardware else "controller"
    found[part] += [f"buses/{bus['entry']}" for bus in topology.get("bus", [])]
    for array in topology.get("array", []):
        entry = f"arrays/{array['controller']}"
        values = entry_values(run, entry)
        found[part] += [entry, f"buses/{values['host_bus']}", f"buses/{values['member_bus']}"]
    # The lab itself reads how the controller is attached.
    found["controller"].append(f"controllers/{run.controller}")
    return {part: sorted(set(names)) for part, names in found.items()}


def entry_values(run: cells.Run, entry: str) -> dict:
    """Values of a catalogue entry as a run has them."""
    kind, _, name = entry.partition("/")
    own = {"drives": run.settings.drive, "arrays": run.settings.array}.get(kind, {})
    values = catalogue.values(kind, name) | own
    return {key: value for key, value in values.items() if (kind, key) not in IN_TOPOLOGY}


def catalogue_values(run: cells.Run) -> dict[str, dict]:
    """Values of every catalogue entry that a run's topology leads to, and of its controller."""
    return {entry: entry_values(run, entry) for names in topology_names(run).values() for entry in names}


def catalogue_digests(run: cells.Run) -> dict[str, str]:
    """Hash of each of them."""
    return {entry: digest(values) for entry, values in sorted(catalogue_values(run).items())}


def host_texts(run: cells.Run) -> dict:
    """The commands that prepare a run's empty disks on the host, with their values, and the sources that they run."""
    array = volumes.software(run.array)
    if array is None or not array.volume.host_make:
        return {}
    stripe_kib = run.settings.value("array_stripe_kib")
    return {
        "commands": volumes.host_commands(array, stripe_kib, "IMAGES"),
        "sources": built.hashes(volumes.host_sources(array)),
    }


def command_texts(run: cells.Run) -> dict:
    """QEMU's command and the topology of a run, with placeholders for paths. The time limit is left out: it grows with
    the number of cells and changes no result."""
    command = job.qemu_command(run, "BUILD", "WORK", kernel_append())
    limit = f",time-limit-s={job.time_limit_s(run)}"
    command = [item.replace(limit, "") for item in command]
    return {"command": command, "topology": job.topology_text(run, "CATALOGUE")}


def run_texts(run: cells.Run) -> dict:
    """All that a run is asked to do."""
    return {**command_texts(run), "job": job.job_text(run)}


@dataclass(frozen=True)
class Asked:
    """What leads to one cell of a run, but for what was built."""

    digest: str
    """Hash over command, topology, job up to the end of the cell, and what prepares its disk on the host."""
    assumptions: dict
    """Every assumption that was read for it, with its value."""


def asked(run: cells.Run) -> dict[str, Asked]:
    """What each cell of a run is asked to do. What comes after a cell is no part of it, so that a short profile's run
    begins a long one."""
    with settings.noted() as common:
        texts = command_texts(run)
        if start_of(run) is None:
            texts["host"] = host_texts(run)
        before, _, _ = job.job_parts(replace(run, cells=run.cells[:1]))
    text = hashlib.sha256("\n".join(before).encode())
    found = {}
    for one in run.cells:
        # Of a script, as images and attempts have, all lines stand before the cells.
        with settings.noted() as own:
            lines = [] if run.script else job.marked_lines(run, one)
            # What the judge will ask for.
            _ = one.most_flushes, one.depth if one.raw else None
        for line in lines:
            text.update(f"\n{line}".encode())
        common = common | own
        found[one.id] = Asked(digest({**texts, "job": text.hexdigest(), "read": common}), common)
    return found


def reads(run: cells.Run) -> dict[str, dict]:
    """The `read` of the result of each cell of a run: the assumptions that were read for it, with their values, and
    the hash of each catalogue entry's values."""
    start = start_of(run)
    image = {} if start is None else image_read(start)
    images = {} if start is None else catalogue_digests(image_run(start))
    digests = dict(sorted((images | catalogue_digests(run)).items()))
    return {
        cell_id: {"assumptions": dict(sorted((image | one.assumptions).items())), "catalogue": digests}
        for cell_id, one in asked(run).items()
    }


def read_of(run: cells.Run, one: cells.Cell) -> dict:
    """The `read` of one cell's result."""
    return reads(run)[one.id]


def image_read(image: Image) -> dict:
    """Assumptions that were read for an image."""
    names = [name for thing in built.THINGS.values() for name in thing.labels]
    with settings.noted() as read:
        image_hash(image, dict.fromkeys(names, ""))
    return read


def of_run(run: cells.Run, labels: dict[str, str], images: dict[Image, str] | None = None) -> dict[str, dict[str, str]]:
    """The `identity` of each cell of a run. `labels` are those of what it boots (lab/cell/built.py); `images` keeps
    hashes of images for further runs with the same labels."""
    parts = topology_names(run)
    values = catalogue_digests(run)
    hashes = {part: digest({entry: values[entry] for entry in names}) for part, names in parts.items()}
    array = volumes.software(run.array)
    if array:
        # How it is made and started stands in the job; `copies` is the judge's.
        hashes["array"] = digest({"tools": labels["volumes"], "copies": array.volume.copies})
    start = start_of(run)
    known = {} if images is None else images
    if start is not None and start not in known:
        known[start] = image_hash(start, labels)
    shared = {
        "qemu": labels["qemu"],
        "model": labels["model"],
        "drive": hashes["drive"],
        "controller": hashes["controller"],
        "guest": labels[run.guest.thing],
        # The boot has the images of all its workloads.
        "workload": digest({name: labels[name] for name in run.workloads}),
        **({} if start is None else {"file_system": known[start]}),
        **({} if run.array == volumes.NONE else {"array": hashes["array"]}),
        "reader": reader(),
    }
    return {cell_id: {**shared, "cell": one.digest} for cell_id, one in asked(run).items()}


def of_cell(run: cells.Run, one: cells.Cell, labels: dict[str, str]) -> dict[str, str]:
    """The `identity` of a cell's result."""
    return of_run(run, labels)[one.id]


def moved(here: dict[str, str], result: dict) -> list[str]:
    """Inputs of a result that are not those which are here; none for a result that still holds."""
    there = result["identity"]
    return sorted(name for name in here.keys() | there.keys() if there.get(name) != here.get(name))


def other_inputs(run: cells.Run, one: cells.Cell, result: dict) -> list[str]:
    """Inputs of a cell's result that are not those which are described and built here. Raises EnvironmentMissing where
    the lab is not built, as nobody can say then."""
    return moved(of_cell(run, one, built.labels(run, paths.build())), result)


def manifest(build: Path, folder: str) -> dict:
    """Manifest of an image that was built from locked packages."""
    path = build / folder / "manifest.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise EnvironmentMissing(f"{path}: the {folder} image is not built; run `{built.remedy(folder)}`") from None


def guest_built(build: Path, array_name: str = volumes.NONE, thing: str = "guest") -> dict:
    """lock and moved packages of a guest's image in a build directory; the tools of a software array may have moved,
    too. This is for people: what was booted counts by its bytes."""
    image = manifest(build, thing)
    tools = manifest(build, "volumes")["moved"] if volumes.software(array_name) else []
    return {"guest": image["lock"], "moved": [*image["moved"], *tools]}
