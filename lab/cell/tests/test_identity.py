# SPDX-License-Identifier: MIT
"""What moves which cells: by property, over the cells of the profiles and every assumption and catalogue entry."""

import copy
import shutil
import tomllib
from dataclasses import replace

import pytest

from lab.cell import built, catalogue, cells, config, filesystems, identity, job, papers, paths, settings, volumes

PAPER = papers.ids()[0]
LABELS = {label: "0" * 64 for thing in built.THINGS.values() for label in thing.labels}
LIMITS = {"limit_fs_cell_s", "limit_setup_s", "limit_cell_s"}


def sample():
    """Runs that read everything which any cell of the paper in a profile reads, the first repetition of each kind."""
    found = {}
    for profile in ("smoke", "quick", "full"):
        for one in cells.runs(profile).values():
            if one.paper != PAPER:
                continue
            first = one.cells[0]
            key = (first.controller, first.array, first.tags == "none", first.scheduler, first.file_system, first.scale)
            found.setdefault((*key, first.workload), replace(one, cells=one.cells[:2]))
    return list(found.values())


def identities(runs):
    images = {}
    return {(one.id, cell): made for one in runs for cell, made in identity.of_run(one, LABELS, images).items()}


@pytest.fixture
def assumptions(monkeypatch):
    """The paper's assumptions, which a test may change."""
    data = copy.deepcopy(config.paper(PAPER))
    monkeypatch.setattr(config, "paper", lambda name: data)
    return {item["id"]: item for item in data["assumptions"]}


def other_value(key, value):
    if key in settings.CHOICES:
        return next((choice for choice in settings.CHOICES[key] if choice != value), "other")
    return not value if isinstance(value, bool) else value * 2 + 1 if isinstance(value, int) else f"{value}x"


@pytest.mark.slow
def test_identity_an_assumption_moves_exactly_the_cells_that_report_it(assumptions):
    runs = sample()
    before = identities(runs)
    reported = {(one.id, cell): read["assumptions"] for one in runs for cell, read in identity.reads(one).items()}
    for key, item in assumptions.items():
        value = item["value"]
        item["value"] = other_value(key, value)
        after = identities(runs)
        item["value"] = value
        moved = {name for name in before if before[name] != after[name]}
        assert moved == {name for name, read in reported.items() if key in read}, key
        assert all(read[key] == value for read in reported.values() if key in read)


def test_identity_every_assumption_is_read_by_some_cell(assumptions):
    read = set()
    for one in sample():
        for said in identity.reads(one).values():
            read |= said["assumptions"].keys()
    # what says how the paper's numbers are read is no cell's
    readings = {said["assumption"] for said in config.paper(PAPER)["readings"].values()}
    assert readings and assumptions.keys() - read == LIMITS | readings


def test_identity_limits_end_a_run_and_label_nothing():
    with pytest.raises(ValueError, match="is in no identity"):
        settings.Settings(PAPER).value("limit_cell_s")
    with pytest.raises(ValueError, match="may decide a result"):
        settings.Settings(PAPER).limit("flushes")


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """A copy of the whole catalogue, which a test may change."""
    copied = tmp_path / "catalogue"
    shutil.copytree(catalogue.CATALOGUE, copied)
    monkeypatch.setattr(catalogue, "CATALOGUE", copied)
    forget()
    yield copied
    forget()


def forget():
    catalogue.controller.cache_clear()
    catalogue.queueing_controller.cache_clear()


def moved_by(runs, path, old, new):
    before = identities(runs)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    after = identities(runs)
    path.write_text(text)
    return {name for name in before if before[name] != after[name]}


def on_bus(one, bus):
    """A run's topology leads to a bus, by itself or by its array."""
    topology = tomllib.loads(job.topology_text(one, "C"))
    named = {entry["entry"] for entry in topology["bus"]}
    for array in topology.get("array", []):
        named.add(catalogue.values("arrays", array["controller"])["host_bus"])
    return bus in named


@pytest.mark.parametrize("bus", ["ata-100", "ultra2-scsi", "ultra160-scsi"])
def test_identity_a_bus_moves_every_cell_that_has_it_anywhere(shelf, bus):
    runs = sample()
    wanted = {(one.id, cell.id) for one in runs for cell in one.cells if on_bus(one, bus)}
    assert moved_by(runs, shelf / "buses" / f"{bus}.toml", "[rate_mb_s]\nvalue = ", "[rate_mb_s]\nvalue = 1") == wanted
    if bus == "ata-100":
        assert {one.array for one in runs if on_bus(one, bus)} >= {"none", "raid5-ide-8", "md-raid0-4"}
        assert "raid5-scsi-8" not in {one.array for one in runs if on_bus(one, bus)}


def test_identity_words_of_the_catalogue_move_nothing(shelf):
    runs = sample()
    for path in (shelf / "buses" / "ata-100.toml", shelf / "drives" / "deskstar-75gxp.toml"):
        assert moved_by(runs, path, "# SPDX", "# a comment\n# SPDX") == set()
        assert moved_by(runs, path, 'mark = "seed"', 'mark = "datasheet"') == set()
    assert moved_by(runs, shelf / "drives" / "deskstar-75gxp.toml", 'value = "IBM"', 'value = "Hitachi"') == set()


