# SPDX-License-Identifier: MIT
"""A report as an RO-Crate: what it names, that its bytes depend on nothing else, and what a validator says."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lab.cell import lock, papers, paths
from paper import crate, sources
from paper.errors import CrateError

ROOT = Path(__file__).resolve().parents[2]
COMMIT = "0123456789ab"


@pytest.fixture
def report(tmp_path, monkeypatch):
    """A checkout with a report of one paper; its files say nothing but what the crate reads."""
    root = tmp_path / "checkout"
    monkeypatch.setattr(paths, "ROOT", root)
    monkeypatch.setattr(papers, "ids", lambda: ("toy",))
    monkeypatch.setattr(sources, "commit", lambda: COMMIT)
    monkeypatch.setattr(sources, "day", lambda: "2026-11-22")
    monkeypatch.setattr(lock, "folder_of", lambda *words: tmp_path / "locks")
    for name in [*crate.inputs("smoke"), "config/profiles/smoke/config.yaml", "paper/toy/cells.csv", *pages()]:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{name}\n")
    (root / "results/smoke/report.html").write_text(f"<p>commit <code>{COMMIT}</code></p>\n")
    (root / "Snakefile").write_text('include: "paper/paper.smk"\n')
    (root / "paper/paper.smk").write_text("# rules\n")
    (root / "CITATION.cff").write_bytes((ROOT / "CITATION.cff").read_bytes())
    return root


def pages():
    return [f"{name}page.js" if name.endswith("/") else name for name in crate.outputs("smoke")]


def entities(folder):
    graph = json.loads((folder / crate.METADATA).read_text(encoding="utf-8"))["@graph"]
    return {entity["@id"]: entity for entity in graph}


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_crate_names_workflow_inputs_and_outputs(report):
    found = entities(crate.write("smoke"))
    assert found["./"]["mainEntity"] == {"@id": "Snakefile"}
    assert found["./"]["datePublished"] == "2026-11-22"
    assert found["Snakefile"]["version"] == COMMIT
    assert found["Snakefile"]["hasPart"] == [{"@id": "paper/paper.smk"}]
    language = found[found["Snakefile"]["programmingLanguage"]["@id"]]
    locked = (ROOT / "envs/requirements.lock").read_text(encoding="utf-8")
    assert language["name"] == "Snakemake" and f"\nsnakemake=={language['version']} " in locked
    action = found["#report"]
    assert action["@type"] == "CreateAction" and action["instrument"] == {"@id": "Snakefile"}
    assert {one["@id"] for one in action["object"]} == {"#profile", *crate.inputs("smoke")}
    assert {one["@id"] for one in action["result"]} == set(crate.outputs("smoke"))
    assert not {"startTime", "endTime", "agent", "actionStatus"} & action.keys(), "nothing has recorded these"
    assert found[found["./"]["license"]["@id"]]["name"] == "MIT"
    assert found[found["./"]["author"]["@id"]]["name"] == "The authors of Spindle"


def test_crate_links_or_copies_every_file_that_it_names(report, tmp_path):
    linked, copied = crate.write("smoke"), crate.write("smoke", tmp_path / "out")
    assert linked == report / "results/smoke/crate"
    assert contents(linked) == contents(copied)
    for name in contents(copied):
        assert (linked / name).is_symlink() == (name != crate.METADATA)
        assert not (copied / name).is_symlink()
    for name, entity in entities(copied).items():
        if {"File", "Dataset"} & {*([entity["@type"]] if isinstance(entity["@type"], str) else entity["@type"])}:
            assert (copied / name).exists(), name


def test_crate_is_the_same_bytes_again(report, tmp_path):
    first = contents(crate.write("smoke"))
    assert contents(crate.write("smoke")) == first
    assert contents(crate.write("smoke", tmp_path / "elsewhere")) == first
    assert str(tmp_path) not in first[crate.METADATA].decode()


def test_crate_of_a_missing_report_says_what_makes_it(report):
    (report / "results/smoke/toy/report.pdf").unlink()
    with pytest.raises(CrateError, match=r"toy/report.pdf: is not there; `make report PROFILE=smoke` makes it"):
        crate.write("smoke")


def test_crate_refuses_a_report_of_another_commit(report, monkeypatch):
    monkeypatch.setattr(sources, "commit", lambda: "ba9876543210")
    with pytest.raises(CrateError, match=f"made from commit {COMMIT}, and ba9876543210 lies here"):
        crate.write("smoke")


def test_crate_without_git_wants_a_date(report, monkeypatch):
    monkeypatch.setattr(sources, "day", lambda: None)
    with pytest.raises(CrateError, match="give --date YYYY-MM-DD"):
        crate.write("smoke")
    assert entities(crate.write("smoke", date="2027-01-02"))["./"]["datePublished"] == "2027-01-02"


def test_crate_leaves_a_folder_with_something_in_it_alone(report, tmp_path):
    (tmp_path / "kept").write_text("mine")
    with pytest.raises(CrateError, match="not empty"):
        crate.write("smoke", tmp_path)
    assert (tmp_path / "kept").read_text() == "mine"


@pytest.mark.nightly
def test_crate_is_accepted_by_the_validator(report, tmp_path):
    """What the profile requires holds of both forms; a crate without its action is refused."""
    python = tmp_path / "venv/bin/python"
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    subprocess.run([*install, "-r", ROOT / "envs/validator.lock"], check=True)
    subprocess.run([python, ROOT / "paper/tests/crate_context.py", tmp_path / "cache"], check=True)
    words = ["validate", "--profile-identifier", "workflow-run-crate-0.5", "--requirement-severity", "required",
             "--offline", "--cache-path", tmp_path / "cache", "--no-paging", "--verbose"]  # fmt: skip

    def judge(folder):
        return subprocess.run(
            [tmp_path / "venv/bin/rocrate-validator", *words, folder], capture_output=True, text=True, check=False
        )

    copied = crate.write("smoke", tmp_path / "out")
    for folder in (copied, crate.write("smoke")):
        done = judge(folder)
        assert done.returncode == 0, done.stdout + done.stderr
    data = json.loads((copied / crate.METADATA).read_text(encoding="utf-8"))
    data["@graph"] = [entity for entity in data["@graph"] if entity["@id"] != "#report"]
    (copied / crate.METADATA).write_text(json.dumps(data), encoding="utf-8")
    done = judge(copied)
    assert done.returncode == 1 and "CreateAction" in done.stdout, done.stdout + done.stderr
