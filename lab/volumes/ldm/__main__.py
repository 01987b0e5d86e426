# SPDX-License-Identifier: MIT
"""Make disks dynamic, with one volume over all of them; show what disks say.

    python -m lab.volumes.ldm create --type striped --stripe-kib 64 --name Volume1 disk0.img disk1.img
    python -m lab.volumes.ldm show disk0.img disk1.img

Disks are raw images, sparse ones stay so. The same command makes the same bytes.
"""

import argparse
import sys
from pathlib import Path

from lab.cell.errors import SpindleError
from lab.volumes.ldm import volumes


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(prog="lab.volumes.ldm", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    create = commands.add_parser("create", help="write the database of one volume over all the disks named")
    create.add_argument("--type", required=True, choices=sorted(volumes.KINDS))
    create.add_argument("--stripe-kib", type=int, default=64, help="stripe unit of striped and raid5 (default: 64)")
    create.add_argument("--name", default="Volume1", help="name of the volume (default: %(default)s)")
    create.add_argument("--group", default="Spindle-Dg0", help="name of the disk group (default: %(default)s)")
    create.add_argument("--seed", default="1", help="another one gives other GUIDs (default: %(default)s)")
    create.add_argument("--force", action="store_true", help="overwrite a partition table, or another database")
    create.add_argument("disks", nargs="+", type=Path)
    show = commands.add_parser("show", help="print what disks of one group say")
    show.add_argument("disks", nargs="+", type=Path)
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Command line."""
    options = parse(argv)
    try:
        if options.command == "create":
            request = volumes.Request(options.type, options.name, options.group, options.stripe_kib, options.seed)
            volumes.create(request, options.disks, options.force)
        else:
            print("\n".join(volumes.describe(options.disks)))
    except SpindleError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
