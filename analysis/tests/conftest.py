# SPDX-License-Identifier: MIT
"""What several tests of the analysis start from."""

from pathlib import Path

import pytest

from analysis.tests import small_ufs


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A small UFS in a file."""
    return small_ufs.write(tmp_path / "disk.img")
