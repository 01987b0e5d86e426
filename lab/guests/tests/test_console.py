# SPDX-License-Identifier: MIT
"""The state machine against scripted consoles: FreeBSD's installer and first boot as their documentation prints them,
and Debian's first boot; with lost bytes, wrong prompts, silence and restarts."""

import re

import pytest

from lab.cell import guests
from lab.guests import console
from lab.guests.console import Console, Patience, Stopped
from lab.guests.tests.scripted import Clock, Scripted, shell, some

PATIENCE = Patience(nudge_s=2, echo_s=1)


def freebsd_medium():
    """loader(8) and startbsdinstall: the medium's first boot up to the end of a scripted installation."""
    yield "BTX loader 1.00  BTX version is 1.02\r\n\x1b[2J\x1b[10;20HWelcome to FreeBSD\r\n"
    yield "\x1b[22;5HAutoboot in 9 seconds, hit [Enter] to boot or any other key to stop\r\n"
    while (yield None) != "\x1b":
        pass
    yield "\r\nType '?' for a list of commands, 'help' for more detailed help.\r\nOK "
    while True:
        line = yield None
        if line == "boot":
            break
        yield "OK " if not line or line.startswith("set ") else f"unknown command: {line}\r\nOK "
    yield "---<<BOOT>>---\r\nFreeBSD 14.3-RELEASE GENERIC amd64\r\nWelcome to FreeBSD!\r\n\r\n"
    yield "Please choose the appropriate terminal type for your system.\r\nCommon console types are:\r\n"
    yield "   vt100    VT100 or compatible terminal\r\n\r\nConsole type [vt100]: "
    yield None
    yield "\x1b[H\x1b[2J\x1b[1;1HFreeBSD Installer\x1b[9;9HWelcome to FreeBSD! Would you like to begin an "
    yield "installation or use the live CD?\x1b[12;9H[Install]  [ Shell ]  [Live CD]"
    while (yield None) != "s":
        pass
    yield "\x1b[H\x1b[2JWhen finished, type 'exit' to return to the installer.\r\n"
    yield from shell("# ", {"freebsd/install.sh": "Extracting base.txz\r\n"}, ends=("reboot",))
    yield "Waiting (max 60 seconds) for system process `vnlru' to stop... done\r\nRebooting...\r\n"


def freebsd_disk():
    """The installed system's first boot, up to its restart."""
    yield "Loading kernel...\r\n---<<BOOT>>---\r\nFreeBSD/amd64 (freebsd) (ttyu0)\r\n\r\n"
    while True:
        yield "login: "
        if (yield None) == "root":
            break
        yield "Password:\r\nLogin incorrect\r\n"
    yield "FreeBSD 14.3-RELEASE\r\n"
    yield from shell("root@freebsd:~ # ", {"first-boot.sh": "cc -O2 agent.c\r\n"}, ends=("shutdown",))
    yield "Rebooting...\r\n"


def debian_disk():
    """The first boot of a Debian disk."""
    yield "\x1b[H\x1b[J\x1b[1;1H  Booting `Debian'\r\n\r\n"
    while True:
        yield "\r\nDebian GNU/Linux 12 debian ttyS0\r\n\r\ndebian login: "
        if (yield None) == "root":
            break
    yield "Linux debian 6.1.0 #1 SMP\r\n"
    yield from shell("\x1b[?2004hroot@debian:~# ", {"install.sh": "Created symlink\r\n"}, ends=("systemctl reboot",))


SCRIPTS = {
    "debian": {"disk": debian_disk},
    "freebsd": {"medium": freebsd_medium, "disk": freebsd_disk},
    "freebsd-gvinum": {"medium": freebsd_medium, "disk": freebsd_disk},
}


def play(name, scripts=None, lost=None, steps=None):
    """Play a guest's own steps against its script; returns what was said, and the ports."""
    prepare = guests.guest(name).data["prepare"]
    clock, ports, said = Clock(), [], []

    def start(boots):
        ports.append(Scripted((scripts or SCRIPTS[name])[boots], clock, lost or (lambda way, number: False)))
        return ports[-1].console([tuple(pair) for pair in prepare.get("refuse", ())])

    console.play(name, steps or prepare["steps"], start, said.append, PATIENCE)
    return said, ports


@pytest.mark.parametrize("name", SCRIPTS)
def test_console_goes_through_all_steps(name):
    said, ports = play(name)
    assert len(said) == len(guests.guest(name).data["prepare"]["steps"])
    assert len(ports) == len(SCRIPTS[name])


def test_console_loses_no_time_when_all_goes_well():
    _, ports = play("freebsd")
    # Seconds pass only while nothing comes: what comes at once is not waited for.
    assert ports[-1].clock.now < 60


@pytest.mark.parametrize("seed", range(6))
def test_console_types_again_what_lost_bytes(seed):
    # After the login, whose keys nobody echoes as a shell does.
    source = some(0.002, seed)
    quiet = {"past": False}

    def lost(way, number):
        return quiet["past"] and source(way, number)

    def disk():
        yield "debian login: "
        yield None
        quiet["past"] = True
        yield from shell("root@debian:~# ", {"install.sh": "Created symlink\r\n"}, ends=("systemctl reboot",))

    _, ports = play("debian", {"disk": disk}, lost)
    assert "sh /run/seed/install.sh /run/seed" in ports[0].typed
    assert any("\x15" in port.typed for port in ports) or seed


