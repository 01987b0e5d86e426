# SPDX-License-Identifier: MIT
"""The database of Windows' Logical Disk Manager, which makes disks dynamic: writes it and reads it back."""
