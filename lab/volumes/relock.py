# SPDX-License-Identifier: MIT
"""Write envs/volumes.lock anew from lab/volumes/packages.txt: what is wanted and what it depends on, without what the
guest has (envs/guest.lock). Run it after the guest's own lock has moved; `make relock` does both.

    python -m lab.volumes.relock
"""

from lab.guest import relock
from lab.guest.host import REPOSITORY, one_message
from lab.guest.lockfile import LockError, parse
from lab.guest.wishes import RelockError, parse_wishes

WISHES = REPOSITORY / "lab" / "volumes" / "packages.txt"
LOCK = REPOSITORY / "envs" / "volumes.lock"


def main() -> None:
    """Rewrite the lock."""
    wanted, left_out = parse_wishes(WISHES.read_text(), "lab/volumes/packages.txt")
    clash = sorted({*wanted} & {package.name for package in parse(relock.LOCK.read_text())})
    if clash:
        raise RelockError(f"lab/volumes/packages.txt: the guest has {clash[0]} already; take it out")
    relock.write(LOCK, relock.resolve_beside_guest(wanted, left_out))


if __name__ == "__main__":
    one_message("relock", main, RelockError, LockError)
