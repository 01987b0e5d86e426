# SPDX-License-Identifier: MIT
"""Proof by sample: cells of the reference are measured again here, in an order that is drawn, and compared with it.

Every permutation of the cells is as likely as any other, so that the first ones of it are a sample, wherever the user
or the time stops it. What was begun counts: a cell that was stopped counts as if it differed, because else slow or
wrong cells could be left out of the sample.

A cell that was made from the same inputs must have the same numbers and the same trace, byte by byte; one that has not
is a bug. Of a cell that was made from other inputs it is only said which, and whether it is equal all the same.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from math import comb
from pathlib import Path

from analysis import cell_names, load, reference, verified
from lab.cell import built, cells, config, determinism, identity, paths, workflow
from lab.cell.errors import ConfigError, EnvironmentMissing, SpindleError

CONFIDENCE = 0.95
EQUAL, DIFFERENT, MOVED, FAILED, STOPPED = verified.EQUAL, "DIFFERENT", "inputs moved", "FAILED", "stopped"
"""What came of a cell. FAILED: it has no number here, but had one; STOPPED: it was begun and has not ended."""
SCHEMA = "spindle-verification/1"


@dataclass(frozen=True)
class Entry:
    """One cell of a reference."""

    paper: str
    cell: str
    stratum: str
    """What cells are counted by: the workload, on one disk or on an array."""
    run: cells.Run
    """The run that serves it, up to this cell."""


@dataclass(frozen=True)
class Verdict:
    """What came of one cell."""

    entry: Entry
    outcome: str
    moved: tuple[str, ...] = ()
    """Inputs that are others than the reference's, in words."""
    differences: tuple[str, ...] = ()
    """What is other than in the reference; empty for a cell that is equal."""
    trace: bool = True
    """Whether the reference has its trace, so that it was compared, too."""
    seconds: float = 0.0
    """Real time."""
    lab: dict[str, str] = field(default_factory=dict)
    """What it was made from here, as the reference names its inputs; empty where there is no result."""

    def words(self) -> str:
        """The verdict as one line."""
        kept = (
            "numbers and trace are equal" if self.trace else "the numbers are equal; the reference has no trace of it"
        )
        found = "; ".join(self.differences) or kept
        if self.outcome == MOVED:
            return f"{MOVED}: {', '.join(self.moved)}; {found}"
        if self.outcome == DIFFERENT:
            return f"{DIFFERENT} from equal inputs: {found}"
        if self.moved:
            found += f"; its inputs moved: {', '.join(self.moved)}"
        return f"{self.outcome}: {found}"

    def record(self) -> dict:
        """What results/verified.json keeps of it."""
        return {
            "outcome": self.outcome, "equal": not self.differences, "trace": self.trace, "moved": list(self.moved),
            "lab": self.lab,
        }  # fmt: skip


def stratum(cell_id: str, workload: str) -> str:
    """What a cell is counted by."""
    return f"{workload}, {'array' if cell_names.array_of(cell_id) else 'one disk'}"


@dataclass
class Population:
    """The cells that can be drawn."""

    entries: list[Entry]
    references: dict[str, reference.Reference]
    """By paper."""
    gone: list[str]
    """Cells of the reference that no paper's sheet has any more."""


def measured_here(paper: str, profile: str, fits: Callable[[str], bool]) -> reference.Reference:
    """A profile's finished cells of a paper, in the form of a reference."""
    config.require_profile(profile)
    made, results = reference.Reference(), paths.ROOT / "results" / profile
    for cell in cells.paper_cells(profile, paper):
        if cell.paper == paper and fits(cell.id) and reference.finished(results, cell.id):
            made.put(*reference.lines_of(load.checked(results / "cells" / cell.id / "result.json")))
    return made


def population(
    patterns: tuple[str, ...] = (), paper: str | None = None, folder: Path | None = None, profile: str | None = None
) -> Population:
    """The cells of the papers' references whose ids fit one of the patterns (as a shell's). In the place of the
    committed reference: another `folder`, which may have been taken with `spindle reference --out`, or the results of a
    `profile` that lie here. Raises ConfigError where nothing fits."""
    chosen = reference.chosen(paper)
    found = Population([], {}, [])

    def fits(cell_id: str) -> bool:
        return not patterns or any(fnmatchcase(cell_id, pattern) for pattern in patterns)

    for one in chosen:
        if profile is None:
            committed = reference.read(folder or reference.folder(one.id))
        else:
            committed = measured_here(one.id, profile, fits)
        found.references[one.id] = committed
        for cell_id, line in committed.cells.items():
            if not fits(cell_id):
                continue
            run = cells.up_to(cell_id, profile or reference.PROFILE)
            if run is None:
                found.gone.append(cell_id)
            elif folder is None or run.paper == one.id or len(chosen) == 1:
                found.entries.append(Entry(one.id, cell_id, stratum(cell_id, line["workload"]), run))
    if not found.entries:
        known = sorted({cell for one in found.references.values() for cell in one.cells})
        if profile is not None:
            what = f" that fits {patterns[0]}" if patterns else ""
            raise ConfigError(
                f"results/{profile}: there is no finished cell{what}; "
                f"`spindle run --profile {profile} CELL` measures one"
            )
        if patterns and known:
            raise ConfigError(
                f"--cells {patterns[0]}: the reference has no such cell; "
                f"{config.nearest(patterns[0], known, 'spindle status --profile full --cells')}"
            )
        raise ConfigError("there are no reference numbers to verify; `spindle reference --profile full` takes some")
    return found


