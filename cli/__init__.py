# SPDX-License-Identifier: MIT
"""The command `spindle`: each subcommand is a file, thin over functions of lab, analysis and paper."""
