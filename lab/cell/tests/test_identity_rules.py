# SPDX-License-Identifier: MIT
"""What an image and a run are made from, part by part, of runs that are written here. What moves which cells of the
profiles, test_identity.py has."""

import dataclasses
from dataclasses import replace
from pathlib import Path

import pytest

from lab.cell import built, catalogue, cells, guests, identity, papers, volumes
from lab.cell.errors import EnvironmentMissing

PAPER = papers.ids()[0]
LABELS = {
    label: f"{number:064x}"
    for number, label in enumerate(sorted({label for thing in built.THINGS.values() for label in thing.labels}))
}
SCSI, ATA = "ultrastar-36zx", "deskstar-75gxp"
ON_LDM = "ldm-striped-4"


def cell(op="read", workload="rawio", file_system="raw", **more):
    """A cell behind a SCSI disk."""
    values = {
        "paper": PAPER, "controller": "scsi-virtio", "drive": SCSI, "tags": "32", "scheduler": "both",
        "file_system": file_system, "workload": workload, "scale": "1", "seed": 1, "tables": (),
        "words": (f"op={op}", "pattern=random") if file_system == "raw" else (),
    }  # fmt: skip
    return cells.Cell(**(values | more))


def run_of(*some):
    one = some[0]
    return cells.Run(one.run, one.paper, one.controller, one.drive, one.tags, some)


RAW = run_of(cell(), cell("write"), cell(workload="fio"))
FILES = run_of(cell(file_system="ext2", workload="postmark"))
NEWS = run_of(cell(file_system="ffs", workload="netnews", scale="0.5"))
STRIPED = run_of(cell(array=ON_LDM))
BEHIND = run_of(cell(controller="scsi-virtio", drive=ATA, array="raid5-ide-8"))


# ---- images ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("image", "name"),
    [
        (identity.Image("ext2", SCSI), f"{SCSI}.ext2"),
        (identity.Image("ext2", SCSI, "netnews"), f"{SCSI}.ext2.netnews"),
        (identity.Image("ext2", SCSI, "netnews", "0.5"), f"{SCSI}.ext2.netnews-x0.5"),
        (identity.Image("ext2", SCSI, array="md-raid0-2"), f"{SCSI}.md-raid0-2.ext2"),
        (identity.Image("ext2", SCSI, set=("a=1", "b=2")), f"{SCSI}.ext2+a=1+b=2"),
        (identity.Image("ffs", SCSI, "netnews", guest="freebsd"), f"freebsd.{SCSI}.ffs.netnews"),
    ],
)
def test_image_has_a_name_of_its_parts(image, name):
    assert image.name == name and image.paper == PAPER
    assert image.empty == replace(image, workload=None, scale="1")
    with pytest.raises(dataclasses.FrozenInstanceError):
        image.drive = "another"


def test_image_of_cells():
    files, news = FILES.cells[0], NEWS.cells[0]
    assert identity.image_of(files) == identity.Image("ext2", SCSI)
    assert identity.image_of(replace(files, guest="freebsd")).guest == "freebsd"
    assert identity.image_of(replace(files, guest="debian")).guest == guests.LEAN, "a Linux starts from the lean one's"
    # It is filled under a file system of the same format that is faster.
    assert identity.image_of(news) == identity.Image("softupdates", SCSI, "netnews", "0.5")
    own = replace(news, set=("flushes=1",), array="md-raid0-2")
    filled = identity.Image("softupdates", SCSI, "netnews", "0.5", "md-raid0-2", ("flushes=1",))
    assert identity.image_of(own) == filled


def test_start_of_runs():
    assert identity.start_of(RAW) is None
    assert identity.start_of(FILES) == identity.Image("ext2", SCSI)
    filled = identity.start_of(NEWS)
    assert filled.workload == "netnews"
    making = identity.image_run(filled)
    assert identity.start_of(making) == filled.empty, "what is put on it is put on the empty one"
    assert identity.start_of(identity.image_run(filled.empty)) is None


