# SPDX-License-Identifier: MIT
"""The context of each table's template."""

import statistics

from analysis import numbers
from analysis.entries import at_full_size, scaled
from paper.view import MISSING, NEAR, RATIO_DIGITS, Cell, Table, shaded, words
from paper.white2001 import chung
from paper.white2001.tables import (
    ARRAYS,
    COMPARED,
    FILE_SYSTEMS,
    MACRO,
    MANAGERS,
    NOTES,
    OPS,
    PATTERNS,
    POSTMARK_PHASES,
    POSTMARK_READINGS,
    POSTMARK_SIZES,
    POSTMARK_SIZES_AT,
    SAME_ARRAYS,
    SATURATES,
    SIDES,
    TABLE6_TAGS,
    VOLUME_PATTERNS,
    VOLUMES_POSTMARK,
    cost_rule,
)

PAPER = "white2001"
PRINTED = tuple(f"table{number}" for number in range(1, 8))
FINDINGS = ("table5", "table6", "table7")
"""Tables that are measurements of the paper's own. Table 4's rates are Table 5's."""
SCHEDULERS = {"both": "Both", "disk": "Disk only", "host": "Host only", "none": "None"}
BENCHMARKS = {"sdet": "SDET, 20 scripts", "ssh": "SSH", "netnews": "NetNews", "postmark": "PostMark"}
PANELS6 = (("sdet", "ssh"), ("netnews", "postmark"))
FORMATS6 = {"sdet": ("3.1", "4.1", "3.2"), "ssh": ("2.1", "3.1", "2.2"), "netnews": ("4.0", "4.0", "3.1"),
            "postmark": ("3.0", "4.0", "3.1")}  # fmt: skip
"""Digits of the paper's number, of ours, and of its standard deviation."""
HALVES = {"ffs": "FFS", "softupdates": "Soft Updates"}
PAPER_SIZES, OWN_SIZES = r"500--31\,500 bytes (400\,MB)", r"500--10\,000 bytes (131\,MB)"
"""PostMark's file sizes as assumed for the paper's data, and its own (workloads/postmark/README.md)."""
REFERENCE_MARK = r"\tnote{R}"
"""Behind a number that is not this profile's but the reference's."""
FILE_SYSTEM_NAMES = {
    "ffs": "FFS", "softupdates": "Soft Updates", "ext2": "ext2", "ext3-ordered": "ext3, ordered",
    "ext3-writeback": "ext3, writeback", "ext3-journal": "ext3, journal", "reiserfs": "ReiserFS", "xfs": "XFS",
    "ntfs": "NTFS",
}  # fmt: skip
ONE_SETTING = {"table4": "32 tags, both", "table7": "32/64 tags, both"}
KINDS = {"software": "Software array", "hardware": "Hardware array"}
MICRO7 = "Write micro benchmark (MB/s)"
APPLICATIONS7 = {"ffs": "FFS (s)", "softupdates": "Soft Updates (s)"}
NAMES7 = {name: text.partition(",")[0] for name, text in BENCHMARKS.items()}
QUOTIENT_DIGITS = 3
"""Of two volume managers, which differ by little."""
SHAPES = {"raid0": "RAID 0, four disks", "raid5": "RAID 5, four disks", "raid1": "RAID 1, two disks"}
LIMITS = {
    "limit.pci": "PCI", "limit.pci.64kb": "PCI", "limit.pci.riedel": "PCI", "limit.pci.random": "PCI, random",
    "limit.ultra160": "Ultra160 adapter", "limit.scsi.others": "SCSI adapters",
    "limit.3ware-5400": "3ware 3W-5400", "limit.3ware-6800": "3ware 3W-6800",
}  # fmt: skip
"""Rows of Chung et al.'s limits."""
WORDS = {"advertised": "advertised", "gain": "gain", "factor": "over one disk", "striped": "RAID 0",
         "mirrored": "TwinStor", "single": "one request", "software": "software", "hardware": "controller"}  # fmt: skip
