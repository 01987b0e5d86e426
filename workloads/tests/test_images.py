# SPDX-License-Identifier: MIT
"""The images of the workloads."""

import subprocess

import pytest

from lab.guest.host import BuildError
from lab.guest.imaging import compile_program
from workloads import build


def test_build_knows_every_workload():
    assert {"rawio", "sqlio", "fio", "postmark", "ssh", "sdet", "netnews", "filebench"} <= set(build.names())
    assert "common" not in build.names()


def test_build_same_bytes_in_another_folder(tmp_path):
    images = []
    for name in ("one", "two"):
        (tmp_path / name / "workloads").mkdir(parents=True)
        build.build_one("rawio", tmp_path / name)
        images.append((tmp_path / name / "workloads" / "rawio.erofs").read_bytes())
        assert [path.name for path in (tmp_path / name / "workloads").iterdir()] == ["rawio.erofs"]
    assert images[0] == images[1]


def test_build_program_of_several_files(tmp_path):
    """All files of a folder of the program's name are linked in; those of other folders are not."""
    for folder in ("sum", "other"):
        (tmp_path / folder).mkdir()
    (tmp_path / "sum/sum.h").write_text("int one(void);\nint two(void);\n")
    (tmp_path / "sum/one.c").write_text('#include "sum.h"\nint one(void) { return 1; }\n')
    (tmp_path / "sum/two.c").write_text('#include "sum.h"\nint two(void) { return 2; }\n')
    (tmp_path / "other/broken.c").write_text("this is no C\n")
    (tmp_path / "sum.c").write_text('#include "sum/sum.h"\nint main(void) { return one() + two(); }\n')
    compile_program(tmp_path / "sum.c", tmp_path / "program")
    assert subprocess.run([tmp_path / "program"]).returncode == 3


def test_build_unknown_workload(tmp_path):
    with pytest.raises(BuildError, match=r"no workload 'rawoi'; known are: .*rawio"):
        build.build_one("rawoi", tmp_path)


def test_build_sources_lock(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "REPOSITORY", tmp_path)
    path = tmp_path / "sources.lock"
    assert build.read_sources(path) == []
    path.write_text(f"# a comment\nenscript enscript_1.orig.tar.gz {'a' * 64}\n")
    assert build.read_sources(path) == [("enscript", "enscript_1.orig.tar.gz", "a" * 64)]
    path.write_text("enscript enscript_1.orig.tar.gz\n")
    with pytest.raises(BuildError, match=r"sources.lock:1: .* is not `package file sha256`"):
        build.read_sources(path)