@pytest.mark.parametrize(
    ("kind", "name"),
    [("drives", "deskstar-75gxp"), ("buses", "ata-100"), ("arrays", "raid5-ide-8"), ("controllers", "ide-ahci")],
)
def test_identity_every_key_of_an_entry_moves_those_who_report_it(shelf, kind, name, monkeypatch):
    runs = [replace(one, cells=one.cells[:1]) for one in sample()][::3]
    entry = f"{kind}/{name}"
    before = identities(runs)
    reads = {(one.id, cell): read for one in runs for cell, read in identity.reads(one).items()}
    real = catalogue.values
    for key in real(kind, name):
        if key in ("host_bus", "member_bus", "bus", "bus_kind", "several_disks", "qemu", "guest"):
            continue  # They lead to other entries, or are texts of QEMU's command.
        value = real(kind, name)[key]
        other = not value if isinstance(value, bool) else value + 1 if isinstance(value, int) else f"{value}x"

        def changed(shelf_of, entry_of, key=key, other=other):
            return real(shelf_of, entry_of) | ({key: other} if (shelf_of, entry_of) == (kind, name) else {})

        monkeypatch.setattr(catalogue, "values", changed)
        after = identities(runs)
        monkeypatch.setattr(catalogue, "values", real)
        assert len(after) == len(before)
        assert {one for one in before if before[one] != after[one]} == {
            one for one, read in reads.items() if entry in read["catalogue"]
        }, key


def raw_run(array):
    return next(one for one in cells.runs("full").values() if one.array == array and one.cells[0].raw)


def test_identity_stripe_unit_of_a_dynamic_volume_moves_its_image(assumptions):
    """Regression: the command that writes the LDM database on the host was in no identity."""
    made = identity.Image("ntfs", "deskstar-75gxp", array="ldm-striped-4")
    raw = raw_run("ldm-striped-4")
    before = identity.image_hash(made, LABELS), identity.asked(raw)[raw.cells[0].id].digest
    assert "--stripe-kib 64" in identity.host_texts(raw)["commands"][0]
    assumptions["array_stripe_kib"]["value"] = 128
    after = identity.image_hash(made, LABELS), identity.asked(raw)[raw.cells[0].id].digest
    assert before[0] != after[0] and before[1] != after[1]


def test_identity_what_prepares_a_disk_on_the_host_counts(monkeypatch):
    made = identity.Image("ntfs", "deskstar-75gxp", array="ldm-striped-4")
    raw = raw_run("ldm-striped-4")
    before = identity.image_hash(made, LABELS), identity.asked(raw)[raw.cells[0].id].digest
    monkeypatch.setattr(volumes, "host_sources", lambda found: [paths.ROOT / "README.md"])
    after = identity.image_hash(made, LABELS), identity.asked(raw)[raw.cells[0].id].digest
    assert before[0] != after[0] and before[1] != after[1]


def test_identity_of_a_cell_ignores_what_comes_after():
    one = cells.run("smoke", "ide-piix.deskstar-75gxp.tnone.both")
    short = replace(one, cells=one.cells[:2])
    whole, part = identity.of_run(one, LABELS), identity.of_run(short, LABELS)
    assert all(whole[name] == made for name, made in part.items())
    assert whole[one.cells[0].id]["cell"] != whole[one.cells[1].id]["cell"]


def test_identity_names_what_moved_what_came_and_what_went():
    result = {"identity": {"model": "1", "guest": "1", "array": "1"}}
    assert identity.moved({"model": "1", "guest": "2", "file_system": "1"}, result) == ["array", "file_system", "guest"]
    assert identity.moved(result["identity"], result) == []


@pytest.mark.slow
def test_identity_a_label_moves_those_who_boot_it():
    runs = sample()
    before = identities(runs)
    for label in LABELS:
        after = {
            (one.id, cell): made
            for one in runs
            for cell, made in identity.of_run(one, LABELS | {label: "1" * 64}).items()
        }
        moved = {name for name in before if before[name] != after[name]}
        assert moved == {(one.id, cell.id) for one in runs for cell in one.cells if label in identity.label_names(one)}


def test_identity_scale_and_file_system_decide_what_is_read():
    small = next(one for one in cells.runs("smoke").values() if not one.cells[0].raw)
    said = identity.read_of(small, small.cells[0])["assumptions"]
    assert {"fs_dirty_least_bytes", "fs_confined_least_mib"} <= said.keys()
    whole = replace(small, cells=(replace(small.cells[0], scale="1"),))
    assert (
        not {"fs_dirty_least_bytes", "fs_confined_least_mib"}
        & identity.read_of(whole, whole.cells[0])["assumptions"].keys()
    )
    ntfs = replace(whole, cells=(replace(whole.cells[0], file_system="ntfs"),))
    assert "fs_access_times" not in identity.read_of(ntfs, ntfs.cells[0])["assumptions"]
    assert {filesystems.file_system(name).mount_options.split(",")[1] for name in filesystems.names()} == {
        "{access_times}",
        "noatime",
    }
