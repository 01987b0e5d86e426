# SPDX-License-Identifier: MIT
"""From results to tables, summary and claims. Nothing here runs a lab or writes TeX."""
