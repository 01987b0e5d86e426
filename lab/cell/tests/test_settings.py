# SPDX-License-Identifier: MIT
"""A row's own assumptions and catalogue values, in sheets and in attempts, and what else an attempt may not ask for."""

import hashlib
import tomllib
from dataclasses import replace

import pytest

from lab.cell import attempt, catalogue, cells, config, identity, job, papers, settings
from lab.cell.errors import ConfigError

PAPER = papers.ids()[0]
COLUMNS = "tables,controller,drive,array,tags,scheduler,file_system,workload,parameters,scale,set"
ROW = "table5,ide-ahci,deskstar-75gxp,none,32,both,raw,rawio,op=read pattern=random,1,"
ARRAY = "table7,scsi-virtio,deskstar-75gxp,raid5-ide-8,64,both,ffs,postmark,,1,"
IDS = {
    "smoke": "2bcce67a47bc7f8934e69641fb8f3ecd80194cfdc4f7b7f0d0caba256e538e8f",
    "quick": "9a20c94702cf8407d44ecc74c8bd75bbc0acaef623aa1d2e1eaf9c3718997cc7",
    "full": "99b3bdcec1991c09791d422b125133979ebc44fc6c62f1c56326ceaf79c62eee",
}
"""SHA-256 of the ids of all cells and runs of the sheet's rows without overrides."""
LABELS = {"qemu": "", "model": "", "guest": "", "rawio": "", "postmark": ""}


@pytest.fixture
def sheet(monkeypatch, tmp_path):
    """Reads a sheet of these lines, or of these bytes."""

    def read(*lines, columns=COLUMNS, data=None):
        path = tmp_path / "sheet.csv"
        path.write_bytes(data if data is not None else ("\n".join([columns, *lines]) + "\n").encode())
        monkeypatch.setattr(papers, "sheet", lambda name: path)
        cells.sheet.cache_clear()
        return cells.sheet(PAPER)

    yield read
    cells.sheet.cache_clear()


def run_of(row):
    cell = cells._cell(PAPER, row, 1)
    return cells.Run(cell.run, cell.paper, cell.controller, cell.drive, cell.tags, (cell,))


@pytest.mark.parametrize("profile", IDS)
def test_settings_ids_of_rows_without_overrides_stay(profile):
    """Results, references and published archives name cells by them."""
    ids = [cell.id for cell in cells.paper_cells(profile, PAPER) if not cell.set]
    runs = [name for name, one in cells.runs(profile).items() if one.paper == PAPER and not one.cells[0].set]
    assert hashlib.sha256("\n".join(ids + runs).encode()).hexdigest() == IDS[profile]


def test_settings_one_line_of_a_sheet_stands_for_several_overrides(sheet):
    """Behind the other columns, `|` goes between all that one row overrides and all that the next does."""
    tags = ROW.replace(",32,", ",4|32,")
    rows = sheet(f"{tags}|write_cache=false drive.read_segments=4|memory_mib=256")
    assert [run_of(row).id.removeprefix("ide-ahci.deskstar-75gxp.") for row in rows] == [
        f"{base}{own}"
        for base in ("t4.both", "t32.both")
        for own in ("", "+write_cache=false+drive.read_segments=4", "+memory_mib=256")
    ]
    with pytest.raises(ConfigError, match=r"sheet\.csv:3: the same cell as line 2"):
        sheet(f"{ROW}|write_cache=false", f"{ROW}write_cache=false|memory_mib=256")
    with pytest.raises(ConfigError, match=r"sheet\.csv:2: set: nothing is called 'write_cahe'"):
        sheet(f"{ROW}write_cache=false|write_cahe=false")
    with pytest.raises(ConfigError, match=r"sheet\.csv:2: 'set' is wrong: 'write_cache=false '"):
        sheet(f"{ROW}write_cache=false | memory_mib=256")


