# SPDX-License-Identifier: MIT
"""From a row of a cell sheet to a QEMU run and its results."""
