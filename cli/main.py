# SPDX-License-Identifier: MIT
"""Published storage papers, run again in virtual time.

Spindle measures the tables of a paper in a virtual lab, prints them beside the published ones, and proves any of its
numbers again. It can be called from any folder; paths are those of the folder that it is called from.

\b
    spindle report --profile smoke      the reports, small, in about 4 minutes
    spindle show paper PAPER            what came out
    spindle verify --sample 3           three reference numbers, measured again here

Completion of names: eval "$(spindle completion bash)", or zsh, or fish.
"""

import ast
import errno
import importlib
import os
import sys
from pathlib import Path

import click

HERE = Path(__file__).parent
COMMANDS = (
    "report", "lab", "run", "status", "show", "verify", "reference", "sensitivity", "try", "shell", "export", "import",
    "crate", "doctor", "guest", "box", "domain", "completion",
)  # fmt: skip
"""In the order of the help; what a command does stands at the top of its file."""


def file_of(name: str) -> str:
    """Name of the module of a command; words that Python keeps for itself get a line behind."""
    return f"{name}_" if name in ("try", "import") else name


class Commands(click.Group):
    """Reads a command's file only when it is called: `spindle --help` must not wait for pandas."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        return importlib.import_module(f"cli.{file_of(name)}").command

    def resolve_command(self, ctx, args):
        # As lab.cell.config.nearest, which takes long to import.
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are: {', '.join(COMMANDS)}"
            raise click.UsageError(f"there is no command {args[0]!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary(name)) for name in COMMANDS])


def summary(name: str) -> str:
    """The first line of a command's file, without importing it."""
    tree = ast.parse((HERE / f"{file_of(name)}.py").read_text(encoding="utf-8"))
    return (ast.get_docstring(tree) or "").partition("\n")[0]


@click.command(cls=Commands, help=__doc__, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--slurm", is_flag=True, help="report, run: runs become jobs of Slurm, as config/slurm says")
def spindle(slurm: bool) -> None:
    if slurm:
        # SPINDLE_SLURM names another folder; make passes it on, too.
        os.environ.setdefault("SPINDLE_SLURM", str(HERE.parent / "config" / "slurm"))


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit status. Whatever a user can meet is one message: what, where, the next step."""
    try:
        return spindle.main(argv, prog_name="spindle", standalone_mode=False) or 0
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "spindle"
        print(f"error: {plain(error.format_message())}; `{path} --help` has an example", file=sys.stderr)
        return 2
    except click.ClickException as error:
        print(f"error: {plain(error.format_message())}", file=sys.stderr)
        return 1
    except (click.Abort, KeyboardInterrupt):
        print("stopped; what is finished stays, and the same command goes on", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Whoever read our output has enough of it. What is left to write must not raise again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        from lab.cell.errors import SpindleError

        if isinstance(error, SpindleError):
            print(f"error: {error}", file=sys.stderr)
            return 1
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            where = error.filename or "here"
            print(f"error: {where}: the disk is full; make room and give the same command again", file=sys.stderr)
            return 1
        raise


def plain(message: str) -> str:
    """A message of click's in the voice of ours: no capital in front, no full stop behind."""
    message = " ".join(message.split()).rstrip(".")
    return message[:1].lower() + message[1:]
