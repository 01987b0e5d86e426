# SPDX-License-Identifier: MIT
"""What the lab counts of the catalogue is what the model reads: Python's values against `spindle-disk inputs`."""

import json
import subprocess

import pytest

from lab.cell import built, cells, identity, job, paths
from lab.cell.errors import EnvironmentMissing

pytestmark = pytest.mark.lab


def topologies():
    """A run of every topology that a profile has, by its text."""
    catalogue = str(paths.ROOT / "lab" / "disk" / "catalogue")
    runs = [one for profile in ("smoke", "quick", "full") for one in cells.runs(profile).values()]
    found = {}
    for one in runs:
        # Which workloads there are is no matter of the catalogue.
        found.setdefault(job.topology_text(one, catalogue).split('\n[[unit]]\nname = "system"')[0], one)
    return list(found.values())


def test_inputs_are_those_that_the_model_reads(tmp_path):
    build = paths.build()
    try:
        built.check("disk", build)
    except EnvironmentMissing as reason:
        pytest.skip(str(reason))
    chosen = topologies()
    assert len(chosen) > 10
    for one in chosen:
        path = tmp_path / "topology.toml"
        path.write_text(job.topology_text(one, str(paths.ROOT / "lab" / "disk" / "catalogue")))
        command = [build / "disk/release/spindle-disk", "inputs", "--topology", path, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        ours = {name: values for name, values in identity.catalogue_values(one).items() if "controllers/" not in name}
        assert ours == json.loads(done.stdout), one.id
