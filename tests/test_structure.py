# SPDX-License-Identifier: MIT
"""How the code hangs together: papers are named only in their own folders, and imports go one way."""

import importlib.util
import re
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from lab.cell import cells, papers

ROOT = Path(__file__).resolve().parents[1]
CODE = {".py", ".smk", ".sh", ".rs", ".c", ".h", ".toml", ".json", ".yaml", ".j2", ".patch", ""}
"""Suffixes of files that are code; prose may name a paper."""
ORDER = ("lab", "analysis", "paper", "cli")
"""A package imports from itself and from those before it."""


@pytest.fixture(scope="module")
def structure():
    """tests/structure.py, which is a program and no package."""
    spec = importlib.util.spec_from_file_location("spindle_structure", ROOT / "tests" / "structure.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def refuse_circle(graph):
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"these modules use each other: {' -> '.join(error.args[1])}")


def test_structure_no_circle_between_python_modules(structure):
    refuse_circle(structure.python())


def test_structure_no_circle_between_rust_modules(structure):
    crates = structure.crates()
    refuse_circle({str(folder): crate.needs for folder, crate in crates.items()})
    assert sum(len(crate.modules) for crate in crates.values()) > 60, "the modules were not found"
    for crate in crates.values():
        refuse_circle(structure.rust(crate))


def test_structure_picture_is_of_this_code(structure):
    drawn = structure.picture()
    assert structure.picture() == drawn
    assert structure.PICTURE.read_text(encoding="utf-8") == drawn, "write it again: python tests/structure.py"


@pytest.mark.parametrize(
    ("code", "used"),
    [
        ("use crate::bus::{Phase, Turn};", {"bus"}),
        ("use crate::{bus::Turn, array::{cache, layout::{Level, Part}}};", {"bus", "array::cache", "array::layout"}),
        ("use super::cache::Piece;", {"array::cache"}),
        ("use super::{ranges, Array};", {"array::ranges"}),
        ("pub(crate) fn f(&self) { super::super::bus::turn() }", {"bus"}),
        ("// use crate::bus::Turn;", set()),
        ("#[cfg(test)]\nmod tests {\n    use crate::bus::Turn;\n}\n", set()),
    ],
)
def test_structure_reads_paths_of_rust(structure, monkeypatch, tmp_path, code, used):
    names = ("", "bus", "array", "array::cache", "array::layout", "array::ranges", "array::jobs")
    crate = structure.Crate("toy", tmp_path, set(), {name: tmp_path / f"{name or 'lib'}.rs" for name in names})
    for path in crate.modules.values():
        path.touch()
    crate.modules["array::jobs"].write_text(code)
    monkeypatch.setattr(structure, "ROOT", tmp_path)
    assert structure.rust(crate)["array::jobs"] == used


def test_structure_sees_a_circle_through_a_folder(structure, monkeypatch, tmp_path):
    code = {"": "mod array;\nmod bus;\n", "array": "mod cache;\n", "array::cache": "use crate::bus::Turn;\n",
            "bus": "use crate::array::Array;\n"}  # fmt: skip
    crate = structure.Crate("toy", tmp_path, set(), {name: tmp_path / f"{name or 'lib'}.rs" for name in code})
    for name, path in crate.modules.items():
        path.write_text(code[name])
    monkeypatch.setattr(structure, "ROOT", tmp_path)
    with pytest.raises(CycleError):
        structure.depth(structure.rust(crate))


def test_structure_rust_takes_nothing_through_its_root(structure, monkeypatch, tmp_path):
    crate = structure.Crate("toy", tmp_path, set(), {"": tmp_path / "lib.rs", "bus": tmp_path / "bus.rs"})
    crate.modules[""].write_text("mod bus;\n")
    crate.modules["bus"].write_text("use crate::Error;\n")
    monkeypatch.setattr(structure, "ROOT", tmp_path)
    with pytest.raises(ValueError, match="names no module"):
        structure.rust(crate)


def test_structure_imports_go_one_way(structure):
    names = papers.ids()
    wrong = []
    for module, imported in structure.python().items():
        own = module.split(".")
        for other in imported:
            there = other.split(".")
            if own[0] in ORDER and there[0] in ORDER and ORDER.index(there[0]) > ORDER.index(own[0]):
                wrong.append(f"{module} imports {other}")
            if there[0] == "paper" and there[1:2] and there[1] in names and own[:2] != there[:2]:
                wrong.append(f"{module} imports {other}: general code finds a paper's modules by analysis/papers.py")
    assert not wrong


def test_structure_no_code_outside_its_folder_names_a_paper(structure):
    named = re.compile("|".join(rf"(?<![a-z0-9]){name}(?![a-z0-9])" for name in papers.ids()))
    wrong = []
    for path in structure.tracked():
        if path.suffix not in CODE or path.parts[0] in ("docs", "results"):
            continue
        own = path.parts[1] if path.parts[0] == "paper" and len(path.parts) > 2 else None
        for number, line in enumerate((ROOT / path).read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            # A paper may take over another's assumptions.
            if path.name == papers.ABOUT and line.startswith("like: "):
                continue
            wrong += [f"{path}:{number}: {found}" for found in named.findall(line) if found != own]
    assert not wrong, "\n".join(wrong)


def test_structure_every_paper_has_its_parts():
    for name in papers.ids():
        folder = papers.folder(name)
        for part in ("README.md", "paper.yaml", "cells.csv", "tables.py", "tests"):
            assert (folder / part).exists(), f"paper/{name}/{part} is missing"
        profiles = {path.parent.name for path in (ROOT / "config" / "profiles").glob("*/config.yaml")}
        plans = {path.stem for path in (folder / "profiles").glob("*.yaml")}
        assert profiles - set(cells.OPTIONAL) <= plans <= profiles, name
