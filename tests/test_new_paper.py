# SPDX-License-Identifier: MIT
"""A paper is added as a folder, and nothing else: its report comes from invented results, without QEMU."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.settings import System
from analysis.tests import invented
from lab.cell import papers

ROOT = Path(__file__).resolve().parents[1]
TOY = "toy1999"
RATES = {"read": 2.5, "write": 2.0}
RUN = f"ide-ahci.deskstar-75gxp.t4.both.{TOY}"
CELL = "ide-ahci.deskstar-75gxp.t4.both.rawio-{op}-random.s01"
FILES = {
    "paper.yaml": f"""\
# SPDX-License-Identifier: MIT
schema: spindle-paper/1
paper: {TOY}
place: 99
title: A toy & its disk
authors: Nobody
like: {papers.ids()[0]}
tables:
  table1: {{from: cells}}
figures: {{rates: numbers}}
assumptions: []
stand_ins:
  - {{id: guest, paper: A toy system, here: Linux, why: It is there.}}
""",
    "cells.csv": "tables,controller,drive,array,tags,scheduler,file_system,workload,parameters,scale\n"
    "table1,ide-ahci,deskstar-75gxp,none,4,both,raw,rawio,op=read|write pattern=random,1\n",
    **{
        f"profiles/{profile}.yaml": f"schema: spindle-plan/1\nprofile: {profile}\nrepetitions: 1\nruns: all\n"
        for profile in ("smoke", "quick", "full")
    },
    "published/table1.csv": "row,column,unit,value,questioned\n"
    "random,read,MB/s,2.4,false\nrandom,write,MB/s,1.0,false\n",
    "claims.yaml": """\
claims:
  - id: reads-faster
    statement: Reads are faster than writes.
    where: abstract
    quantities: {read_over_write: 'ratio(cell("table1", "random", "read"), cell("table1", "random", "write"))'}
    holds: read_over_write > 1
""",
    "tables.py": '''\
# SPDX-License-Identifier: MIT
"""Tables of the toy paper."""

from analysis import papers
from analysis.entries import measured, read_published
from analysis.settings import RATE, Settings, System

PAPER = papers.paper("toy1999")


def table1(frame, drives):
    """Random requests."""
    settings, system = Settings(frame), System("ide-ahci", "4", "both", "deskstar-75gxp")
    printed = read_published(PAPER.published / "table1.csv")
    return [measured(p, settings.pick(system, p.column, p.row), PAPER.stand_ins, RATE) for p in printed]


TABLES = {"table1": table1}
''',
    "figures.py": '''\
# SPDX-License-Identifier: MIT
"""Figures of the toy paper."""

from paper.plot import plt, save


def rates(summary, path):
    """A bar for each rate."""
    figure, axes = plt.subplots()
    axes.bar([row["column"] for row in summary["numbers"]], [row["reproduced"] or 0 for row in summary["numbers"]])
    save(figure, path)


FIGURES = {"rates": rates}
''',
    "__init__.py": "",
    "README.md": "# A toy\n",
}


PRETEND = f"""\
import json
from lab.cell import built, cells, identity, paths
run = cells.run("smoke", "{RUN}")
for name in built.used_by(run):
    thing = built.THINGS[name]
    for path in built.files_of(thing, paths.build(), thing.files):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    built.write_receipt(name, paths.build(), {{entry: built.sources(entry) for entry in thing.sources}})
