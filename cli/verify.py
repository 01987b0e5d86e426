# SPDX-License-Identifier: MIT
"""Measure reference numbers again here and compare them, byte by byte.

The reference's cells are drawn in an order that the seed decides. Each is measured and compared with the committed
numbers and the hash of the committed trace. A cell that differs although its inputs are the same is a bug: the command
then ends with status 1. In the end it says what the sample proves. What came of each cell stays in
results/verified.json, where reports find what was verified here.

\b
    spindle verify --sample 3
    spindle verify --minutes 10 --seed 7
    spindle verify --sample 30 --resume
    spindle verify --cells '*.ffs.sdet-*'
    spindle verify --profile smoke --cells ide-piix.deskstar-75gxp.tnone.both.rawio-read-random.s01
"""

from pathlib import Path

import click

from cli import options


@click.command("verify", help=__doc__)
@click.option("--cells", "patterns", multiple=True, metavar="PATTERN",
              help="only cells whose ids fit this pattern (as a shell's); may be repeated")  # fmt: skip
@click.option("--paper", type=options.PAPER, help="only this one's reference; default: all papers")
@click.option("--sample", type=click.IntRange(min=1), help="so many cells; default: all that fit")
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), help="begin no cell after this time")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="of the order")
@click.option("--resume", is_flag=True,
              help="count cells that were measured here before, in this very lab, and measure the others")  # fmt: skip
@click.option("--reference", "folder", type=options.FILE, help="another folder than paper/PAPER/reference")
@options.profile(default=None, show_default=False,
                 help="compare with this profile's results here, in the place of the reference")  # fmt: skip
@click.option("--out", type=options.FILE, help="write verdicts and conclusions to this JSON file")
def command(
    patterns: tuple[str, ...],
    paper: str | None,
    sample: int | None,
    minutes: float | None,
    seed: int,
    resume: bool,
    folder: Path | None,
    profile: str | None,
    out: Path | None,
) -> int:
    if sample is not None and minutes is not None:
        raise click.UsageError("--sample and --minutes both say when to stop; give one of them")
    if folder is not None and profile is not None:
        raise click.UsageError("--reference and --profile both say what to compare with; give one of them")
    if resume and profile is not None:
        raise click.UsageError("--resume reads what was compared with the reference; leave out --profile")
    from analysis import command as files
    from analysis import reference, verified, verify
    from lab.cell.errors import EnvironmentMissing

    found = verify.population(patterns, paper, folder, profile)
    for cell in found.gone:
        click.echo(f"left out: {cell}: no paper's sheet has it any more", err=True)
    whole = f"{len(found.entries)} cells"
    click.echo(f"seed {seed}: drawn from {whole}", err=True)
    done = verify.Verification(seed, found.entries)
    stopped: BaseException | None = None

    def keep(one: verify.Verdict) -> None:
        # Of a profile's own results there is nothing to keep: they are no reference.
        if profile is None:
            name = one.entry.paper
            verified.keep(verified.path(), name, one.entry.cell, found.references[name], one.record())

    before = verified.read(verified.path())
    try:
        with options.progress() as (say, beat):
            verify.verify(
                done, found.references, sample, minutes, say, beat, keep, profile or reference.PROFILE,
                before if resume else None,
            )  # fmt: skip
    except (KeyboardInterrupt, EnvironmentMissing) as why:
        stopped = why
    if done.verdicts:
        show(done)
    for line in verify.conclusions(done):
        click.echo(line)
    if done.verdicts and stopped and profile is None:
        click.echo("The same command with --resume goes on behind the cells that have ended.")
    for one in done.wrong:
        click.echo(f"error: {one.entry.cell}: {one.words()}", err=True)
    if out is not None:
        out.write_text(files.as_json(done.data()), encoding="utf-8")
    if stopped is not None:
        raise stopped
    return 1 if done.wrong else 0


def show(done) -> None:
    """What was begun, by stratum."""
    rows = []
    for one in done.strata():
        most = one["differ_share_at_most"]
        rows.append(
            [one["stratum"], one["cells"], one["begun"], one["same_inputs"], one["equal"], one["moved"],
             one["moved_equal"], "" if most is None else f"{most:.1%}"]
        )  # fmt: skip
    columns = ("stratum", "cells", "begun", "same inputs", "equal", "moved", "moved, equal", "can differ at most")
    options.table(columns, rows, right=columns[1:])
