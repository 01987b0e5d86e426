# SPDX-License-Identifier: MIT
"""Which parts of the code use which others, read from the code, and the picture of it: docs/structure.svg.

    python tests/structure.py            write the picture
    python tests/structure.py --check    exit with 1 if the picture is not that of the code

Python is read by `ast`, Rust by its Cargo.toml files and by the paths in its sources that begin with crate, super or
self. Tests are left out. tests/test_structure.py asks here, too.
"""

import argparse
import ast
import re
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from graphlib import TopologicalSorter
from math import fsum
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "structure.svg"
PACKAGES = ("lab", "workloads", "vagrant", "analysis", "paper", "cli", "notebooks")
"""Folders with Python code that is no test."""
CRATES = Path("lab/disk")
APART = ("fuzz",)
"""Folders of crates that only a nightly compiler builds."""
Graph = dict[str, set[str]]
"""Names, each with those that it uses."""


def tracked() -> list[Path]:
    """Committed files, as paths from the root."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [Path(name) for name in listed.split("\0") if name and (ROOT / name).is_file()]


# ---- Python ------------------------------------------------------------------


def modules() -> dict[str, Path]:
    """Every Python module of the packages, tests left out, by its dotted name."""
    found = {}
    for path in tracked():
        if path.suffix == ".py" and path.parts[0] in PACKAGES and "tests" not in path.parts:
            parts = path.with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(path: Path, known: dict[str, Path]) -> set[str]:
    """The modules, of these, that a Python module imports, wherever in it that stands."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(path.parts[: len(path.parts) - node.level]) if node.level else ""
            module = ".".join(part for part in (base, node.module or "") if part)
            found |= {f"{module}.{alias.name}" for alias in node.names} | {module}
    return found & known.keys()


@cache
def python() -> Graph:
    """Each Python module with those that it imports. That `lab.cell` is imported before `lab.cell.job` is no circle."""
    known = modules()
    return {name: {other for other in imports(path, known) if not name.startswith(f"{other}.") and other != name}
            for name, path in known.items()}  # fmt: skip


# ---- Rust --------------------------------------------------------------------

COMMENT = re.compile(r"//.*")
TESTS = re.compile(r"#\[cfg\(test\)\]\s*mod \w+ \{.*", re.DOTALL)
"""Tests stand last in a file."""
SUBMODULE = re.compile(r"^\s*(?:pub(?:\(\w+\))? )?mod (\w+);", re.MULTILINE)
WITHIN = re.compile(r"\b(?:crate|super|self)::(?:\w+::)*(?:\w+|\{|\*)")
"""How a path into the crate begins; a brace opens a group of paths."""
GROUPED = re.compile(r"[{},]|[\w:*]+")


@dataclass
class Crate:
    """One crate."""

    name: str
    folder: Path
    """From the root."""
    needs: set[str]
    """Folders of the crates that it is linked with."""
    modules: dict[str, Path] = field(default_factory=dict)
    """Its files by their paths in the crate, `array::cache`; the root of the crate is the empty one."""


def crates() -> dict[Path, Crate]:
    """The crates of the model's folder, by their folders."""
    found = {}
    files = tracked()
    for manifest in files:
        folder = manifest.parent
        if manifest.name != "Cargo.toml" or not folder.is_relative_to(CRATES) or folder.name in APART:
            continue
        about = tomllib.loads((ROOT / manifest).read_text(encoding="utf-8"))
        needs = {str(folder / need["path"]) for need in about.get("dependencies", {}).values()
                 if isinstance(need, dict) and "path" in need}  # fmt: skip
        needs = {str((ROOT / need).resolve().relative_to(ROOT)) for need in needs}
        crate = found[folder] = Crate(about["package"]["name"], folder, needs)
        for path in files:
            if path.suffix == ".rs" and path.is_relative_to(folder / "src"):
                parts = path.relative_to(folder / "src").with_suffix("").parts
                crate.modules["" if parts[-1] in ("lib", "main") else "::".join(parts)] = path
    return found


def spelled(text: str, start: int) -> list[str]:
    """The paths that stand at a place in Rust code; a group gives one for each of its parts."""
    head = WITHIN.match(text, start)
    if not head[0].endswith("{"):
        return [head[0].removesuffix("::*")]
    found, before, last = [], [head[0][:-1]], ""
    for token in GROUPED.finditer(text, head.end()):
        if token[0] == "{":
            before.append(before[-1] + last)
        else:
            if last:
                found.append(before[-1] + last)
            if token[0] == "}":
                before.pop()
        last = token[0] if token[0] not in "{},*" else ""
        if not before:
            break
    return found


