# SPDX-License-Identifier: MIT
"""What every paper's tables and pages have in common: formats, escapes, LaTeX's errors."""

import shutil

import pytest

from analysis import entries
from paper import build, tex, view
from paper.errors import RenderError, TexError

needs_tex = pytest.mark.skipif(not shutil.which("latexmk"), reason="latexmk is not installed")


@pytest.mark.parametrize(
    ("counts", "text", "marked"),
    [
        ({"s": [1, 1]}, "", 0),
        ({"s": [3, 3]}, "3", 0),
        ({"MB/s": [10, 10], "s": [3, 3, 2]}, "10 (MB/s), 3 (s)", 1),
        ({"s": [3, 3, 1, 1]}, "3", 2),
    ],
)
def test_view_repetitions(tmp_path, counts, text, marked):
    made = [
        entries.Entry(entries.Published(str(i), unit, unit, "1"), 1.0, n=n, cells=("c.d.s01",), scale=1)
        for unit, values in counts.items()
        for i, n in enumerate(values)
    ]
    entries.write(made, tmp_path / "x.csv")
    table = view.Table(tmp_path / "x.csv", "anybody2000", "table6", "quick")
    cells = [table.cell(entry.published.row, entry.published.column) for entry in made]
    assert table.repetitions() == text
    assert sum("tnote" in cell.reproduced for cell in cells) == marked


@pytest.mark.parametrize(
    ("raw", "escaped"),
    [
        ("50 % of R&D_1 #2 {x}", r"50 \% of R\&D\_1 \#2 \{x\}"),
        ("a\\b ^ ~ $", r"a\textbackslash{}b \textasciicircum{} \textasciitilde{} \$"),
        ('says "yes"', "says ``yes''"),
        ("marked 'so'", "marked `so'"),
        ("1 < 2 ± 3", r"1 \textless{} 2 \ensuremath{\pm} 3"),
    ],
)
def test_tex_escape(raw, escaped):
    assert tex.escape(raw) == escaped


def test_tex_undefined_value_is_an_error(tmp_path):
    (tmp_path / "x.tex.j2").write_text("<< nothing >>")
    with pytest.raises(RenderError, match=r"x.tex.j2: 'nothing' is undefined"):
        tex.render([tmp_path], "x.tex.j2", {})


@pytest.mark.parametrize(("values", "text"), [([1], "1"), ([1, 2, 3], "1–3"), ([1, 2, 4], "1–2, 4"), ([], "")])
def test_view_spans(values, text):
    assert view.spans(values) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(None, "{--}"), (1.0, "1.00"), (1.25, "1.25"), (0.79, r"\rationear 0.79"), (2.01, r"\ratiofar 2.01")],
)
def test_view_tint(ratio, text):
    assert view.shaded(ratio) == text


@needs_tex
def test_build_error_shows_the_last_block(tmp_path):
    bad = tmp_path / "bad.tex"
    bad.write_text("\\documentclass{article}\n\\begin{document}\n\\nosuchcommand\n\\end{document}\n")
    with pytest.raises(TexError) as error:
        build.build(bad, tmp_path / "bad.pdf", tmp_path / "bad.log")
    assert "! Undefined control sequence." in str(error.value)
    assert "\\nosuchcommand" in str(error.value)
    assert str(tmp_path / "bad.log") in str(error.value)
    assert not (tmp_path / "bad.pdf").exists()
