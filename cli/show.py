# SPDX-License-Identifier: MIT
"""Show a drive, a machine, a cell, a trace, a paper or a claim.

\b
    spindle show drive deskstar-75gxp
    spindle show machine pentium2-333
    spindle show cell ide-piix.deskstar-75gxp.tnone.both.rawio-read-random.s01
    spindle show trace ide-piix.deskstar-75gxp.tnone.both.rawio-read-random.s01 --lines 20
    spindle show paper PAPER --off 1.5
    spindle show claim PAPER
"""

from pathlib import Path

import click

from cli import options


@click.group("show", help=__doc__)
def command() -> None:
    pass


@command.command("drive")
@click.argument("name", type=options.DRIVE)
@click.option("--svg", type=options.FILE, help="draw seek curve, zones and skews into this file")
@click.option("--json", "as_json", is_flag=True, help="all values as JSON")
def drive(name: str, svg: Path | None, as_json: bool) -> int:
    """A drive of the catalogue, or of a file that ends in .toml: geometry, seek curve, rates of its zones.

    \b
        spindle show drive quantum-atlas-10k --svg atlas.svg
    """
    import subprocess

    from lab.cell import catalogue, paths
    from lab.cell.errors import EnvironmentMissing

    program = paths.build() / "disk/release/spindle-disk"
    if not program.is_file():
        raise EnvironmentMissing(f"{program}: the disk model is not built; `make lab` builds it")
    which = str(Path(name).resolve()) if name.endswith(".toml") else name
    if not name.endswith(".toml"):
        catalogue.require("drives", name, "spindle show drive")
    words = [str(program), "show", which, "--catalogue", str(catalogue.CATALOGUE)]
    words += ["--svg", str(svg)] if svg else ["--json"] if as_json else []
    return subprocess.run(words, check=False).returncode


@command.command("machine")
@click.argument("name", type=options.MACHINE)
def machine(name: str) -> int:
    """A machine that a paper measured with: its processor, and what cells on it have for their paper's assumptions.

    \b
        spindle show machine pentium2-333
    """
    from lab.cell import machines

    one = machines.machine(name, "spindle show machine")
    fast_ns, slow_ns = one.speeds_ns
    sources = one.data["sources"]
    rows = [("what it is", one.data["description"], "")]
    rows += [(key, str(one.data[key]), sources.get(key, "")) for key in ("processor", "processors", "clock_mhz")]
    rows.append(
        ("an instruction a clock", f"between {fast_ns} and {slow_ns} ns" if slow_ns > fast_ns else f"{fast_ns} ns", "")
    )
    rows += [(key, str(value), sources[key]) for key, value in one.assumptions.items()]
    options.table(("machine", name, "source"), rows)
    return 0


@command.command("cell")
@options.profile()
@click.argument("cell", type=options.CELL)
def cell(profile: str, cell: str) -> int:
    """A cell: its setting, what it measured, what it was made from, where its files are, how to measure it again.

    \b
        spindle show cell ide-piix.deskstar-75gxp.tnone.both.rawio-read-random.s01
    """
    from analysis import cell_facts, verified
    from lab.cell import cells as lab_cells
    from lab.cell import config, paths, planning, store
    from lab.cell.errors import ConfigError

    config.require_profile(profile)
    known = [one for one in lab_cells.cells(profile) if one.id == cell]
    if not known:
        near = config.nearest(
            cell, [one.id for one in lab_cells.cells(profile)], f"spindle status --profile {profile} --cells"
        )
        raise ConfigError(f"{cell}: profile {profile} has no such cell; {near}")
    folder = paths.cell_dir(profile, cell)
    result = store.read_result(paths.ROOT / folder)
    moved = planning.plan(profile).stale(lab_cells.run(profile, known[0].run))
    rows = [*cell_facts.setting(result), *cell_facts.measured(result)]
    rows += [(f"phase {name}", took) for name, took in cell_facts.phases((result["metrics"] or {}).get("phases", []))]
    rows.append(("made from", f"another {', '.join(moved)} than lies here" if moved else "what lies here"))
    rows += [(f"identity {name}", digest) for name, digest in cell_facts.made_from(result)]
    if cell in (known_here := verified.read(verified.path())):
        rows.append(("verified here", verified.words(known_here[cell])))
    rows.append(("files", folder))
    options.table(("cell", cell), rows)
    click.echo(f"measure it again and compare: spindle verify --profile {profile} --cells {cell}")
    click.echo(f"its trace: spindle show trace --profile {profile} {cell}")
    return 0


