# SPDX-License-Identifier: MIT
"""The guest's package lock, `envs/guest.lock`: one Debian package per line.

Columns, separated by tabs: name, version, architecture, SHA-256 of the .deb.
The first line names the format.  Lines are sorted by name.
"""

import re
from typing import NamedTuple

HEADER = "# spindle-guest-lock/1 name version arch sha256"

_FIELDS = {
    "name": re.compile(r"[a-z0-9][a-z0-9+.-]+"),
    "version": re.compile(r"[A-Za-z0-9][A-Za-z0-9.+:~-]*"),
    "arch": re.compile(r"amd64|all"),
    "sha256": re.compile(r"[0-9a-f]{64}"),
}


class LockError(Exception):
    """The lock cannot be used; the message says what, where and the next step."""


class Package(NamedTuple):
    """One locked package."""

    name: str
    version: str
    arch: str
    sha256: str

    @property
    def deb(self) -> str:
        """The file name that apt gives the package when it downloads it."""
        return f"{self.name}_{self.version.replace(':', '%3a')}_{self.arch}.deb"


def parse(text: str, where: str = "envs/guest.lock") -> list[Package]:
    """Return the packages of a lock, or raise LockError with the line at fault."""
    lines = text.splitlines()
    if not lines or lines[0] != HEADER:
        raise LockError(
            f"{where}:1: the first line is {lines[0] if lines else ''!r}, expected {HEADER!r}; "
            "run `make relock` to write the lock anew"
        )
    packages: list[Package] = []
    for number, line in enumerate(lines[1:], start=2):
        fields = line.split("\t")
        if len(fields) != len(_FIELDS):
            raise LockError(
                f"{where}:{number}: {len(fields)} fields instead of {len(_FIELDS)} "
                f"({', '.join(_FIELDS)}, separated by tabs); mend the line or run `make relock`"
            )
        for (field, pattern), value in zip(_FIELDS.items(), fields, strict=True):
            if not pattern.fullmatch(value):
                raise LockError(
                    f"{where}:{number}: {field} is {value!r}, expected {pattern.pattern}; "
                    "mend the line or run `make relock`"
                )
        package = Package(*fields)
        if packages and package.name <= packages[-1].name:
            raise LockError(
                f"{where}:{number}: {package.name} after {packages[-1].name}: "
                "each name once, in order; mend the line or run `make relock`"
            )
        packages.append(package)
    if not packages:
        raise LockError(f"{where}: no package in it; run `make relock`")
    return packages


def render(packages: list[Package]) -> str:
    """Return the text of a lock; parse() gives the same packages back."""
    lines = [HEADER] + ["\t".join(package) for package in sorted(packages)]
    return "\n".join(lines) + "\n"
