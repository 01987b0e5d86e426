# SPDX-License-Identifier: MIT
"""A paper's figures, as its modules `figures` (from summary.json alone) and `trace_figures` (from traces) draw them.

    python -m paper.figures --paper PAPER --summary results/quick/PAPER/summary.json --out results/quick/PAPER/figures
    python -m paper.figures --paper PAPER --traces .../figures.json --results results/quick --out .../figures

The PDF files have no dates or program versions in them.
"""

import argparse
import sys
from pathlib import Path

from analysis import command, papers
from paper.errors import RenderError
from paper.plot import STYLE, plt


def draw(args: argparse.Namespace) -> None:
    """Write the pictures."""
    paper = papers.paper(args.paper)
    name, source = ("trace_figures", papers.TRACES) if args.traces else ("figures", papers.NUMBERS)
    wanted = paper.figures(source)
    module: papers.Figures | papers.TraceFigures | None = paper.module(name)
    known = module.FIGURES if module else {}
    lacking = sorted(set(wanted) - set(known))
    if lacking:
        raise RenderError(
            f"paper/{paper.id}/{papers.papers.ABOUT}: figure {lacking[0]!r} is not in FIGURES of "
            f"paper/{paper.id}/{name}.py; write a function that draws it, or take it out of paper.yaml"
        )
    data = command.read_json(args.traces or args.summary)
    args.out.mkdir(parents=True, exist_ok=True)
    with plt.rc_context(STYLE):
        for figure in wanted:
            path = args.out / f"{figure}.pdf"
            if args.traces:
                known[figure](args.results, data, path)
            else:
                known[figure](data, path)


def main(argv: list[str] | None = None) -> int:
    """Command line; see the module's text."""
    parser = command.parser(__doc__, "paper")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--summary", type=Path, help="made by analysis.summary")
    source.add_argument("--traces", type=Path, help="figures.json, made by analysis.traced; needs --results")
    parser.add_argument("--results", type=Path, help="results/<profile>")
    parser.add_argument("--out", type=Path, required=True, help="folder")
    args = parser.parse_args(argv)
    if args.traces and not args.results:
        parser.error("--traces: say with --results where the traces are, such as results/quick")
    return command.finish("paper.figures", args, draw)


if __name__ == "__main__":
    sys.exit(main())