"""Words behind a column of Chung et al.'s numbers, for a reader."""
TAGS = {"ide": ("none", "4", "32"), "scsi": ("none", "4", "32", "64", "128")}
APPLICATIONS = {
    "sdet.1": ("SDET", "1 job"), "sdet.5": ("", "5 jobs"), "sdet.10": ("", "10 jobs"), "sdet.20": ("", "20 jobs"),
    "ssh": ("SSH", ""), "postmark": ("PostMark", ""), "netnews": ("NetNews", ""),
}  # fmt: skip
TABLE3_ROWS = {
    "capacity": "Capacity (GB)", "rpm": "Rotation (1/min)", "seek_read": "Average seek, read (ms)",
    "seek_write": "Average seek, write (ms)", "interface_rate": "Interface bandwidth (MB/s)",
    "sustained": "Media rate, sustained (MB/s)", "buffer": "Buffer (MB)",
}  # fmt: skip
TABLE2_ROWS = (
    ("Structure", "structure"), ("Controller", "controller"), ("Width (bit)", "width"),
    ("Bus bandwidth (MB/s)", "bandwidth"), ("Roadmap, current (MB/s)", "roadmap.current"),
    ("Roadmap, 2001 (MB/s)", "roadmap.2001"), ("Roadmap, 2004 (MB/s)", "roadmap.2004"),
    ("Roadmap, 2007 (MB/s)", "roadmap.2007"), ("Cable length", "cable"), ("Devices a channel", "devices"),
    ("Transfer modes", "transfer"), ("Most tags, command concurrency", "tags"), ("Bus concurrency", "bus"),
    ("Manageability", "management"),
)  # fmt: skip
RANGE = {"low": "–", "1": ", ", "2": ", "}
"""What follows a number of this part of a cell."""


def join(table: Table, row: str, column: str) -> str:
    """The numbers of one printed cell joined again: `18–26`, `8, 16, 32`; empty where there are none."""
    parts = [r for r in table.rows if r["row"] == row and (r["column"] + ".").startswith(column + ".")]
    return "".join(r["printed"] + RANGE.get(r["column"].removeprefix(column + "."), "") for r in parts)


def table1(table: Table) -> dict:
    """Prices: the quotients as printed and as computed."""
    text = words(PAPER, "table1")
    rule = cost_rule()
    groups: dict[str, list[dict]] = {}
    for row in dict.fromkeys(entry["row"] for entry in table.rows):
        kind, _, _ = row.partition(".")
        item = {name: join(table, row, name) for name in ("rpm", "capacity", "sustained", "buffer", "devices",
                                                          "bandwidth", "cache", "cost")}  # fmt: skip
        item["seek"] = "/".join(r["printed"] for r in table.rows if r["row"] == row and r["column"].startswith("seek"))
        item |= {"model": text[row, "model"], "raid": text.get((row, "raid"), "")}
        item["cache"] = text.get((row, "cache"), item["cache"])
        item["quotient"] = table.cell(row, "cost_per_gb" if kind.endswith("disk") else "cost_per_device")
        groups.setdefault(kind, []).append(item)
    printed = str(rule["printed_capacity_gb"])
    large = [r for r in groups["scsi-disk"] if r["capacity"] == printed]
    instead = [numbers.fixed(numbers.cost_per(float(r["cost"]), rule["printed_capacity_gb"]), 2) for r in large]
    return {"groups": groups, "printed_gb": printed, "divisor_gb": rule["divisor_gb"], "instead": instead}


def table2(table: Table) -> dict:
    """The interfaces: numbers and words of each cell."""
    text = words(PAPER, "table2")

    def side(row: str, column: str) -> str:
        number = join(table, row, column)
        if (row, column) == ("cable", "ide"):
            number = f"{table.row(row, 'ide.cm')['printed']} cm ({table.row(row, 'ide.in')['printed']} in)"
        elif row == "cable":
            number += " m"
        return "; ".join(part for part in (number, text.get((row, column), "")) if part)

    return {
        "lines": [{"label": label, "ide": side(row, "ide"), "scsi": side(row, "scsi")} for label, row in TABLE2_ROWS]
    }


def table3(table: Table) -> dict:
    """The drives: printed, and computed by the model from its catalogue."""
    lines = [{"label": label, "cells": [table.cell(row, side) for side in ("ide", "scsi")]}
             for row, label in TABLE3_ROWS.items()]  # fmt: skip
    return {"lines": lines, "words": words(PAPER, "table3")}