def drawn(entries: list[Entry], seed: int) -> list[Entry]:
    """The entries in the order of a seed: that of hashes, so that it is the same with any Python, and the same for what
    both have of two lists."""
    return sorted(entries, key=lambda entry: identity.digest([seed, entry.cell]))


def share_at_most(begun: int, different: int, confidence: float = CONFIDENCE) -> float:
    """The largest share of cells that can differ, if so many of those begun did: the upper end of the exact binomial
    interval (Clopper and Pearson 1934), one-sided. With p above it, so few would differ less often than once in 20."""
    if different >= begun:
        return 1.0

    def likely(p: float) -> float:
        return sum(comb(begun, k) * p**k * (1 - p) ** (begun - k) for k in range(different + 1))

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if likely(middle) > 1 - confidence else (low, middle)
    return high


def input_words(entry: Entry, name: str) -> str:
    """An input's name, with where it is described."""
    names = identity.topology_names(entry.run)
    places = {
        "qemu": "sources of QEMU and driver",
        "model": "sources of the disk model",
        "guest": "bytes of kernel, initramfs and root image",
        "reader": "code that judges a run",
        "cell": "QEMU's command, kernel command line, topology, job, assumptions",
        "workload": f"image of {', '.join(entry.run.workloads)}",
        "file_system": "image that the disk starts from",
        "other": "an input that the reference does not name",
    } | {part: ", ".join(entries) for part, entries in names.items() if entries}
    return f"{name} ({places[name]})" if name in places else name


def require_built(entries: list[Entry], build: Path, profile: str, say: Callable[[str], None]) -> None:
    """Build what these cells need and what no other command has built here yet. Then refuse a lab that is not what its
    sources here give, or whose files are not those that were built: every byte is compared, also of what nobody seems
    to have written since. Raises EnvironmentMissing, and SpindleError where something cannot be built."""
    things = sorted({name for entry in entries for name in built.used_by(entry.run)})
    workflow.build_missing(profile, things, "verification: the lab", say)
    for name in things:
        built.check(name, build, anew=True)


def here_before(entry: Entry, committed: reference.Reference, record: dict, build: Path) -> Verdict | None:
    """What came of a cell when it was measured here before (`record`, of analysis/verified.py), if that was done with
    what lies here now, and held against the reference's present line."""
    if record["reference"] != verified.line_of(committed, entry.cell):
        return None
    made_from = identity.of_run(entry.run, built.labels(entry.run, build))[entry.cell]
    if record["lab"] != reference.inputs(made_from):
        return None
    differ = () if record["equal"] else ("it was so when it was measured here before",)
    return Verdict(entry, record["outcome"], tuple(record["moved"]), differ, record["trace"], lab=record["lab"])


def judge(entry: Entry, committed: reference.Reference, result: dict, seconds: float) -> Verdict:
    """One result against the reference."""
    there = committed.cells[entry.cell]
    known = bool(there[reference.HASHES[0]])
    if result["status"] != "ok":
        failed = reference.inputs(result["identity"])
        moved = [name for name in reference.INPUTS if failed.get(name, "") != there[f"input_{name}"]]
        words = tuple(input_words(entry, name) for name in moved)
        return Verdict(entry, FAILED, words, (result["reason"],), known, seconds, failed)
    line, _ = reference.lines_of(result)
    moved = tuple(input_words(entry, name) for name in reference.moved_inputs(line, there))
    differ = tuple(reference.differences(result, committed))
    outcome = MOVED if moved else DIFFERENT if differ else EQUAL
    return Verdict(entry, outcome, moved, differ, known, seconds, reference.inputs(result["identity"]))


