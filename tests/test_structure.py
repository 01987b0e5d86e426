# SPDX-License-Identifier: MIT
"""How the code hangs together: papers are named only in their own folders, and imports go one way."""

import ast
import re
import subprocess
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from lab.cell import papers

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("lab", "workloads", "vagrant", "analysis", "paper")
CODE = {".py", ".smk", ".sh", ".rs", ".c", ".h", ".toml", ".json", ".yaml", ".j2", ".patch", ""}
"""Suffixes of files that are code; prose may name a paper."""
ORDER = ("lab", "analysis", "paper")
"""A package imports from itself and from those before it."""


def tracked() -> list[Path]:
    """Committed files."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [Path(name) for name in listed.split("\0") if name and (ROOT / name).is_file()]


def modules() -> dict[str, Path]:
    """Every module of the packages, tests left out, by its dotted name."""
    found = {}
    for path in tracked():
        if path.suffix == ".py" and path.parts[0] in PACKAGES and "tests" not in path.parts:
            parts = path.with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(path: Path, known: dict[str, Path]) -> set[str]:
    """The modules, of these, that a module imports, wherever in it that stands."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(path.parts[: len(path.parts) - node.level]) if node.level else ""
            module = ".".join(part for part in (base, node.module or "") if part)
            found |= {f"{module}.{alias.name}" for alias in node.names} | {module}
    return found & known.keys()


def graph() -> dict[str, set[str]]:
    """Each module with those that it imports. That `lab.cell` is imported before `lab.cell.job` is no circle."""
    known = modules()
    return {name: {other for other in imports(path, known) if not name.startswith(f"{other}.") and other != name}
            for name, path in known.items()}  # fmt: skip


def test_structure_no_circle_between_modules():
    try:
        TopologicalSorter(graph()).prepare()
    except CycleError as error:
        pytest.fail(f"these modules import each other: {' -> '.join(error.args[1])}")


def test_structure_imports_go_one_way():
    names = papers.ids()
    wrong = []
    for module, imported in graph().items():
        own = module.split(".")
        for other in imported:
            there = other.split(".")
            if own[0] in ORDER and there[0] in ORDER and ORDER.index(there[0]) > ORDER.index(own[0]):
                wrong.append(f"{module} imports {other}")
            if there[0] == "paper" and there[1:2] and there[1] in names and own[:2] != there[:2]:
                wrong.append(f"{module} imports {other}: general code finds a paper's modules by analysis/papers.py")
    assert not wrong


def test_structure_no_code_outside_its_folder_names_a_paper():
    named = re.compile("|".join(rf"(?<![a-z0-9]){name}(?![a-z0-9])" for name in papers.ids()))
    wrong = []
    for path in tracked():
        if path.suffix not in CODE or path.parts[0] in ("docs", "results"):
            continue
        own = path.parts[1] if path.parts[0] == "paper" and len(path.parts) > 2 else None
        for number, line in enumerate((ROOT / path).read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            wrong += [f"{path}:{number}: {found}" for found in named.findall(line) if found != own]
    assert not wrong, "\n".join(wrong)


def test_structure_every_paper_has_its_parts():
    for name in papers.ids():
        folder = papers.folder(name)
        for part in ("README.md", "paper.yaml", "cells.csv", "tables.py", "tests"):
            assert (folder / part).exists(), f"paper/{name}/{part} is missing"
        profiles = {path.parent.name for path in (ROOT / "config" / "profiles").glob("*/config.yaml")}
        assert {path.stem for path in (folder / "profiles").glob("*.yaml")} == profiles