@pytest.mark.parametrize(
    ("image", "kind", "tags"),
    [
        (identity.Image("ext2", SCSI), "scsi", "32"),
        (identity.Image("ext2", ATA), "ata", "32"),
        (identity.Image("ext2", ATA, array="raid5-ide-8"), "scsi", "32"),
        (identity.Image("ffs", ATA, guest="freebsd"), "ata", "32"),
        (identity.Image("ffs", SCSI, guest="freebsd"), "scsi", "32"),
    ],
)
def test_image_is_made_behind_a_controller_that_queues(image, kind, tags):
    controller = catalogue.controller(identity.image_controller(image))
    assert controller.bus_kind == kind and controller.max_tags >= 32
    run = identity.image_run(image)
    assert (run.controller, run.tags, run.fills) == (controller.name, tags, True)


def test_image_run_makes_an_empty_file_system_or_fills_it():
    empty, filled = (identity.image_run(identity.Image("ext2", SCSI, workload)) for workload in (None, "netnews"))
    one, two = empty.cells[0], filled.cells[0]
    assert (one.file_system, one.workload, one.seed) == ("raw", "image", 1)
    assert (two.file_system, two.workload, two.seed) == ("ext2", "netnews", 1)
    assert empty.script[0] == "cell image 1" and empty.script[-1] == "end"
    assert any("mke2fs" in line or "mkfs" in line for line in empty.script)
    assert any("spool only" in line for line in filled.script)


def test_image_hash_follows_from_the_empty_one(monkeypatch):
    """What decides the empty file system decides what was put on it."""
    filled = identity.Image("ext2", SCSI, "netnews")
    real = identity.image_hash
    before = real(filled, LABELS)
    assert real(filled.empty, LABELS) != before
    monkeypatch.setattr(identity, "image_hash", lambda image, labels: "another")
    assert real(filled, LABELS) != before


@pytest.mark.parametrize("image", [identity.Image("ext2", SCSI), identity.Image("ext2", SCSI, "netnews")])
def test_image_hash_has_the_labels_of_what_makes_it(image):
    before = identity.image_hash(image, LABELS)
    moved = {label for label in LABELS if identity.image_hash(image, LABELS | {label: "f" * 64}) != before}
    assert moved == {"qemu", "model", "guest"} | ({"netnews"} if image.workload else set())


def test_image_files_are_one_for_each_disk_of_a_software_array():
    build, hashed = Path("/b"), "0123456789abcdef" * 4
    name = f"{SCSI}.ext2.0123456789abcdef"
    assert identity.image_files(build, identity.Image("ext2", SCSI), hashed) == [build / f"filesystems/{name}.img"]
    several = identity.image_files(build, identity.Image("ext2", SCSI, array="md-raid0-2"), hashed)
    assert [path.name for path in several] == [
        f"{SCSI}.md-raid0-2.ext2.0123456789abcdef.disk{number}.img" for number in (0, 1)
    ]
    behind = identity.image_files(build, identity.Image("ext2", SCSI, array="raid1-2"), hashed)
    assert [path.suffixes[-1] for path in behind] == [".img"] and "disk" not in behind[0].name.split(".")[-2]


def test_image_paths_are_those_of_what_is_built(monkeypatch):
    image = identity.Image("ext2", SCSI)
    monkeypatch.setattr(built, "labels", lambda run, build: LABELS)
    assert identity.image_paths(Path("/b"), image) == identity.image_paths(Path("/b"), image, LABELS)
    other = identity.image_paths(Path("/b"), image, LABELS | {"qemu": "f" * 64})
    assert identity.image_paths(Path("/b"), image) != other


# ---- parts of a run's identity -----------------------------------------------


def test_kernels_command_line_has_no_comments(tmp_path, monkeypatch):
    (tmp_path / "lab/guest").mkdir(parents=True)
    (tmp_path / "lab/guest/cmdline").write_text("# a comment\n a=1 \n\nb=2 c\n#d\n")
    monkeypatch.setattr(identity, "ROOT", tmp_path)
    assert identity.kernel_append() == "a=1 b=2 c"


