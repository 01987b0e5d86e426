# SPDX-License-Identifier: MIT
"""Sheets, profiles, and the messages about what is wrong in them."""

import csv

import pytest

from lab.cell import catalogue, cells, config, identity, papers
from lab.cell.errors import ConfigError

COLUMNS = "tables,controller,drive,array,tags,scheduler,file_system,workload,parameters,scale"
ROW = "table5,ide-ahci,deskstar-75gxp,none,32,both,raw,rawio,op=read pattern=random,1"

PAPER = papers.ids()[0]
PLAN = {"schema": "spindle-plan/1", "profile": "quick", "repetitions": 3, "runs": "all"}


@pytest.fixture
def sheet(lab, monkeypatch, tmp_path):
    """Reads a sheet of these lines."""

    def read(*lines, columns=COLUMNS):
        path = tmp_path / "sheet.csv"
        path.write_text("\n".join([columns, *lines]) + "\n")
        monkeypatch.setattr(papers, "sheet", lambda name: path)
        cells.sheet.cache_clear()
        return cells.sheet(PAPER)

    return read


def test_cells_sheet_has_table_5(lab):
    table5 = [row for row in cells.sheet(PAPER) if "table5" in row["tables"].split()]
    assert len(table5) == 192
    assert len({(row["controller"], row["tags"], row["scheduler"]) for row in table5}) == 32


def test_cells_table_4_is_32_tags_both(lab):
    assert {(cell.tags, cell.scheduler) for cell in cells.cells_of_table("quick", PAPER, "table4")} == {("32", "both")}


def test_cells_ids(lab):
    run = cells.run("full", "scsi-virtio.ultrastar-36zx.t32.both")
    assert run.cells[0].id == "scsi-virtio.ultrastar-36zx.t32.both.rawio-read-sequential.s01"
    assert run.cells[59].id == "scsi-virtio.ultrastar-36zx.t32.both.rawio-write-random.s10"
    # Once, and behind what is measured.
    assert [(cell.workload, cell.seed) for cell in run.cells[60:]] == [("fio", 1)] * 6


def test_cells_a_short_profile_begins_a_long_one(lab):
    short, long = (cells.run(profile, "ide-piix.deskstar-75gxp.tnone.both") for profile in ("smoke", "full"))
    assert long.cells[: len(short.cells)] == short.cells
    ours, theirs = identity.asked(short), identity.asked(long)
    assert len(ours) == 6 and all(theirs[name] == one for name, one in ours.items())


def test_cells_profiles_are_valid(lab):
    raw = [run.cells[0].array for run in cells.runs("smoke").values() if run.cells[0].raw]
    assert sorted(raw) == ["ldm-raid5-4", "md-raid0-8", *["none"] * 4, "raid5-ide-8"]
    assert {run.controller for run in cells.runs("smoke").values()} == {
        "ide-piix",
        "ide-ahci",
        "scsi-virtio",
        "scsi-megasas",
    }
    raw = sum(row["file_system"] == cells.RAW for row in cells.sheet(PAPER))
    assert sum(cell.raw for cell in cells.cells("full")) == 10 * (raw - 6) + 6


def test_cells_table_6_is_complete(lab):
    table6 = [cell for cell in cells.cells_of_table("full", PAPER, "table6") if cell.seed == 1]
    assert len(table6) == 160
    assert len({(cell.controller, cell.tags, cell.scheduler) for cell in table6}) == 20


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("deskstar-75gxp", "deskstar-75gpx", r":2: drive 'deskstar-75gpx' is not in .*did you mean 'deskstar-75gxp'\?"),
        ("deskstar-75gxp", "quantum", r"known: deskstar-75gxp, ultrastar-36zx"),
        ("ide-ahci", "ide-achi", r"controller 'ide-achi' is not in .*did you mean 'ide-ahci'\?"),
        (",32,", ",64,", r":2: 64 tags, but controller 'ide-ahci' can have at most 32"),
        (",32,", ",thirty,", r":2: 'tags' is wrong: 'thirty' does not match"),
        ("both", "bth", r"'scheduler' cannot be 'bth'; did you mean 'both'\?"),
        ("deskstar-75gxp", "ultrastar-36zx", r"drive 'ultrastar-36zx' speaks scsi, controller 'ide-ahci' ata"),
        (",none,", ",md-rade5-4,", r":2: array 'md-rade5-4' is neither in .*did you mean 'md-raid5-4'\?"),
        (",none,", ",md-raid0,", r":2: array 'md-raid0' lacks the number of its disks; write md-raid0-4 for four"),
        (",none,", ",md-raid5-2,", r":2: array 'md-raid5-2' has 2 disks, md-raid5 takes 3 to 15"),
        ("ide-ahci,deskstar-75gxp,none,32", "ide-piix,deskstar-75gxp,md-raid0-5,none", r"'ide-piix' can attach 4;"),
        (
            "none,32,both,raw,rawio",
            "md-raid0-4,32,both,raw,fio",
            r"workload 'fio' is for one disk, not for array 'md-r",
        ),
        (",1", "", r":2: 10 columns are expected"),
    ],
)
def test_cells_bad_row(sheet, old, new, message):
    with pytest.raises(ConfigError, match=message):
        sheet(ROW.replace(old, new))


def test_cells_misspelt_column(sheet):
    with pytest.raises(ConfigError, match=r"unknown key 'parametrs'; did you mean 'parameters'\?"):
        sheet(ROW, columns=COLUMNS.replace("parameters", "parametrs"))


def test_cells_same_cell_twice(sheet):
    with pytest.raises(ConfigError, match="the same cell as line 2"):
        sheet(ROW, ROW.replace("table5", "table4"))


def test_config_misspelt_key():
    with pytest.raises(ConfigError, match=r"plan.yaml: unknown key 'repititions'; did you mean 'repetitions'\?"):
        config.check({**PLAN, "repititions": 3}, "plan", "plan.yaml")


def test_config_unknown_profile():
    with pytest.raises(ConfigError, match=r"profile: 'quik' is unknown; did you mean 'quick'\?"):
        config.plan("quik", PAPER)


def test_config_wrong_type():
    with pytest.raises(ConfigError, match=r"plan.yaml: 'repetitions' is wrong: 'ten' is not of type 'integer'"):
        config.check({**PLAN, "repetitions": "ten"}, "plan", "plan.yaml")


def test_config_run_in_no_sheet(lab, monkeypatch):
    plan = {"repetitions": 1, "runs": ["ide-ahci.deskstar-75gxp.t32.bth"]}
    monkeypatch.setattr(config, "plan", lambda profile, paper: plan)
    with pytest.raises(ConfigError, match=r"did you mean 'ide-ahci.deskstar-75gxp.t32.both'\?"):
        cells.cells("smoke")


@pytest.mark.skipif(not catalogue.names("controllers"), reason="the catalogue is empty")
def test_cells_real_catalogue_serves_every_row():
    """Not the fixtures: the sheets against lab/disk/catalogue as it is."""
    assert len(cells.sheet(PAPER)) > 192


def test_cells_sheet_is_sorted_in_columns():
    with papers.sheet(PAPER).open(encoding="utf-8") as file:
        assert next(csv.reader(file)) == COLUMNS.split(",")
