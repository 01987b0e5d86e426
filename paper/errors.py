# SPDX-License-Identifier: MIT
"""Errors of the report, each with what is wrong, where, and the next step."""

from lab.cell.errors import SpindleError


class RenderError(SpindleError):
    """A template, a view or an input of the report is wrong."""


class TexError(SpindleError):
    """LaTeX stopped. The message has its last `!` block and where the whole log is."""


class CrateError(SpindleError):
    """A report cannot be described as an RO-Crate."""
