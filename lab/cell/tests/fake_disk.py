# SPDX-License-Identifier: MIT
"""Pretends to be spindle-disk: `show DRIVE --json` and `units --topology FILE --json`, with drives of one size."""

import json
import sys
import tomllib

SECTORS = 1_000_000
ARRAY_SECTORS = 2_000_000


def units(path: str) -> list[dict]:
    """The units of a topology."""
    with open(path, "rb") as file:
        topology = tomllib.load(file)
    found = [
        {
            "name": unit["name"],
            "kind": "drive" if "drive" in unit else "null",
            "sectors": SECTORS if "drive" in unit else 0,
            "max_tags": unit.get("max_tags", 0),
            "member": unit.get("member", False),
        }
        for unit in topology["unit"]
    ]
    return found + [
        {
            "name": array["name"],
            "kind": "array",
            "sectors": ARRAY_SECTORS,
            "max_tags": array["max_tags"],
            "member": False,
        }
        for array in topology.get("array", [])
    ]


if __name__ == "__main__":
    if sys.argv[1] == "units":
        print(json.dumps(units(sys.argv[sys.argv.index("--topology") + 1])))
    else:
        print(json.dumps({"sectors": SECTORS}))