print(json.dumps(identity.of_run(run, built.labels(run, paths.build()))))
"""
"""Pretends that the lab is built, as else no result would hold; says what its results are made of."""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the committed files, with one folder more."""
    root = tmp_path_factory.mktemp("checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, root / name)
    for name, text in FILES.items():
        path = root / "paper" / TOY / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def called(checkout, *words, **more):
    """A command in the checkout, which builds in a folder of its own."""
    environment = {**os.environ, "SPINDLE_BUILD": str(checkout / "build")}
    done = subprocess.run([*map(str, words)], cwd=checkout, env=environment, capture_output=True, text=True, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def snakemake(checkout, *words):
    """Snakemake with the smallest profile."""
    program = Path(sys.executable).with_name("snakemake")
    return called(checkout, program, "--profile", "config/profiles/smoke", "--cores", "1", *words)


@pytest.fixture(scope="module")
def made(checkout):
    """The toy's folder of results."""
    ran = json.loads(called(checkout, sys.executable, "-c", PRETEND))
    for op, rate in RATES.items():
        found = invented.raw_of(System("ide-ahci", "4", "both", "deskstar-75gxp"), op, "random", rate, 1)
        found["identity"] = ran[found["id"]]
        folder = checkout / "results" / "smoke"
        assert invented.put(folder, found) == CELL.format(op=op)
        (folder / "cells" / found["id"] / "io.trace").write_bytes(b"")
    latex = shutil.which("latexmk") is not None
    own = f"results/smoke/{TOY}"
    wanted = (
        [f"{TOY}.report"]
        if latex
        else [f"{TOY}.table1", f"{own}/summary.json", f"{own}/figures/rates.pdf", f"{own}/report.html"]
    )
    snakemake(checkout, *wanted)
    return checkout / own


@pytest.mark.slow
def test_new_paper_has_its_table(made):
    assert "random,read,MB/s,2.4,2.5," in (made / "tables" / "table1.csv").read_text()
    text = (made / "tables" / "table1.tex").read_text()
    assert r"\multicolumn{6}{@{}l}{random}" in text
    assert r"\quad read & MB/s & 2.4 & 2.5 " in text
    assert "All measured values are stand-ins" in text


@pytest.mark.slow
def test_new_paper_has_its_summary_and_claim(made):
    found = json.loads((made / "summary.json").read_text())
    assert [(n["paper"], n["table"], n["column"], n["reproduced"]) for n in found["numbers"]] == [
        (TOY, "table1", "read", 2.5), (TOY, "table1", "write", 2.0)
    ]  # fmt: skip
    [claim] = found["claims"]
    assert (claim["verdict"], claim["because"]) == (True, "read over write 1.25 (paper 2.40)")


def test_new_paper_has_its_figure(made):
    assert (made / "figures" / "rates.pdf").read_bytes().startswith(b"%PDF")


def test_new_paper_has_its_page(made):
    text = (made / "report.html").read_text()
    assert "A toy &amp; its disk" in text and 'href="#number/table1/random/read"' in text
    assert {path.name for path in (made / "page").iterdir()} == {f"{CELL.format(op=op)}.js" for op in RATES}


@pytest.mark.skipif(not shutil.which("latexmk"), reason="latexmk is not installed")
def test_new_paper_has_its_report(made):
    assert (made / "report.pdf").read_bytes().startswith(b"%PDF")
    assert "A toy \\& its disk" in (made / "report.tex").read_text()


def test_new_paper_moves_nothing_of_the_others(checkout):
    """Its cells run behind a boot of their own, and those of the others have the same runs as without it."""
    code = (
        "import json; from lab.cell import cells, papers\n"
        "print(json.dumps([[r.id, r.paper, [c.id for c in r.cells]] for r in cells.runs('quick').values()]))"
    )
    there, here = (json.loads(called(root, sys.executable, "-c", code)) for root in (checkout, without_toy(checkout)))
    assert [run for run in there if run[1] != TOY] == here
    # In `quick` another paper has the toy's cells already, under the same assumptions: they are measured once.
    assert not [run for run in there if run[1] == TOY]


def without_toy(checkout):
    """The checkout without the toy."""
    bare = checkout.with_name("bare")
    if not bare.exists():
        shutil.copytree(checkout, bare, ignore=shutil.ignore_patterns(TOY, "results", "build", ".snakemake"))
    return bare
