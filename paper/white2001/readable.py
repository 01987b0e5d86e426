# SPDX-License-Identifier: MIT
"""Tables 6 and 7 from the reference numbers, to be read as they are: reference/table6.md and reference/table7.md."""

from analysis import numbers, reference
from analysis.entries import FULL_SCALE, Entry
from paper.white2001 import tables


def by_place(entries: list[Entry]) -> tuple[dict[tuple[str, str], Entry], set[str]]:
    """A table's entries by row and column, ours only at the paper's size, and all their cells."""
    full = [entry if entry.scale == FULL_SCALE else Entry(entry.published) for entry in entries]
    found = {(entry.published.row, entry.published.column): entry for entry in full}
    return found, {cell for entry in full for cell in entry.cells}


def table6(committed: reference.Reference) -> str:
    """Table 6 from these numbers, one table for each file system; every entry is the paper's number and ours."""
    found, used = by_place(tables.table6(reference.for_tables(tables.PAPER, committed), {}))
    head = [(side, workload) for workload in tables.MACRO for side in tables.SIDES]
    about = reference.made_from(committed.describe(used))
    lines = ["# Table 6, reference numbers", "", "Elapsed seconds at the paper's size: paper / here. "
             f"{about} SSH builds another package than the paper's."]  # fmt: skip
    for file_system in tables.FILE_SYSTEMS[:2]:
        lines += ["", f"## {file_system}", "", "| row | " + " | ".join(f"{side} {name}" for side, name in head) + " |",
                  "|---" * (1 + len(head)) + "|"]  # fmt: skip
        for row in dict.fromkeys(row for row, _ in found):
            entries = [found.get((row, f"{file_system}.{side}.{name}")) for side, name in head]
            lines.append(f"| {row} | " + " | ".join(map(both_numbers, entries)) + " |")
    return "\n".join(lines) + "\n"


def table7(committed: reference.Reference) -> str:
    """Table 7 from these numbers: rates of the arrays themselves, and elapsed times on file systems."""
    found, used = by_place(tables.table7(reference.for_tables(tables.PAPER, committed), {}))
    head = [f"{kind}.{column}" for kind in tables.ARRAYS for column in (*tables.SIDES, "diff")]
    lines = ["# Table 7, reference numbers", "", "Disk arrays at the paper's size: paper / here; `diff` is how much "
             f"faster IDE is, in per cent of IDE's number. {reference.made_from(committed.describe(used))} "
             "SSH builds another package than the paper's.", "",
             "| row | unit | " + " | ".join(name.replace(".", " ") for name in head) + " |",
             "|---" * (2 + len(head)) + "|"]  # fmt: skip
    for row in dict.fromkeys(row for row, _ in found):
        unit = found[row, head[0]].published.unit
        lines.append(f"| {row} | {unit} | " + " | ".join(both_numbers(found.get((row, name))) for name in head) + " |")
    return "\n".join(lines) + "\n"


READABLE = {"table6.md": table6, "table7.md": table7}
"""Tables to be read as they are."""


def both_numbers(entry: Entry | None) -> str:
    """The paper's number and ours; a dash for one that is not there, nothing where the paper has none."""
    if entry is None:
        return ""
    here = "-" if entry.reproduced is None else numbers.like(entry.reproduced, entry.published.value)
    return f"{entry.published.value} / {here}"