def table4(table: Table) -> dict:
    """IDE against SCSI. The last column also as computed from the published rates."""
    lines = []
    labels = {f"{op}.{pattern}": (f"{op.capitalize()} micro benchmark" if pattern == "sequential" else "",
                                  pattern.capitalize()) for op in OPS for pattern in PATTERNS}  # fmt: skip
    for row, (group, label) in (labels | APPLICATIONS).items():
        ide, scsi = (table.row(row, side)["published"] for side in ("ide", "scsi"))
        percent = numbers.percent_faster_rate if row in labels else numbers.percent_faster_time
        check = numbers.like(percent(ide, scsi), table.row(row, "diff")["printed"])
        lines.append({"group": group, "label": label, "unit": table.row(row, "ide")["unit"], "check": check,
                      "cells": [table.cell(row, side) for side in SIDES],
                      "diff": table.cell(row, "diff")})  # fmt: skip
    return {"lines": lines, "micro": len(labels)}


def table5(table: Table) -> dict:
    """The micro benchmarks: one block for IDE, one for SCSI."""
    columns = [f"{op}.{pattern}" for op in OPS for pattern in PATTERNS]
    blocks = {}
    for side, tags in TAGS.items():
        blocks[side] = [
            {
                "scheduler": label,
                "lines": [
                    {"tags": tag, "cells": [table.cell(f"t{tag}.{name}", f"{side}.{column}") for column in columns]}
                    for tag in tags
                ],
            }
            for name, label in SCHEDULERS.items()
        ]
    return {"blocks": blocks, "patterns": [pattern.capitalize() for pattern in PATTERNS]}


def table6(table: Table) -> dict:
    """The macro benchmarks: one half for each file system, two panels each, IDE beside SCSI."""
    notes = {name: table.notes.mark(NOTES[name]) if name in NOTES else "" for name in MACRO}
    heads = {name: {"label": BENCHMARKS[name], "mark": notes[name], "ratio": name not in NOTES,
                    "formats": FORMATS6[name]} for name in MACRO}  # fmt: skip

    def cell(half: str, name: str, side: str, tags: str, scheduler: str) -> Cell | None:
        """None where the paper has no numbers."""
        if side not in TABLE6_TAGS[tags]:
            return None
        return table.cell(f"t{tags}.{scheduler}", f"{half}.{side}.{name}", said=NOTES.get(name, ""))

    def panel(half: str, names: tuple[str, ...]) -> dict:
        """Some benchmarks under every setting."""
        groups = [
            {
                "scheduler": label,
                "lines": [
                    {
                        "tags": tags.replace("-", "/"),
                        "cells": [(name, cell(half, name, side, tags, scheduler)) for name in names for side in SIDES],
                    }
                    for tags in TABLE6_TAGS
                ],
            }
            for scheduler, label in SCHEDULERS.items()
        ]
        return {"names": names, "groups": groups}

    halves = [{"label": label, "panels": [panel(half, names) for names in PANELS6]} for half, label in HALVES.items()]
    return {"halves": halves, "heads": heads}


def table7(table: Table) -> dict:
    """The arrays: one panel for those in software, one for those behind a controller."""

    def line(kind: str, row: str, label: str) -> dict:
        said = NOTES.get(row.partition(".")[2], "")
        label += table.notes.mark(said) if said else ""
        return {"label": label, "cells": [table.cell(row, f"{kind}.{side}", said=said) for side in SIDES],
                "diff": table.cell(row, f"{kind}.diff", said=said)}  # fmt: skip

    def panel(kind: str) -> dict:
        micro = [line(kind, f"write.{pattern}", pattern.capitalize()) for pattern in PATTERNS]
        groups = [{"label": MICRO7, "lines": micro}]
        for half, label in APPLICATIONS7.items():
            lines = [line(kind, f"{half}.{name}", NAMES7[name]) for name in MACRO]
            groups.append({"label": label, "lines": lines})
        return {"label": KINDS[kind], "groups": groups}

    return {"panels": [panel(kind) for kind in ARRAYS], "percentages": percentages(table),
            "odd": odd_cells(table)}  # fmt: skip


def odd_cells(table: Table) -> dict[str, str | None]:
    """Ours for the cells of Table 7 that are odd in the paper, IDE and SCSI; None where one has not run."""

    def pair(row: str, kind: str) -> str | None:
        values = [table.row(row, f"{kind}.{side}")["reproduced"] for side in SIDES]
        return None if None in values else " and ".join(numbers.fixed(value, 1) for value in values)

    return {"sequential": pair("write.sequential", "software"), "software": pair("write.random", "software"),
            "hardware": pair("write.random", "hardware")}  # fmt: skip


