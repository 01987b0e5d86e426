# SPDX-License-Identifier: MIT
"""Cells for the page: each one's setting, numbers, phases, console and the picture of its trace, as a script file.

A browser does not let a page that was opened from a folder read other files, but it runs scripts that lie beside it.
Each file calls `spindleCell` with the data of one cell, when a reader asks for that cell. A file that was made from the
same result by the same code stays as it is: its first line has the hash of both.
"""

import json
import shlex
from collections.abc import Collection
from functools import cache
from pathlib import Path

from analysis import cell_facts, load, picture, reference, traces
from analysis.errors import ResultError
from lab.cell import evidence, identity, job, store, trace

CONSOLE_CHARACTERS = 20_000
"""The end of a console that is shown."""
CODE = (Path(__file__), *(Path(module.__file__) for module in (cell_facts, picture, traces, trace)))


@cache
def code() -> str:
    """The hash of what makes these files."""
    return identity.digest([path.read_text(encoding="utf-8") for path in CODE])


def key(profile: str, folder: Path) -> str:
    """The hash of code and result."""
    parts = [(folder / name) for name in (store.RESULT, evidence.NAME)]
    return identity.digest([code(), profile, *(path.read_text() if path.is_file() else "" for path in parts)])


def read_text(path: Path) -> str:
    """The end of a file's text, as much as is shown; empty where there is none."""
    if not path.is_file():
        return ""
    found = path.read_text(encoding="utf-8", errors="replace")
    left = len(found) - CONSOLE_CHARACTERS
    return found if left <= 0 else f"[{left} characters before this are left out]\n{found[left:]}"


def drawn(folder: Path, array: str) -> tuple[dict | None, str]:
    """What the picture of a cell's trace is drawn from, with the disks that the guest sees first; or None, and why
    there is no picture."""
    try:
        made = picture.picture(traces.read(folder), job.disk_units(array))
    except ResultError as error:
        return None, str(error)
    return made, "" if made else "The trace has no request."


def spans(phases: list[dict]) -> list[dict]:
    """Phases as the picture marks them, with the words of cell_facts."""
    return [
        {"name": name, "took": took, "begin_ns": one["begin_ns"], "end_ns": one["end_ns"]}
        for one, (name, took) in zip(phases, cell_facts.phases(phases), strict=True)
    ]


def measured(profile: str, folder: Path) -> dict:
    """A cell of this profile. Raises ResultError for a folder without a result."""
    result = load.checked(folder / store.RESULT)
    made, why = drawn(folder, result["cell"].get("array", load.NO_ARRAY))
    cell, word = result["id"], shlex.quote(result["id"])
    return {
        "id": cell,
        "from": f"measured here, in profile {profile}",
        "commands": [
            ["Measure it again and compare every byte", f"spindle verify --profile {profile} --cells {word}"],
            ["Measure it where it is missing or its inputs have moved", f"spindle run --profile {profile} {word}"],
            ["Its requests as text", f"spindle show trace --profile {profile} {word}"],
        ],
        "facts": [
            ["Setting", cell_facts.setting(result)],
            ["Measured", cell_facts.measured(result)],
            ["Assumptions that it read", [(k, cell_facts.text(v)) for k, v in result["read"]["assumptions"].items()]],
            ["Made from (SHA-256)", cell_facts.made_from(result)],
        ],
        "phases": spans((result["metrics"] or {}).get("phases", [])),
        "console": read_text(folder / "console.log"),
        "qemu": read_text(folder / "command"),
        "picture": made,
        "no_picture": why,
    }


def committed(cell: str, line: dict[str, str], phases: list[dict], verified: bool) -> dict:
    """A cell of which only the reference numbers are here, from its line of cells.csv and its phases; `verified` if it
    was measured again here and was equal."""
    shown = [(name, line[name]) for name in reference.NUMBERS if line[name]]
    inputs = [
        (name.removeprefix("input_"), value) for name, value in line.items() if name.startswith("input_") and value
    ]
    return {
        "id": cell,
        "from": "reference: measured once and committed" + ("; verified here, and equal" if verified else ""),
        "commands": [["Measure it here and compare with the reference", f"spindle verify --cells {shlex.quote(cell)}"]],
        "facts": [
            ["Setting", [(name, line[name]) for name in ("guest", *reference.io_summary.SETTING)]],
            ["Measured", shown],
            ["Made from (SHA-256)", inputs],
        ],
        "phases": spans(phases),
        "console": "",
        "qemu": "",
        "picture": None,
        "no_picture": "The reference keeps numbers, and of the trace only its hash. The command below measures it.",
    }  # fmt: skip


def script(mark: str, data: dict) -> str:
    """The file's text."""
    return f"// {mark}\nspindleCell({json.dumps(data, separators=(',', ':'))});\n"


def put(path: Path, mark: str, make) -> bool:
    """Write a cell's file, whole, unless it is there already; returns whether it was written."""
    if path.is_file():
        with path.open(encoding="utf-8") as file:
            if file.readline() == f"// {mark}\n":
                return False
    partial = path.with_name(f".{path.name}.new")
    partial.write_text(script(mark, make()), encoding="utf-8")
    partial.replace(path)
    return True


def write(
    profile: str, results: Path, ids: list[str], kept: reference.Reference, out: Path, verified: Collection[str] = ()
) -> int:
    """The files of these cells of a profile, and of the cells of a reference that the profile does not have, of which
    some were verified here; others that lie in the folder are removed. Returns how many were written."""
    out.mkdir(parents=True, exist_ok=True)
    wanted, count = set(), 0
    for cell in sorted(set(ids)):
        folder = results / "cells" / cell
        wanted.add(f"{cell}.js")
        count += put(out / f"{cell}.js", key(profile, folder), lambda folder=folder: measured(profile, folder))
    for cell, line in kept.cells.items():
        if f"{cell}.js" in wanted:
            continue
        wanted.add(f"{cell}.js")
        phases = kept.phases_of(cell)
        mark = identity.digest([code(), line, phases, cell in verified])
        count += put(out / f"{cell}.js", mark, lambda c=cell, n=line, p=phases: committed(c, n, p, c in verified))
    for path in out.iterdir():
        if path.name not in wanted:
            path.unlink()
    return count
