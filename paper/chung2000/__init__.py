# SPDX-License-Identifier: MIT
"""White, Ng, Hillyer: Performance Comparison of IDE and SCSI Disks."""
