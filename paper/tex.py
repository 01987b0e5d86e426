# SPDX-License-Identifier: MIT
"""Jinja2 set up for LaTeX: `<< value >>`, `<% statement %>`, `<# comment #>`, and one escape filter, `tex`."""

import re
from pathlib import Path

import jinja2

from paper.errors import RenderError

ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "^": r"\textasciicircum{}",
    "_": r"\_", "~": r"\textasciitilde{}", "%": r"\%", "<": r"\textless{}", ">": r"\textgreater{}",
    "µ": r"\textmu{}", "±": r"\ensuremath{\pm}", "–": "--", "→": r"\ensuremath{\to}",
}  # fmt: skip
HERE = Path(__file__).resolve().parent
"""Templates that are no single paper's."""
OPENING = re.compile(r"(^|[\s(\[])\"")


def escape(value: object) -> str:
    """Any text as LaTeX that prints it. Straight double and paired single quotes become typographic ones."""
    text = "".join(ESCAPES.get(char, char) for char in str(value))
    text = OPENING.sub(r"\1``", text).replace('"', "''")
    return re.sub(r"(^|[\s(\[])'(?=\w)", r"\1`", text)


def breakable(value: object) -> str:
    """A long name in typewriter type that may break after its punctuation."""
    text = escape(value)
    return r"\texttt{" + re.sub(r"(/|\.|-|\\_|:)", r"\1\\allowbreak{}", text) + "}"


def environment(folders: list[Path]) -> jinja2.Environment:
    """Templates of these folders. An undefined value is an error."""
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        block_start_string="<%", block_end_string="%>", variable_start_string="<<", variable_end_string=">>",
        comment_start_string="<#", comment_end_string="#>",
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        autoescape=False,
    )  # fmt: skip
    env.filters |= {"tex": escape, "tt": breakable}
    return env


def filled(env: jinja2.Environment, name: str, context: dict) -> str:
    """A template filled in. Raises RenderError naming template, line and value."""
    try:
        return env.get_template(name).render(context)
    except jinja2.TemplateNotFound as error:
        raise RenderError(f"template {error.name}: not in {', '.join(map(str, env.loader.searchpath))}") from None
    except jinja2.TemplateSyntaxError as error:
        raise RenderError(f"template {error.name}:{error.lineno}: {error.message}") from None
    except jinja2.UndefinedError as error:
        raise RenderError(f"template {name}: {error.message}; give it in the table's view") from None


def render(folders: list[Path], name: str, context: dict) -> str:
    """A LaTeX template of one of these folders, filled in."""
    return filled(environment(folders), name, context)
