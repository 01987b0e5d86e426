# SPDX-License-Identifier: MIT
"""Reference numbers: those of finished cells, committed so that they can be read without measuring.

    spindle reference --profile reference  take this profile's finished cells into the reference
    spindle reference --check             hold all results that lie here against it

Kept are the cells of a paper's profile `reference`: all at the paper's size, once, and those of its evidence. In
paper/<paper>/reference/: cells.csv has one line a cell: its setting, elapsed time, rate, the sums of its trace and what
it was made from (`identity`: the hash over all its inputs; `input_*`: over each). phases.csv has its phases,
measures.csv what deviations.yaml wants besides. The paper's module `readable` makes tables of these numbers, to be read
as they are. No traces, dates or machines stand there.

Taken are results that ended well and were made from the sources that lie here; others are named and leave the
reference as it was, and so do cells without a result here. Cells of several states of the sources may stand side by
side; what is made from them says so. A check fails if numbers of the same identity differ, which the lab's determinism
forbids; numbers of another identity are listed as moved.
"""

import csv
import sys
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

import pandas as pd

from analysis import cell_names, io_summary, load, measures, numbers, papers
from analysis.errors import ResultError
from lab.cell import cells, config, identity, paths

PROFILE = "reference"
"""The profile that has all of its cells."""
EVIDENCE = "evidence"
"""What the sheet of evidence names as the table of its cells. None prints them."""
ELAPSED, RATE = "elapsed_ns", measures.RATE
NUMBERS = (ELAPSED, RATE, *io_summary.SUMS)
"""Columns of cells.csv that were measured; empty where a cell has no such number."""
INPUTS = (*load.IDENTITY, "file_system", "array", "reader")
STATE = ("qemu", "model", "guest")
"""Inputs that all cells share: those made from the same ones are of one state of the lab."""
IDENTITY_DIGITS, INPUT_DIGITS = 16, 12
"""Kept of a hash over everything, and over one input."""
HASHES = ("trace_sha256", "metrics_sha256")
"""SHA-256 of the lines of the cell's trace, and of all its metrics in their one JSON form."""
CELLS = ("cell", "guest", *io_summary.SETTING, *NUMBERS, "identity", *(f"input_{name}" for name in INPUTS), *HASHES)
PHASES = ("cell", "phase", "begin_ns", "end_ns")
MEASURES = ("cell", "measure", "value")
FILES = {"cells.csv": CELLS, "phases.csv": PHASES, "measures.csv": MEASURES}
LATER = (RATE, "input_array", "input_reader", *HASHES)
"""Columns that a cells.csv may lack which was written before there was such a thing; empty then."""


@cache
def planned(paper: str) -> frozenset[str]:
    """The cells that a paper's reference keeps: those of its profile `reference`."""
    return frozenset(cell.id for cell in cells.paper_cells(PROFILE, paper))


def evidence_alone(paper: str) -> frozenset[str]:
    """Ids of the cells that only evidence needs. They differ from a table's by values of their own."""
    return frozenset(cell.id for cell in cells.paper_cells(PROFILE, paper) if set(cell.tables) == {EVIDENCE})


def for_tables(paper: str, committed: "Reference") -> pd.DataFrame:
    """The reference's cells that a paper's tables are made of: all but those that only evidence needs."""
    return committed.frame[~committed.frame.id.isin(evidence_alone(paper))].reset_index(drop=True)


def folder(paper: str) -> Path:
    """Where a paper's reference numbers are."""
    return papers.paper(paper).reference


def table_file(table: str) -> str:
    """Table data made from the reference, beside that of the profile."""
    return f"reference.{table}.csv"


