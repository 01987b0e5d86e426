# SPDX-License-Identifier: MIT
"""Config files: read, checked against config/schemas, with messages that name the nearest valid word."""

import csv
import difflib
import json
import tomllib
from functools import cache
from pathlib import Path

import jsonschema
import yaml

from lab.cell import papers, sheets
from lab.cell.errors import ConfigError
from lab.cell.paths import ROOT, profiles

SCHEMAS = ROOT / "config" / "schemas"


@cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    """Validator for config/schemas/<name>.schema.json."""
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    return jsonschema.Draft202012Validator(schema)


NAMED = 40
"""Of more known words only the first few are named."""
FEW = 5


def nearest(word: str, known, listed_by: str = "") -> str:
    """A hint: the known word nearest to this one, or all of them. Of more than NAMED the first few, how many more there
    are, and the command that lists them (`listed_by`)."""
    known = sorted(known)
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    if len(known) <= NAMED:
        return f"known are: {', '.join(known)}"
    more = f"known are: {', '.join(known[:FEW])}, and {len(known) - FEW} more"
    return f"{more}; `{listed_by}` lists them" if listed_by else more


def check(data, schema: str, where: str) -> None:
    """Refuse data that does not fit the schema. `where` is the file, and the line if it has one."""
    error = jsonschema.exceptions.best_match(validator(schema).iter_errors(data))
    if error is None:
        return
    place = ".".join(str(part) for part in error.absolute_path)
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = error.schema.get("properties", {})
        wrong = sorted(key for key in error.instance if key not in known)
        key = f"{place}.{wrong[0]}" if place else str(wrong[0])
        raise ConfigError(f"{where}: unknown key '{key}'; {nearest(str(wrong[0]), known)}")
    if error.validator == "enum":
        hint = nearest(str(error.instance), [str(value) for value in error.validator_value])
        raise ConfigError(f"{where}: '{place}' cannot be {error.instance!r}; {hint}")
    if error.validator == "required":
        missing = [key for key in error.validator_value if key not in error.instance]
        raise ConfigError(f"{where}: {place + ': ' if place else ''}missing key '{missing[0]}'; add it")
    meaning = error.schema.get("description", "") if isinstance(error.schema, dict) else ""
    raise ConfigError(
        f"{where}: '{place or 'file'}' is wrong: {error.message}{f' ({meaning})' if meaning else ''}; "
        f"see config/schemas/{schema}.schema.json"
    )


def read_text(path: Path, what: str) -> str:
    """A file's text, or a message that says what it was for."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{show(path)}: cannot read {what}: {error.strerror}; restore the file") from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{show(path)}: cannot read {what}: byte {error.start} is not UTF-8 text; restore the file"
        ) from error


def show(path: Path) -> str:
    """A path as messages print it: from the root where it is below it."""
    return str(path.relative_to(ROOT)) if path.is_absolute() and path.is_relative_to(ROOT) else str(path)


def read_yaml(path: Path, schema: str) -> dict:
    """A checked YAML file."""
    try:
        data = yaml.safe_load(read_text(path, "config"))
    except yaml.YAMLError as error:
        raise ConfigError(f"{show(path)}: not YAML: {' '.join(str(error).split())}; correct it") from error
    check(data, schema, show(path))
    return data


def read_toml(path: Path, what: str) -> dict:
    """A TOML file; its keys are checked by who owns the format."""
    try:
        return tomllib.loads(read_text(path, what))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{show(path)}: not TOML: {error}; correct it") from error


def read_sheet(path: Path) -> list[tuple[int, dict[str, str]]]:
    """Rows of a cell sheet with their line numbers, each checked: those that a line stands for (sheets.py) in order."""
    text = read_text(path, "cell sheet")
    if text.startswith("\ufeff"):
        raise ConfigError(f"{show(path)}:1: the file begins with a byte order mark; save it as UTF-8 without one")
    if "\0" in text:
        raise ConfigError(f"{show(path)}: cannot read cell sheet: it has NUL bytes, so it is no text; restore the file")
    rows = []
    reader = csv.DictReader(text.splitlines(), strict=True)
    try:
        columns = reader.fieldnames or []
        if not columns:
            raise ConfigError(f"{show(path)}: the cell sheet is empty; its first line must name the columns")
        if twice := next((name for name in columns if columns.count(name) > 1), None):
            raise ConfigError(f"{show(path)}:1: column {twice!r} stands there twice; leave one")
        for row in reader:
            where = f"{show(path)}:{reader.line_num}"
            if None in row or None in row.values():
                raise ConfigError(f"{where}: {len(columns)} columns are expected; correct the row")
            for one in sheets.expand(row):
                check(one, "row", where)
                rows.append((reader.line_num, one))
    except csv.Error as error:
        raise ConfigError(f"{show(path)}:{reader.line_num}: not CSV: {error}; correct the row") from error
    return rows


def require_profile(name: str) -> None:
    """Refuse a profile that does not exist."""
    known = profiles()
    if name not in known:
        raise ConfigError(f"profile: {name!r} is unknown; {nearest(name, known)}")


@cache
def plan(profile: str, paper_name: str) -> dict:
    """What a profile takes of a paper: paper/<paper>/profiles/<profile>.yaml."""
    require_profile(profile)
    path = papers.plan(paper_name, profile)
    data = read_yaml(path, "plan")
    if data["profile"] != profile:
        raise ConfigError(f"{show(path)}: 'profile' is {data['profile']!r}; write {profile!r}, as the file is called")
    return data


@cache
def paper(name: str) -> dict:
    """What paper/<paper>/paper.yaml says of one paper. Assumptions that it leaves to another paper are filled in."""
    path = papers.folder(name) / papers.ABOUT
    data = read_yaml(path, "paper")
    if data["paper"] != name:
        raise ConfigError(f"{show(path)}: 'paper' is {data['paper']!r}; write {name!r}, its folder's name")
    if "like" in data:
        if data["like"] == name:
            raise ConfigError(f"{show(path)}: 'like' names the paper itself; name another one, or leave it out")
        own = {item["id"]: item for item in data["assumptions"]}
        taken = [own.pop(item["id"], item) for item in paper(data["like"])["assumptions"]]
        data["assumptions"] = [*taken, *own.values()]
    return data


def assumption(paper_name: str, key: str):
    """The value of one named assumption, as the paper's file has it; a cell's own is in lab/cell/settings.py."""
    items = paper(paper_name)["assumptions"]
    for item in items:
        if item["id"] == key:
            return item["value"]
    known = [item["id"] for item in items]
    raise ConfigError(f"paper/{paper_name}/{papers.ABOUT}: assumption '{key}' is missing; {nearest(key, known)}")
