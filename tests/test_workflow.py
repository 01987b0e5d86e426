# SPDX-License-Identifier: MIT
"""Snakemake: what a target needs, and what a change re-runs. Dry runs only."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from analysis import papers
from lab.cell import cells

ROOT = Path(__file__).resolve().parents[1]
SNAKEMAKE = Path(sys.executable).with_name("snakemake")
CELL = "ide-piix.deskstar-75gxp.tnone.both.rawio-read-random.s01"


ACCEPTED_LINTS = (
    # One locked environment serves all rules.
    "Specify a conda environment or container for each rule.:",
)


def dry_run(*arguments: str, profile: str = "quick") -> subprocess.CompletedProcess:
    command = [SNAKEMAKE, "--profile", f"config/profiles/{profile}", "--quiet", "host", "--forceall", "--dry-run"]
    return subprocess.run([*command, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def jobs(done: subprocess.CompletedProcess) -> set[str]:
    assert done.returncode == 0, done.stdout + done.stderr
    return set(re.findall(r"^(?:local)?rule (\S+):", done.stdout + done.stderr, re.M))


def test_workflow_report_lists_every_table_of_every_paper():
    done = dry_run("report")
    assert jobs(done)
    for paper in papers.every():
        for file in (*(f"tables/{table}.tex" for table in paper.rendered), "report.pdf", "report.html", "summary.json"):
            assert f"results/quick/{paper.id}/{file}" in done.stdout + done.stderr
    assert "results/quick/report.pdf" in done.stdout + done.stderr


@pytest.mark.parametrize("paper", papers.every(), ids=lambda paper: paper.id)
def test_workflow_table_needs_its_runs(paper):
    table = next(name for name in paper.measured if not paper.tables[name].also)
    runs = {name for name in jobs(dry_run(f"{paper.id}.{table}")) if name.startswith("run_")}
    assert runs == {f"run_{cell.run}" for cell in cells.cells_of_table("quick", paper.id, table)}


def test_workflow_one_cell_needs_one_run():
    found = jobs(dry_run(f"results/quick/cells/{CELL}/result.json"))
    assert {name for name in found if name.startswith("run_")} == {"run_ide-piix.deskstar-75gxp.tnone.both"}


def test_workflow_tables_without_cells_need_no_run():
    literal = [f"{paper.id}.{table}" for paper in papers.every() for table in paper.rendered
               if table not in paper.measured]  # fmt: skip
    assert literal
    assert not [name for name in jobs(dry_run(*literal)) if name.startswith("run_")]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("profil=quick", "unknown key 'profil'; did you mean 'profile'?"),
        ("profile=quik", "'profile' cannot be 'quik'; did you mean 'quick'?"),
    ],
)
def test_workflow_bad_config(setting, message):
    done = subprocess.run(
        [SNAKEMAKE, "--dry-run", "--cores", "1", "--config", setting],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert message in done.stdout + done.stderr


def test_workflow_build_rules_have_no_input():
    """Regression: a build job re-run for its input hid missing results; the report ended early, with status 0."""
    printed = dry_run(f"results/quick/cells/{CELL}/result.json").stdout
    blocks = {block.split(":", 1)[0]: block for block in re.split(r"^rule ", printed, flags=re.M)[1:]}
    for name in ("model", "qemu", "guest"):
        assert "output:" in blocks[name]
        assert "input:" not in blocks[name].split("output:")[0]


def test_workflow_lint():
    done = subprocess.run(
        [SNAKEMAKE, "--profile", "config/profiles/smoke", "--lint"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.findall(r"^(?:Lints for .*|    \* .*)$", done.stdout + done.stderr, re.M)
    assert found, done.stderr
    rest = [line for line in found if line.startswith("    * ") and not line[6:].startswith(ACCEPTED_LINTS)]
    assert not rest, "\n".join(found)


def test_workflow_first_repetition_has_every_benchmark():
    """Regression: of a generator as a rule's input, Snakemake lost the first."""
    found = {name.removeprefix("run_") for name in jobs(dry_run("first_repetition", profile="smoke"))}
    assert {one.id for one in cells.runs("smoke").values() if not one.cells[0].raw} <= found
