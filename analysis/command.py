# SPDX-License-Identifier: MIT
"""What the command lines of analysis/ and paper/ share: the usual arguments, and how they end.

A program states its own arguments and a function that makes from them the text of its output, or writes it.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from lab.cell.errors import SpindleError

USUAL = {
    "paper": {},
    "table": {},
    "profile": {"help": "a folder of config/profiles"},
    "results": {"type": Path, "help": "results/<profile>"},
    "cells": {"type": Path, "help": "file with cell ids, one a line"},
    "tables": {"type": Path, "help": "folder with the tables' CSV files"},
    "out": {"type": Path},
}
"""Arguments that several programs have, all of them required."""


def parser(text: str, *usual: str) -> argparse.ArgumentParser:
    """For a program with this text and these of the usual arguments."""
    made = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in usual:
        made.add_argument(f"--{name}", required=True, **USUAL[name])
    return made


def finish(name: str, args: argparse.Namespace, make: Callable[[argparse.Namespace], str | None],
           made_by: str = "") -> int:  # fmt: skip
    """Call `make` and write the text that it returns to `args.out`; returns the exit status.

    What is wrong with the input is one message. `made_by` names the data that the program reads: a key that is missing
    there means that another version made it.
    """
    try:
        text = make(args)
        if text is not None:
            args.out.parent.mkdir(parents=True, exist_ok=True)
            put(args.out, text)
    except (SpindleError, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    except KeyError as error:
        if not made_by:
            raise
        print(f"{name}: no {error} in {made_by}; make it again", file=sys.stderr)
        return 1
    return 0


def put(path: Path, text: str) -> None:
    """Write a file whole: whoever is killed on the way leaves the one that was there."""
    partial = path.with_name(f".{path.name}.new")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def as_json(data: dict) -> str:
    """Data as the text of a file."""
    return json.dumps(data, indent=1) + "\n"


def read_json(path: Path) -> dict:
    """Such a file's data. Raises SpindleError if it is none."""
    try:
        return json.loads(path.read_text())
    except ValueError as error:
        raise SpindleError(f"{path}: no JSON ({error}); make it again") from None
