# SPDX-License-Identifier: MIT
"""Boxes for people (README.md)."""
