# SPDX-License-Identifier: MIT
"""The toolchain: nothing of the host's is used, whatever it has; it is there whole or not at all."""

import os
import re
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from lab.guest import packages, toolchain
from lab.guest.host import REPOSITORY, BuildError, build_folder
from lab.guest.imaging import compile_program
from lab.guest.lockfile import Package

AGENT = REPOSITORY / "lab" / "guest" / "agent" / "agent.c"


def link_or_copy(source: str, target: str) -> None:
    """A second name for a file, or a copy on another file system."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


@pytest.fixture
def copy(tmp_path) -> toolchain.Toolchain:
    """A toolchain to change."""
    target = tmp_path / "a copy" / "toolchain"
    shutil.copytree(toolchain.current().folder, target, symlinks=True, copy_function=link_or_copy)
    return toolchain.Toolchain(target)


class Noted(toolchain.Toolchain):
    """A toolchain whose commands are only written down."""

    def run(self, command, cwd=None):
        """Note the command and make an empty file of its output."""
        self.command = command
        Path(command[command.index("-o") + 1]).touch()
        return ""


def test_compiler_reads_no_file_of_the_host(tmp_path):
    """Headers as the compiler lists them, start files and libraries as the linker does."""
    said = compile_program(AGENT, tmp_path / "agent", "-MD", "-MF", str(tmp_path / "headers"), "-Wl,--trace")
    headers = (tmp_path / "headers").read_text().replace("\\\n", " ").replace("\\ ", "\0").split()[1:]
    read = [(AGENT.parent / name.replace("\0", " ")).resolve() for name in [*headers, *said.splitlines()]]
    inside = (toolchain.current().root.resolve(), REPOSITORY)
    strangers = [str(path) for path in read if not any(path.is_relative_to(folder) for folder in inside)]
    # What the compiler hands to the linker lies in a temporary file.
    assert [name for name in strangers if not re.fullmatch(r".*/cc\w+\.o(\)|)", name)] == []
    names = {path.name for path in read}
    assert {"stdio.h", "stddef.h", "crt1.o", "crtbeginT.o"} <= names
    assert any("libc.a" in str(path) for path in read)


def test_toolchain_needs_nothing_of_the_host_but_a_shell(copy, tmp_path, monkeypatch):
    """In a root with a static shell, no C library, no compiler and no headers, it makes the same bytes."""
    shells = sorted((build_folder() / "cache" / "debs").glob("busybox-static_*.deb"))
    if not shells:
        pytest.skip("no static shell in the cache of packages: build the guest first")
    chroot = ["unshare", "--user", "--map-root-user", "chroot"] if os.getuid() else ["chroot"]
    bare = tmp_path / "bare"
    subprocess.run(["dpkg-deb", "--extract", shells[-1], bare], check=True)
    (bare / "bin" / "sh").symlink_to("busybox")
    if subprocess.run([*chroot, bare, "/bin/sh", "-c", ":"], capture_output=True, check=False).returncode:
        pytest.skip("neither root nor a user namespace for chroot here")
    (bare / "tmp").mkdir()
    os.rename(copy.folder, bare / "toolchain")
    shutil.copytree(AGENT.parent, bare / "lab" / "guest" / "agent")
    shutil.copytree(REPOSITORY / "workloads" / "common", bare / "workloads" / "common")

    compile_program(AGENT, tmp_path / "here")
    inside = Noted(bare / "toolchain")
    monkeypatch.setattr(toolchain, "current", lambda: inside)
    compile_program(AGENT, bare / "there")
    command = [word.replace(str(bare), "") for word in inside.command]
    at = ["/bin/sh", "-c", 'cd /lab/guest/agent && exec "$@"', "sh", "/toolchain/bin/gcc", *command[1:]]
    subprocess.run([*chroot, bare, *at], check=True)
    assert (bare / "there").read_bytes() == (tmp_path / "here").read_bytes()


def test_program_that_would_take_a_library_of_the_host_is_refused(copy):
    """The loader goes on to the host's folders when ours lack a library; whether the host has it does not count."""
    (library,) = copy.root.glob("usr/lib/x86_64-linux-gnu/liblz4.so.1.*")
    library.unlink()
    with pytest.raises(BuildError) as error:
        toolchain.check(copy)
    assert "usr/bin/mkfs.erofs needs liblz4.so.1, which no package of the toolchain has" in str(error.value)
    assert "make relock" in str(error.value)


def test_missing_program_is_refused(copy):
    """A host's program of that name would be taken."""
    (copy.bin / "strip").unlink()
    with pytest.raises(BuildError, match=r"no locked package has strip; correct envs/toolchain-packages.txt"):
        toolchain.check(copy)
    with pytest.raises(BuildError, match=r"no program strip in it"):
        copy.run(["strip"])


