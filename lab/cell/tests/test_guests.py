# SPDX-License-Identifier: MIT
"""Guests: their entries, what rows may ask of them, ids, identities, and what they are to a paper."""

import json
from dataclasses import replace

import pytest

from lab.cell import built, cells, config, evidence, guests, identity, job, judge, papers, paths, run
from lab.cell.errors import ConfigError

PAPER = papers.ids()[0]
RUN = "scsi-virtio.ultrastar-36zx.t32.both"
ROW = {
    "guest": "debian",
    "controller": "scsi-virtio",
    "array": "none",
    "file_system": "raw",
    "workload": "rawio",
}


def on(name, run=RUN, profile="smoke"):
    """A run as it is on another guest."""
    one = cells.run(profile, run)
    of_paper = [replace(cell, guest=name) for cell in one.cells if cell.workload == "rawio"]
    return replace(one, id=f"{name}.{one.id}", cells=tuple(of_paper))


@pytest.mark.parametrize("name", guests.names())
def test_guests_entries_are_valid(name):
    about = guests.guest(name)
    assert about.data["system"] and about.data["sources"]
    if about.data["made_from"] != "build":
        assert about.by_bios and about.data["prepare"]["steps"][0]["boots"]
    if about.data["made_from"] == "medium":
        # A successor of the paper's system, and never the system itself, unless it is that very version.
        assert about.data["medium"]["wrong"] and about.data["cannot"]


def test_guests_the_lean_one_comes_first_and_stands_in_no_id(lab):
    assert guests.names()[0] == guests.LEAN
    one = cells.run("smoke", RUN).cells[0]
    assert one.guest == guests.LEAN and one.id.startswith("scsi-virtio.")
    assert replace(one, guest="debian").id == f"debian.{one.id}"
    assert replace(one, guest="debian").run == f"debian.{one.run}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"guest": "debain"}, "guest 'debain' is not in lab/guests; did you mean 'debian'"),
        ({"array": "md-raid0-4"}, "guest 'debian' has no array 'md-raid0-4'; take guest 'linux'"),
        ({"file_system": "ffs"}, "guest 'debian' has no file system 'ffs'"),
        ({"guest": "freebsd", "controller": "scsi-megasas"}, "guest 'freebsd' has no driver for controller 'scsi-meg"),
    ],
)
def test_guests_a_row_that_asks_too_much_is_refused(change, message):
    guests.check(ROW, "here")
    with pytest.raises(ConfigError, match=message):
        guests.check(ROW | change, "here")


def test_guests_a_workload_that_it_does_not_run_is_refused():
    with pytest.raises(ConfigError, match="here: guest 'debian' does not run workload 'netnews'; known are: fio, "):
        guests.check_workload(ROW | {"workload": "netnews"}, "here")


def test_guests_profile_has_each_cell_on_each_guest(lab):
    found = cells.cells("guests")
    lean = {cell.id for cell in found if cell.guest == guests.LEAN}
    assert {cell.id for cell in found} == lean | {f"debian.{name}" for name in lean}
    # The paper's own tables are the lean guest's.
    assert {cell.guest for cell in cells.cells_of_table("guests", PAPER, "table5")} == {guests.LEAN}
    assert not any(cell.guest != guests.LEAN for profile in ("smoke", "quick", "full") for cell in cells.cells(profile))


def test_guests_identity_differs_in_guest_and_command_only(lab):
    labels = {label: label for thing in built.THINGS.values() for label in thing.labels}
    lean, other = (identity.of_run(on(name), labels) for name in (guests.LEAN, "debian"))
    for name, made in lean.items():
        moved = identity.moved(made, {"identity": other[f"debian.{name}"]})
        assert moved == ["cell", "guest"]


def test_guests_debian_boots_a_copy_of_its_disk_by_the_bios(lab):
    words = job.qemu_command(on("debian"), "BUILD", "WORK", "console=ttyS0")
    assert "-kernel" not in words and words[words.index("-L") + 1] == "BUILD/guests/debian/firmware"
    root = next(word for word in words if "node-name=root" in word)
    assert "filename=WORK/system.img" in root and "read-only" not in root and "unit=system" in root
    assert "virtio-blk-pci,drive=root,serial=root,ioeventfd=off,bootindex=0" in words
    lean = job.qemu_command(cells.run("smoke", RUN), "BUILD", "WORK", "console=ttyS0")
    assert lean[lean.index("-kernel") + 1] == "BUILD/guest/vmlinux"
    # What is asked of a Linux is the same.
    assert job.job_text(on("debian")).replace("debian.", "") == job.job_text(on(guests.LEAN))


def test_guests_freebsd_is_asked_by_its_own_commands(lab):
    lines = job.job_text(on("freebsd")).splitlines()
    assert lines[:3] == ["spindle-job 1", "wait_disk da0", "workload rawio"]
    assert "exec camcontrol tags da0 -N 32" in lines and "exec sysctl kern.cam.sort_io_queues=1" in lines
    assert any("rawio --device /dev/da0 --op read" in line for line in lines)
    assert not any(line.startswith(("set ", "modules ")) for line in lines)


def test_guests_freebsd_makes_its_own_file_systems_and_debian_those_of_linux(lab):
    one = replace(cells.run("smoke", RUN).cells[0], workload="postmark", words=(), file_system="softupdates")
    own = identity.image_of(replace(one, guest="freebsd"))
    assert own.name.startswith("freebsd.ultrastar-36zx.softupdates")
    assert "exec newfs -O1 -U /dev/da0" in identity.image_run(own).script
    shared = identity.image_of(replace(one, guest="debian", file_system="ext3-ordered"))
    assert shared == identity.image_of(replace(one, file_system="ext3-ordered"))


def test_guests_a_run_on_a_file_system_uses_the_guest_that_made_it(lab):
    one = on("debian")
    assert "guest" not in built.used_by(one)
    cell = replace(one.cells[0], workload="postmark", words=(), file_system="ext3-ordered")
    there = replace(one, cells=(cell,))
    assert {"guest", "guests/debian"} <= set(built.used_by(there))
    labels = {label: label for name in built.used_by(there) for label in built.THINGS[name].labels}
    assert identity.of_run(there, labels)[cell.id]["guest"] == "guests/debian"


def test_guests_result_names_the_guest(lab):
    run.serve("smoke", RUN)
    lean = cells.run("smoke", RUN).cells[0]
    folder = paths.ROOT / paths.cell_dir("smoke", lean.id)
    found = evidence.unpack(lean.id, {path.name: path.read_bytes() for path in folder.iterdir()})
    for cell, name in ((lean, "linux"), (on("debian").cells[0], "debian")):
        assert judge.derive(cell, found)["cell"]["guest"] == name


def test_guests_standing_is_native_at_the_very_version_only(monkeypatch):
    assert guests.standing("debian", PAPER) == guests.STAND_IN
    assert guests.standing("freebsd", PAPER) == guests.SUCCESSOR
    own = {"system": "FreeBSD", "version": guests.guest("freebsd").data["version"]}
    monkeypatch.setattr(config, "paper", lambda name: {"systems": [own]})
    assert guests.standing("freebsd", PAPER) == guests.NATIVE
    assert guests.standing("freebsd-5", PAPER) == guests.SUCCESSOR


def test_guests_schema_names_every_key_that_entries_have():
    schema = json.loads((config.SCHEMAS / "guest.schema.json").read_text())
    used = {key for name in guests.names() for key in guests.guest(name).data}
    assert used <= schema["properties"].keys()
