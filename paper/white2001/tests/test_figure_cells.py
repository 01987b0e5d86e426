# SPDX-License-Identifier: MIT
"""The choice of cells for the figures."""

from analysis import cell_names, papers, traced
from lab.cell import cells
from paper.white2001 import figure_cells

SCSI = "scsi-virtio.ultrastar-36zx"


def test_figure_1_is_in_the_sheet():
    known = {cell.id for cell in cells.cells("quick")}
    assert None not in figure_cells.schedule_cells(sorted(known)).values()


def test_cells_take_the_same_tags_for_all():
    ids = [f"{SCSI}.t64.both.{name}.postmark.s01" for name in ("ffs", "softupdates", "ntfs")]
    assert list(figure_cells.writes_cells(ids).values()) == ids
    ids += [f"{SCSI}.t32.both.ffs.postmark-x0.25.s01", f"{SCSI}.t32.both.ffs.postmark.s02"]
    assert figure_cells.writes_cells(ids)["ffs"] == f"{SCSI}.t64.both.ffs.postmark.s01"
    ids += [f"{SCSI}.t32.both.{name}.postmark-x0.25.s01" for name in ("softupdates", "ntfs")]
    assert figure_cells.writes_cells(ids)["ffs"] == f"{SCSI}.t32.both.ffs.postmark-x0.25.s01"
    assert set(figure_cells.writes_cells([]).values()) == {None}


def test_summary_has_one_raw_cell_a_configuration():
    ids = [
        f"{SCSI}.t4.both.rawio-read-random.s01",
        f"{SCSI}.t4.both.rawio-read-random.s02",
        f"{SCSI}.t4.both.rawio-write-random.s01",
        f"{SCSI}.t4.both.fio-read-random.s01",
        f"{SCSI}.t4.both.ffs.postmark-x0.25.s02",
    ]
    assert cell_names.summary_cells(ids) == [ids[4], ids[0]]
    assert traced.wanted(papers.paper("white2001"), ids) == [ids[4], ids[0]]


def test_cells_on_arrays_are_told_apart():
    array = "ide-ahci.deskstar-75gxp.md-raid0-4.t32.both"
    assert not cell_names.on_file_system(f"{array}.rawio-write-random.s01")
    assert cell_names.summary_cells([f"{array}.rawio-read-random.s01"]) == []
    assert cell_names.on_file_system(f"{array}.ffs.postmark-x0.05.s01")
    assert cell_names.on_file_system("scsi-virtio.deskstar-75gxp.twinstor-2.tnone.both.ffs.sdet-20.s01")
