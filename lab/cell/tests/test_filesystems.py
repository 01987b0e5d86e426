# SPDX-License-Identifier: MIT
"""Cells on file systems: ids, jobs, images, verdicts."""

from dataclasses import replace

import pytest

from lab.cell import boot, cells, filesystems, identity, images, job, papers, run
from lab.cell.errors import ConfigError, EnvironmentMissing

PAPER = papers.ids()[0]
ROW = {
    "tables": "table6",
    "controller": "scsi-virtio",
    "drive": "ultrastar-36zx",
    "array": "none",
    "tags": "64",
    "scheduler": "both",
    "file_system": "ext2",
    "workload": "postmark",
    "parameters": "sizes=paper",
    "scale": "1",
}


def make_cell(**changes):
    row = ROW | {name: changes.pop(name) for name in list(changes) if name in ROW}
    return replace(cells._cell(PAPER, row, 1), **changes)


def make_run(cell):
    return cells.Run(cell.run, cell.paper, cell.controller, cell.drive, cell.tags, (cell,))


def test_filesystems_every_description_is_whole():
    for name in filesystems.names():
        assert filesystems.file_system(name).make


def test_filesystems_ids():
    cell = make_cell(seed=2)
    assert cell.id == cell.run == "scsi-virtio.ultrastar-36zx.t64.both.ext2.postmark-paper.s02"
    assert replace(cell, scale="0.05").id == "scsi-virtio.ultrastar-36zx.t64.both.ext2.postmark-paper-x0.05.s02"


def test_filesystems_job(lab):
    cell = make_cell()
    text = job.job_text(make_run(cell)).splitlines()
    start = text.index(f"cell {cell.id} 1")
    assert text[start + 1].startswith("exec mount -t ext2 ")
    assert text[start + 2 : start + 6] == [
        "exec postmark --dir /mnt --seed 1 --scale 1 --sizes paper",
        "exec umount /mnt",
        "end",
        "cell check 1",
    ]
    assert "workload postmark" in text
    sets = dict(line.split(" ", 2)[1:] for line in text if line.startswith("set "))
    assert sets["/sys/block/sda/queue/write_cache"] == "write through"
    assert sets["/sys/block/sda/queue/nomerges"] == "0"


def test_filesystems_smaller_scale_has_less_memory(lab):
    small, whole = (job.job_text(make_run(make_cell(scale=scale))) for scale in ("0.25", "1"))
    assert f"exec confined {128 << 20} postmark --dir /mnt --seed 1 --scale 0.25" in small
    assert "confined" not in whole
    assert "dirty_bytes 4194304" in small and "dirty_bytes 8388608" in whole


def test_filesystems_unknown_names(lab, monkeypatch, tmp_path):
    path = tmp_path / "sheet.csv"
    for change, message in (
        ({"file_system": "ext5"}, r":2: file system 'ext5' is not in lab/guest/filesystems; did you mean 'ext2'"),
        ({"workload": "postmrk"}, r":2: workload 'postmrk' has no folder in workloads/; did you mean 'postmark'"),
        ({"workload": "rawio"}, r":2: workload 'rawio' and file system 'ext2' do not go together"),
    ):
        path.write_text(",".join(ROW) + "\n" + ",".join((ROW | change).values()) + "\n")
        monkeypatch.setattr(papers, "sheet", lambda name: path)
        cells.sheet.cache_clear()
        with pytest.raises(ConfigError, match=message):
            cells.sheet(PAPER)


def test_filesystems_plan_patterns(lab):
    choices = [{"cells": ["scsi-*.t64.both.*.postmark"], "repetitions": 2, "scale": "0.5"}]
    chosen = cells.file_system_cells(PAPER, choices, "plan.yaml", cells.sheet(PAPER))
    assert {cell.seed for cell in chosen} == {1, 2} and {cell.scale for cell in chosen} == {"0.5"}
    assert [cell.seed for cell in chosen] == sorted(cell.seed for cell in chosen)
    with pytest.raises(ConfigError, match=r"plan.yaml: no row of the sheet fits 'file_systems' pattern 'x'"):
        cells.file_system_cells(PAPER, [{"cells": ["x"], "repetitions": 1}], "plan.yaml", cells.sheet(PAPER))


def outcome(lab, cell, mode=""):
    (lab / "mode").write_text(mode)
    for image in identity.image_paths(lab, identity.image_of(cell)):
        image.parent.mkdir(exist_ok=True)
        image.write_bytes(bytes(4096))
    work = lab / "work"
    work.mkdir()
    return run.execute(make_run(cell), lab, work, lambda line: None).results[cell.id]


def test_filesystems_result(lab):
    result = outcome(lab, make_cell())
    assert result["status"] == "ok"
    assert result["metrics"]["elapsed_ns"] > 0
    assert [phase["name"] for phase in result["metrics"]["phases"]] == ["create"]
    assert result["metrics"]["workload"] == {"files_created": 5}
    assert result["metrics"]["write_bytes"] == 8192
    assert result["cell"]["parameters"] == {"sizes": "paper"}


def test_filesystems_damage_is_no_result(lab):
    result = outcome(lab, make_cell(), "damaged")
    assert result["status"] == "failed"
    assert result["reason"].startswith("the file system is damaged after the workload: its check exited with 4: e2fsck")


def test_filesystems_panic(lab):
    result = outcome(lab, make_cell(), "panic")
    assert result["reason"].startswith("the guest's kernel panicked: ")


def test_filesystems_missing_image(lab):
    (lab / "work").mkdir()
    with pytest.raises(EnvironmentMissing, match=r"ext2\..*\.img: missing; run `make report`"):
        boot.boot(make_run(make_cell()), lab, lab / "work", lambda line: None)


def test_filesystems_image_is_made_whole(lab):
    (path,) = images.make(identity.Image("ext2", "ultrastar-36zx"), lab)
    assert path.stat().st_size == 1000000 * 512
    assert [other.name for other in path.parent.iterdir()] == [path.name]


def test_filesystems_filled_image_is_shared(lab):
    """A cell's file system may be filled under a faster one of the same format, so both start from the same bytes."""
    starts = {identity.image_of(make_cell(file_system=name, workload="netnews")) for name in ("ffs", "softupdates")}
    assert starts == {identity.Image("softupdates", "ultrastar-36zx", "netnews", "1")}
    (image,) = starts
    assert identity.image_paths(lab, image) != identity.image_paths(lab, image.empty)
    text = job.job_text(identity.image_run(image))
    assert "--spool only" in text and "exec umount /mnt" in text and "cell check 1" in text
    assert "--spool ready" in job.job_text(make_run(make_cell(file_system="ffs", workload="netnews")))