def resolved(crate: Crate, module: str, path: str) -> str:
    """The module of a crate that a path in one of its modules leads to; the path may go on to something in it. Raises
    ValueError for a path to what the crate's root names: that hides the module that it comes from."""
    first, *rest = path.split("::")
    at = module.split("::") if module and first != "crate" else []
    if first == "super":
        at = at[:-1]
    for part in rest:
        if part == "super":
            at = at[:-1]
        elif "::".join([*at, part]) in crate.modules:
            at = [*at, part]
        else:
            break
    if not at and module:
        raise ValueError(f"{crate.modules[module]}: {path} names no module; name the one that has it")
    return "::".join(at)


def rust(crate: Crate) -> Graph:
    """Each module of a crate with those that it uses, and those whose file it declares. What a module takes from those
    that it is a part of is left out: that is no circle."""
    found: Graph = {}
    for module, path in crate.modules.items():
        text = TESTS.sub("", COMMENT.sub("", (ROOT / path).read_text(encoding="utf-8")))
        used = {resolved(crate, module, one) for match in WITHIN.finditer(text) for one in spelled(text, match.start())}
        used |= {"::".join(part for part in (module, name) if part) for name in SUBMODULE.findall(text)}
        found[module] = {
            one for one in used if one != module and not f"{module}::".startswith(f"{one}::" if one else "")
        }
    return found


# ---- the picture -------------------------------------------------------------


@dataclass
class Box:
    """A folder: its modules in rows, and the boxes that it uses."""

    name: str
    about: str
    rows: list[list[str]] = field(default_factory=list)
    uses: set[str] = field(default_factory=set)


ABOUT = {
    "paper/<paper>": "one folder for each paper, found by its name",
    "cli": "the command spindle",
    "paper": "from data to reports",
    "analysis": "from results to tables and claims",
    "lab/cell": "one row of a sheet, one run of QEMU, one result",
    "lab/guest": "the Linux guest",
    "lab/volumes": "software arrays",
    "lab/qemu": "QEMU",
    "workloads": "the papers' benchmarks",
    "notebooks": "what the notebooks share",
    "lab/disk": "the program spindle-disk",
    "lab/disk/draw": "the catalogue for people",
    "lab/disk/import": "DiskSim's files",
    "lab/disk/replay": "request lists, the replay loop",
    "lab/disk/python": "the model for Python",
    "lab/disk/python/package": "spindle_disk: the model as a library",
    "lab/disk/model": "what QEMU links: disks in virtual time",
}
"""What a box says under its name; a new folder has nothing there."""


def depth(graph: Graph) -> dict[str, int]:
    """How many steps each name is from one that uses nothing. Raises CycleError for a circle."""
    found: dict[str, int] = {}
    for name in TopologicalSorter(graph).static_order():
        found[name] = max((found[other] + 1 for other in graph.get(name, ())), default=0)
    return found


def reduced(graph: Graph) -> Graph:
    """The graph without the arrows that follow from others."""

    def reach(name: str) -> set[str]:
        return set().union(*({other} | reach(other) for other in graph[name]))

    return {name: {one for one in used if not any(one in reach(other) for other in used - {one})}
            for name, used in graph.items()}  # fmt: skip


def in_rows(graph: Graph) -> list[list[str]]:
    """Modules in rows, so that each uses only those in rows below its own."""
    rows = defaultdict(list)
    for name, row in depth(graph).items():
        rows[-row].append(name)
    return [sorted(rows[row]) for row in sorted(rows)]


def place(path: Path) -> str:
    """The box that a Python file belongs to."""
    if path.parts[0] == "paper" and len(path.parts) > 2:
        return "paper/<paper>"
    if path.is_relative_to(CRATES / "python"):
        # The package, which has the crate of the same folder beneath it.
        return str(CRATES / "python" / "package")
    return "/".join(path.parts[:2]) if path.parts[0] == "lab" else path.parts[0]


def python_boxes() -> dict[str, Box]:
    """The folders of the Python code."""
    known = {name: path for name, path in modules().items() if path.name not in ("__init__.py", "conftest.py")}
    graph = python()
    boxes: dict[str, Box] = {}
    inside: dict[str, Graph] = defaultdict(dict)
    # Modules as a reader of the folder sees them: those of a folder in it have its name in front.
    label = {name: str(path.with_suffix("").relative_to(place(path))) if place(path) in map(str, path.parents)
             else path.stem for name, path in known.items()}  # fmt: skip
    for name, path in known.items():
        box = boxes.setdefault(place(path), Box(place(path), ABOUT.get(place(path), "")))
        used = {other for other in graph[name] if other in known}
        box.uses |= {place(known[other]) for other in used} - {box.name}
        inside[box.name][label[name]] = {label[other] for other in used if place(known[other]) == box.name}
    for box in boxes.values():
        # What a paper's folder holds differs from paper to paper.
        box.rows = [] if "<" in box.name else in_rows(inside[box.name])
    return boxes


