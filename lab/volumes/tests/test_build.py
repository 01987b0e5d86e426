# SPDX-License-Identifier: MIT
"""The volume managers' image: its lock, its order of modules, its scripts."""

import subprocess
from pathlib import Path

import pytest

from lab.volumes import build

VOLUMES = Path(__file__).resolve().parents[1]


def test_lock_covers_wishes_and_nothing_of_the_guest():
    wanted, left_out = build.parse_wishes((VOLUMES / "packages.txt").read_text(), "lab/volumes/packages.txt")
    locked = {package.name for package in build.parse(build.LOCK.read_text(), "envs/volumes.lock")}
    guest = {package.name for package in build.parse(build.guest.LOCK.read_text())}
    assert set(wanted) <= locked, "run `make relock`"
    assert not set(left_out) & locked and not guest & locked, "run `make relock`"


def test_modules_are_ordered_and_those_of_the_guest_left_out(tmp_path, monkeypatch):
    tree = tmp_path / "kernel" / "lib" / "modules" / "6.1"
    for name in ("md-mod", "dm-mod", "dm-raid"):
        (tree / "kernel").mkdir(parents=True, exist_ok=True)
        (tree / "kernel" / f"{name}.ko").write_bytes(name.encode())
    closure = [tree / "kernel" / f"{name}.ko" for name in ("md-mod", "dm-mod", "dm-raid")]
    monkeypatch.setattr(build, "run", lambda command: "")
    monkeypatch.setattr(build.modules, "parse_modules", lambda text: ([], ["md-mod"]))
    monkeypatch.setattr(
        build.modules, "module_closure", lambda names, tree: closure[:1] if names == ["md-mod"] else closure
    )
    (tmp_path / "wishes").mkdir()
    (tmp_path / "wishes" / "modules.txt").write_text("# why\ndm-raid     # arrays\n")
    monkeypatch.setattr(build, "HERE", tmp_path / "wishes")
    root = tmp_path / "root"
    root.mkdir()
    build.add_modules(tmp_path / "linux.deb", root, tmp_path)
    assert (root / "modules" / "dm-raid").read_text() == "guest md_mod\nhere dm_mod\nhere dm_raid\n"
    assert sorted(path.name for path in (root / "modules").glob("*.ko")) == ["dm_mod.ko", "dm_raid.ko"]
    (tmp_path / "wishes" / "modules.txt").write_text("two words\n")
    (root / "modules" / "dm-raid").unlink()
    for path in (root / "modules").iterdir():
        path.unlink()
    (root / "modules").rmdir()
    with pytest.raises(build.BuildError, match=r"lab/volumes/modules.txt:1: 'two words' is not a module's name"):
        build.add_modules(tmp_path / "linux.deb", root, tmp_path)


def test_load_modules_unknown():
    done = subprocess.run(
        ["sh", VOLUMES / "load-modules.sh", "dm-nothing"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "no module dm-nothing in this image; lab/volumes/modules.txt lists them" in done.stderr