@dataclass
class Reference:
    """The committed numbers by cell, as text."""

    cells: dict[str, dict[str, str]] = field(default_factory=dict)
    phases: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    measures: dict[str, dict[str, str]] = field(default_factory=dict)

    def keep_only(self, wanted: Collection[str]) -> int:
        """Leave out all other cells; returns how many there were. A mean is never of these and of newer ones."""
        others = self.cells.keys() - set(wanted)
        for part in (self.cells, self.phases, self.measures):
            for name in others & part.keys():
                del part[name]
        return len(others)

    def put(self, line: dict[str, str], phases: list[dict[str, str]]) -> None:
        """A cell with its phases, if it has any."""
        self.cells[line["cell"]] = line
        self.phases.pop(line["cell"], None)
        if phases:
            self.phases[line["cell"]] = phases

    def measures_of(self, cell_id: str) -> dict[str, float]:
        """A cell's measures, as analysis.measures names them."""
        line = self.cells[cell_id]
        found = measures.timed(int(line[ELAPSED]), self.phases_of(cell_id))
        found |= {name: number(line[name]) for name in (RATE, *io_summary.SUMS) if line[name]}
        return found | {name: number(value) for name, value in self.measures.get(cell_id, {}).items()}

    def phases_of(self, cell_id: str) -> list[dict]:
        """A cell's phases, as its result has them."""
        return [
            {"name": line["phase"], "begin_ns": int(line["begin_ns"]), "end_ns": int(line["end_ns"])}
            for line in self.phases.get(cell_id, [])
        ]

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The cells as `analysis.load` gives them; what a table does not need is empty."""
        rows = []
        for cell_id, line in sorted(self.cells.items()):
            words = dict(word.split("=", 1) for word in line["parameters"].split())
            row = dict.fromkeys(load.COLUMNS) | {name: line[name] for name in load.COLUMNS if name in line}
            row |= {"id": cell_id, "run": cell_id, "status": "ok", "reason": ""}
            row |= {"array": cell_names.array_of(cell_id) or load.NO_ARRAY}
            row |= {name: words.get(name, "") for name in load.PARAMETERS}
            own = cell_names.own_of(cell_id)
            row |= {"parameters": " ".join([*(f"{name}={value}" for name, value in sorted(words.items())), *own])}
            row |= {"scale": number(line["scale"]), "seed": int(line["seed"]), "phases": self.phases_of(cell_id)}
            row |= {name: number(line[name]) for name in NUMBERS if name in row and line[name]}
            rows.append(row)
        return pd.DataFrame(rows, columns=load.COLUMNS)

    def describe(self, of: set[str] | None = None) -> dict:
        """What the numbers of these cells, or of all, were made from, for the report."""
        lines = [line for cell, line in sorted(self.cells.items()) if of is None or cell in of]
        together = identity.digest([[line["cell"], line["identity"]] for line in lines])
        states = Counter(tuple(line[f"input_{name}"] for name in STATE) for line in lines)
        return {
            "cells": len(lines), "identity": together[:IDENTITY_DIGITS] if lines else "",
            "inputs": {name: sorted({line[f"input_{name}"] for line in lines}) for name in STATE},
            "states": [{"cells": count, "inputs": dict(zip(STATE, hashes, strict=True))}
                       for hashes, count in sorted(states.items(), key=lambda item: (-item[1], item[0]))],
        }  # fmt: skip


def number(text: str) -> float:
    """A number of a CSV file; an integer stays one."""
    return int(text) if text.lstrip("-").isdigit() else float(text)


def read_lines(path: Path, columns: tuple[str, ...]) -> list[dict[str, str]]:
    """Lines of one file; none where it is not there yet."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        there = tuple(reader.fieldnames or ())
        if there != tuple(name for name in columns if name in there or name not in LATER):
            raise ResultError(f"{path}:1: columns are not {','.join(columns)}; restore the file, or write it again")
        lines = []
        for line in reader:
            if None in line or None in line.values():
                raise ResultError(f"{path}:{reader.line_num}: {len(there)} columns are expected; restore the file")
            lines.append({name: line.get(name, "") for name in columns})
    return lines


def read(path: Path) -> Reference:
    """The reference in this folder."""
    found = {name: read_lines(path / name, columns) for name, columns in FILES.items()}
    reference = Reference({line["cell"]: line for line in found["cells.csv"]})
    for line in found["phases.csv"]:
        reference.phases.setdefault(line["cell"], []).append(line)
    for line in found["measures.csv"]:
        reference.measures.setdefault(line["cell"], {})[line["measure"]] = line["value"]
    return reference


def write(reference: Reference, path: Path, readable: dict[str, Callable] | None = None) -> None:
    """The reference as files, sorted by cell: the same numbers give the same bytes. `readable` are files with tables to
    be read as they are, and what makes their text from the reference."""
    known = sorted(reference.cells)
    lines = {
        "cells.csv": [reference.cells[cell] for cell in known],
        "phases.csv": [line for cell in known for line in reference.phases.get(cell, [])],
        "measures.csv": [
            {"cell": cell, "measure": name, "value": value}
            for cell in known
            for name, value in sorted(reference.measures.get(cell, {}).items())
        ],
    }
    for name, columns in FILES.items():
        io_summary.write(lines[name], columns, path / name)
    for name, text in (readable or {}).items():
        (path / name).write_text(text(reference))


def made_from(about: dict) -> str:
    """What some numbers were made from, as `describe` has it, in a sentence or two."""
    inputs = "; ".join(f"{name} {', '.join(hashes)}" for name, hashes in about["inputs"].items() if hashes)
    text = (f"Written by `spindle reference` from {about['cells']} cells, identity "
            f"{about['identity'] or 'none'}{f' ({inputs})' if inputs else ''}.")  # fmt: skip
    return " ".join(part for part in (text, mixture(about)) if part)


