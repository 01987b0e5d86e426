# SPDX-License-Identifier: MIT
"""The lab without a real program in it, as the tests of lab.cell have it."""

from lab.cell.tests.conftest import lab as lab
