# SPDX-License-Identifier: MIT
"""The report's sections on deviations and reference numbers as LaTeX.

python -m paper.comparison_page --paper PAPER --deviations JSON --reference JSON --out TEX
"""

import argparse
import sys
from pathlib import Path

from analysis import command, numbers, papers, reference
from analysis.deviations import REFERENCE
from paper import tex
from paper.view import views

NONE = "--"
DIGITS = 3
"""Significant digits of evidence and of the numbers in a range."""
ROWS_NAMED = 3
"""Of more rows, only their number is said."""


def short(value: float) -> str:
    """A number with DIGITS digits, and at least those before the point."""
    places = 0 if value == 0 else DIGITS - len(numbers.fixed(abs(value), 0).lstrip("0"))
    return numbers.fixed(value, max(0, min(places, DIGITS)))


def span(values: list[float], shown=short) -> str:
    """The smallest and the largest, or the one there is."""
    low, high = map(shown, values)
    return low if low == high else rf"{low}\,--\,{high}"


def ratio(value: float) -> str:
    """A quotient of ours and the paper's."""
    return numbers.fixed(value, 2)


def line(paper: papers.Paper, found: dict) -> dict:
    """Some quantities of one kind for a reader."""
    rows = found["rows"]
    where = views(paper).quantity(found["table"], rows[0], found["column"])
    what = paper.quotients.get(found["of"], "")
    named = "; ".join(views(paper).setting(found["table"], row) for row in rows)
    return {
        "table": found["table"].removeprefix("table"), "what": " ".join(part for part in (what, where) if part),
        "rows": named if len(rows) <= ROWS_NAMED else f"{len(rows)} settings", "unit": found["unit"],
        "published": span(found["published"]), "reproduced": span(found["reproduced"]),
        "ratio": span(found["ratio"], ratio), "reference": REFERENCE in found["origins"],
    }  # fmt: skip


def deviations(paper: papers.Paper, found: dict) -> dict:
    """What the template sees of the deviations."""
    explained = []
    for item in found["explained"]:
        proof = [
            piece
            | {
                "shown": NONE if piece["value"] is None else short(piece["value"]),
                "source": piece["cell"],
            }
            for piece in item["evidence"]
        ]
        explained.append(item | {
            "lines": [line(paper, one) for one in item["spans"]],
            "beyond": [line(paper, one) for one in item["beyond"]], "evidence": proof,
        })  # fmt: skip
    return found | {
        "factor": f"{found['factor']:g}", "explained": explained,
        "unexplained": [line(paper, one) for one in found["unexplained"]],
    }  # fmt: skip


def committed(paper: papers.Paper, found: dict) -> dict:
    """What the template sees of the reference."""
    small = []
    for one in found["scaled"]:
        small.append({
            "what": f"{paper.quotients[one['of']]} {views(paper).quantity(one['table'], one['row'], one['column'])}",
            "row": views(paper).setting(one["table"], one["row"]), "scale": numbers.scale_text(one["scale"]),
            **{name: ratio(one[name]) if one[name] is not None else NONE
               for name in ("small", "full", "ratio", "published")},
            **{f"{name}_reference": one[f"{name}_origin"] == REFERENCE for name in ("small", "full")},
        })  # fmt: skip
    moved = [one | {"ratio": numbers.fixed(one["ratio"], 3), "inputs": ", ".join(one["inputs"]).replace("_", " "),
                    **{name: numbers.fixed(numbers.seconds(one[f"{name}_ns"]), 1) for name in ("here", "reference")}}
             for one in found["moved"] if one["here_ns"] != one["reference_ns"]]  # fmt: skip
    return found | {"scaled": small, "moved": moved, "other_inputs": len(found["moved"]),
                    "mixture": reference.mixture(found)}  # fmt: skip


def page(args: argparse.Namespace) -> str:
    """The output's text."""
    paper = papers.paper(args.paper)
    context = {"paper": paper.id, "deviations": deviations(paper, command.read_json(args.deviations)),
               "reference": committed(paper, command.read_json(args.reference))}  # fmt: skip
    return tex.render([paper.folder, tex.HERE], "comparison.tex.j2", context)


def main(argv: list[str] | None = None) -> int:
    """Command line; see the module's text."""
    parser = command.parser(__doc__, "paper", "out")
    parser.add_argument("--deviations", type=Path, required=True, help="made by analysis.deviations")
    parser.add_argument("--reference", type=Path, required=True, help="made by analysis.reference_page")
    return command.finish("paper.comparison_page", parser.parse_args(argv), page, made_by="the data")


if __name__ == "__main__":
    sys.exit(main())
