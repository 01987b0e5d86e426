# SPDX-License-Identifier: MIT
"""The files of a finished cell: their one form on disk, how they are put in place whole, and how they are read."""

import json
import shutil
from pathlib import Path

from lab.cell import boot, cells, evidence, judge
from lab.cell.errors import SpindleError

RESULT = "result.json"
FILES = tuple(sorted((*evidence.FILES, evidence.NAME, RESULT)))
"""All files of a finished cell."""
KEYS = {"id": str, "run": str, "status": str, "cell": dict, "identity": dict, "lock": dict}
"""Keys of a result that its readers may rely on, and their types; the schema says the rest."""


class NoResult(SpindleError):
    """The cell has not run."""


class BadResult(SpindleError):
    """What lies in the place of a result is none."""


def result_text(result: dict) -> str:
    """The one form of result.json."""
    return json.dumps(result, indent=1) + "\n"


def read_result(folder: Path) -> dict:
    """The result in a cell's folder. Raises NoResult if there is none, and BadResult for anything that is no result of
    this cell in this format: a reader can rely on KEYS, on metrics if status is ok, and on a reason if it is failed."""
    path = folder / RESULT
    if not path.exists() and not path.is_symlink():
        profile = folder.parent.parent.name
        raise NoResult(f"{path}: there is no result; `spindle run --profile {profile} {folder.name}` measures it")

    def bad(why: str) -> BadResult:
        return BadResult(f"{path}: it is no result ({why}); remove {folder} and give the same command again")

    try:
        result = json.loads(path.read_bytes())
    except OSError as error:
        raise bad(error.strerror or "it cannot be read") from None
    except RecursionError:
        raise bad("it is nested too deeply") from None
    except ValueError as error:
        raise bad("the file is empty" if not path.stat().st_size else f"it is no JSON: {error}") from None
    if not isinstance(result, dict):
        raise bad("it is no JSON object")
    if result.get("schema") != judge.SCHEMA:
        raise bad(f"its schema is {result.get('schema')!r}, not {judge.SCHEMA!r}")
    wrong = [name for name, kind in KEYS.items() if not isinstance(result.get(name), kind)]
    if wrong:
        raise bad(f"{wrong[0]!r} is missing or of another type")
    if result["id"] != folder.name:
        raise bad(f"it is of cell {result['id']!r}")
    ok = isinstance(result.get("metrics"), dict) and result.get("reason") is None
    failed = isinstance(result.get("reason"), str) and result.get("metrics") is None
    if not {"ok": ok, "failed": failed}.get(result["status"], False):
        raise bad("status, reason and metrics do not go together")
    return result


def put_in_place(folder: Path, files: dict[str, bytes]) -> None:
    """Put a cell's result in place, whole; an older one is replaced."""
    partial = folder.with_name(f".{folder.name}.new")
    old = folder.with_name(f".{folder.name}.old")
    for leftover in (partial, old):
        shutil.rmtree(leftover, ignore_errors=True)
    partial.mkdir(parents=True)
    for name in sorted(files):
        (partial / name).write_bytes(files[name])
    if folder.exists():
        folder.rename(old)
    partial.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def write_timing(path: Path, run: cells.Run, timing: boot.Timing) -> None:
    """Host seconds of a run, for the lab page's note on cost only."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = {
        "schema": "spindle-timing/1",
        "run": run.id,
        "boot_s": timing.boot_s,
        "cells_s": timing.cells_s,
        "shutdown_s": timing.shutdown_s,
        "total_s": timing.total_s,
    }
    partial = path.with_name(f".{path.name}.new")
    partial.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    partial.replace(path)


def seconds_of(path: Path) -> float | None:
    """Host seconds that a run took, from its timing file; None if it is missing or no such file."""
    try:
        took = json.loads(path.read_bytes())["total_s"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return float(took) if isinstance(took, (int, float)) else None
