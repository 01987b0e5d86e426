# SPDX-License-Identifier: MIT
"""Errors of the analysis, each with what is wrong, where, and the next step."""

from lab.cell.errors import SpindleError


class ResultError(SpindleError):
    """A result file is unreadable or does not follow its schema."""


class TableError(SpindleError):
    """Published numbers, table data or a drive's description do not fit the table."""


class ClaimError(SpindleError):
    """A claim cannot be read or evaluated."""


class DeviationError(SpindleError):
    """An explanation of a deviation is wrong, or names what is not there."""
