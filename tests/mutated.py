# SPDX-License-Identifier: MIT
"""All mutants of a Python source by cosmic-ray's operators, a line of JSON each: operator, row, column, source.

    build/mutants/venv/bin/python tests/mutated.py SOURCE OPERATORS

OPERATORS is a regular expression of cosmic-ray's names. cosmic-ray's own Python runs this (envs/mutants makes it).
"""

import copy
import json
import re
import sys
from itertools import accumulate
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.plugins import get_operator, operator_names


def mutated(text: str, offsets: list[int], node, operator, index: int) -> str:
    """The text with one node as an operator makes it. cosmic-ray's own `mutate_code` gives the same text, and parses
    the whole text again for each mutant."""
    parent, node.parent = node.parent, None
    own = copy.deepcopy(node)
    node.parent = own.parent = parent
    made = operator.mutate(own, index)
    begin, end = (offsets[row - 1] + column for row, column in (node.get_start_pos_of_prefix(), node.end_pos))
    return text[:begin] + ("" if made is None else made.get_code()) + text[end:]


def main(path: str, operators: str) -> int:
    """Print the mutants in the order of the source."""
    text = Path(path).read_text(encoding="utf-8")
    offsets = [0, *accumulate(len(line) for line in text.splitlines(keepends=True))]
    nodes = list(ast_nodes(get_ast(text)))
    found = []
    for name in operator_names():
        short = name.removeprefix("core/")
        if not re.fullmatch(operators, short):
            continue
        operator = get_operator(name)()
        for node in nodes:
            for index, ((row, column), _) in enumerate(operator.mutation_positions(node)):
                try:
                    source = mutated(text, offsets, node, operator, index)
                except AttributeError:
                    # cosmic-ray 8.7 cannot replace an exception that is named with its module: this is no mutant.
                    continue
                found.append({"row": row, "column": column + 1, "operator": short, "source": source})
    for mutant in sorted(found, key=lambda one: (one["row"], one["column"], one["operator"], one["source"])):
        print(json.dumps(mutant))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
