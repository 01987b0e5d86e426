# SPDX-License-Identifier: MIT
"""The scripts under test, loaded by path: they are programs, not a package."""

import importlib.util
import sys
from pathlib import Path

import pytest

GUEST = Path(__file__).resolve().parents[1]


def load(name: str):
    """Import lab/guest/NAME.py under a name that cannot clash."""
    sys.path.insert(0, str(GUEST))
    try:
        spec = importlib.util.spec_from_file_location(f"spindle_guest_{name}", GUEST / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(GUEST))
    return module


@pytest.fixture(scope="session")
def build():
    return load("build")


@pytest.fixture(scope="session")
def lockfile(build):
    return sys.modules["lockfile"]


@pytest.fixture(scope="session")
def relock():
    return load("relock")
