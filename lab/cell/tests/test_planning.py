# SPDX-License-Identifier: MIT
"""What runs again after a change: results of a lab that only pretends, held against what lies here."""

import json
import os
import subprocess
import sys

import pytest

from lab.cell import built, catalogue, cells, identity, paths, planning, run

PROFILE = "smoke"
RUNS = (
    "ide-piix.deskstar-75gxp.tnone.both",
    "scsi-virtio.ultrastar-36zx.t32.both",
    "scsi-virtio.deskstar-75gxp.raid5-ide-8.t64.both",
    "scsi-virtio.ultrastar-36zx.md-raid0-8.t64.both",
)
ATA = {RUNS[0], RUNS[2]}


@pytest.fixture
def results(lab):
    """Finished runs; returns the build directory."""
    (lab / "mode").write_text("")
    for name in RUNS:
        run.serve(PROFILE, name)
    return lab


def stale():
    return {run_id: moved for run_id, moved in planning.plan(PROFILE).stale_runs().items() if run_id in RUNS}


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_planning_nothing_moved(results):
    assert stale() == {}


def test_planning_a_bus_moves_all_that_have_it_and_no_other(results):
    """Regression: the bus of a hardware array's members was in no identity."""
    edit(catalogue.entry_path("buses", "ata-100"), "value = 80", "value = 81")
    assert stale().keys() == ATA
    assert stale()[RUNS[0]] == ["controller"] and stale()[RUNS[2]] == ["array"]


def test_planning_a_drive_moves_its_cells(results):
    edit(catalogue.entry_path("drives", "ultrastar-36zx"), "value = 256", "value = 255")
    assert stale() == {RUNS[1]: ["drive"], RUNS[3]: ["drive"]}


def test_planning_comments_and_words_move_nothing(results):
    for kind in ("drives", "buses", "arrays", "controllers"):
        for name in catalogue.names(kind):
            path = catalogue.entry_path(kind, name)
            path.write_text(f"# Another comment.\n{path.read_text()}")
    edit(catalogue.entry_path("buses", "ata-100"), 'value = "ata-100"', 'value = "Ultra DMA 5"')
    assert stale() == {}


def test_planning_what_is_to_be_built_again_holds_for_nothing(results):
    built.forget("qemu", results)
    assert stale() == {name: [planning.UNKNOWN] for name in RUNS}
    assert planning.plan(PROFILE).image_paths(identity.Image("ffs", "ultrastar-36zx")) is None


def test_planning_a_label_moves_those_who_boot_it(results):
    (results / "volumes" / "tools.erofs").write_text("other tools")
    built.forget("volumes", results)
    built.write_receipt("volumes", results, {name: built.sources(name) for name in built.THINGS["volumes"].sources})
    assert stale() == {RUNS[3]: ["array"]}


def test_planning_built_again_to_the_same_bytes_moves_nothing(results):
    for name in ("guest", "workloads/rawio"):
        built.forget(name, results)
        built.write_receipt(name, results, {entry: built.sources(entry) for entry in built.THINGS[name].sources})
    assert stale() == {}


@pytest.mark.parametrize("text", ["", "\0", "[]", "{}", '{"identity": 3}', '{"identity": {}}'])
def test_planning_a_result_that_cannot_be_read_runs_again(results, text):
    cell = cells.run(PROFILE, RUNS[0]).cells[2]
    (paths.ROOT / paths.result_path(PROFILE, cell.id)).write_text(text)
    assert stale().keys() == {RUNS[0]}


def test_planning_missing_results_are_snakemakes(results):
    one = cells.run(PROFILE, RUNS[0])
    (paths.ROOT / paths.result_path(PROFILE, one.cells[0].id)).unlink()
    assert stale() == {}
    edit(catalogue.entry_path("buses", "ata-100"), "value = 80", "value = 81")
    assert stale().keys() == ATA


def test_planning_results_of_an_older_format(results):
    for cell in cells.run(PROFILE, RUNS[1]).cells:
        path = paths.ROOT / paths.result_path(PROFILE, cell.id)
        result = json.loads(path.read_text())
        del result["identity"]["reader"]
        path.write_text(json.dumps(result))
    assert stale() == {RUNS[1]: ["reader"]}


def test_planning_a_run_that_lacks_a_result_is_named(results):
    one = cells.run(PROFILE, RUNS[1])
    assert not planning.lacks_results(PROFILE, one)
    (paths.ROOT / paths.result_path(PROFILE, one.cells[-1].id)).unlink()
    assert planning.lacks_results(PROFILE, one)
    # what is there still holds
    assert RUNS[1] not in stale()


def test_planning_writes_nothing(results):
    def everything():
        return {path: path.stat().st_mtime_ns for path in paths.ROOT.rglob("*")}

    before = everything()
    planning.plan(PROFILE).stale_runs()
    planning.plan(PROFILE).image_paths(identity.Image("ffs", "ultrastar-36zx"))
    assert everything() == before


def test_planning_says_why(capsys):
    planning.say({"a": ["drive", "guest"], "b": ["qemu"]}, {"a", "c"})
    assert capsys.readouterr().err == "again: a: made with another drive, guest\n"


AGAIN = """import sys

sys.path.insert(0, {root!r})
from lab.cell import planning


rule run:
    input:
        planning.again(),
    output:
        "result",
    shell:
        "echo once >> runs; touch {{output}}"
"""


@pytest.mark.slow
def test_planning_what_is_to_run_again_runs_each_time(tmp_path):
    """Also if it ran for the same reason before: Snakemake noted its inputs then."""
    (tmp_path / "Snakefile").write_text(AGAIN.format(root=str(paths.ROOT)))
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--rerun-triggers", "mtime", "params"]
    for _ in range(3):
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, env=os.environ | {"HOME": str(tmp_path)})
    assert (tmp_path / "runs").read_text().split() == ["once"] * 3