def rust_boxes() -> dict[str, Box]:
    """The crates."""
    boxes = {}
    for folder, crate in crates().items():
        graph = rust(crate)
        parts: Graph = defaultdict(set)
        files: dict[str, int] = defaultdict(int)
        root = crate.modules[""].stem
        for module, used in graph.items():
            top = module.split("::")[0] or root
            files[top] += 1
            parts[top] |= {other.split("::")[0] for other in used} - {top}
        if root == "lib" and len(parts) > 1:
            # The root of a library only lists its modules.
            del parts[root]
        shown = {name: f"{name} ({files[name]} files)" if files[name] > 1 else name for name in parts}
        rows = in_rows({shown[name]: {shown[other] for other in used} for name, used in parts.items()})
        name = str(folder)
        boxes[name] = Box(name, ABOUT.get(name, ""), rows, set(crate.needs))
    return boxes


WIDTH, MARGIN, GAP, LANE, WIDEST = 1000, 20, 24, 44, 560
"""Pixels: of the picture, around it, between boxes of a level, between levels, of a box."""
LINE, PAD, HEAD = 17, 10, 42
"""Pixels: height of a line of modules, space around text, height of a box's name and words."""
LETTER = 7.0
"""Pixels that a letter of a module's name takes at most."""
STYLE = """
text { font-family: 'DejaVu Sans', Verdana, sans-serif; font-size: 12px; fill: #222 }
.title { font-size: 20px; font-weight: bold }
.part { font-size: 15px; font-weight: bold }
.name { font-size: 14px; font-weight: bold }
.about { fill: #666 }
.box { fill: #fff; stroke: #1b6ca8; stroke-width: 1.5 }
.row { fill: #eef4f9 }
.arrow { fill: none; stroke: #777; stroke-width: 1.5; marker-end: url(#head) }
"""


def wrapped(rows: list[list[str]], width: float) -> list[list[str]]:
    """Each row as the lines that it takes in a box of this width."""
    found = []
    for row in rows:
        lines = [""]
        for name in row:
            longer = f"{lines[-1]}   {name}" if lines[-1] else name
            if lines[-1] and len(longer) * LETTER > width - 3 * PAD:
                lines.append(name)
            else:
                lines[-1] = longer
        found.append(lines)
    return found


def height(box: Box, width: float) -> float:
    """Of a box of this width."""
    lines = wrapped(box.rows, width)
    return HEAD + sum(len(row) * LINE + 5 for row in lines) + (PAD if lines else 0)


def levels(boxes: dict[str, Box]) -> list[list[Box]]:
    """Boxes by level, the highest first; in a level they stand in the order of what they use."""
    arrows = reduced({name: box.uses for name, box in boxes.items()})
    at = depth({name: box.uses for name, box in boxes.items()})
    found: list[list[Box]] = []
    order: dict[str, float] = {}
    for level in range(max(at.values()) + 1):
        row = [box for name, box in boxes.items() if at[name] == level]
        targets = {box.name: [order[one] for one in arrows[box.name]] for box in row}
        row.sort(key=lambda box: (fsum(targets[box.name]) / max(len(targets[box.name]), 1), box.name))
        order |= {box.name: number / len(row) for number, box in enumerate(row)}
        found.insert(0, row)
    return found


def widths(row: list[Box]) -> list[float]:
    """How a level's width is shared out: more to boxes with more modules."""
    room = WIDTH - 2 * MARGIN - GAP * (len(row) - 1)
    names = [[name for line in box.rows for name in line] for box in row]
    least = [max(len(box.name) * 9, *(len(text) * LETTER for text in (box.about, *within))) + 3 * PAD
             for box, within in zip(row, names, strict=True)]  # fmt: skip
    rest = max(room - sum(least), 0)
    weight = [len(within) for within in names]
    shares = [low + rest * share / max(sum(weight), 1) for low, share in zip(least, weight, strict=True)]
    return [max(low, min(share, WIDEST)) for low, share in zip(least, shares, strict=True)]


def number(value: float) -> str:
    """A coordinate."""
    return f"{value:.0f}"


