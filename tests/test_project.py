# SPDX-License-Identifier: MIT
"""Facts that stand in more than one place, and commands that people are told to type."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import click
import pytest
import yaml

from cli.main import spindle

ROOT = Path(__file__).resolve().parents[1]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def make_targets() -> set[str]:
    return set(re.search(r"^\.PHONY: (help .*)$", read("Makefile"), re.M)[1].split())


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


PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    *(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md")),
)


def test_pages_name_commands_that_exist():
    """In code, which stands between backquotes or begins a line."""
    for page in PAGES:
        for name, sub in re.findall(r"(?:`|^)spindle ([a-z]+)(?: ([a-z]+)\b)?", read(page), re.M):
            command = spindle.get_command(click.Context(spindle), name)
            assert command is not None, f"{page}: there is no `spindle {name}`"
            assert not sub or sub in getattr(command, "commands", {sub}), f"{page}: spindle {name} {sub}"


def test_pages_call_no_module_that_has_a_command():
    """As far as there is a subcommand, nobody is told to type `python -m`."""
    left = {
        "analysis.ufs_blocks", "analysis.directory_cache", "analysis.sensitivity", "lab.cell.built", "lab.cell.images",
        "lab.guest.build", "lab.guest.portable", "vagrant.measure",
    }  # fmt: skip
    for page in PAGES:
        assert set(re.findall(r"python -m ([\w.]+\w)", read(page))) <= left, page


def test_citation_has_the_version():
    about = yaml.safe_load(read("CITATION.cff"))
    assert about["version"] == tomllib.loads(read("pyproject.toml"))["project"]["version"]
    assert {"cff-version", "message", "title", "authors"} <= about.keys()


def test_pre_commit_calls_what_the_gate_calls():
    hooks = yaml.safe_load(read(".pre-commit-config.yaml"))["repos"][0]["hooks"]
    assert {"ruff format", "ruff check", "snakefmt"} <= {
        hook["entry"].removeprefix("build/venv/bin/") for hook in hooks
    }


def test_links_between_pages_lead_somewhere():
    """Links of all pages to files of the repository, and to sections of pages."""
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    missing, seen = [], 0
    for page in map(Path, listed.splitlines()):
        for target in re.findall(r"\]\(([^)\s]+)\)", read(page)):
            if re.match(r"[a-z]+:", target):
                continue
            seen += 1
            name, _, section = target.partition("#")
            path = (ROOT / page).parent / name if name else ROOT / page
            if not path.exists():
                missing.append(f"{page}: {target}: there is no such file")
            elif section and section not in sections(path.read_text(encoding="utf-8")):
                missing.append(f"{page}: {target}: there is no such section")
    assert seen > 20
    assert not missing, "\n".join(missing)


def sections(page: str) -> set[str]:
    """The names by which links reach a page's sections, as Git's hosts make them of headings."""
    headings = re.findall(r"^#+ (.*)$", page, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


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


@pytest.mark.parametrize("name", ["requirements", "notebooks", "validator"])
def test_lock_has_hashes_and_no_host(name):
    lock = read(f"envs/{name}.lock")
    assert "://" not in lock
    # What pip-tools says between the entries is no entry.
    for entry in re.split(r"\n(?=\S)", re.sub(r"^\s*#.*\n", "", lock, flags=re.M).strip()):
        assert "--hash=sha256:" in entry, entry.splitlines()[0]


def test_notebooks_have_the_versions_of_the_locked_python():
    """They lie in one environment, so that neither lock may move what the other has put there."""
    locked, beside = (
        dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", read(f"envs/{name}.lock"), re.M))
        for name in ("requirements", "notebooks")
    )
    assert "nbconvert" in beside and "nbconvert" not in locked
    shared = locked.keys() & beside.keys()
    assert {name: locked[name] for name in shared} == {name: beside[name] for name in shared}


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


def checkout(path: Path) -> Path:
    """What a target's first line needs, in a folder of any name."""
    (path / "envs").mkdir(parents=True)
    for name in ("Makefile", "envs/bootstrap", "envs/requirements.lock"):
        shutil.copy(ROOT / name, path / name)
    return path


PATHS = [
    ("two words", "a space"),
    ("B\u00fccher", "the character '\u00fc'"),
    ("a:b", "the character ':'"),
    ("a,b", "the character ','"),
    ("100%", "the character '%'"),
    ("it's", "the character '''"),
    ("[x]", "the character '['"),
]


@pytest.mark.parametrize("target", ["report", "part", "import", "test", "check", "determinism", "clean", "doctor"])
@pytest.mark.parametrize(("name", "named"), PATHS[:2], ids=["space", "umlaut"])
def test_path_of_the_checkout_is_refused_by_name(tmp_path, target, name, named):
    here = checkout(tmp_path / name)
    done = subprocess.run(["make", target], cwd=here, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: this folder has {named} in its path ({here}). ")
    assert "clone or move it into a path of plain letters" in done.stderr
    assert not (here / "build").exists()


@pytest.mark.parametrize(("name", "named"), PATHS)
def test_path_of_the_build_directory_is_refused_by_name(tmp_path, name, named):
    here = checkout(tmp_path / "plain-1.0_a+b@2")
    for where in (name, str(tmp_path / name)):
        done = subprocess.run(
            ["envs/bootstrap", "--paths"], cwd=here, env={**os.environ, "SPINDLE_BUILD": where}, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 1
        assert done.stderr.startswith(f"error: the build directory SPINDLE_BUILD has {named} in its path ({where}). ")


def test_path_behind_a_link_counts(tmp_path):
    """Programs resolve links, so a plain name in front does not help."""
    here = checkout(tmp_path / "two words")
    (tmp_path / "plain").symlink_to(here)
    done = subprocess.run(["make", "clean"], cwd=tmp_path / "plain", capture_output=True, text=True, check=False)
    assert "this folder has a space in its path" in done.stderr


def test_path_of_plain_letters_is_taken(tmp_path):
    here = checkout(tmp_path / "plain-1.0_a+b@2")
    assert subprocess.run(["envs/bootstrap", "--paths"], cwd=here, check=False).returncode == 0


def test_bootstrap_that_installs_nothing_says_what_to_do(tmp_path):
    here = checkout(tmp_path / "here")
    done = subprocess.run(["make", "export", "FILE=a"], cwd=here, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "this command installs nothing: run 'make bootstrap', then give it again" in done.stderr
    assert not (here / "build/venv").exists()
