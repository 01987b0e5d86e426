# SPDX-License-Identifier: MIT
"""Volume managers of the guest: arrays in software."""