def test_console_that_loses_too_much_is_named():
    def disk():
        yield "debian login: "
        yield None
        yield from shell("root@debian:~# ", {}, ends=())

    with pytest.raises(
        Stopped, match=r"debian: step 3 of 4, installation of the agent: the console loses bytes: .*10 times"
    ):
        play("debian", {"disk": disk}, lambda way, number: way == "in" and number > 8 and number % 9 == 0)


def test_console_a_prompt_that_was_lost_is_asked_for_again():
    def disk():
        # The first prompt never came.
        yield "Debian GNU/Linux 12"
        while (yield None) != "root":
            yield "\r\ndebian login: "
        yield from shell("root@debian:~# ", {"install.sh": ""}, ends=("systemctl reboot",))

    _, ports = play("debian", {"disk": disk})
    assert ports[0].typed.startswith("\rroot\r")


def test_console_silence_is_one_message():
    def disk():
        yield "Loading Linux ..."
        while True:
            yield None

    with pytest.raises(Stopped) as error:
        play("debian", {"disk": disk})
    assert str(error.value) == (
        "debian: step 1 of 4, login of the new system: the console said nothing for 300 s; "
        "its last words: 'Loading Linux ...'"
    )


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("Kernel panic - not syncing: VFS: Unable to mount root fs", "the kernel panicked"),
        ("You are in emergency mode. After logging in", "the system did not start as it should"),
        ("grub rescue> ", "GRUB does not find its files"),
    ],
)
def test_console_a_wrong_prompt_ends_it_at_once(text, meaning):
    def disk():
        yield f"\r\n{text}\r\n"
        yield None

    with pytest.raises(Stopped, match=f"step 1 of 4, .*: {re.escape(meaning)}"):
        play("debian", {"disk": disk})


def test_console_an_installer_that_fails_is_one_message():
    def medium():
        yield "Autoboot in 3 seconds"
        yield None
        yield "OK "
        yield None
        yield "OK "
        yield None
        yield "Console type [vt100]: "
        yield None
        yield "Would you like to begin an installation or use the live CD?"
        yield None
        yield "# "
        line = yield None
        yield "gpart: geom 'vtbd0': Invalid argument\r\n"
        yield line.removesuffix("'").rpartition("; echo ")[2].replace("$?", "1") + "\r\n# "
        yield None

    with pytest.raises(Stopped) as error:
        play("freebsd", {"medium": medium})
    text = str(error.value)
    assert text.startswith("freebsd: step 6 of 10, the shell of the medium: `mkdir -p /tmp/seed && ")
    assert "exited with status 1: " in text and "gpart: geom 'vtbd0': Invalid argument" in text


def test_console_a_restart_where_none_belongs_is_one_message():
    def medium():
        yield "Autoboot in 3 seconds"
        yield None
        yield "OK "
        yield None
        yield "Rebooting..."

    with pytest.raises(Stopped, match=r"step 3 of 10, .*: the machine ended; its last words: .*Rebooting"):
        play("freebsd", {"medium": medium})


def test_console_a_machine_that_does_not_end_is_one_message():
    def disk():
        yield "debian login: "
        yield None
        yield from shell("root@debian:~# ", {"install.sh": ""})

    with pytest.raises(Stopped, match=r"step 4 of 4, the machine's end: the machine did not end in 300 s"):
        play("debian", {"disk": disk})


def test_console_what_only_the_real_system_knows_is_said():
    def medium():
        yield "Hit [Enter] to boot immediately, or any other key for command prompt.\r\n"
        yield None

    with pytest.raises(Stopped, match=r"step 2 of 5, the loader's prompt: "):
        play("freebsd-5", {"medium": medium})

    def menu():
        yield "Hit [Enter] to boot immediately"
        for _ in range(3):
            yield None
            yield "ok "
        while True:
            yield None

    steps = guests.guest("freebsd-5").data["prepare"]["steps"]
    first = [{**steps[0], "send": "\r"}, *steps[1:]]
    with pytest.raises(
        Stopped, match=r"sysinstall's first menu: .*; not known without the real system: what sysinstall"
    ):
        play("freebsd-5", {"medium": menu}, steps=first)


def test_console_text_is_what_a_terminal_shows():
    clock = Clock()

    def script():
        yield "\x1b[0;32m OK \x1b[0m \x1b]0;title\x07done\x1b[?2004h\r\nlogin: "
        yield None

    one = Scripted(script, clock).console()
    assert one.expect("login: $", 5) == " OK  done\r\nlogin: "


def test_console_what_looks_like_a_prompt_in_a_line_is_none():
    def script():
        yield "# of disks: 4\r\nready\r\nroot# "
        yield None

    one: Console = Scripted(script, Clock()).console()
    assert one.expect("[#] $", 5).endswith("root# ")


def test_console_a_status_is_found_when_the_echo_has_its_question():
    def script():
        yield from shell("% ", {"true": ""})

    one = Scripted(script, Clock()).console()
    one.expect("% $", 5)
    one.run("true", 1, "% $", 5, PATIENCE)
    with pytest.raises(Stopped, match=r"`nosuch` exited with status 127: .*not found"):
        one.run("nosuch", 2, "% $", 5, PATIENCE)
