# SPDX-License-Identifier: MIT
"""What several commands share: options, names that a shell completes, and how tables are printed."""

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import click

from lab.cell import paths


class Name(click.ParamType):
    """A word that a shell can complete from a list; whether it is a good one is for the lab to say."""

    def __init__(self, kind: str, known: Callable[[click.Context], Iterable[str]]) -> None:
        self.name = kind
        self.known = known

    def shell_complete(self, ctx, param, incomplete):
        from click.shell_completion import CompletionItem

        from lab.cell.errors import SpindleError

        try:
            return [CompletionItem(word) for word in self.known(ctx) if word.startswith(incomplete)]
        except SpindleError:
            return []


def _profiles(ctx: click.Context) -> Iterable[str]:
    from lab.cell import config

    return config.profiles()


def _cells(ctx: click.Context) -> Iterable[str]:
    from lab.cell import cells

    return [one.id for one in cells.cells(ctx.params.get("profile") or "quick")]


def _papers(ctx: click.Context) -> Iterable[str]:
    from lab.cell import papers

    return papers.ids()


def _drives(ctx: click.Context) -> Iterable[str]:
    from lab.cell import catalogue

    return catalogue.names("drives")


def _machines(ctx: click.Context) -> Iterable[str]:
    from lab.cell import machines

    return machines.names()


PROFILE = Name("profile", _profiles)
CELL = Name("cell", _cells)
PAPER = Name("paper", _papers)
DRIVE = Name("drive", _drives)
MACHINE = Name("machine", _machines)
FILE = click.Path(path_type=Path, resolve_path=True)
"""A path of the caller's folder."""


def profile(**settings) -> Callable:
    """The option --profile."""
    settings = {"default": "quick", "show_default": True, "help": ", ".join(paths.profiles())} | settings
    # First, because what is completed behind it depends on it.
    return click.option("-p", "--profile", type=PROFILE, is_eager=True, **settings)


class Parsed(click.Command):
    """A command whose words an argparse parser of the lab reads; click has its help and its completion from there."""

    def __init__(
        self, name: str, help: str, parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace], int]
    ) -> None:
        super().__init__(name, params=_parameters(parser), help=help, callback=lambda: None)
        self.parser = parser
        self.run = run

    def make_context(self, info_name, args, parent=None, **extra):
        if parent is not None and parent.resilient_parsing:
            return super().make_context(info_name, args, parent, **extra)
        with click.Context(self, info_name=info_name, parent=parent, **extra) as ctx:
            words = list(args)
            asked = words[: words.index("--")] if "--" in words else words
            if {"-h", "--help"} & set(asked):
                click.echo(ctx.get_help())
                ctx.exit()
            ctx.args = words
        return ctx

    def invoke(self, ctx):
        def refuse(message: str) -> NoReturn:
            raise click.UsageError(message, ctx)

        self.parser.error = refuse
        return self.run(self.parser.parse_args(ctx.args))


def _parameters(parser: argparse.ArgumentParser) -> list[click.Parameter]:
    """The parser's options and arguments, as click shows them."""
    found: list[click.Parameter] = []
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction):
            continue
        if not action.option_strings:
            found.append(click.Argument([action.dest], nargs=-1, required=False))
            continue
        flag = action.nargs == 0
        values = [str(value) for value in action.choices or ()]
        found.append(
            click.Option(
                action.option_strings,
                is_flag=flag,
                multiple=isinstance(action, argparse._AppendAction),
                metavar=action.metavar,
                type=None if flag else click.Choice(values) if values else click.STRING,
                help=action.help and action.help % vars(action),
            )
        )
    return found


def console(error: bool = False):
    """Where tables and pictures of progress go. Without a terminal lines are as long as they are."""
    from rich.console import Console

    stream = sys.stderr if error else sys.stdout
    return Console(file=stream, highlight=False, width=None if stream.isatty() else 1000, soft_wrap=not stream.isatty())


AGAIN_S = 60
"""Without a terminal, what changes all the time is printed as often as this."""


@contextmanager
def progress(about: Callable[[], str] = lambda: "") -> Iterator[tuple[Callable[[str], None], Callable[[str], None]]]:
    """Two functions for a long command: the first prints a line that stays, the second says how far it is. On a
    terminal that stands in one line at the bottom, with `about` behind it; else it is printed once a minute."""
    if sys.stderr.isatty():
        shown = console(error=True)
        with shown.status("") as status:

            def say(line: str) -> None:
                shown.print(line, markup=False)
                status.update(escaped(about()))

            def beat(line: str) -> None:
                status.update(escaped("; ".join(part for part in (line, about()) if part)))

            yield say, beat
        return
    told = time.monotonic()

    def seldom(line: str) -> None:
        nonlocal told
        if time.monotonic() - told >= AGAIN_S:
            told = time.monotonic()
            click.echo(line, err=True)

    yield lambda line: click.echo(line, err=True), seldom


def escaped(text: str) -> str:
    """Without what rich takes for markup."""
    from rich.markup import escape

    return escape(text)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], right: Sequence[str] = ()) -> None:
    """Print a table; `right` are the columns of numbers."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in columns:
        shown.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        shown.add_row(*(Text("" if value is None else str(value)) for value in row))
    console().print(shown)
