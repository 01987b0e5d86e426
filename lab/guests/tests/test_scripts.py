# SPDX-License-Identifier: MIT
"""What runs inside the guests: shell scripts under dash and busybox against stub commands, linted, and answer files
against what their documentation has."""

import configparser
import re
import shutil
import stat
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

from lab.cell.paths import ROOT

FOLDER = ROOT / "lab" / "guests"
SHELLS = {"dash": ["dash"], "busybox": ["busybox", "sh"]}
SCRIPTS = ("debian/install.sh", "freebsd/install.sh", "freebsd/first-boot.sh")
UNATTEND = "{urn:schemas-microsoft-com:unattend}"
# Unattended Windows Setup Reference: the settings that the file has, by pass and component.
KNOWN = {
    ("windowsPE", "Microsoft-Windows-International-Core-WinPE"): {
        "SetupUILanguage", "InputLocale", "SystemLocale", "UILanguage", "UserLocale",
    },
    ("windowsPE", "Microsoft-Windows-Setup"): {"DiskConfiguration", "ImageInstall", "UserData"},
    ("specialize", "Microsoft-Windows-Shell-Setup"): {"ComputerName", "TimeZone"},
    ("oobeSystem", "Microsoft-Windows-Shell-Setup"): {"OOBE", "UserAccounts", "AutoLogon", "FirstLogonCommands"},
}  # fmt: skip
# bsdinstall(8), SCRIPTING and ENVIRONMENT VARIABLES.
VARIABLES = {"DISTRIBUTIONS", "PARTITIONS", "nonInteractive"}


@pytest.fixture(params=SHELLS)
def shell(request):
    """A shell of the host that stands in for the guest's."""
    words = SHELLS[request.param]
    if shutil.which(words[0]) is None:
        pytest.skip(f"this machine has no {words[0]}")
    return words


@pytest.fixture
def stubs(tmp_path, monkeypatch):
    """A folder of commands that only note how they were called."""
    folder = tmp_path / "stubs"
    folder.mkdir()

    def make(*names, status=0):
        for name in names:
            path = folder / name
            path.write_text(f'#!/bin/sh\necho "{name} $*" >>"{tmp_path}/called"\nexit {status}\n')
            path.chmod(path.stat().st_mode | stat.S_IXUSR)

    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    make.called = lambda: (tmp_path / "called").read_text().splitlines() if (tmp_path / "called").exists() else []
    return make


