# SPDX-License-Identifier: MIT
"""Facts that stand in more than one place, and commands that people are told to type."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def make_targets() -> set[str]:
    return set(re.search(r"^\.PHONY: (.*)$", read("Makefile"), re.M)[1].split())


def test_readme_make_targets_exist():
    named = set(re.findall(r"`?make ([a-z]+)", read("README.md")))
    assert named
    assert named <= make_targets()


def test_readme_paths_exist():
    """Paths in backquotes that are not made by the build."""
    paths = re.findall(r"`((?:config|envs|lab|workloads|analysis|paper|tests|docs)/[\w./-]*)`", read("README.md"))
    missing = [path for path in paths if not (ROOT / path).exists()]
    assert paths
    assert not missing


def test_make_help_lists_targets():
    listed = set(re.findall(r"^# make ([a-z]+)", read("Makefile"), re.M))
    assert listed == make_targets() - {"help"}


def test_snakemake_version_is_one():
    lock = re.search(r"^snakemake==(\S+)", read("envs/requirements.lock"), re.M)[1]
    assert re.search(r"^snakemake==(\S+)", read("envs/requirements.in"), re.M)[1] == lock
    assert f"snakemake-minimal={lock}" in yaml.safe_load(read("envs/conda.yaml"))["dependencies"]


def test_conda_has_what_pip_has():
    pip = set(re.findall(r"^([a-z][a-z0-9-]*)", read("envs/requirements.in"), re.M))
    conda = {re.split(r"[=><]", item)[0] for item in yaml.safe_load(read("envs/conda.yaml"))["dependencies"]}
    renamed = {"snakemake": "snakemake-minimal", "matplotlib": "matplotlib-base"}
    assert {renamed.get(name, name) for name in pip} == conda - {"python"}


def test_conda_rust_is_the_crates():
    wanted = tomllib.loads(read("lab/disk/Cargo.toml"))["workspace"]["package"]["rust-version"]
    assert yaml.safe_load(read("envs/conda-build.yaml"))["dependencies"] == [f"rust>={wanted}"]


def test_lock_has_hashes_and_no_host():
    lock = read("envs/requirements.lock")
    assert "://" not in lock
    for entry in re.split(r"\n(?=\S)", lock.strip()):
        assert "--hash=sha256:" in entry, entry.splitlines()[0]


@pytest.mark.parametrize("group", ["build", "tex", "test"])
def test_debian_packages_say_why(group):
    text = read("envs/debian-packages.txt")
    lines = re.search(rf"^\[{group}\]\n(.*?)(?=^\[|\Z)", text, re.M | re.S)[1].split("\n")
    lines = [line for line in lines if line.strip()]
    assert lines
    for line in lines:
        assert re.fullmatch(r"[a-z0-9.+-]+ +# \S.*", line), line


@pytest.mark.parametrize("profile", ["smoke", "quick", "full"])
def test_profile_names_itself(profile):
    assert yaml.safe_load(read(f"config/profiles/{profile}/config.yaml"))["config"] == [f"profile={profile}"]


def test_ci_only_calls_make():
    commands = [line for line in read(".ci/run").splitlines() if line and not line.startswith("#")]
    assert commands == ['cd "$(dirname "$0")/.." && exec make test </dev/null']
