# SPDX-License-Identifier: MIT
"""Real results carried into a fresh checkout: there they are the same bytes, and nothing runs again."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lab.cell import archive, boot, cells, evidence, judge, paths, store
from lab.cell.errors import EnvironmentMissing, SpindleError

pytestmark = pytest.mark.lab

PROFILE = "smoke"
RUN = "ide-piix.deskstar-75gxp.tnone.both"
SNAKEMAKE = Path(sys.executable).with_name("snakemake")


def finished(profile):
    """Folders of a profile's finished cells here, by cell."""
    found = {}
    for one in cells.cells(profile):
        folder = paths.ROOT / paths.cell_dir(profile, one.id)
        try:
            if store.read_result(folder)["status"] == "ok":
                found[one] = folder
        except SpindleError:
            continue
    return found


@pytest.fixture
def part(tmp_path):
    """An archive of the finished cells of one run; skips where the lab is not built or the run is not here."""
    run = cells.run(PROFILE, RUN)
    try:
        boot.require_built(run, paths.build())
    except EnvironmentMissing as reason:
        pytest.skip(str(reason))
    if not set(run.cells) <= set(finished(PROFILE)):
        pytest.skip(f"run {RUN} is not finished here; `make report PROFILE={PROFILE}` runs it")
    path = tmp_path / "part.tar.zst"
    assert archive.export(PROFILE, path, f"{RUN}.rawio-*") == (len(run.cells), [])
    return path


def test_import_every_real_result_follows_from_its_folder():
    found = {cell: folder for profile in ("smoke", "quick", "full") for cell, folder in finished(profile).items()}
    if not found:
        pytest.skip("no profile has a finished cell here; `make report PROFILE=smoke` makes some")
    for cell, folder in found.items():
        files = archive.read_files(folder)
        again = judge.derive(cell, evidence.unpack(cell.id, files))
        assert store.result_text(again).encode() == files[store.RESULT], cell.id


def test_import_leaves_nothing_to_run(part, tmp_path):
    """Neither a dry run nor a real run does anything with what was imported."""
    checkout = tmp_path / "checkout"
    left_out = shutil.ignore_patterns("results", ".git", ".snakemake", "__pycache__", "target")

    def ignored(folder, names):
        return {"build", *left_out(folder, names)} if Path(folder) == paths.ROOT else left_out(folder, names)

    shutil.copytree(paths.ROOT, checkout, ignore=ignored, symlinks=True)
    environment = os.environ | {"SPINDLE_BUILD": str(paths.build())}

    def call(*command):
        return subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)

    imported = call(sys.executable, "-m", "cli", "import", "--profile", PROFILE, str(part))
    wanted = [paths.result_path(PROFILE, cell.id) for cell in cells.run(PROFILE, RUN).cells]
    assert imported.returncode == 0, imported.stderr
    assert f"{len(wanted)} cells taken, 0 were there already" in imported.stderr

    def state():
        folders = [(checkout / name).parent for name in wanted]
        return {path: (path.read_bytes(), path.stat().st_mtime_ns) for folder in folders for path in folder.iterdir()}

    before = state()
    # The dry run first: if it finds something to do, the real one is not begun.
    for extra in (["--dry-run"], [], ["--dry-run"]):
        done = call(SNAKEMAKE, "--profile", f"config/profiles/{PROFILE}", "--quiet", "host", *extra, "--", *wanted)
        printed = done.stdout + done.stderr
        assert done.returncode == 0, printed
        assert "Nothing to be done" in printed and not re.search(r"^(local)?rule ", printed, re.M), printed
        assert state() == before
    again = call(sys.executable, "-m", "cli", "import", "--profile", PROFILE, str(part))
    assert again.returncode == 0 and f"0 cells taken, {len(wanted)} were there already" in again.stderr
