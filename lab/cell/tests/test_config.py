# SPDX-License-Identifier: MIT
"""Hints that name what is known."""

from lab.cell import config


def test_config_nearest_names_a_few_of_many():
    many = [f"cell{number:03}" for number in range(150)]
    assert config.nearest("cell0149", many) == "did you mean 'cell149'?"
    assert config.nearest("zz", many[:3]) == "known are: cell000, cell001, cell002"
    hint = config.nearest("zz", many, "spindle status --cells")
    assert hint.endswith("cell003, cell004, and 145 more; `spindle status --cells` lists them")
    assert config.nearest("zz", many).endswith("and 145 more")
