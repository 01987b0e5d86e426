# SPDX-License-Identifier: MIT
"""What the report says of the lab: clock, inputs, locks, versions, commands seen at the disk.

    python -m paper.lab --results results/quick --cells LIST --out results/quick/lab.json

Everything comes from the results themselves and from the locks in envs/; nothing of the machine it ran on.
"""

import hashlib
import re
import sys
from pathlib import Path

import pandas as pd

from analysis import command, load, numbers
from lab.cell.paths import ROOT

SCHEMA = "spindle-lab/1"
LOCKS = ("qemu.lock", "guest.lock", "requirements.lock")
HASH_DIGITS = 16
INPUTS = (("qemu", "QEMU and driver", None), ("model", "disk model", None), ("drive", "drive", "drive"),
          ("controller", "controller", "controller"), ("guest", "guest", None),
          ("workload", "workload", "workload"))  # fmt: skip
"""Identity, its name for a reader, and the column that says of what there are several."""


def inputs(frame: pd.DataFrame, envs: Path) -> list[dict]:
    """Every input's hashes as the results recorded them, then the locks."""
    found = []
    for key, name, split in INPUTS:
        for of, group in frame.groupby(split) if split else [("", frame)]:
            hashes = sorted(set(group[f"identity_{key}"]))
            found.append({"name": name, "of": of, "hashes": [digest[:HASH_DIGITS] for digest in hashes]})
    cells = sorted(frame.id + " " + frame.identity_cell)
    together = hashlib.sha256("\n".join(cells).encode()).hexdigest()[:HASH_DIGITS]
    found.append({"name": "cells", "of": "all, together", "hashes": [together]})
    for name in LOCKS:
        digest = hashlib.sha256((envs / name).read_bytes()).hexdigest()[:HASH_DIGITS]
        found.append({"name": "lock", "of": f"envs/{name}", "hashes": [digest]})
    return found


def versions(envs: Path) -> list[str]:
    """Versions of QEMU and of the guest's kernel, from the locks."""
    found = [f"QEMU {match[1]}" for match in re.finditer(r"^version=(\S+)", (envs / "qemu.lock").read_text(), re.M)]
    kernel = r"^linux-image-(\d\S*)\s+(\S+)"
    found += [
        f"guest kernel {m[1]} (Debian {m[2]})" for m in re.finditer(kernel, (envs / "guest.lock").read_text(), re.M)
    ]
    return found


def depth(frame: pd.DataFrame) -> list[dict]:
    """Commands outstanding at the disk, per controller and tags, in the cells of the device itself that are to fill the
    disk's queue. Points of a sweep have a depth of their own."""
    frame = frame[(frame.file_system == "raw") & (frame.depth == "")]
    order = frame.assign(order=pd.to_numeric(frame.tags.replace("none", "0")))
    found = []
    for (controller, _), group in order.groupby(["controller", "order"]):
        good = group[group.status == "ok"]
        line = {"controller": controller, "tags": group.tags.iloc[0], "cells": len(group),
                "failed": len(group) - len(good)}  # fmt: skip
        for op in ("read", "write"):
            mean, _ = numbers.mean_std([float(value) for value in good[good.op == op].queue_depth_mean])
            line[op] = None if mean is None else numbers.fixed(mean, 1)
        line["most"] = None if good.empty else int(good.queue_depth_max.max())
        found.append(line)
    return found


def clock(frame: pd.DataFrame) -> str:
    """The clocks the results ran on, in a sentence."""
    kinds = sorted(set(zip(frame.clock, frame.ns_per_instruction, strict=True)))
    if not kinds:
        return "No cell has run yet."
    each = [f"{ns} ns of {kind} time an instruction" for kind, ns in kinds]
    return f"Virtual time counts instructions: {' and '.join(each)}."


def describe(frame: pd.DataFrame, envs: Path) -> dict:
    """The whole description."""
    moved = sorted({item for text in frame.lock_moved for item in text.split(";") if item})
    failures = sorted(frame[frame.status != "ok"].id)
    return {
        "schema": SCHEMA, "clock": clock(frame), "cells": len(frame), "inputs": inputs(frame, envs),
        "versions": versions(envs), "moved": moved, "depth": depth(frame), "failures": failures,
    }  # fmt: skip


def main(argv: list[str] | None = None) -> int:
    """Command line; see the module's text."""
    parser = command.parser(__doc__, "results", "cells", "out")
    return command.finish(
        "paper.lab",
        parser.parse_args(argv),
        lambda args: command.as_json(
            describe(load.load_cells(args.results, load.read_cell_list(args.cells)), ROOT / "envs")
        ),
    )


if __name__ == "__main__":
    sys.exit(main())
