# SPDX-License-Identifier: MIT
"""A catalogue of fixtures, a folder for results, and a QEMU that only pretends."""

import shutil
import stat
import sys
from pathlib import Path

import pytest

from lab.cell import built, catalogue, cells, config, guests, identity, paths

HERE = Path(__file__).parent

CONTROLLERS = {
    "ide-piix": ("ata-100", 1, "", "ide-hd,drive={node},bus=ide.0", "ata_piix"),
    "ide-ahci": ("ata-100", 32, "ich9-ahci,id=ahci", "ide-hd,drive={node},bus=ahci.0", "ahci"),
    "scsi-virtio": ("ultra2-scsi", 128, "virtio-scsi-pci,id=scsi", "scsi-hd,drive={node}", "virtio_scsi"),
    "scsi-megasas": ("ultra2-scsi", 128, "megasas,id=scsi", "scsi-hd,drive={node}", "megaraid_sas"),
}
SEVERAL = {
    "ide-piix": 'most = 4\neach = 4\nchannels = 2\ndevice = ""\n'
    'disk_device = "ide-hd,bus=ide.{channel},unit={place},drive={node},serial={node}"\n',
    "ide-ahci": 'most = 15\neach = 6\nchannels = 6\ndevice = "ich9-ahci,id=ahci{controller}"\n'
    'disk_device = "ide-hd,bus=ahci{controller}.{index},drive={node},serial={node}"\n',
    **dict.fromkeys(
        ("scsi-virtio", "scsi-megasas"),
        'most = 15\neach = 15\nchannels = 1\ndevice = "scsi,id=scsi{controller}"\n'
        'disk_device = "scsi-hd,scsi-id={index},drive={node},serial={node}"\n',
    ),
}


def forget() -> None:
    """Drop what is cached of catalogue and sheets."""
    for cached in (
        catalogue.controller,
        catalogue.queueing_controller,
        cells.sheet,
        cells.cells,
        cells.paper_cells,
        cells.runs,
    ):
        cached.cache_clear()


def receipt(name, build):
    """Pretend that a thing was built just now."""
    built.write_receipt(name, build, {entry: built.sources(entry) for entry in built.THINGS[name].sources})


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A lab without a real program in it; returns its build directory."""
    shelves = tmp_path / "catalogue"
    for kind in ("drives", "buses", "controllers"):
        (shelves / kind).mkdir(parents=True)
    shutil.copytree(catalogue.CATALOGUE / "arrays", shelves / "arrays")
    for name, kind, tags in (("deskstar-75gxp", "ata", 31), ("ultrastar-36zx", "scsi", 256)):
        (shelves / "drives" / f"{name}.toml").write_text(f'[bus_kind]\nvalue = "{kind}"\n[max_tags]\nvalue = {tags}\n')
    for name in ("ata-100", "ultra2-scsi", "ultra160-scsi"):
        (shelves / "buses" / f"{name}.toml").write_text(f'[name]\nvalue = "{name}"\n[rate_mb_s]\nvalue = 80\n')
    for name, (bus, tags, device, disk, module) in CONTROLLERS.items():
        (shelves / "controllers" / f"{name}.toml").write_text(
            f'[bus]\nvalue = "{bus}"\n[bus_kind]\nvalue = "{name.split("-")[0].replace("ide", "ata")}"\n'
            f'[max_tags]\nvalue = {tags}\n[qemu]\ndevice = "{device}"\ndisk_device = "{disk}"\n'
            f'[guest]\nmodules = ["{module}", "sd_mod"]\ndisk = "sda"\n'
            f"[several_disks]\n{SEVERAL[name]}"
        )
    # The catalogue of fixtures has what the first paper's sheet names.
    monkeypatch.setattr(cells, "PAPERS", cells.PAPERS[:1])
    # The sheets of these override keys that the drives of fixtures lack.
    whole = [name for name in config.profiles() if name not in ("sensitivity", "reference")]
    monkeypatch.setattr(config, "profiles", lambda: whole)
    build = tmp_path / "build"
    (build / "qemu").mkdir(parents=True)
    (build / "guest" / "firmware").mkdir(parents=True)
    (build / "disk" / "release").mkdir(parents=True)
    (build / "workloads").mkdir()
    (build / "volumes").mkdir()
    (build / "volumes" / "tools.erofs").touch()
    (build / "volumes" / "manifest.json").write_text('{"moved": ["mdadm 4.2-5 -> 4.2-6"]}')
    for name in cells.WORKLOADS:
        (build / "workloads" / f"{name}.erofs").touch()
    for name in ("vmlinux", "initramfs.cpio", "root.erofs"):
        (build / "guest" / name).touch()
    (build / "guest" / "manifest.json").write_text(
        f'{{"schema": "spindle-guest/1", "lock": "{"0" * 64}", "moved": [], "files": {{}}}}'
    )
    for name in guests.names()[1:]:
        (build / "guests" / name / "firmware").mkdir(parents=True)
        (build / "guests" / name / "system.img").write_text(name)
        (build / "guests" / name / "manifest.json").write_text(f'{{"lock": "{"1" * 64}", "moved": []}}')
    (build / "disk" / "release" / "libspindle_disk.a").touch()
    library = build / "bindings" / "site" / "spindle_disk"
    library.mkdir(parents=True)
    for name in ("_model.abi3.so", "py.typed"):
        (library / name).touch()
    show = build / "disk" / "release" / "spindle-disk"
    show.write_text(f'#!/bin/sh\nexec {sys.executable} {HERE / "fake_disk.py"} "$@"\n')
    show.chmod(show.stat().st_mode | stat.S_IXUSR)
    qemu = build / "qemu" / "qemu-system-x86_64"
    qemu.write_text(f'#!/bin/sh\nexec {sys.executable} {HERE / "fake_qemu.py"} {build / "mode"} "$@"\n')
    qemu.chmod(qemu.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(catalogue, "CATALOGUE", shelves)
    monkeypatch.setattr(identity, "kernel_append", lambda: "console=ttyS0")
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(paths, "BUILD", build)
    forget()
    for name in built.THINGS:
        receipt(name, build)
    yield build
    forget()