def test_settings_overrides_are_in_id_topology_and_identity(sheet):
    [row] = sheet(f"{ROW}write_cache=false drive.read_segments=4")
    one = run_of(row)
    assert one.id == "ide-ahci.deskstar-75gxp.t32.both+write_cache=false+drive.read_segments=4"
    assert one.cells[0].id == f"{one.id}.rawio-read-random.s01"
    disk = tomllib.loads(job.topology_text(one, "/c"))["unit"][0]
    assert disk["write_cache"] is False and disk["set"] == {"read_segments": 4}
    assert "write-cache=off" in " ".join(job.qemu_command(one, "B", "W", ""))
    plain = replace(one, cells=(replace(one.cells[0], set=()),))
    ours, theirs = (identity.of_run(run, LABELS) for run in (one, plain))
    moved = {name for name, value in next(iter(ours.values())).items() if next(iter(theirs.values()))[name] != value}
    assert moved == {"drive", "cell"}
    assert identity.read_of(one, one.cells[0])["assumptions"]["write_cache"] is False


def test_settings_array_overrides_reach_the_topology_and_the_image(sheet):
    [row] = sheet(f"{ARRAY}array.members=7 array.spares=1 array.cache_kb=65536 memory_mib=256")
    one = run_of(row)
    topology = tomllib.loads(job.topology_text(one, "/c"))
    assert topology["array"][0]["set"] == {"members": 7, "spares": 1, "cache_kb": 65536}
    assert len(topology["array"][0]["members"]) == 7 and topology["array"][0]["spares"] == ["m7"]
    image = identity.image_of(one.cells[0])
    assert image.name == (
        "deskstar-75gxp.raid5-ide-8.ffs+array.members=7+array.spares=1+array.cache_kb=65536+memory_mib=256"
    )
    assert identity.image_hash(image, LABELS) != identity.image_hash(replace(image, set=()), LABELS)
    assert "-m 256" in " ".join(job.qemu_command(identity.image_run(image), "B", "W", ""))


@pytest.mark.parametrize(
    ("row", "words", "message"),
    [
        (ROW, "write_cache=on", "set: write_cache is a switch and cannot be 'on'; write true or false"),
        (ROW, "memory_mib=half", "set: memory_mib is a whole number and cannot be 'half'; write it in digits"),
        (ROW, "memory_mib=0256", "is a whole number and cannot be '0256'"),
        (ROW, "memory_mib=-1", "memory_mib cannot be -1; write a number that is not negative"),
        (ROW, "memory_mb=256", "set: nothing is called 'memory_mb'; did you mean 'memory_mib'?"),
        (ROW, "disk_scheduler_on=sptff", "disk_scheduler_on cannot be 'sptff'; did you mean 'sptf'?"),
        (ROW, "drive.read_segment=4", "nothing is called 'drive.read_segment'; did you mean 'drive.read_segments'?"),
        (ROW, "drive.read_segments=many", "drive.read_segments is a whole number and cannot be 'many'"),
        (ROW, "drive.write_cache=false", "cannot be overridden: the assumption write_cache decides it"),
        (ROW, "postmark_seconds=run", "cannot be overridden: it says how the paper's numbers are read; leave it out"),
        (ROW, "drive.zones=4", "drive.zones is no single value"),
        (ROW, "drive.model=x", "nothing is called 'drive.model'"),
        (ROW, "array.cache_kb=1", "array.cache_kb: the cell has no hardware array; leave it out"),
        (ROW, "memory_mib=256 memory_mib=128", "memory_mib stands there twice; leave one"),
        (ROW, "memory_mib", "'set' is wrong: 'memory_mib' does not match"),
        (ARRAY, "array.max_tags=32", "64 tags, but array 'raid5-ide-8' takes at most 32 commands; lower the tags"),
    ],
)
def test_settings_bad_overrides_of_a_row(sheet, row, words, message):
    with pytest.raises(ConfigError) as caught:
        sheet(row + words)
    assert "sheet.csv:2: " in str(caught.value) and message in str(caught.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (bytes(range(256)) * 40, "is not UTF-8 text; restore the file"),
        (b"\x7fELF\0\0\0\0", "it has NUL bytes, so it is no text"),
        (b"", "the cell sheet is empty; its first line must name the columns"),
        (b"\n\n", "the cell sheet is empty"),
        (b"\xef\xbb\xbf" + COLUMNS.encode(), "begins with a byte order mark; save it as UTF-8 without one"),
        (f"{COLUMNS},set\n{ROW},\n".encode(), ":1: column 'set' stands there twice; leave one"),
        (f"{COLUMNS}\n{ROW},,,\n".encode(), ":2: 11 columns are expected; correct the row"),
        (f'{COLUMNS}\n"table5"x,{ROW}\n'.encode(), "not CSV: "),
        (COLUMNS.replace("drive,", "").encode() + b"\nx,x,x,x,x,x,x,x,x,x\n", "missing key 'drive'; add it"),
    ],
)
def test_settings_a_sheet_that_is_none(sheet, data, message):
    with pytest.raises(ConfigError) as caught:
        sheet(data=data)
    assert "sheet.csv" in str(caught.value) and message in str(caught.value)


