# SPDX-License-Identifier: MIT
"""What a cell that ran leaves, written here: its agent's report, and what the lab notes beside it."""

from collections.abc import Mapping

from lab.cell import agent

DIGEST = "0" * 64
IDENTITY = dict.fromkeys(("qemu", "model", "drive", "controller", "guest", "workload", "reader", "cell"), DIGEST)
ABOUT = {
    "boot": {"status": 0, "killed_because": None, "stderr": "", "trace_problem": None},
    "last": True,
    "until_ns": None,
    "array": [],
    "drained": None,
    "identity": IDENTITY,
    "read": {"assumptions": {}, "catalogue": {}},
    "lock": {"guest": DIGEST, "moved": []},
}


def report(cell_id: str, metrics: Mapping[str, int], *after: str) -> str:
    """The agent's lines on a cell with these metrics, and what follows them."""
    payloads = [f"cell {cell_id}", *(f"out metric {name} {value}" for name, value in metrics.items())]
    payloads += ["exit 0", f"end {cell_id}", *after]
    return "".join(f"@spindle {n} {agent.cksum(line.encode())} {line}\n" for n, line in enumerate(payloads, start=1))
