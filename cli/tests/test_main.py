# SPDX-License-Identifier: MIT
"""The command line: its help, its errors, its completion, and that it works from any folder."""

import contextlib
import os
import pty
import subprocess
import sys
from pathlib import Path

import click
import pytest

from cli import options
from cli.main import COMMANDS, main, spindle, summary
from lab.cell import archive, paths

ROOT = Path(__file__).resolve().parents[2]
START_S = 0.3
"""Processor time that the help may take."""


def every() -> list[tuple[str, click.Command]]:
    """All commands by how they are called, those of `show` with it."""
    found = []
    for name in COMMANDS:
        command = spindle.get_command(click.Context(spindle), name)
        found.append((f"spindle {name}", command))
        found += [(f"spindle {name} {sub}", one) for sub, one in getattr(command, "commands", {}).items()]
    return found


def call(*words: str, folder: Path = ROOT, **environment: str) -> subprocess.CompletedProcess:
    """The command of this checkout, called from another folder."""
    return subprocess.run(
        [sys.executable, "-m", "cli", *words], cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_cli_every_command_has_help_with_an_example(capsys):
    for words, command in every():
        assert main([*words.split()[1:], "--help"]) == 0
        printed = capsys.readouterr().out
        examples = [line for line in printed.splitlines() if line.startswith("      ") and words in line]
        assert examples, words
        assert "PAPER" not in command.help or "paper" in command.help.lower()


def test_cli_help_lists_every_command_with_its_first_line(capsys):
    assert main(["--help"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    for name in COMMANDS:
        assert f"{name} {summary(name)}" in printed
        assert summary(name).endswith(".")


def test_cli_every_command_stands_in_the_docs():
    text = (ROOT / "docs" / "commands.md").read_text()
    table = text[text.index("| command | what |") : text.index("`make` installs")]
    assert [name for name in COMMANDS if f"`spindle {name}`" not in table] == []


def test_cli_examples_are_accepted():
    """Each example of the help is words that the command takes."""
    for words, command in every():
        for line in command.help.splitlines():
            if not line.strip().startswith(words) or ">" in line or "|" in line:
                continue
            rest = line.split("#")[0].split()[len(words.split()) :]
            if hasattr(command, "commands") or words in ("spindle try", "spindle completion"):
                continue
            command.make_context(words, [word.strip("'") for word in rest], resilient_parsing=False)


def test_cli_help_starts_fast():
    """Processor time, because others may be at work on this machine."""
    call("--help")
    before = os.times()
    assert call("--help").returncode == 0
    after = os.times()
    took = after.children_user - before.children_user + after.children_system - before.children_system
    assert took < START_S


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["reprot"], "error: there is no command 'reprot'; did you mean 'report'?; `spindle --help` has an example"),
        (["run", "--minutes", "-1"], "`spindle run --help` has an example"),
        (["verify", "--sample", "1", "--minutes", "1"], "both say when to stop"),
        (["run", "--where", "sdet"], "'sdet' has no value; write COLUMN=VALUE"),
        (["reference"], "give one of --profile, --check and --verified"),
        (["try", "--no-such"], "error: unrecognized arguments: --no-such; `spindle try --help` has an example"),
        (["try", "--scheduler", "hst", "--", "true"], "invalid choice: 'hst'"),
    ],
)
def test_cli_wrong_words_are_one_message(capsys, words, message):
    assert main(words) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("error: ") and printed.count("\n") == 1
    assert message in printed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["status", "--profile", "quik"], "did you mean 'quick'"),
        (["show", "cell", "--profile", "smoke", "no.such.cell"], "profile smoke has no such cell"),
        (["show", "paper", "nobody2000"], "'nobody2000' is unknown"),
        (["show", "machine", "pentium2"], "machine 'pentium2' is not in lab/machines; did you mean 'pentium2-333'"),
        (["shell", "no.such.cell"], "no profile has such a cell"),
        (["verify", "--cells", "nothing*"], "the reference has no such cell"),
        (["run", "no.such.cell"], "no cell or run of profile quick"),
        (["guest", "debain"], "guest 'debain' is not in lab/guests; did you mean 'debian'"),
        (["box", "linx"], "there is no such box; there are linux"),
    ],
)
def test_cli_what_is_not_there_is_one_message(capsys, words, message):
    assert main(words) == 1
    printed = capsys.readouterr().err
    assert printed.startswith("error: ") and printed.count("\n") == 1
    assert message in printed


def test_cli_paths_are_those_of_the_folder_that_it_is_called_from(tmp_path):
    (tmp_path / "io.trace").write_text("no trace\n")
    done = call("show", "trace", "io.trace", folder=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {tmp_path}/io.trace: ")


def test_cli_files_are_given_to_the_lab_with_their_whole_paths(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(archive, "take_all", lambda profile, files: asked.extend(files) or 0)
    monkeypatch.chdir(tmp_path)
    assert main(["import", "part1.tar.zst"]) == 0
    assert asked == [tmp_path / "part1.tar.zst"]


def test_cli_reader_that_has_enough_is_no_error(tmp_path):
    done = subprocess.run(
        f"{sys.executable} -m cli status --profile full --cells | head -n 1", shell=True, cwd=ROOT, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.stdout.startswith("cell")
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("sta", "status"),
        ("show dri", "drive"),
        ("show drive deskstar-75", "deskstar-75gxp"),
        ("show machine pentium2", "pentium2-333"),
        ("try --sched", "--scheduler"),
        ("try --scheduler ho", "host"),
        ("run --profile smoke ide-piix.deskstar-75gxp.tnone.both.rawio-read-r", "rawio-read-random.s01"),
    ],
)
def test_cli_completes_names(words, wanted):
    typed = f"spindle {words}"
    done = call(
        _SPINDLE_COMPLETE="bash_complete", COMP_WORDS=typed, COMP_CWORD=str(len(typed.split()) - 1)
    )  # fmt: skip
    assert any(line.endswith(wanted) for line in done.stdout.splitlines()), done.stdout + done.stderr


def test_cli_completion_script_names_the_command(capsys):
    assert main(["completion", "bash"]) == 0
    assert "_SPINDLE_COMPLETE=bash_complete" in capsys.readouterr().out


def test_cli_progress_without_a_terminal_is_lines_once_a_minute(capsys, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(options.time, "monotonic", lambda: clock[0])
    with options.progress() as (say, beat):
        say("1 of 2: begun")
        for clock[0] in (10, 61, 62, 130):
            beat(f"at {clock[0]}")
    assert capsys.readouterr().err.splitlines() == ["1 of 2: begun", "at 61", "at 130"]


def test_cli_progress_on_a_terminal_is_one_line_at_the_bottom():
    code = "from cli import options\nwith options.progress(lambda: '[3 of 4]') as (say, beat):\n"
    code += "    say('[one] line')\n    beat('far')\n    __import__('time').sleep(0.5)\n"
    main_end, other = pty.openpty()
    done = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stderr=other, stdout=other)
    os.close(other)
    shown = b""
    with contextlib.suppress(OSError):  # a terminal whose program has ended
        while data := os.read(main_end, 4096):
            shown += data
    assert done.wait() == 0
    text = shown.decode()
    assert "[one] line\r\n" in text
    assert "far; [3 of 4]" in text


def test_main_help_names_every_profile(capsys):
    assert main(["run", "--help"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in paths.profiles())