def test_labels_of_runs():
    assert identity.label_names(RAW) == ["qemu", "model", "guest", "fio", "rawio"]
    assert identity.label_names(STRIPED) == ["qemu", "model", "guest", "volumes", "rawio"]
    assert identity.label_names(BEHIND) == ["qemu", "model", "guest", "rawio"]
    freebsd = run_of(replace(FILES.cells[0], guest="freebsd"))
    assert identity.label_names(freebsd)[2] == "guests/freebsd"


def test_topology_of_runs():
    bus = f"buses/{catalogue.controller('scsi-virtio').bus}"
    assert identity.topology_names(RAW) == {
        "drive": [f"drives/{SCSI}"], "controller": [bus, "controllers/scsi-virtio"], "array": [],
    }  # fmt: skip
    names = identity.topology_names(BEHIND)
    assert names["drive"] == [f"drives/{ATA}"] and names["controller"] == ["controllers/scsi-virtio"]
    values = catalogue.values("arrays", "raid5-ide-8")
    assert set(names["array"]) == {
        "arrays/raid5-ide-8", f"buses/{values['host_bus']}", f"buses/{values['member_bus']}"
    }  # fmt: skip
    card = identity.topology_names(run_of(cell(controller="ide-card-3w5400", drive=ATA)))
    assert card["array"] == [] and "controllers/ide-card-3w5400" in card["controller"]
    assert any(name.startswith("arrays/") for name in card["controller"]), "what a card shows singly are drives"


def test_topology_that_many_runs_have_is_read_once():
    text = 'a = "b"'
    assert identity.parsed(text) is identity.parsed(text)


def test_host_prepares_the_disks_of_dynamic_volumes_only():
    assert identity.host_texts(RAW) == identity.host_texts(BEHIND) == {}
    assert identity.host_texts(run_of(cell(array="md-raid0-2"))) == {}
    said = identity.host_texts(STRIPED)
    assert "--type striped" in said["commands"][0] and any("ldm" in source for source in said["sources"])


def test_asked_has_what_prepares_empty_disks(monkeypatch):
    """A cell on a file system starts from an image, whose identity has it."""
    files = run_of(cell(file_system="ntfs", workload="postmark", array=ON_LDM))
    image = identity.image_of(files.cells[0])

    def digests():
        raw, other = (identity.asked(run)[run.cells[0].id].digest for run in (STRIPED, files))
        return raw, other, identity.image_hash(image, LABELS)

    before = digests()
    monkeypatch.setattr(volumes, "host_sources", lambda found: [Path(__file__)])
    after = digests()
    assert [one != two for one, two in zip(before, after, strict=True)] == [True, False, True]


def test_asked_of_a_cell_has_what_came_before_it():
    whole = identity.asked(RAW)
    assert list(whole) == [one.id for one in RAW.cells]
    assert len({one.digest for one in whole.values()}) == 3
    # The boot has the images of all its workloads; that part is no cell's.
    short = identity.asked(run_of(*RAW.cells[:2]))
    turned = identity.asked(run_of(RAW.cells[1], RAW.cells[0]))
    assert [whole[name] == one for name, one in short.items()] == [False, False]
    same = run_of(RAW.cells[0], RAW.cells[1], replace(RAW.cells[1], seed=2))
    assert [identity.asked(same)[name] == one for name, one in short.items()] == [True, True]
    assert turned[RAW.cells[0].id] != short[RAW.cells[0].id]
    with pytest.raises(dataclasses.FrozenInstanceError):
        whole[RAW.cells[0].id].digest = "another"
    scripted = replace(RAW, script=("cell image 1", "end"))
    assert len({one.digest for one in identity.asked(scripted).values()}) == 1, "their lines are no part of it"


def test_asked_of_a_cell_is_the_same_whatever_comes_after_it():
    first, second, third = RAW.cells
    one, other = identity.asked(run_of(first, second, third)), identity.asked(run_of(first, third, second))
    assert [one[cell.id] == other[cell.id] for cell in RAW.cells] == [True, False, False]


