# SPDX-License-Identifier: MIT
"""Pretends to be QEMU with a guest in it: reads the job disk, writes plausible logs and a trace.

The first argument is a file with the way it goes wrong: nothing, or one of the words below.
"""

import os
import re
import sys
import time
from pathlib import Path

from lab.cell.agent import cksum
from lab.cell.trace import HEADER

REQUESTS = int(os.environ.get("FAKE_REQUESTS", "1280"))
NS = int(os.environ.get("FAKE_NS", "1000000"))
TROUBLES = {
    "reset": "ata1.00: exception Emask 0x0 SAct 0x30000 SErr 0x0 action 0x6 frozen",
    "io-error": "I/O error, dev sda, sector 2659296 op 0x1:(WRITE) flags 0x8800 phys_seg 1 prio class 2",
}

ARRAY_MODES = {
    "degraded": [("failed", "m1", "degraded")],
    "rebuilding": [("failed", "m1", "rebuilding"), ("began", "m8", "rebuilding")],
    "rebuilt": [("failed", "m1", "rebuilding"), ("began", "m8", "rebuilding"), ("filled", "m8", "whole")],
    "data-lost": [("failed", "m1", "degraded"), ("failed", "m2", "lost")],
}
"""What the model says of a hardware array: event, unit, state behind it."""
TRACE_MODES = {
    "drained": "# drained 3 commands now_ns {now}",
    "garbage": "disk0 R 1 \udcff\udcfe\x00 0",
    "unknown-comment": "# cel one",
    "torn-mark": "# drained 3 comm",
    "flush": "disk0 F 0 0 0 {now} {now} {now} {now} 1 -",
}
"""A line in the trace of random reads."""


def main() -> int:
    mode_file, *arguments = sys.argv[1:]
    mode = Path(mode_file).read_text().strip() if Path(mode_file).exists() else ""
    text = " ".join(arguments)
    if mode == "no-start":
        print("qemu-system-x86_64: -device scsi-hd: there is no such bus", file=sys.stderr)
        return 1
    work = Path(re.search(r"file:(\S+)/console.log", text)[1])
    job = (work / "job.img").read_bytes()[4096:].rstrip(b"\0").decode().splitlines()
    # Closed by the end of the process, however it ends: that is what the tests are about.
    console = open(work / "console.log", "w", buffering=1)  # noqa: SIM115
    agent = open(work / "agent.log", "w", buffering=1)  # noqa: SIM115
    trace = open(work / "io.trace", "w", buffering=1, errors="surrogateescape")  # noqa: SIM115
    trace.write(HEADER + "\n")
    number = 0
    depth = 1
    op = "read"

    def tell(payload: str) -> None:
        nonlocal number
        number += 1
        agent.write(f"@spindle {number} {cksum(payload.encode())} {payload}\n")

    console.write("Linux version 6.1\n")
    if mode == "bad-option":
        print(f"qemu-system-x86_64: -blockdev topology={work}/topology.toml: unknown unit 'disk9'", file=sys.stderr)
        return 1
    if mode == "stand-still":
        (work.parent / "fake.pid").write_text(str(os.getpid()))
        time.sleep(600)
    if mode == "panic":
        console.write("[    1.5] Kernel panic - not syncing: VFS: Unable to mount root fs\n")
        time.sleep(600)
    if mode == "half-line":
        agent.write("@spindle 1 2 cell\n@spindle 1\n@spindle 1 2\n")
        agent.flush()
        time.sleep(1)
    tell("hello 1 6.1.0")
    now = 5_000_000_000
    cell = ""
    for line in job:
        word, _, rest = line.partition(" ")
        if word == "set" and rest.split()[0].endswith("queue_depth"):
            depth = int(rest.split()[1])
        elif word == "cell":
            cell = rest.split()[0]
            tell(f"cell {cell}")
            trace.write(f"# cell {cell} seed {rest.split()[1]} now_ns {now} start_delay_ns 0\n")
            if mode in TRACE_MODES and "rawio-read-random" in cell:
                trace.write(TRACE_MODES[mode].format(now=now + 7) + "\n")
            for event, unit, state in ARRAY_MODES.get(mode, ()) if "write-random" in cell else ():
                trace.write(f"# array disk0 now_ns {now + 5} {event} {unit} state {state}\n")
            if mode == "torn" and "random" in cell:
                trace.write("disk0 R 16 16 0 1 2 3 4 1 mi")
                trace.flush()
                os.kill(os.getpid(), 9)
            if mode == "hang" and "random" in cell:
                print("spindle: the limit of 840 virtual seconds was reached", file=sys.stderr)
                return 70
            if mode in TROUBLES and "read-random" in cell:
                console.write(f"[{now / 1e9:12.6f}] {TROUBLES[mode]}\n")
            if mode == "crash" and "random" in cell:
                os.abort()
        elif word == "exec" and "--op" not in rest:
            # A cell on a file system: mount, workload, umount, check.
            if rest.startswith(("postmark", "confined")):
                trace.write(f"disk0 W 16 16 0 {now} {now} {now + NS} {now + NS} 1 through\n")
                tell(f"out phase create {now} {now + NS}")
                tell(f"out metric elapsed_ns {NS}")
                tell("out metric files_created 5")
                now += NS
            damaged = mode == "damaged" and cell == "check"
            if damaged:
                tell("err e2fsck: bitmaps differ")
            tell(f"exit {4 if damaged else 0}")
            if damaged:
                tell("fail exec e2fsck: exit status 4")
        elif word == "exec":
            op = re.search(r"--op (\w+)", rest)[1]
            seen = depth - 1 if mode == "shallow" else depth
            for index in range(REQUESTS):
                begin = now + max(0, index - seen + 1) * NS
                end = now + (index + 1) * NS
                at = min(index + 1, seen)
                trace.write(
                    f"disk0 {'R' if op == 'read' else 'W'} {index * 16} 16 {index % seen} "
                    f"{begin} {max(begin, end - NS)} {end} {end} {at} {'miss' if op == 'read' else 'through'}\n"
                )
            now += REQUESTS * NS
            if mode == "workload-fails":
                tell("err rawio: /dev/sda: Input/output error")
                tell("exit 1")
                continue
            for metric, value in (
                ("elapsed_ns", REQUESTS * NS),
                ("bytes", REQUESTS * 8192),
                ("requests", REQUESTS),
                ("children", 128),
                ("concurrent_max", 128),
            ):
                if rest.startswith("rawio") or metric not in ("children", "concurrent_max"):
                    tell(f"out metric {metric} {value}")
            tell("exit 0")
        elif word == "end":
            if mode == "lost-line" and "random" in cell:
                number += 1
            tell(f"end {cell}")
    tell("done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
