# SPDX-License-Identifier: MIT
"""Wish lists: Debian packages that are wanted, and those left out, before anything is resolved.

A line is "package  # why", or "-package  # why" for a dependency that is left out with what only it would bring.
"""

import re

_NAME = re.compile(r"(-?)([a-z0-9][a-z0-9+.-]+)")


class RelockError(Exception):
    """The lock cannot be written; the message says what, where and the next step."""


def parse_wishes(text: str, where: str = "envs/guest-packages.txt") -> tuple[list[str], list[str]]:
    """Return the packages wanted and those left out."""
    wanted: list[str] = []
    left_out: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        word = line.partition("#")[0].strip()
        if not word:
            continue
        match = _NAME.fullmatch(word)
        if not match:
            raise RelockError(
                f'{where}:{number}: {word!r} is not a package name; a line is "package  # why" or "-package  # why"'
            )
        (left_out if match[1] else wanted).append(match[2])
    return wanted, left_out