def test_settings_a_missing_sheet(sheet, tmp_path):
    sheet(ROW)
    (tmp_path / "sheet.csv").unlink()
    cells.sheet.cache_clear()
    with pytest.raises(ConfigError, match="cannot read cell sheet: No such file or directory; restore the file"):
        cells.sheet(PAPER)
    (tmp_path / "sheet.csv").mkdir()
    with pytest.raises(ConfigError, match="cannot read cell sheet: Is a directory"):
        cells.sheet(PAPER)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--tags", "500"], "500 tags, but controller 'scsi-virtio' can have at most 128 commands outstanding"),
        (["--tags", "many"], "'tags' is wrong: 'many' does not match"),
        (["--tags", "0"], "'tags' is wrong: '0' does not match"),
        (["--controller", "ide-ahci"], "drive 'ultrastar-36zx' speaks scsi, controller 'ide-ahci' ata; pair them"),
        (["--scale", "abc"], "'scale' is wrong: 'abc' does not match"),
        (["--scale", "2"], "'scale' is wrong: '2' does not match"),
        (["--seed", "0"], "--seed: 0 is below 1; write a number from 1 on"),
        (["--assume", "write_cache=on"], "write_cache is a switch and cannot be 'on'; write true or false"),
        (["--set", "memory_mib=x"], "memory_mib is a whole number and cannot be 'x'"),
        (["--set", "write_cahe=false"], "nothing is called 'write_cahe'; did you mean 'write_cache'?"),
        (["--fs", "ext5"], "file system 'ext5' is not in lab/guest/filesystems; did you mean 'ext2'?"),
        (["--drive", "deskstar"], "drive 'deskstar' is not in lab/disk/catalogue/drives"),
        (["--workload", "postmark"], "workload 'postmark' and file system 'raw' do not go together"),
        (["--workload", "rawio", "--fs", "ffs"], "do not go together"),
        (["--array", "raid5-ide-8", "--set", "array.max_tags=16"], "32 tags, but array 'raid5-ide-8' takes at most 16"),
    ],
)
def test_attempt_is_checked_as_a_row_is(capsys, words, message):
    behind = ["op=read", "pattern=random"] if "rawio" in words else [] if "postmark" in words else ["true"]
    assert attempt.main([*words, "--", *behind]) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: ") and message in said and "Traceback" not in said


def test_attempt_sets_as_a_row_does():
    one = attempt.run_of(attempt.parse(["--set", "write_cache=false", "--assume", "memory_mib=256", "--", "true"]))
    command = " ".join(job.qemu_command(one, "B", "W", ""))
    assert "write-cache=off" in command and "-m 256" in command
    disk = tomllib.loads(job.topology_text(one, "/c"))["unit"][0]
    assert disk["write_cache"] is False


def test_settings_every_choice_has_the_papers_own():
    for key, known in settings.CHOICES.items():
        assert config.assumption(PAPER, key) in known


def test_settings_every_scalar_of_a_drive_can_be_overridden():
    drive = "deskstar-75gxp"
    for key, value in catalogue.values("drives", drive).items():
        word = f"drive.{key}={str(value).lower() if isinstance(value, bool) else value}"
        fits = isinstance(value, (bool, int, str)) and f"drive.{key}" not in settings.FIXED
        if fits:
            settings.check(PAPER, (word,), drive, None, "here")
        else:
            with pytest.raises(ConfigError):
                settings.check(PAPER, (f"drive.{key}=1",), drive, None, "here")