class Sheet:
    """The picture while it is drawn."""

    def __init__(self) -> None:
        self.svg = ElementTree.Element("svg", xmlns="http://www.w3.org/2000/svg")
        ElementTree.SubElement(self.svg, "style").text = STYLE
        head = ElementTree.SubElement(
            ElementTree.SubElement(self.svg, "defs"), "marker",
            id="head", viewBox="0 0 10 10", refX="10", refY="5", markerWidth="8", markerHeight="8", orient="auto",
        )  # fmt: skip
        ElementTree.SubElement(head, "path", d="M0 0 L10 5 L0 10 Z", fill="#777")
        self.paper = self.rect(0, 0, WIDTH, 0)
        self.paper.set("fill", "#fff")

    def rect(self, x: float, y: float, width: float, height: float, **more: str) -> ElementTree.Element:
        """A rectangle."""
        size = {"x": number(x), "y": number(y), "width": number(width), "height": number(height)}
        return ElementTree.SubElement(self.svg, "rect", size | more)

    def text(self, x: float, y: float, words: str, kind: str = "") -> None:
        """A line of text."""
        kinds = {"class": kind} if kind else {}
        item = ElementTree.SubElement(self.svg, "text", {"x": number(x), "y": number(y), **kinds})
        # Else a viewer makes one space of several.
        item.text = words.replace("   ", "\N{NO-BREAK SPACE}" * 3)

    def box(self, box: Box, x: float, y: float, width: float, height: float) -> None:
        """A folder."""
        self.rect(x, y, width, height, rx="6", **{"class": "box"})
        self.text(x + PAD, y + 19, box.name, "name")
        self.text(x + PAD, y + 35, box.about, "about")
        top = y + HEAD
        for lines in wrapped(box.rows, width):
            self.rect(x + PAD / 2, top, width - PAD, len(lines) * LINE + 2, **{"class": "row"})
            for count, line in enumerate(lines, 1):
                self.text(x + PAD, top + count * LINE - 4, line)
            top += len(lines) * LINE + 5

    def part(self, title: str, boxes: dict[str, Box], y: float) -> float:
        """Boxes in levels, with arrows; returns where it ends."""
        self.text(MARGIN, y + 15, title, "part")
        y += 28
        arrows = reduced({name: box.uses for name, box in boxes.items()})
        where: dict[str, tuple[float, float, float, float]] = {}
        for row in levels(boxes):
            shares = widths(row)
            x = MARGIN + (WIDTH - 2 * MARGIN - sum(shares) - GAP * (len(row) - 1)) / 2
            for box, width in zip(row, shares, strict=True):
                where[box.name] = (x, y, width, height(box, width))
                x += width + GAP
            y += max(where[box.name][3] for box in row) + LANE
        comes_in = defaultdict(list)
        for name, used in arrows.items():
            for other in sorted(used):
                comes_in[other].append(name)
        for other, users in comes_in.items():
            users.sort(key=lambda name: where[name][0])
            for place, name in enumerate(users, 1):
                x, top, width, tall = where[name]
                there = where[other]
                end = there[0] + there[2] * place / (len(users) + 1)
                start, bottom = x + width / 2, top + tall
                # From below the tallest box of the level on, so that no arrow crosses its neighbours.
                bend = there[1] - LANE
                line = f"M{number(start)} {number(bottom)} V{number(bend)} C{number(start)} {number(bend + LANE / 2)} "
                line += f"{number(end)} {number(bend + LANE / 2)} {number(end)} {number(there[1] - 1)}"
                ElementTree.SubElement(self.svg, "path", {"d": line, "class": "arrow"})
        for name, (x, top, width, tall) in where.items():
            self.box(boxes[name], x, top, width, tall)
        return y

    def finish(self, y: float) -> str:
        """The file."""
        self.svg.set("viewBox", f"0 0 {WIDTH} {number(y)}")
        self.svg.set("width", str(WIDTH))
        self.svg.set("height", number(y))
        self.paper.set("height", number(y))
        ElementTree.indent(self.svg)
        return ElementTree.tostring(self.svg, encoding="unicode") + "\n"


def picture() -> str:
    """The picture as SVG: the same bytes from the same code."""
    sheet = Sheet()
    sheet.text(MARGIN, 34, "Who uses whom", "title")
    words = (
        "An arrow leads from a folder to one that it uses. An arrow that follows from others is left out: what uses "
        "paper may use analysis, too.",
        "In a folder, a module uses only those in rows below its own, so that there is no circle. Tests are not shown.",
        "Made from the code by tests/structure.py.",
    )
    for count, line in enumerate(words):
        sheet.text(MARGIN, 56 + count * LINE, line, "about")
    y = sheet.part("Python", python_boxes(), 112)
    y = sheet.part("Rust: the crates of the disk model", rust_boxes(), y)
    return sheet.finish(y - LANE + MARGIN)


def main(argv: list[str] | None = None) -> int:
    """Command line; see the module's text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only compare")
    args = parser.parse_args(argv)
    name = PICTURE.relative_to(ROOT)
    if not args.check:
        PICTURE.write_text(picture(), encoding="utf-8")
        print(f"{name} is written")
        return 0
    if PICTURE.is_file() and PICTURE.read_text(encoding="utf-8") == picture():
        return 0
    print(f"{name} is not the picture of this code; python tests/structure.py writes it again", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
