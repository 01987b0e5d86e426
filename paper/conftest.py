# SPDX-License-Identifier: MIT
"""`pytest --golden` rewrites golden files; review the diff."""


def pytest_addoption(parser):
    parser.addoption("--golden", action="store_true", help="rewrite golden files instead of comparing with them")