def percentages(table: Table) -> str:
    """Whether Table 7's printed percentages are those of its own rates and times."""
    wrong, count = [], 0
    for entry in table.rows:
        kind, _, column = entry["column"].partition(".")
        if column != "diff":
            continue
        ide, scsi = (table.row(entry["row"], f"{kind}.{side}")["published"] for side in SIDES)
        rate = entry["row"].startswith("write.")
        percent = (numbers.percent_faster_rate if rate else numbers.percent_faster_time)(scsi, ide)
        count += 1
        if numbers.like(percent, entry["printed"]) != entry["printed"]:
            wrong.append(f"{kind} {entry['row']} ({entry['printed']}, computed {numbers.like(percent, '0')})")
    if wrong:
        return f"The paper's percentages that do not follow from its own numbers: {'; '.join(wrong)}."
    return f"The paper's {count} percentages all follow from its own rates and times."


def scaling(table: Table) -> dict:
    """Ours beside Chung et al.'s points, each with its gain over one disk."""
    points = {(p.number.row, p.number.column): p for p in chung.points()}

    def gain(prefix: str, disks: str, column: str, field: str) -> str:
        """Over one disk."""
        many, one = (table.index.get((prefix + row, column), {}).get(field) for row in (disks, "1"))
        value = numbers.ratio(many, one)
        return MISSING if value is None else numbers.fixed(value, RATIO_DIGITS)

    def ours(disks: str, column: str) -> dict:
        cell = table.cell(disks, column, like="0.0")
        return {"value": cell.reproduced, "gain": gain("", disks, column, "reproduced")}

    def theirs(disks: str, column: str) -> dict:
        point = points.get((chung.PREFIX + disks, column))
        if point is None:
            factor = points.get((chung.PREFIX + disks, f"{column}.factor"))
            return {"value": "", "gain": noted(table, factor) if factor else ""}
        return {"value": noted(table, point), "gain": gain(chung.PREFIX, disks, column, "published")}

    disks = [row for row in dict.fromkeys(entry["row"] for entry in table.rows) if row.isdigit()]
    panels = []
    for pattern, unit in (("sequential", "MB/s"), ("random", "1/s")):
        lines = [
            {"disks": row, "cells": [
                part(row, f"{side}.{op}.{pattern}") for op in OPS for part in (ours, theirs) for side in SIDES
            ]}
            for row in disks
        ]  # fmt: skip
        panels.append({"ops": [{"label": f"{pattern.capitalize()} {op}"} for op in OPS],
                       "units": ["MB/s", "MB/s", unit, unit], "lines": lines})  # fmt: skip
    return {"paper": PAPER, "panels": panels, "saturation": saturation(table), "limits": limits(points)}


def noted(table: Table, point: chung.Point) -> str:
    """A number of Chung et al.'s with the letter of the place where it stands."""
    about = " (about)" if point.mark == "about" else ""
    return f"{point.number.value} {{{table.notes.mark(f'Chung et al., {point.where}{about}')}}}"


def saturation(table: Table) -> list[str]:
    """Sentences: how many disks reach what more of them do not raise."""
    found = []
    for side in SIDES:
        for op in OPS:
            entry = table.row(SATURATES, f"{side}.{op}.sequential")
            if entry["reproduced"] is not None:
                found.append(f"{side.upper()} {op} {entry['reproduced']:.0f}")
            elif entry["cells"]:
                found.append(f"{side.upper()} {op} {entry['reason']}")
    if not found:
        return []
    return [f"Disks from which on more of them bring less than 5 %, sequential: {', '.join(found)}."]


def limits(points: dict) -> list[dict]:
    """What stands in no panel: limits of parts, gains, and what one disk more brings."""
    found = []
    for (row, column), point in points.items():
        row = row.removeprefix(chung.PREFIX)
        words = column.split(".")
        if row not in LIMITS and row != SATURATES and len(words) <= 3:
            continue
        if row in LIMITS:
            of, what = LIMITS[row], column
        else:
            of = f"{words[0].upper()} {words[1]}, {words[2]}"
            disks = "saturated by" if row == SATURATES else f"{row} disks"
            what = ", ".join([disks, *(WORDS[word] for word in words[3:])])
        sign = {"about": r"$\approx$", "conflicting": "*"}.get(point.mark, "")
        value = f"{point.number.value}*" if sign == "*" else f"{sign}{point.number.value}"
        found.append({"of": of, "what": what, "value": value, "unit": point.number.unit, "where": point.where})
    return found


