# SPDX-License-Identifier: MIT
"""The errors a user can meet. Each message says what is wrong, where, and the next step."""


class SpindleError(Exception):
    """Base class: command lines print its message without a traceback and exit with status 1."""


class ConfigError(SpindleError):
    """A config file, a sheet or a catalogue entry is wrong."""


class EnvironmentMissing(SpindleError):
    """A built thing, a tool, or space on the disk is missing."""


class AlreadyRunning(SpindleError):
    """Another process works on the same results."""