def mixture(about: dict) -> str:
    """Which cells are of which state of the lab, where they are of several; else nothing."""
    parts = [
        f"{state['cells']} of " + ", ".join(f"{name} {digits}" for name, digits in state["inputs"].items())
        for state in about["states"]
    ]
    return f"The cells are of {len(parts)} states of the lab: {'; '.join(parts)}." if len(parts) > 1 else ""


def finished(results: Path, cell_id: str) -> bool:
    """A cell below results/<profile> has a number."""
    path = results / "cells" / cell_id / "result.json"
    return path.is_file() and load.checked(path)["status"] == "ok"


def inputs(made_from: dict[str, str]) -> dict[str, str]:
    """The inputs of a result's `identity` by name, each with as many digits as a reference keeps of it."""
    return {name: made_from[name][:INPUT_DIGITS] for name in INPUTS if name in made_from}


def lines_of(result: dict) -> tuple[dict[str, str], list[dict[str, str]]]:
    """A result's line of cells.csv and its lines of phases.csv."""
    cell_id, metrics, made_from = result["id"], result["metrics"], result["identity"]
    line = {"cell": cell_id, "guest": result["cell"]["guest"]} | io_summary.setting(result["cell"])
    line |= {name: io_summary.shown(metrics.get(name)) for name in NUMBERS}
    line |= {"identity": identity.digest(made_from)[:IDENTITY_DIGITS]}
    named = inputs(made_from)
    line |= {f"input_{name}": named.get(name, "") for name in INPUTS}
    line |= dict(zip(HASHES, (result["trace"], identity.digest(metrics)), strict=True))
    phases = [
        {"cell": cell_id, "phase": phase["name"], "begin_ns": str(phase["begin_ns"]), "end_ns": str(phase["end_ns"])}
        for phase in metrics.get("phases", [])
    ]
    return line, phases


def wanted_measures(path: Path) -> dict[str, set[str]]:
    """Measures that a paper's deviations.yaml names, by cell."""
    found: dict[str, set[str]] = {}
    for item in config.read_yaml(path, "deviations")["deviations"] if path.exists() else []:
        for piece in item["evidence"]:
            found.setdefault(piece["cell"], set()).update(measures.names(piece["value"]))
    return found


def take(
    paper: papers.Paper, reference: Reference, profile: str, results: Path, wanted: dict[str, set[str]]
) -> tuple[int, list[str]]:
    """Take a profile's finished cells of this paper; returns how many, and what was refused, why."""
    taken, refused = 0, []
    own = {cell.id for cell in cells.paper_cells(profile, paper.id)}
    for run in cells.runs(profile).values():
        for cell in run.cells:
            path = results / "cells" / cell.id / "result.json"
            if cell.id not in own or cell.id not in planned(paper.id) or not path.is_file():
                continue
            result = load.checked(path)
            if result["status"] != "ok":
                refused.append(f"{cell.id}: failed: {result['reason']}")
                continue
            line, phases = lines_of(result)
            other = identity.other_inputs(run, cell, result)
            if other:
                # What was taken when its sources lay here stays.
                if (reference.cells.get(cell.id), reference.phases.get(cell.id, [])) != (line, phases):
                    refused.append(f"{cell.id}: stale: it was made from another version of {', '.join(other)}")
                continue
            reference.put(line, phases)
            reference.measures.pop(cell.id, None)
            names = wanted.get(cell.id, set())
            has = reference.measures_of(cell.id)
            if names - has.keys():
                known = measures.of_cell(results, cell.id, names)
                reference.measures[cell.id] = {
                    name: io_summary.shown(known[name]) for name in sorted(names - has.keys()) if name in known
                }
            taken += 1
    return taken, refused


@dataclass
class Comparison:
    """Results held against the reference."""

    shared: int = 0
    """Cells that both have."""
    equal: list[str] = field(default_factory=list)
    """Of them, those with the same inputs and the same numbers."""
    differ: list[str] = field(default_factory=list)
    """Same inputs, other numbers: one line each."""
    moved: list[dict] = field(default_factory=list)
    """Other inputs: `cell`, `here_ns`, `reference_ns`, `ratio`, `inputs`."""
    unknown: int = 0
    """Finished cells of the profile `reference` that the reference does not have."""

    @property
    def same(self) -> int:
        """How many are equal."""
        return len(self.equal)


