#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write envs/volumes.lock anew from lab/volumes/packages.txt: what is wanted and what it depends on, without what the
guest has (envs/guest.lock). Run it after the guest's own lock has moved; `make relock` does both."""

import re
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "lab" / "guest"))  # The guest's build is made of programs, not of a package.

import relock as guest_relock  # noqa: E402
from lockfile import LockError, parse  # noqa: E402

WISHES = REPOSITORY / "lab" / "volumes" / "packages.txt"
LOCK = REPOSITORY / "envs" / "volumes.lock"


def main() -> None:
    """Rewrite the lock."""
    wanted, left_out = guest_relock.parse_wishes(WISHES.read_text(), "lab/volumes/packages.txt")
    _, guest_left_out = guest_relock.parse_wishes(guest_relock.WISHES.read_text())
    # The kernel's package changes its name; nothing depends on it.
    in_guest = [
        package.name
        for package in parse(guest_relock.LOCK.read_text())
        if not re.match(r"linux-image-\d", package.name)
    ]
    clash = sorted(set(wanted) & set(in_guest))
    if clash:
        raise guest_relock.RelockError(f"lab/volumes/packages.txt: the guest has {clash[0]} already; take it out")
    guest_relock.write(LOCK, guest_relock.resolve(wanted, sorted({*left_out, *guest_left_out, *in_guest} - {*wanted})))


if __name__ == "__main__":
    try:
        main()
    except (guest_relock.RelockError, LockError, OSError) as error:
        sys.exit(f"relock: {error}")