def run(shell, script, *words, **environment):
    """Run a script; returns status and what it said."""
    done = subprocess.run(
        [*shell, str(FOLDER / script), *map(str, words)], capture_output=True, text=True, check=False,
        env={"PATH": __import__("os").environ["PATH"], **{key: str(value) for key, value in environment.items()}},
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_scripts_debian_install(shell, stubs, tmp_path):
    stubs("systemctl", "sync")
    seed, units = tmp_path / "seed", tmp_path / "units"
    seed.mkdir()
    units.mkdir()
    for name in (
        "spindle-agent",
        "confined",
        "stopwatch",
        "spindle.target",
        "spindle-agent.service",
        "99-spindle.rules",
    ):
        (seed / name).write_text(name)
    status, said = run(shell, SCRIPTS[0], seed, UNITS=units, RULES=tmp_path / "rules", PROGRAMS=tmp_path / "usr")
    assert (status, said) == (0, "")
    # busybox has a sync of its own.
    assert stubs.called()[:2] == ["systemctl daemon-reload", "systemctl set-default spindle.target"]
    assert sorted(path.name for path in units.iterdir()) == ["spindle-agent.service", "spindle.target"]
    assert (tmp_path / "usr/sbin/spindle-agent").stat().st_mode & 0o111
    # Again, as after an end that was lost.
    assert run(shell, SCRIPTS[0], seed, UNITS=units, RULES=tmp_path / "rules", PROGRAMS=tmp_path / "usr")[0] == 0


def test_scripts_debian_install_of_half_a_seed_fails(shell, stubs, tmp_path):
    stubs("systemctl", "sync")
    (tmp_path / "units").mkdir()
    status, said = run(
        shell, SCRIPTS[0], tmp_path, UNITS=tmp_path / "units", RULES=tmp_path / "r", PROGRAMS=tmp_path / "usr"
    )
    assert status != 0 and "spindle-agent" in said and not stubs.called()


@pytest.mark.parametrize("status", [0, 3])
def test_scripts_freebsd_install(shell, stubs, tmp_path, status):
    stubs("bsdinstall", status=status)
    assert run(shell, SCRIPTS[1], tmp_path)[0] == status
    assert stubs.called() == [f"bsdinstall script {tmp_path}/freebsd/installerconfig"]


def test_scripts_freebsd_first_boot(shell, stubs, tmp_path):
    stubs("cc", "sysrc", "sync")
    for name in ("agent/agent", "agent", "rawio", "postmark", "freebsd"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
    (tmp_path / "agent/agent/posix.c").write_text("")
    (tmp_path / "freebsd/spindle_agent").write_text("")
    places = {"PROGRAMS": tmp_path / "bin", "SERVICES": tmp_path / "rc.d"}
    status, said = run(shell, SCRIPTS[2], tmp_path, **places)
    assert (status, said) == (0, "")
    compiled = [line for line in stubs.called() if line.startswith("cc ")]
    assert len(compiled) == 3 and f"{tmp_path}/agent/agent.c {tmp_path}/agent/agent/posix.c" in compiled[0]
    assert (tmp_path / "rc.d/spindle_agent").stat().st_mode & 0o111
    stubs("cc", status=1)
    assert run(shell, SCRIPTS[2], tmp_path, **places)[0] != 0


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_without_a_folder_say_how_they_are_called(shell, stubs, script):
    status, said = run(shell, script)
    assert status == 2 and said.startswith("usage: ")


def test_scripts_are_clean():
    if shutil.which("shellcheck") is None:
        pytest.skip("this machine has no shellcheck")
    files = [FOLDER / name for name in SCRIPTS]
    subprocess.run(["shellcheck", *map(str, files)], check=True)
    # rc.subr is FreeBSD's, and so are the variables that it reads.
    options = ["--shell=sh", "--exclude=SC1091,SC2034"]
    subprocess.run(["shellcheck", *options, str(FOLDER / "freebsd/spindle_agent")], check=True)


def test_scripts_installerconfig_has_known_variables_and_then_a_script(shell):
    text = (FOLDER / "freebsd/installerconfig").read_text()
    preamble, mark, script = text.partition("#!/bin/sh\n")
    assert mark and set(re.findall(r"^(?:export )?([A-Za-z_]+)=", preamble, re.M)) == VARIABLES
    for part in (preamble, script):
        subprocess.run([*shell, "-n"], input=part, text=True, check=True)
    # DISTRIBUTIONS: base system only; PARTITIONS: disk, scheme, partitions in braces.
    assert 'DISTRIBUTIONS="kernel.txz base.txz"' in preamble
    assert re.search(r'^PARTITIONS="vtbd0 (mbr|gpt) \{ auto freebsd-ufs / \}"$', preamble, re.M)


def test_scripts_autounattend_has_known_settings_only():
    root = ElementTree.parse(FOLDER / "windows/autounattend.xml").getroot()
    assert root.tag == f"{UNATTEND}unattend"
    found = {}
    for settings in root.findall(f"{UNATTEND}settings"):
        for component in settings.findall(f"{UNATTEND}component"):
            assert component.get("processorArchitecture") == "amd64"
            assert component.get("publicKeyToken") == "31bf3856ad364e35"
            names = {child.tag.removeprefix(UNATTEND) for child in component}
            found[settings.get("pass"), component.get("name")] = names
    assert found == KNOWN
    orders = [int(one.findtext(f"{UNATTEND}Order")) for one in root.iter(f"{UNATTEND}SynchronousCommand")]
    assert orders == list(range(1, len(orders) + 1))
    assert [one.text for one in root.iter(f"{UNATTEND}AcceptEula")] == ["true"]


def test_scripts_winnt_sif_has_known_sections():
    parser = configparser.ConfigParser(delimiters="=", comment_prefixes=";", interpolation=None)
    parser.optionxform = str
    parser.read(FOLDER / "windows/winnt.sif", encoding="ascii")
    known = {"Data", "Unattended", "GuiUnattended", "UserData", "GuiRunOnce", "Identification", "Networking"}
    assert set(parser.sections()) == known
    assert parser["Unattended"]["UnattendMode"] == "FullUnattended"
    assert parser["Unattended"]["OemSkipEula"] == "Yes"


def test_scripts_what_the_host_waits_for_is_what_the_first_logon_says():
    text = (FOLDER / "windows/first.cmd").read_text()
    steps = (FOLDER / "windows.toml").read_text()
    for words in ("spindle: first logon", "spindle: prepared", "spindle: failed"):
        assert f"echo {words} >COM1" in text and words in steps
