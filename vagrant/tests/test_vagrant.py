# SPDX-License-Identifier: MIT
"""The Vagrantfile and the boxes, without starting a machine; test_machine.py starts one."""

import json
import shutil
import subprocess
import tarfile

import pytest

from lab.cell.paths import ROOT
from lab.cell.tests import ordinary
from lab.guest.host import BuildError, sha256
from vagrant import box

FOLDER = ROOT / "vagrant"
user = pytest.fixture(scope="module")(ordinary.make_user)


@pytest.fixture
def vagrant(user):
    """Vagrant as an ordinary user, with these boxes."""
    if not shutil.which("vagrant"):
        pytest.skip("vagrant is not installed")
    user.require_access(FOLDER / "Vagrantfile")

    def run(boxes, *words: str) -> subprocess.CompletedProcess:
        places = {
            "VAGRANT_HOME": f"{user.home}/data/vagrant",
            "VAGRANT_DOTFILE_PATH": f"{user.home}/data/machines",
            "VAGRANT_CWD": str(FOLDER),
            "SPINDLE_BOXES": str(boxes),
        }
        return user.run("vagrant", *words, **places)

    return run


def test_validate_without_boxes(vagrant):
    done = vagrant("/nonexistent", "validate")
    assert done.returncode == 0, done.stderr
    assert "validated successfully" in done.stdout


def test_validate_with_a_box(vagrant, user):
    folder = user.home / "boxes" / "linux"
    (folder / "programs").mkdir(parents=True)
    (folder / "linux.box").touch()
    about = {"sha256": "0" * 64, "disks": [{"controller": c, "serial": s, "bytes": 1 << 30} for c, _, s in box.DISKS]}
    (folder / "box.json").write_text(json.dumps(about))
    for path in (user.home / "boxes", folder, folder / "programs"):
        path.chmod(0o755)
    done = vagrant(user.home / "boxes", "validate")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("name", "remedy"), [("linux", "make box NAME=linux"), ("freebsd", "make guest NAME=freebsd"),
                                              ("windows", "make guest NAME=windows")])  # fmt: skip
def test_up_without_a_box_is_refused_with_one_message(vagrant, name, remedy):
    done = vagrant("/nonexistent", "up", name)
    assert done.returncode == 1
    message = done.stderr.strip()
    assert message.startswith(f"{name}: there is no box /nonexistent/{name}/{name}.box.") and remedy in message
    assert "\n" not in message


@pytest.mark.parametrize("name", ["freebsd", "windows"])
def test_box_of_a_system_that_nobody_prepared(name, tmp_path):
    with pytest.raises(BuildError, match=f"make guest NAME={name} MEDIA=FILE SHA256=SUM"):
        box.prepared_disk(name, tmp_path)


def test_box_of_an_unknown_system(tmp_path):
    with pytest.raises(BuildError, match="NAME=solaris: there is no such box; there are linux, freebsd, windows"):
        box.make("solaris", None, tmp_path)


def test_box_of_a_disk_that_is_not_there(tmp_path):
    with pytest.raises(BuildError, match="there is no such file"):
        box.image_about(tmp_path / "none")


def test_box_has_the_disk_and_what_vagrant_wants(tmp_path):
    """The same disk gives the same bytes; what is read from it again is the disk."""
    if not shutil.which("qemu-img"):
        pytest.skip("qemu-img is not installed")
    disk = tmp_path / "disk"
    with disk.open("wb") as file:
        file.truncate(5 << 20)
        file.seek(1 << 20)
        file.write(b"spindle" * 1000)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        box.write_box(disk, tmp_path / f"{name}.box", tmp_path / name)
    assert sha256(tmp_path / "one.box") == sha256(tmp_path / "two.box")
    with tarfile.open(tmp_path / "one.box") as archive:
        assert archive.getnames() == ["metadata.json", "box.img"]
        archive.extractall(tmp_path / "out")
    about = json.loads((tmp_path / "out/metadata.json").read_text())
    assert about == {"provider": "libvirt", "format": "qcow2", "virtual_size": 1}
    subprocess.run(["qemu-img", "convert", "-O", "raw", tmp_path / "out/box.img", tmp_path / "back"], check=True)
    assert sha256(tmp_path / "back") == sha256(disk)


def test_programs_for_freebsd_are_sources_that_build(tmp_path):
    """With this machine's compiler in the place of FreeBSD's."""
    box.write_programs("freebsd", tmp_path / "programs")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/cc").symlink_to(shutil.which("gcc"))
    provision = ["sh", FOLDER / "provision/unix.sh", tmp_path / "programs", tmp_path / "installed"]
    done = subprocess.run(provision, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = sorted(str(path.relative_to(tmp_path / "installed")) for path in (tmp_path / "installed").rglob("*/*")
                   if path.is_file())  # fmt: skip
    assert found == ["sbin/spindle-agent", "workloads/postmark/postmark", "workloads/rawio/rawio"]


def test_provisioning_says_what_is_missing(tmp_path):
    provision = ["sh", FOLDER / "provision/unix.sh", tmp_path]
    done = subprocess.run(provision, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"provision: {tmp_path} has no rawio; make the box again\n")
