# SPDX-License-Identifier: MIT
"""What Chung, Gray, Worthington and Horst (Windows 2000 Disk IO Performance, 2000) print of several disks.

Their paper's own folder has the numbers (`analysis.papers.beside`): those that stand in the text, in its tables and in
captions, none read off a picture. Rows are numbers of disks, `saturates`, and limits of parts; a column's further words
narrow it down (`gain`: over one disk less; `factor`: over one disk).
"""

from functools import cache

from analysis import entries, papers

TABLE = "scaling"
[(_NAME, PATH)] = papers.beside(TABLE)
PREFIX = f"{_NAME}."
"""Before a row's name, where their numbers stand beside ours."""
Point = entries.Marked
REASON = "another paper's drives, adapter and requests: only the shape compares"


@cache
def points() -> list[Point]:
    """All of them, in the order of the file, their rows beginning with PREFIX."""
    return entries.read_marked(PATH, PREFIX)