def postmark(table: Table) -> dict:
    """PostMark's phases at Table 6's settings: this profile's, or else those of the reference."""
    lines, ratios = [], {name: [] for name in POSTMARK_READINGS}
    for scheduler, label in SCHEDULERS.items():
        for side in SIDES:
            for tags in (tags for tags, known in TABLE6_TAGS.items() if side in known):
                halves = [phases_of(table, f"t{tags}.{scheduler}", f"{half}.{side}") for half in HALVES]
                for name, found in ratios.items():
                    found += [half["ratio"][name] for half in halves if half["ratio"][name] is not None]
                lines.append({"scheduler": label, "tags": TABLE6_TAGS[tags][side], "side": side.upper(),
                              "halves": halves})  # fmt: skip
    sizes = []
    for row, name in ((POSTMARK_SIZES_AT, PAPER_SIZES), (POSTMARK_SIZES, OWN_SIZES)):
        halves = [phases_of(table, row, f"{half}.scsi") for half in HALVES]
        sizes.append({"label": name, "halves": halves, "quotients": quotients(halves)})
    ffs, soft = (table.row(POSTMARK_SIZES_AT, f"{half}.scsi.total")["published"] for half in HALVES)
    fit = [
        {
            "median": numbers.fixed(statistics.median(found), RATIO_DIGITS),
            "within": sum(numbers.off(ratio) <= NEAR for ratio in found),
            "of": len(found),
        }
        for found in ratios.values()
        if found
    ]
    return {"lines": lines, "sizes": sizes, "halves": list(HALVES.values()), "fit": fit,
            "paper_quotient": numbers.fixed(ffs / soft, RATIO_DIGITS),
            "columns": ["Create", "Trans.", "Delete", "Total"],
            "reference": any(half["reference"] for line in lines + sizes for half in line["halves"])}  # fmt: skip


def phases_of(table: Table, row: str, half: str) -> dict:
    """PostMark's phases at one setting: those of one cell, never mixed of this profile and the reference."""
    columns = [f"{half}.{name}" for name in (*POSTMARK_PHASES, "total")]

    def found(source: Table | None) -> list[dict]:
        """The numbers at the paper's size."""
        entries = [source.row(row, column) for column in columns] if source else []
        return list(filter(at_full_size, entries))

    own, other = found(table), found(table.beside)
    entries = own or other
    reference = bool(entries) and not own
    shown = [numbers.fixed(entry["reproduced"], 1) for entry in entries]
    if not entries:
        *rest, last = [table.row(row, column) for column in columns]
        reason = last if last["reproduced"] is None else last | {"reason": scaled(last["scale"])}
        shown = [MISSING for _ in rest] + [table.missing(reason)]
    elif reference:
        shown[-1] += f" {{{REFERENCE_MARK}}}"
    by_name = dict(zip((*POSTMARK_PHASES, "total"), entries, strict=True)) if entries else {}
    ratio = {name: by_name[name]["ratio"] if entries else None for name in POSTMARK_READINGS}
    return {"cells": shown, "published": table.row(row, columns[-1])["printed"], "ratio": ratio,
            "shaded": [shaded(ratio[name]) for name in POSTMARK_READINGS], "reference": reference,
            "seconds": {name: by_name[name]["reproduced"] if entries else None
                        for name in POSTMARK_READINGS}}  # fmt: skip


def quotients(halves: list[dict]) -> list[str]:
    """FFS over Soft Updates, transactions and total; none where one is missing or they are of different runs."""
    if halves[0]["reference"] != halves[1]["reference"]:
        return []
    values = [numbers.ratio(*(half["seconds"][name] for half in halves)) for name in POSTMARK_READINGS]
    return [] if None in values else [numbers.fixed(value, RATIO_DIGITS) for value in values]


def filesystems(table: Table) -> dict:
    """PostMark on every file system, and SCSI's time over IDE's."""
    columns = (*POSTMARK_PHASES, "total")
    lines = []
    for name in FILE_SYSTEMS:
        sides = [[table.cell(name, f"{side}.{column}", like="0.0") for column in columns] for side in SIDES]
        ide, scsi = (table.row(name, f"{side}.total") for side in SIDES)
        ratio = numbers.ratio(scsi["reproduced"], ide["reproduced"]) if ide["scale"] == scsi["scale"] else None
        shown = MISSING if ratio is None else numbers.fixed(ratio, RATIO_DIGITS)
        lines.append({"label": FILE_SYSTEM_NAMES[name], "sides": sides, "ratio": shown})
    return {"lines": lines, "columns": [column.capitalize() for column in columns]}


