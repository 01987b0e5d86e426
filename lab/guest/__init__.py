# SPDX-License-Identifier: MIT
"""The Linux guest: its packages, the toolchain that its bytes are made with, its image."""