def test_asked_has_the_assumptions_of_the_judge():
    raw, files = (identity.asked(run)[run.cells[0].id].assumptions for run in (RAW, FILES))
    assert "flushes" in raw and "flushes" in files
    # Behind a controller without tags the job sets no depth, so that only the judge asks for it, and only of raw cells.
    ide = {"controller": "ide-piix", "drive": ATA, "tags": "none"}
    raw, files = (run_of(cell(**ide)), run_of(cell(file_system="ext2", workload="postmark", **ide)))
    assert "tags_none" in identity.asked(raw)[raw.cells[0].id].assumptions
    assert "tags_none" not in identity.asked(files)[files.cells[0].id].assumptions


def test_reads_have_those_of_the_image():
    read = identity.read_of(NEWS, NEWS.cells[0])
    image = identity.image_of(NEWS.cells[0])
    own = identity.asked(NEWS)[NEWS.cells[0].id].assumptions
    assert read["assumptions"] == identity.image_read(image) | own
    assert list(read["assumptions"]) == sorted(read["assumptions"])
    making = identity.catalogue_digests(identity.image_run(image))
    assert read["catalogue"] == making | identity.catalogue_digests(NEWS)
    raw = identity.read_of(RAW, RAW.cells[0])
    assert raw["catalogue"] == identity.catalogue_digests(RAW)
    assert raw["assumptions"] == identity.asked(RAW)[RAW.cells[0].id].assumptions


def test_identity_has_a_part_for_what_a_cell_has():
    shared = {"qemu", "model", "drive", "controller", "guest", "workload", "reader", "cell"}
    more = {"raw": set(), "files": {"file_system"}, "striped": {"array"}, "behind": {"array"}}
    runs = dict(zip(more, (RAW, FILES, STRIPED, BEHIND), strict=True))
    for kind, run in runs.items():
        assert set(identity.of_cell(run, run.cells[0], LABELS)) == shared | more[kind], kind
    kept = {}
    identity.of_run(RAW, LABELS, kept)
    made = identity.of_run(FILES, LABELS, kept)
    image = identity.Image("ext2", SCSI)
    assert kept == {image: identity.image_hash(image, LABELS)}
    assert made[FILES.cells[0].id]["file_system"] == kept[image]
    kept[image] = "known already"
    assert identity.of_run(FILES, LABELS, kept)[FILES.cells[0].id]["file_system"] == "known already"


@pytest.mark.parametrize("run", [RAW, FILES, STRIPED, BEHIND], ids=["raw", "files", "striped", "behind"])
def test_identity_each_label_moves_its_part(run):
    name = run.cells[0].id
    before = identity.of_run(run, LABELS)[name]
    parts = {"qemu": "qemu", "model": "model", "guest": "guest", "volumes": "array"}
    for label in identity.label_names(run):
        after = identity.of_run(run, LABELS | {label: "f" * 64})[name]
        part = parts.get(label, "workload")
        image = {"file_system"} if run is FILES and part != "workload" else set()
        assert set(identity.moved(after, {"identity": before})) == {part} | image, label


def test_moved_names_what_is_other_missing_or_more():
    there = {"identity": {"a": "1", "b": "1", "c": "1"}}
    assert identity.moved({"a": "1", "b": "2", "d": "1"}, there) == ["b", "c", "d"]
    assert identity.moved({"a": "1", "b": "1", "c": "1"}, there) == []


# ---- what is built -----------------------------------------------------------


def test_guest_built_has_the_packages_of_a_software_arrays_tools(tmp_path):
    for folder, text in (
        ("guest", '{"lock": "l", "moved": ["a 1 -> 2"]}'), ("volumes", '{"moved": ["b 1 -> 2"]}'),
    ):  # fmt: skip
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "manifest.json").write_text(text)
    assert identity.guest_built(tmp_path) == {"guest": "l", "moved": ["a 1 -> 2"]}
    assert identity.guest_built(tmp_path, "raid5-ide-8") == identity.guest_built(tmp_path)
    assert identity.guest_built(tmp_path, "md-raid0-2") == {"guest": "l", "moved": ["a 1 -> 2", "b 1 -> 2"]}
    with pytest.raises(EnvironmentMissing, match=r"guests/x/manifest.json: the guests/x image is not built; run `make"):
        identity.guest_built(tmp_path, thing="guests/x")