def controllers(table: Table) -> dict:
    """The same disk on two controllers; the ratio is the second's rate over the first's."""
    pairs = []
    for first, second in zip(COMPARED[::2], COMPARED[1::2], strict=True):
        lines = []
        for controller, tags, scheduler in (first, second):
            row = f"{controller}.t{tags}.{scheduler}"
            cells = [table.cell(row, f"{op}.{pattern}", like="0.0") for op in OPS for pattern in PATTERNS]
            lines.append({"controller": controller, "tags": tags, "scheduler": SCHEDULERS[scheduler], "cells": cells})
        ratios = []
        for op in OPS:
            for pattern in PATTERNS:
                a, b = (table.row(f"{c}.t{t}.{s}", f"{op}.{pattern}")["reproduced"] for c, t, s in (first, second))
                ratios.append(shaded(numbers.ratio(b, a)))
        pairs.append({"lines": lines, "ratios": ratios})
    return {"pairs": pairs, "patterns": [pattern.capitalize() for pattern in PATTERNS]}


def volumes(table: Table) -> dict:
    """The same arrays under two volume managers; the quotient is LDM's number over md's."""

    def line(label: str, row: str) -> dict:
        md, ldm = (table.row(row, manager) for manager in MANAGERS)
        quotient = numbers.ratio(ldm["reproduced"], md["reproduced"]) if md["scale"] == ldm["scale"] else None
        cells = [table.cell(row, manager, like="0.00") for manager in MANAGERS]
        return {"label": label, "unit": md["unit"], "cells": cells,
                "quotient": MISSING if quotient is None else numbers.fixed(quotient, QUOTIENT_DIGITS)}  # fmt: skip

    shapes = []
    for shape, names in SAME_ARRAYS.items():
        lines = [line(f"{pattern.capitalize()} {op}", f"{shape}.{op}.{pattern}")
                 for op in OPS for pattern in VOLUME_PATTERNS]  # fmt: skip
        if shape == VOLUMES_POSTMARK[0]:
            name = FILE_SYSTEM_NAMES[VOLUMES_POSTMARK[1]]
            lines.append(line(f"PostMark on {name}", f"{shape}.{VOLUMES_POSTMARK[1]}.postmark"))
        shapes.append({"label": SHAPES[shape], "names": [names[manager] for manager in MANAGERS], "lines": lines})
    return {"shapes": shapes}


VIEWS = {"table1": table1, "table2": table2, "table3": table3, "table4": table4, "table5": table5,
         "table6": table6, "table7": table7, "controllers": controllers, "postmark": postmark,
         "filesystems": filesystems, "scaling": scaling, "volumes": volumes}  # fmt: skip


def report(rows: list[dict]) -> dict:
    """What the report says of the numbers: all of them at a glance, and those that are findings."""
    of = {table: [row for row in rows if row["table"] == table] for table in PRINTED}
    findings = {table: of[table] for table in FINDINGS}
    together = [row for part in findings.values() for row in part]
    return {"groups": groups_of(of), "glances": findings, "findings": together}


def groups_of(of: dict[str, list[dict]]) -> list[tuple[str, list[dict]]]:
    """The lines of `Reproduced at a glance`, each with its numbers."""
    parts = {
        "table5": {side.upper(): lambda row, side=side: row["column"].startswith(side) for side in ("ide", "scsi")}
        | {"without what the authors doubt": lambda row: not row["questioned"]},
        "table6": {name: lambda row, part=part: row["column"].startswith(part)
                   for part, name in (("ffs", "FFS"), ("softupdates", "Soft Updates"))},
        "table7": {part: lambda row, part=part: row["column"].startswith(part) for part in ("software", "hardware")},
    }  # fmt: skip
    lines = []
    for table, found in of.items():
        name = f"Table {table.removeprefix('table')}"
        lines.append((name, found))
        lines += [(f"{name}, {part}", list(filter(wanted, found))) for part, wanted in parts.get(table, {}).items()]
    return lines


def setting(table: str, row: str) -> str:
    """A row for a reader: `32/64 tags, both`; rows of Tables 4 and 7 say what is measured, at one setting."""
    if table in ONE_SETTING:
        return ONE_SETTING[table]
    tags, scheduler = row.removeprefix("t").split(".")
    return f"{'no tags' if tags == 'none' else tags.replace('-', '/') + ' tags'}, {scheduler}"


