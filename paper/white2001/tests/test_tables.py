# SPDX-License-Identifier: MIT
"""Cells to table entries, and the published numbers themselves."""

import pandas as pd
import pytest

from analysis import cell_list, entries, load, numbers, papers, settings, tables
from analysis.errors import TableError
from paper.white2001 import chung
from paper.white2001 import tables as white
from paper.white2001.tests import synthetic

PANIC = "ide-ahci.deskstar-75gxp.t4.disk.rawio-write-random"
SHALLOW = "scsi-virtio.ultrastar-36zx.t64.none.rawio-read-random.s03"
GONE = "scsi-virtio.ultrastar-36zx.t128.none."


@pytest.fixture(scope="module")
def frame(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    ids = synthetic.write(folder, seeds=10, missing=(GONE,), failed={PANIC: "guest panicked", SHALLOW: "depth 60 < 64"})
    assert len(ids) > 2300
    return load.load_cells(folder, ids)


def built(table, frame, drives=None):
    made = white.TABLES[table](frame=frame, drives=drives or {})
    return {(entry.published.row, entry.published.column): entry for entry in made}


@pytest.mark.parametrize(
    ("table", "count"),
    [("table1", 74), ("table2", 23), ("table3", 14), ("table4", 39), ("table5", 192), ("table6", 160), ("table7", 66)],
)
def test_tables_published_counts(table, count):
    assert len(white.printed(table)) == count


def test_tables_published_questioned_are_the_shaded_columns():
    questioned = {p.column for p in white.printed("table5") if p.questioned}
    assert questioned == {"ide.read.interleave", "ide.write.interleave", "ide.write.random"}


def test_tables_table4_rates_are_table5_at_32_tags():
    fifth = {(p.row, p.column): p.value for p in white.printed("table5")}
    for p in white.printed("table4"):
        if p.unit == "MB/s":
            assert p.value == fifth["t32.both", f"{p.column}.{p.row}"]


def test_tables_table4_times_are_in_table6():
    """But for SSH, and for SDET on IDE, where the two tables print different numbers for the same setting."""
    sixth = {(p.row, p.column): p.value for p in white.printed("table6")}
    fourth = {(p.row, p.column): p.value for p in white.printed("table4") if p.column != "diff"}
    for row, workload in (("sdet.20", "sdet"), ("ssh", "ssh"), ("netnews", "netnews"), ("postmark", "postmark")):
        for side in ("ide", "scsi"):
            same = fourth[row, side] == sixth["t32-64.both", f"ffs.{side}.{workload}"]
            assert same is ((workload, side) not in (("ssh", "ide"), ("ssh", "scsi"), ("sdet", "ide")))


def test_tables_table1_quotients_are_the_printed_ones(frame):
    computed = [e for e in built("table1", frame).values() if e.reproduced is not None]
    assert len(computed) == 12
    for entry in computed:
        # 499 / 15 is 33.2667: the paper prints 33.27.
        assert entry.reproduced == pytest.approx(float(entry.published.value), abs=0.0051)


def test_tables_table5_mean_of_all_seeds(frame):
    entry = built("table5", frame)["tnone.both", "ide.read.sequential"]
    assert entry.n == 10
    assert entry.stand_in
    assert {cell.split(".")[0] for cell in entry.cells} == {"ide-piix"}
    rates = frame[frame.id.isin(entry.cells)].rate_mb_s
    assert entry.reproduced == pytest.approx(rates.mean())
    assert entry.std == pytest.approx(rates.std(ddof=1))


def test_tables_table5_tags_sit_on_ahci(frame):
    entry = built("table5", frame)["t4.both", "ide.read.sequential"]
    assert {cell.split(".")[0] for cell in entry.cells} == {"ide-ahci"}


def test_tables_table5_failed_missing_and_partial(frame):
    found = built("table5", frame)
    failed = found["t4.disk", "ide.write.random"]
    assert (failed.reproduced, failed.ratio, failed.n) == (None, None, 0)
    assert failed.reason == "failed: guest panicked"
    partial = found["t64.none", "scsi.read.random"]
    assert (partial.n, partial.reason) == (9, "1 of 10 failed: depth 60 < 64")
    assert found["t128.none", "scsi.read.random"].reason == "not run"


def test_tables_table4_difference_from_means(frame):
    found = built("table4", frame)
    ide, scsi, diff = (found["read.random", column] for column in ("ide", "scsi", "diff"))
    assert diff.reproduced == pytest.approx(100 * (scsi.reproduced - ide.reproduced) / scsi.reproduced)
    assert diff.ratio is None


def test_tables_table4_applications(frame):
    found = built("table4", frame)
    ide, scsi, diff = (found["sdet.5", column] for column in ("ide", "scsi", "diff"))
    assert ide.cells[0] == "ide-ahci.deskstar-75gxp.t32.both.ffs.sdet-5.s01"
    assert scsi.cells[0] == "scsi-virtio.ultrastar-36zx.t32.both.ffs.sdet-5.s01"
    assert diff.reproduced == pytest.approx(100 * (ide.reproduced - scsi.reproduced) / scsi.reproduced)
    assert found["netnews", "ide"].ratio == pytest.approx(found["netnews", "ide"].reproduced / 1100)


def test_tables_table6_rows_are_the_papers():
    rows = {}
    for p in white.printed("table6"):
        rows.setdefault(p.column.split(".")[1], set()).add(p.row)
    assert (len(rows["ide"]), len(rows["scsi"])) == (8, 12)
    assert {row for row in rows["scsi"] - rows["ide"]} == {f"t8.{s}" for s in ("both", "disk", "host", "none")}


def test_tables_table6_cells(frame):
    found = built("table6", frame)
    for row, column, cell in (
        ("tnone.both", "ffs.ide.sdet", "ide-piix.deskstar-75gxp.tnone.both.ffs.sdet-20.s01"),
        ("t32-64.disk", "ffs.ide.netnews", "ide-ahci.deskstar-75gxp.t32.disk.ffs.netnews.s01"),
        ("t8.host", "softupdates.scsi.postmark", "scsi-virtio.ultrastar-36zx.t8.host.softupdates.postmark.s01"),
        ("t32-64.none", "softupdates.scsi.ssh", "scsi-virtio.ultrastar-36zx.t64.none.softupdates.ssh.s01"),
    ):
        entry = found[row, column]
        assert (entry.cells[0], entry.n, entry.stand_in, entry.scale) == (cell, 3, True, 1)
        times = frame[frame.id.isin(entry.cells)].elapsed_ns
        assert entry.reproduced == pytest.approx(times.mean() / 1e9)
        assert entry.std == pytest.approx(times.std(ddof=1) / 1e9)


def test_tables_ssh_has_no_ratio_and_says_why(frame):
    for table, row, column in (("table6", "tnone.both", "ffs.ide.ssh"), ("table4", "ssh", "scsi")):
        entry = built(table, frame)[row, column]
        assert entry.reproduced > 0
        assert (entry.ratio, entry.reason) == (None, white.NOTES["ssh"])


def scaled_frame(tmp_path, scales):
    ids = synthetic.write(tmp_path, seeds=1, missing=("ide-piix", "scsi-megasas"), scales=scales)
    return load.load_cells(tmp_path, ids)


def test_tables_scaled_numbers_have_no_ratio(tmp_path):
    frame = scaled_frame(tmp_path, {"ffs.netnews": 0.1})
    sixth, fourth = built("table6", frame), built("table4", frame)
    entry = sixth["t32-64.both", "ffs.scsi.netnews"]
    assert entry.cells == ("scsi-virtio.ultrastar-36zx.t64.both.ffs.netnews-x0.1.s01",)
    assert (entry.ratio, entry.scale) == (None, 0.1)
    assert entry.reason == "at scale 0.1 of the paper's size: only ratios between columns compare"
    assert (fourth["netnews", "diff"].scale, fourth["netnews", "diff"].reason) == (0.1, entry.reason)
    assert sixth["t32-64.both", "ffs.scsi.postmark"].ratio is not None


def test_tables_difference_of_two_scales_is_none(tmp_path):
    frame = scaled_frame(tmp_path, {"ffs.postmark": 0.5})
    frame.loc[frame.controller.eq("scsi-virtio") & frame.workload.eq("postmark"), "scale"] = 1
    diff = built("table4", frame)["postmark", "diff"]
    assert (diff.reproduced, diff.reason) == (None, "IDE ran at scale 0.5, SCSI at 1")


def test_tables_largest_scale_counts(tmp_path):
    frame = scaled_frame(tmp_path, {"ffs.postmark": 0.5})
    half = frame[frame.workload.eq("postmark") & frame.file_system.eq("ffs")]
    full = half.assign(id=half.id.str.replace("-x0.5", ""), scale=1.0, elapsed_ns=half.elapsed_ns * 2)
    entry = built("table6", pd.concat([half, full]))["t8.both", "ffs.scsi.postmark"]
    assert entry.cells == ("scsi-virtio.ultrastar-36zx.t8.both.ffs.postmark.s01",)
    assert (entry.n, entry.scale, entry.reason) == (1, 1, "")


def test_tables_other_parameters_are_no_repetitions(frame):
    mixed = frame.copy()
    mixed.loc[mixed.workload.eq("postmark") & mixed.seed.eq(2), "parameters"] = "sizes=default"
    with pytest.raises(TableError, match=r"postmark ran with parameters '', 'sizes=default'"):
        white.table6(mixed, {})


def test_tables_table7_percentages_follow_from_its_numbers():
    """All of them do, in per cent of IDE's rate or time."""
    value = {(p.row, p.column): p.value for p in white.printed("table7")}
    for (row, column), text in value.items():
        kind, _, side = column.partition(".")
        if side == "diff":
            percent = numbers.percent_faster_rate if row.startswith("write.") else numbers.percent_faster_time
            computed = percent(float(value[row, f"{kind}.scsi"]), float(value[row, f"{kind}.ide"]))
            assert numbers.like(computed, text) == text, (row, column)


def test_tables_table7_cells(frame):
    found = built("table7", frame)
    for row, column, cell in (
        ("write.random", "software.ide", "ide-ahci.deskstar-75gxp.md-raid0-4.t32.both.rawio-write-random.s01"),
        ("ffs.sdet", "software.scsi", "scsi-virtio.ultrastar-36zx.md-raid0-4.t64.both.ffs.sdet-20.s01"),
        ("softupdates.netnews", "hardware.ide",
         "scsi-virtio.deskstar-75gxp.raid5-ide-8.t64.both.softupdates.netnews.s01"),
        ("write.sequential", "hardware.scsi",
         "scsi-virtio.ultrastar-36zx.raid5-scsi-8.t64.both.rawio-write-sequential.s01"),
    ):  # fmt: skip
        entry = found[row, column]
        assert (entry.cells[0], entry.n, entry.stand_in) == (cell, 3, True)
        assert entry.ratio == pytest.approx(entry.reproduced / float(entry.published.value))
    ide, scsi, diff = (found["write.random", f"software.{side}"] for side in ("ide", "scsi", "diff"))
    assert diff.reproduced == pytest.approx(100 * (ide.reproduced - scsi.reproduced) / ide.reproduced)
    assert found["ffs.ssh", "hardware.ide"].ratio is None


def test_tables_arrays_are_no_repetitions_of_single_disks(frame):
    ids = {cell for table in ("table4", "table5", "table6", "controllers", "filesystems")
           for entry in built(table, frame).values() for cell in entry.cells}  # fmt: skip
    assert ids
    assert not [cell for cell in ids if "raid" in cell]


def test_tables_scaling_counts_disks(frame):
    found = built("scaling", frame)
    rows = list(dict.fromkeys(row for row, _ in found))
    assert rows[:9] == ["1", "2", "3", "4", "6", "8", "12", "15", "saturates"]
    assert found["15", "ide.read.random"].cells == (
        "ide-ahci.deskstar-75gxp.md-raid0-15.t32.both.rawio-read-random.s01",
    )
    assert (found["saturates", "ide.read.sequential"].reproduced, found["saturates", "scsi.read.sequential"].n) == (
        4,
        1,
    )
    assert found["saturates", "ide.read.random"].reason == "still rises with 15 disks"
    theirs = found[f"{chung.PREFIX}4", "scsi.read.sequential"]
    assert (theirs.published.value, theirs.reproduced, theirs.ratio) == ("87", None, None)


def test_tables_scaling_of_one_disk_may_be_the_disk_itself(frame):
    without = frame[frame.array != "md-raid0-1"]
    entry = built("scaling", without)["1", "scsi.read.random"]
    assert entry.cells[0] == "scsi-virtio.ultrastar-36zx.t64.both.rawio-read-random.s01"


def test_tables_scaling_of_nothing_has_the_printed_numbers(frame):
    found = built("scaling", frame.iloc[:0])
    assert {entry.reason for entry in found.values()} == {"not run", chung.REASON}
    assert len(chung.points()) == sum(row.startswith(chung.PREFIX) for row, _ in found) == 43


def test_tables_volumes_pairs_the_same_arrays(frame):
    found = built("volumes", frame)
    assert len(found) == 2 * (3 * 4 + 1)
    assert found["raid5.write.random", "ldm"].cells == (
        "ide-ahci.deskstar-75gxp.ldm-raid5-4.t32.both.rawio-write-random.s01",
    )
    # The cells of Table 7 and of the striped volumes serve here, too.
    assert found["raid0.write.random", "md"].cells == built("table7", frame)["write.random", "software.ide"].cells
    assert found["raid0.read.random", "md"].cells == built("scaling", frame)["4", "ide.read.random"].cells
    postmark = found["raid0.ntfs.postmark", "ldm"]
    assert (postmark.published.unit, postmark.scale, postmark.ratio) == ("s", 0.1, None)
    assert postmark.cells == ("ide-ahci.deskstar-75gxp.ldm-striped-4.t32.both.ntfs.postmark-x0.1.s01",)


def test_tables_volumes_are_all_in_the_sheet(frame):
    """What the table looks for is what the full profile runs."""
    wanted = {cell.partition(".s0")[0].replace("-x0.1", "") for entry in built("volumes", frame).values()
              for cell in entry.cells}  # fmt: skip
    assert wanted == {cell.rsplit(".", 1)[0] for cell in cell_list.cell_ids("full", "white2001", "volumes")}


def test_tables_filesystems_phases_add_up(frame):
    found = built("filesystems", frame)
    assert len(found) == 9 * 2 * 4
    for file_system in white.FILE_SYSTEMS:
        create, run, delete, total = (
            found[file_system, f"scsi.{phase}"] for phase in (*white.POSTMARK_PHASES, "total")
        )
        assert create.reproduced + run.reproduced + delete.reproduced == pytest.approx(total.reproduced)
        assert create.cells[0] == f"scsi-virtio.ultrastar-36zx.t32.both.{file_system}.postmark.s01"


def test_tables_postmark_has_both_readings_of_the_papers_seconds(frame):
    found = built("postmark", frame)
    sixth = built("table6", frame)
    assert len(found) == 4 * 40 + 4 * 2
    for row in ("t32-64.both", "t8.none"):
        parts = {name: found[row, f"ffs.scsi.{name}"] for name in ("create", "run", "delete", "total")}
        total = parts.pop("total")
        assert total.reproduced == sixth[row, "ffs.scsi.postmark"].reproduced
        assert sum(part.reproduced for part in parts.values()) == pytest.approx(total.reproduced)
        assert parts["run"].published.value == total.published.value
        assert parts["run"].ratio == pytest.approx(parts["run"].reproduced / float(total.published.value))
        assert parts["create"].ratio is None
    own = found["default", "softupdates.scsi.total"]
    assert own.cells[0] == "scsi-virtio.ultrastar-36zx.t64.both.softupdates.postmark-default.s01"
    assert not set(own.cells) & set(sixth["t32-64.both", "softupdates.scsi.postmark"].cells)


def test_tables_have_the_number_of_each_reading_where_it_is_another(frame):
    [reading] = papers.paper(white.PAPER).readings
    phases = built("postmark", frame)
    for table in ("table4", "table6", "table7"):
        other = {(e.published.row, e.published.column): e
                 for e in white.TABLES[table](frame=settings.read_as(frame, reading), drives={})}  # fmt: skip
        kept = built(table, frame)
        made = tables.with_reading([*kept.values()], reading.name, [*other.values()])
        # A difference of two columns may be the same under both.
        made = [e for e in made if not e.published.column.endswith("diff")]
        kept = {(e.published.row, e.published.column): e for e in made}
        read = {place for place, e in kept.items() if "postmark" in "".join(place) and e.reproduced is not None}
        assert read
        assert {(e.published.row, e.published.column) for e in made if e.readings} == read
        for e in made:
            if table == "table6" and e.readings:
                run = e.published.column.replace("postmark", "run")
                assert e.readings[reading.name] == phases[e.published.row, run].reproduced


def test_tables_readings_come_back_from_their_file(tmp_path):
    one = entries.Entry(entries.Published("a", "b", "s", "3"), 4.0, readings={"x": 1.5, "y": None})
    entries.write([one], tmp_path / "t.csv")
    assert entries.read(tmp_path / "t.csv")[0]["readings"] == {"x": 1.5, "y": None}


def test_tables_phase_that_is_not_there(frame):
    without = frame.copy()
    without["phases"] = [None] * len(without)
    entry = built("filesystems", without)["xfs", "ide.run"]
    assert (entry.reproduced, entry.n, entry.reason) == (None, 0, "failed: no such phases in the result")


def test_tables_table3_missing_key_is_named(frame):
    with pytest.raises(TableError, match=r"capacity of ide.*sectors.*deskstar-75gxp"):
        white.table3(frame, {"ide": {}})


def test_tables_controllers_pairs_differ_in_the_controller_only():
    for first, second in zip(white.COMPARED[::2], white.COMPARED[1::2], strict=True):
        assert first[0] != second[0]
        assert first[1:] == second[1:]


def test_tables_write_and_read(frame, tmp_path):
    made = list(built("table5", frame).values())
    entries.write(made, tmp_path / "table5.csv")
    back = entries.read(tmp_path / "table5.csv")
    assert len(back) == 192
    assert back[0]["printed"] == "30.8"
    assert back[0]["cells"] == list(made[0].cells)
    assert back[0]["reproduced"] == pytest.approx(made[0].reproduced, rel=1e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("row,column,unit,value\n", ":1: columns are"),
        ("row,column,unit,value,questioned\na,b,s,x,false\n", ":2: value 'x' is no number"),
        ("row,column,unit,value,questioned\na,b,s,1,maybe\n", ":2: questioned is 'maybe'"),
        ("row,column,unit,value,questioned\na,b,s,1,true\na,b,s,1,true\n", ":3: ('a', 'b') stands there twice"),
    ],
)
def test_tables_published_errors_name_the_line(tmp_path, text, message):
    path = tmp_path / "table9.csv"
    path.write_text(text)
    with pytest.raises(TableError) as error:
        entries.read_published(path)
    assert message in str(error.value)


def test_tables_unknown_table_is_one_message(tmp_path, capsys):
    out = str(tmp_path / "x.csv")
    assert tables.main(["--paper", "white2001", "--table", "table9", "--out", out]) == 1
    assert "table9: white2001 has controllers, filesystems, postmark, scaling, table1" in capsys.readouterr().err