@command.command("trace")
@options.profile()
@click.option("--lines", type=click.IntRange(min=0), default=10, show_default=True, help="so many requests")
@click.option("--all", "everything", is_flag=True, help="every line as it is, for other programs")
@click.argument("what", type=options.CELL)
def trace(profile: str, lines: int, everything: bool, what: str) -> int:
    """The requests of a cell, or of an io.trace file, and their sums.

    \b
        spindle show trace results/smoke/cells/CELL/io.trace --all | head
    """
    from dataclasses import asdict
    from itertools import islice

    from analysis import traces
    from lab.cell import members, paths, store
    from lab.cell import trace as lab_trace
    from lab.cell.errors import SpindleError

    path = Path(what).resolve()
    if not path.is_file():
        folder = paths.ROOT / paths.cell_dir(profile, what)
        store.read_result(folder)
        path = folder / "io.trace"
    with open(path, "rb") as file:
        packed = file.read(4) == b"\x28\xb5\x2f\xfd"
    text = traces.text_of(path) if packed else path.read_text(encoding="utf-8", errors="replace")
    if everything:
        click.echo(text, nl=False)
        return 0
    try:
        requests = lab_trace.parse(text)
    except lab_trace.TraceError as error:
        raise SpindleError(f"{path}: {error}") from None
    columns = ("arrival_ms", "device", "op", "lbn", "sectors", "depth", "waited_ms", "served_ms", "hit")
    first = requests[0].arrival_ns if requests else 0
    rows = [
        (f"{(one.arrival_ns - first) / 1e6:.3f}", one.device, one.op, one.lbn, one.sectors, one.depth,
         f"{(one.start_ns - one.arrival_ns) / 1e6:.3f}", f"{(one.acknowledged_ns - one.start_ns) / 1e6:.3f}", one.hit)
        for one in islice(requests, lines)
    ]  # fmt: skip
    options.table(columns, rows, right=("arrival_ms", "lbn", "sectors", "depth", "waited_ms", "served_ms"))
    for device, some in members.by_device(requests).items():
        summary = lab_trace.summarize(some)
        if summary is not None:
            options.table((device, ""), asdict(summary).items())
    return 0


def summary_of(paper: str, profile: str) -> dict:
    """A paper's summary.json. Raises SpindleError where there is none yet."""
    from analysis import command as files
    from lab.cell import config, papers, paths
    from lab.cell.errors import EnvironmentMissing

    config.require_profile(profile)
    papers.folder(paper)
    path = paths.ROOT / "results" / profile / paper / "summary.json"
    if not path.is_file():
        raise EnvironmentMissing(
            f"{config.show(path)}: there is no report yet; `spindle report --profile {profile} --paper {paper}` makes "
            "it"
        )
    return files.read_json(path)


@command.command("paper")
@options.profile()
@click.option("--off", type=click.FloatRange(min=1), help="also list the numbers that are off by more than this factor")
@click.argument("paper", required=False, type=options.PAPER)
def paper(profile: str, off: float | None, paper: str | None) -> int:
    """A paper's tables: how many numbers it prints, how many are reproduced, and how near they are. Without a name, a
    list of all papers.

    \b
        spindle show paper PAPER --off 1.5
    """
    from analysis import numbers, summary
    from lab.cell import config, papers

    if paper is None:
        rows = [(name, config.paper(name)["title"]) for name in papers.ids()]
        options.table(("paper", "title"), rows)
        return 0
    data = summary_of(paper, profile)
    click.echo(config.paper(paper)["title"])
    tables: dict[str, list[dict]] = {}
    for row in data["numbers"]:
        tables.setdefault(row["table"], []).append(row)
    rows = []
    for name, some in [*tables.items(), ("all", data["numbers"])]:
        seen = summary.glance(some)
        near = ["" if share is None else f"{share:.0%}" for share in seen["within"]]
        median = "" if seen["median"] is None else f"{seen['median']:.2f}"
        rows.append((name, seen["numbers"], seen["reproduced"], seen["failed"], median, *near))
    within = [f"within {factor:g}" for factor in summary.WITHIN]
    columns = ("table", "numbers", "reproduced", "failed", "median ratio", *within)
    options.table(columns, rows, right=columns[1:])
    if off is not None:
        far = [row for row in data["numbers"] if row["ratio"] is not None and numbers.off(row["ratio"]) > off]
        far.sort(key=lambda row: -numbers.off(row["ratio"]))
        columns = ("table", "row", "column", "unit", "published", "reproduced", "ratio", "cells")
        options.table(
            columns,
            [(*(row[name] for name in columns[:6]), f"{row['ratio']:.2f}", cells_of(row)) for row in far],
            right=("published", "reproduced", "ratio"),
        )
    return 0


def cells_of(row: dict) -> str:
    """The cells behind a number."""
    found = row.get("cells") or ()
    return found if isinstance(found, str) else " ".join(found)


@command.command("claim")
@options.profile()
@click.option("--verdict", help="only claims with this verdict")
@click.argument("paper", type=options.PAPER)
@click.argument("claim", required=False)
def claim(profile: str, verdict: str | None, paper: str, claim: str | None) -> int:
    """A paper's claims with their verdicts, or one claim with what it was judged by.

    \b
        spindle show claim PAPER
    """
    from lab.cell import config
    from lab.cell.errors import ConfigError

    listed = summary_of(paper, profile)["claims"]
    if claim is None:
        rows = [(one["id"], one["verdict"], one["statement"]) for one in listed if verdict in (None, one["verdict"])]
        options.table(("claim", "verdict", "words"), rows)
        return 0
    known = {one["id"]: one for one in listed}
    if claim not in known:
        raise ConfigError(
            f"{paper}: there is no claim {claim!r}; {config.nearest(claim, known, f'spindle show claim {paper}')}"
        )
    options.table((claim, ""), known[claim].items())
    return 0