def moved_inputs(line: dict[str, str], there: dict[str, str]) -> list[str]:
    """Names of the inputs in which two lines of cells.csv differ; none for those made from the same."""
    if line["identity"] == there["identity"]:
        return []
    return [name for name in INPUTS if line[f"input_{name}"] != there[f"input_{name}"]] or ["other"]


def differences(result: dict, reference: Reference) -> list[str]:
    """What is other in a result than in the reference's line of its cell: numbers, phases, and, where the reference has
    them, the hashes of metrics and trace."""
    (line, phases), there = lines_of(result), reference.cells[result["id"]]
    wrong = [f"{name} is {line[name]}, not {there[name]}" for name in NUMBERS if line[name] != there[name]]
    if phases != reference.phases.get(result["id"], []):
        wrong.append("its phases are others")
    wrong += [f"its {name.removesuffix('_sha256')} is another" for name in HASHES
              if there[name] and line[name] != there[name]]  # fmt: skip
    return wrong


def compare(reference: Reference, results: list[dict]) -> Comparison:
    """Finished results against the reference."""
    found = Comparison()
    for result in sorted(results, key=lambda result: result["id"]):
        cell_id = result["id"]
        if cell_id not in reference.cells:
            found.unknown += 1
            continue
        found.shared += 1
        (line, _), there = lines_of(result), reference.cells[cell_id]
        if other := moved_inputs(line, there):
            here_ns, reference_ns = int(line[ELAPSED]), int(there[ELAPSED])
            found.moved.append({"cell": cell_id, "here_ns": here_ns, "reference_ns": reference_ns,
                                "ratio": here_ns / reference_ns, "inputs": other})  # fmt: skip
            continue
        wrong = differences(result, reference)
        found.equal += [] if wrong else [cell_id]
        found.differ += [f"{cell_id}: {text}" for text in wrong]
    return found


def finished_results(paper: papers.Paper, results: Path) -> list[dict]:
    """The results below results/<profile> that a paper's reference keeps, and that have a number."""
    listed = sorted(path for path in results.glob("cells/*/result.json") if not path.parent.name.startswith("."))
    found = [load.checked(path) for path in listed if path.parent.name in planned(paper.id)]
    return [result for result in found if result["status"] == "ok"]


def check(paper: papers.Paper, reference: Reference, folders: list[Path]) -> int:
    """Print how all results compare; returns how many numbers must not differ but do."""
    wrong = 0
    for results in folders:
        found = compare(reference, finished_results(paper, results))
        wrong += len(found.differ)
        print(
            f"{paper.id}, {results.name}: {found.same} cells have the reference's numbers, {len(found.moved)} moved, "
            f"{len({line.partition(':')[0] for line in found.differ})} differ; {found.unknown} are not in the reference"
        )
        for one in found.moved:
            seconds = [numbers.fixed(numbers.seconds(one[name]), 3) for name in ("here_ns", "reference_ns")]
            print(
                f"moved: {one['cell']}: {numbers.fixed(one['ratio'], 3)} times "
                f"({seconds[0]} s, reference {seconds[1]} s); made from another version of {', '.join(one['inputs'])}"
            )
        for line in found.differ:
            print(f"error: made from the same inputs, but {line} as in the reference", file=sys.stderr)
    return wrong


def chosen(paper: str | None) -> list[papers.Paper]:
    """One paper, or all."""
    return [papers.paper(paper)] if paper else papers.every()


def check_all(paper: papers.Paper, place: Path | None = None) -> int:
    """Hold all results that lie here against a paper's reference, or another folder's; returns the exit status."""
    folders = sorted(path for path in (paths.ROOT / "results").glob("*") if path.is_dir())
    return 1 if check(paper, read(place or folder(paper.id)), folders) else 0


def take_all(paper: papers.Paper, profile: str, place: Path | None = None) -> int:
    """Take a profile's finished cells into a paper's reference, or another folder; returns the exit status."""
    place = place or folder(paper.id)
    reference = read(place)
    results = paths.ROOT / "results" / profile
    dropped = reference.keep_only(planned(paper.id))
    taken, refused = take(paper, reference, profile, results, wanted_measures(paper.deviations))
    if reference.cells:
        module = paper.module("readable")
        write(reference, place, module.READABLE if module else None)
    print(f"{paper.id}: {taken} cells taken; the reference has {len(reference.cells)}")
    if dropped:
        print(f"{paper.id}: {dropped} cells left out, which the profile {PROFILE} no longer has")
    for text in refused:
        print(f"refused: {text}", file=sys.stderr)
    if refused:
        print(
            f"{len(refused)} cells are left as they were in the reference; "
            f"run them again: spindle report --profile {profile}",
            file=sys.stderr,
        )
    return 1 if refused else 0