def test_programs_of_another_package_are_adopted(copy, tmp_path):
    """kbuild's programs ask for the host's loader; behind our script they do not."""
    folder = tmp_path / "it's kbuild"
    folder.mkdir()
    shutil.copyfile((copy.root / "usr/bin/ar").resolve(), folder / "fixdep")
    (folder / "fixdep").chmod(0o755)
    (folder / "fixdep.sh").write_text("#!/bin/sh\n")
    copy.adopt(folder)
    assert sorted(path.name for path in folder.iterdir()) == [".fixdep.elf", "fixdep", "fixdep.sh"]
    assert (folder / "fixdep").read_text().startswith("#!/bin/sh\n")
    said = subprocess.run([folder / "fixdep", "--version"], capture_output=True, text=True, check=True).stdout
    assert said.startswith(f"GNU {folder}/fixdep ") or "GNU ar" in said


def test_absolute_links_stay_inside(tmp_path):
    """Debian's depmod is a link to /bin/kmod, which is the host's unless it is changed."""
    (tmp_path / "sbin").mkdir()
    (tmp_path / "sbin" / "depmod").symlink_to("/bin/kmod")
    (tmp_path / "sbin" / "lsmod").symlink_to("kmod")
    toolchain.keep_links_inside(tmp_path)
    assert os.readlink(tmp_path / "sbin" / "depmod") == "../bin/kmod"
    assert os.readlink(tmp_path / "sbin" / "lsmod") == "kmod"


def test_dependencies_are_read():
    text = "libc6 (>= 2.33), libgcc-s1 | libgcc1:amd64 (>= 1), cpp-12 (= 12.2.0-14+deb12u1)"
    assert toolchain.depends(text) == [["libc6"], ["libgcc-s1", "libgcc1"], ["cpp-12"]]
    assert toolchain.depends("") == []


def test_what_moved_is_noted(tmp_path, monkeypatch):
    """A moved compiler may make other bytes; what it needs follows from the version that is there."""
    locked = {name: Package(name, "1", "amd64", "0" * 64) for name in ("gcc", "libc6", "fio")}
    monkeypatch.setattr(
        packages,
        "fetch_all",
        lambda wanted, cache, scratch: (
            {package.name: Path(f"{package.name}_2_amd64.deb") for package in wanted},
            [f"{package.name} 1 -> 2" for package in wanted],
        ),
    )
    fields = {"gcc_2_amd64.deb": {"Depends": "libc6 (>= 2), left-out"}}
    monkeypatch.setattr(packages, "field", lambda deb, name: fields.get(deb.name, {}).get(name, ""))
    debs, moved = toolchain.fetch_closure(["gcc"], locked, tmp_path, tmp_path)
    assert sorted(debs) == ["gcc", "libc6"]
    assert moved == ["gcc 1 -> 2", "libc6 1 -> 2"]


def test_toolchain_is_there_whole_or_not_at_all(tmp_path, monkeypatch):
    """A run that was killed leaves a scratch folder, and the next one starts anew."""
    calls = []

    def killed(target: Path, scratch: Path, debs: Path) -> None:
        (scratch / "fresh" / "bin").mkdir(parents=True)
        calls.append(target)
        if len(calls) == 1:
            raise KeyboardInterrupt
        os.rename(scratch / "fresh", target)

    monkeypatch.setattr(toolchain, "unpack", killed)
    with pytest.raises(KeyboardInterrupt):
        toolchain.ready(tmp_path)
    assert not calls[0].exists()
    assert toolchain.ready(tmp_path).folder == calls[0]
    assert toolchain.ready(tmp_path).folder == calls[0]
    assert len(calls) == 2
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == [calls[0].name]


def test_two_at_once_unpack_once(tmp_path, monkeypatch, capsys):
    """The second waits, and says for what."""
    calls = []

    def slow(target: Path, scratch: Path, debs: Path) -> None:
        scratch.mkdir()
        calls.append(target)
        threading.Event().wait(0.2)
        target.mkdir()

    monkeypatch.setattr(toolchain, "unpack", slow)
    both = [threading.Thread(target=toolchain.ready, args=[tmp_path]) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert len(calls) == 1
    assert "waiting for another build, which is unpacking the toolchain" in capsys.readouterr().out


def test_colon_in_the_path_is_refused(tmp_path):
    with pytest.raises(BuildError, match=r"a:b: a colon in the path; put the checkout, or SPINDLE_BUILD, elsewhere"):
        toolchain.ready(tmp_path / "a:b")
