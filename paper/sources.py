# SPDX-License-Identifier: MIT
"""Which commit lies here."""

import subprocess

from lab.cell import paths


def _git(*words: str) -> str | None:
    """What git prints; None where there is no git or no repository."""
    try:
        done = subprocess.run(["git", *words], cwd=paths.ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def commit() -> str:
    """Commit of the source, with a + if it has changes; empty where there is no git."""
    head = _git("rev-parse", "--short=12", "HEAD")
    changed = _git("status", "--porcelain", "-uno")
    return "" if head is None or changed is None else head + ("+" if changed else "")


def day() -> str | None:
    """Day of that commit, as YYYY-MM-DD; None where there is no git."""
    return _git("log", "-1", "--format=%cs", "HEAD")
