# SPDX-License-Identifier: MIT
"""From table data to LaTeX, figures and the report."""
