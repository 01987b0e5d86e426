# SPDX-License-Identifier: MIT
"""Guests other than the lean Linux: how their system disks are made and prepared (README.md)."""