@dataclass
class Verification:
    """What was begun, in its order, and of what it is a sample."""

    seed: int
    entries: list[Entry]
    """All that could be drawn."""
    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def wrong(self) -> list[Verdict]:
        """Cells that must not be as they are: different, or failed, from the same inputs."""
        return [one for one in self.verdicts if one.outcome == DIFFERENT or (one.outcome == FAILED and not one.moved)]

    def strata(self) -> list[dict]:
        """What the sample proves, by stratum and of all together."""
        names = sorted({entry.stratum for entry in self.entries})
        return [self._stratum(name) for name in names] + ([self._stratum(None)] if len(names) > 1 else [])

    def _stratum(self, name: str | None) -> dict:
        whole = [entry for entry in self.entries if name in (None, entry.stratum)]
        begun = [one for one in self.verdicts if name in (None, one.entry.stratum)]
        moved = [one for one in begun if one.moved]
        same = [one for one in begun if not one.moved]
        equal = sum(one.outcome == EQUAL for one in same)
        differ = len(same) - equal
        everything = not moved and len(begun) == len(whole)
        most = None if not same else differ / len(same) if everything else share_at_most(len(same), differ)
        return {
            "stratum": name or "all",
            "cells": len(whole),
            "begun": len(begun),
            "same_inputs": len(same),
            "equal": equal,
            "with_trace": sum(one.outcome == EQUAL and one.trace for one in same),
            "moved": len(moved),
            "moved_equal": sum(not one.differences for one in moved),
            "differ_share_at_most": most,
        }

    def data(self) -> dict:
        """All of it, for a file."""
        return {
            "schema": SCHEMA,
            "seed": self.seed,
            "confidence": CONFIDENCE,
            "strata": self.strata(),
            "cells": [
                {"paper": one.entry.paper, "cell": one.entry.cell, "stratum": one.entry.stratum,
                 "outcome": one.outcome, "moved": list(one.moved), "differences": list(one.differences),
                 "trace_compared": one.trace}
                for one in self.verdicts
            ],
        }  # fmt: skip


def verify(
    done: Verification,
    references: dict[str, reference.Reference],
    sample: int | None = None,
    minutes: float | None = None,
    say: Callable[[str], None] = lambda line: None,
    beat: Callable[[str], None] = lambda line: None,
    keep: Callable[[Verdict], None] = lambda verdict: None,
    profile: str = reference.PROFILE,
    before: dict[str, dict] | None = None,
) -> None:
    """Measure cells in the order of a seed, one after the other: so many, or those that begin within so many minutes.
    What came of each is in `done` at once, so that whoever stops it keeps it. `say` gets a line before and behind each
    cell, `beat` how far the one at work is, and `keep` each verdict at once. `profile` is whose cells they are: its
    rules build what is missing of the lab. Cells that the record `before` has of this very lab are counted and not
    measured again. Raises EnvironmentMissing for a lab that is not as it was built."""
    build = paths.build()
    order = drawn(done.entries, done.seed)
    todo = order if sample is None else order[:sample]
    require_built(todo, build, profile, say)
    began = time.monotonic()
    for number, entry in enumerate(todo, start=1):
        if minutes is not None and number > 1 and time.monotonic() - began > minutes * 60:
            return
        of = f" of {len(todo)}" if minutes is None else ""
        record = (before or {}).get(entry.cell)
        verdict = here_before(entry, references[entry.paper], record, build) if record else None
        if verdict is not None:
            done.verdicts.append(verdict)
            say(f"{number}{of}: {entry.cell}: measured here before: {verdict.words()}")
            continue
        say(f"{number}{of}: {entry.cell} ...")
        done.verdicts.append(Verdict(entry, STOPPED, (), ("it was begun and has not ended",)))
        verdict = one_cell(entry, references[entry.paper], build, beat)
        done.verdicts[-1] = verdict
        keep(verdict)
        say(f"{number}{of}: {verdict.words()} ({verdict.seconds:.0f} s)")


def one_cell(entry: Entry, committed: reference.Reference, build: Path, beat: Callable[[str], None]) -> Verdict:
    """Measure one cell and compare it. Raises EnvironmentMissing where the machine lacks something."""
    start = time.monotonic()
    try:
        outcome = determinism.execute(entry.run, build, beat)
    except EnvironmentMissing:
        raise
    except SpindleError as error:
        return Verdict(entry, FAILED, (), (str(error),), seconds=time.monotonic() - start)
    return judge(entry, committed, outcome.results[entry.cell], time.monotonic() - start)


def conclusions(done: Verification) -> Iterator[str]:
    """What the sample proves, in sentences."""
    for one in done.strata():
        name, begun, same, equal = (one[key] for key in ("stratum", "begun", "same_inputs", "equal"))
        if not begun:
            continue
        if same:
            share = one["differ_share_at_most"]
            if same == one["cells"]:
                proof = "these are all cells there are"
            else:
                proof = f"so at most {share:.1%} of its {one['cells']} cells can differ, at {CONFIDENCE:.0%}"
            text = f"{name}: {equal} of {same} cells from the same inputs are equal; {proof}"
            if equal > one["with_trace"]:
                text += f"; of {equal - one['with_trace']} the reference has the numbers only, not the trace"
            yield text
        if one["moved"]:
            yield f"{name}: the inputs of {one['moved']} moved; {one['moved_equal']} of them are equal all the same"
