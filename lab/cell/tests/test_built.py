# SPDX-License-Identifier: MIT
"""Receipts of built things: what may run, and what it is called."""

import json
import sys

import pytest

from lab.cell import boot, built, cells, guests, run
from lab.cell.errors import EnvironmentMissing, SpindleError

RUN = "scsi-virtio.ultrastar-36zx.t32.both"


@pytest.fixture
def sources(lab, monkeypatch, tmp_path):
    """A source of QEMU that a test may change."""
    path = tmp_path / "patch"
    path.write_text("as built\n")
    monkeypatch.setattr(built, "ROOT", tmp_path)
    monkeypatch.setattr(built, "SOURCES", {name: ("patch",) if name == "qemu" else () for name in built.SOURCES})
    for name in built.THINGS:
        receive(name, lab)
    return path


def receive(name, build):
    built.forget(name, build)
    built.write_receipt(name, build, {entry: built.sources(entry) for entry in built.THINGS[name].sources})


def command(text):
    return [sys.executable, "-c", text]


@pytest.mark.parametrize(
    ("name", "command"),
    [("qemu", "make lab"), ("workloads/filebench", "make lab"), ("guests/freebsd", "make guest NAME=freebsd"),
     ("bindings", "make bindings")],
)  # fmt: skip
def test_built_names_the_command_that_builds_a_thing(name, command, tmp_path):
    assert name in built.THINGS
    assert f"missing; run `{command}`" in built.what_differs(name, tmp_path)


def test_built_a_program_of_older_sources_does_not_run(lab, sources):
    one = cells.run("smoke", RUN)
    before = built.check_all(one, lab)
    sources.write_text("changed since\n")
    with pytest.raises(EnvironmentMissing, match=r"qemu: it was built from other sources .*`make lab` builds it ag"):
        boot.require_built(one, lab)
    (lab / "work").mkdir()
    with pytest.raises(EnvironmentMissing, match="other sources"):
        run.execute(one, lab, lab / "work", lambda line: None)
    prepared = [guests.guest(name).thing for name in guests.names()[1:]]
    assert built.known_labels(lab).keys() == before.keys() - {"qemu"} | {"volumes", *cells.WORKLOADS, *prepared} - {
        "qemu"
    }
    receive("qemu", lab)
    assert built.check_all(one, lab)["qemu"] != before["qemu"]


def test_built_label_is_what_was_built_not_what_lies_here(lab, sources):
    one = cells.run("smoke", RUN)
    there = json.loads((lab / "qemu" / built.RECEIPT).read_text())
    assert there["labels"]["qemu"] == built.sources("qemu") == built.labels(one, lab)["qemu"]
    assert there["files"].keys() == {"qemu/qemu-system-x86_64"}


def test_built_bytes_are_the_guests_label(lab):
    before = built.check("guest", lab)["guest"]
    (lab / "guest" / "vmlinux").write_text("another kernel")
    with pytest.raises(EnvironmentMissing, match="vmlinux: it is not the file that was built here"):
        built.check("guest", lab)
    receive("guest", lab)
    assert built.check("guest", lab)["guest"] != before


def test_built_firmware_counts_and_a_log_does_not(lab):
    before = built.check("guest", lab)["guest"]
    (lab / "guest" / "a.log").write_text("words")
    receive("guest", lab)
    assert built.check("guest", lab)["guest"] == before
    (lab / "guest" / "firmware" / "bios.bin").write_text("bios")
    with pytest.raises(EnvironmentMissing, match=r"bios\.bin: it is not the file"):
        built.check("guest", lab)
    receive("guest", lab)
    assert built.check("guest", lab)["guest"] != before


def test_built_make_writes_receipt_and_stamp(lab, sources):
    stamp = lab / "qemu" / built.stamp("qemu")
    assert built.make("qemu", command("pass"), lab) == 0
    assert stamp.is_file() and built.what_differs("qemu", lab) is None


def test_built_failed_build_has_no_receipt(lab, sources):
    assert built.make("qemu", command("raise SystemExit(3)"), lab) == 3
    assert not (lab / "qemu" / built.RECEIPT).exists() and not list((lab / "qemu").glob("built-*"))
    with pytest.raises(EnvironmentMissing, match="was not built to its end"):
        built.check("qemu", lab)


def test_built_sources_changed_while_it_was_built(lab, sources):
    with pytest.raises(SpindleError, match="its sources were changed while it was built"):
        built.make("qemu", command(f"open({str(sources)!r}, 'w').write('edited')"), lab)
    assert built.receipt("qemu", lab) is None


def test_built_needs_what_it_links(lab, sources):
    built.forget("disk", lab)
    with pytest.raises(EnvironmentMissing, match=r"built\.json: missing, so disk was not built to its end"):
        built.make("qemu", command("pass"), lab)


def test_built_unreadable_receipt(lab):
    for text in ("", "[]", "{}", '{"schema": "spindle-built/1", "labels": 3}', "\x00"):
        (lab / "disk" / built.RECEIPT).write_text(text)
        assert built.receipt("disk", lab) is None
        with pytest.raises(EnvironmentMissing):
            built.check("disk", lab)


def test_built_report_builds_damaged_things_again(lab, capsys):
    (lab / "guest" / "root.erofs").write_text("damaged")
    assert [line.split(": ")[0] for line in built.drop_damaged(lab)] == [str(lab / "guest" / "root.erofs")]
    assert built.receipt("guest", lab) is None and not list((lab / "guest").glob("built-*"))
    assert built.drop_damaged(lab) == []


def test_built_command_line(lab, capsys):
    assert built.main(["qmu", "--", "true"]) == 1
    assert "nothing called 'qmu' is built; did you mean 'qemu'?" in capsys.readouterr().err
    assert built.main(["qemu"]) == 1
    assert built.main(["qemu", "--", *command("pass")]) == 0


def test_built_a_comment_in_the_importer_moves_no_result():
    """Importer, pictures and the command line decide when the program is built again, and are in no label."""
    importer = built.ROOT / "lab/disk/import"
    assert importer.is_dir()
    assert any(path.is_relative_to(importer) for path in built.source_files(built.SOURCES["disk"]))
    labelled = {label for thing in built.THINGS.values() if not thing.bytes for label in thing.labels}
    assert labelled == {"qemu", "model"}
    for label in labelled:
        assert not [path for path in built.source_files(built.SOURCES[label]) if path.is_relative_to(importer)]


def test_built_the_bench_is_no_part_of_qemu():
    names = {path.name for path in built.source_files(built.SOURCES["qemu"])}
    assert {"spindle.c", "build.sh", "qemu.lock"} <= names
    assert not any(name.endswith(".py") for name in names)
