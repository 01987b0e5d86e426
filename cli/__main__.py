# SPDX-License-Identifier: MIT
"""The command line of the checkout that lies here: make calls it so, whoever's the build directory is."""

import sys

from cli.main import main

if __name__ == "__main__":
    sys.exit(main())