def quantity(table: str, row: str, column: str) -> str:
    """What is measured, for a reader: `SCSI PostMark`. Of a quotient's column, the part it is over is gone."""
    names = {side: side.upper() for side in SIDES} | HALVES
    names |= {name: text.partition(",")[0] for name, text in BENCHMARKS.items()}
    # In Tables 4 and 7 a row says what, in Table 6 a column.
    parts = [*column.split("."), *(row.split(".") if table != "table6" else [])]
    return " ".join(names.get(part, part) for part in parts if part)


COLUMN_WORDS = (
    {side: side.upper() for side in SIDES} | HALVES | NAMES7
    | {"diff": "Difference (%)", "software": KINDS["software"], "hardware": KINDS["hardware"],
       "rpm": "Rotation (1/min)", "cost_per_gb": "Cost per GB", "cost_per_device": "Cost per device",
       "md": "md", "ldm": "LDM"}
)  # fmt: skip
"""Parts of columns' names, as the tables print them over the numbers; others begin with a capital."""


def row_words(table: str, row: str) -> str:
    """A row as its table prints it: `Both, 32/64 tags`."""
    known = {"table3": TABLE3_ROWS, "filesystems": FILE_SYSTEM_NAMES, "figure2": FILE_SYSTEM_NAMES}.get(table, {})
    if row in known:
        return known[row]
    first, _, second = row.partition(".")
    if table == "table1":
        return words(PAPER, table)[row, "model"]
    if table == "table4" and row in APPLICATIONS:
        # The second of two lines of one benchmark has no name.
        jobs = APPLICATIONS[row][1]
        return NAMES7[first] + (f", {jobs}" if jobs else "")
    if first in OPS:
        return f"{first.capitalize()}, {second}"
    if table == "table7":
        return f"{NAMES7[second]} on {HALVES[first]}"
    if row == POSTMARK_SIZES:
        return "Its own file sizes"
    if table == "scaling":
        own = row.removeprefix(chung.PREFIX)
        of = LIMITS.get(own) or ("Disks that saturate" if own == SATURATES else f"{own} disk{'s' * (own != '1')}")
        return of if own == row else f"Chung et al., {of}"
    if table == "controllers":
        controller, tags, scheduler = row.split(".")
        return f"{controller}, {SCHEDULERS[scheduler]}, {setting(table, f'{tags}.{scheduler}').partition(',')[0]}"
    if table == "volumes":
        *what, last = second.split(".")
        named = f"{NAMES7[last]} on {FILE_SYSTEM_NAMES[what[0]]}" if last in NAMES7 else f"{what[0]} {last}"
        return f"{SHAPES[first].partition(',')[0]}, {named}"
    if second in SCHEDULERS:
        return f"{SCHEDULERS[second]}, {setting(table, row).partition(',')[0]}"
    return row


def column_words(table: str, column: str) -> tuple[str, ...]:
    """A column as its table prints it."""
    known = COLUMN_WORDS | ({"run": "Trans."} if table == "postmark" else {})
    return tuple(known.get(part, part.replace("_", " ").capitalize()) for part in column.split("."))


def label(row: dict) -> str:
    """A table entry's name for a reader: `Table 5, 32 tags, both, SCSI read random`."""
    number = row["table"].removeprefix("table")
    if row["table"] == "table7":
        kind, side = row["column"].split(".")
        first, second = row["row"].split(".")
        what = f"{first} {second}" if first in OPS else f"{NAMES7[second]} on {HALVES[first]}"
        return f"Table 7: {side.upper()}, {what}, {kind} array"
    if row["table"] not in ("table5", "table6"):
        return f"Table {number}, {row['row']}, {row['column']}".replace("_", " ")
    tags, scheduler = row["row"].removeprefix("t").split(".")
    tags = "no tags" if tags == "none" else f"{tags.replace('-', '/')} tags"
    if row["table"] == "table6":
        file_system, side, workload = row["column"].split(".")
        what = f"{BENCHMARKS[workload].partition(',')[0]} on {HALVES[file_system]}"
    else:
        side, op, pattern = row["column"].split(".")
        what = f"{op} {pattern}"
    return f"Table {number}: {side.upper()}, {what}, {tags}, scheduler {scheduler}"
