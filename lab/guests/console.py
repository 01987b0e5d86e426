# SPDX-License-Identifier: MIT
"""A system's serial console, read and typed to by a list of steps (lab/guests/<name>.toml, [prepare]).

A step waits for a prompt, never for a time. Seconds count only to find that something has stopped: a step's prompt that
may have been lost is asked for again (`nudge`), and a console that says nothing for `silent_s` ends the preparation
with one message. What is typed at a prompt is read back before it is sent off, because a serial line may lose bytes.
"""

import os
import re
import select
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from lab.cell.errors import SpindleError

ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-B]|[=>78cDEHMNOZ])|[\0\x07\x0f]"
)
"""What a terminal obeys and does not show (ECMA-48; xterm, ctlseqs)."""
LINE_END = "\r"
KILL_LINE = "\x15"
"""Ctrl-U: takes back what was typed."""
INTERRUPT = "\x03"
"""Ctrl-C."""
SILENT_S = 300
NUDGE_S = 20
ECHO_S = 10
"""Host seconds without a byte after which a step has stopped, its prompt counts as lost, and an echo as incomplete."""
TYPING_TRIES = 10
COMMAND_TRIES = 3
NUDGES = 5
KEPT_CHARACTERS = 20_000
QUOTED_CHARACTERS = 160
END = "end"
"""What a step waits for that waits for the machine's end."""


class Stopped(SpindleError):
    """The preparation cannot go on."""


class Port(Protocol):
    """A machine's console."""

    def read(self, seconds: float) -> bytes | None:
        """What came, at the latest after so many seconds; empty if nothing did, None if the machine has ended."""

    def write(self, data: bytes) -> None:
        """Type."""


class Pipes:
    """A console on two file descriptors."""

    def __init__(self, readable: int, writable: int):
        self._readable, self._writable = readable, writable

    def read(self, seconds: float) -> bytes | None:
        """As Port has it."""
        if not select.select([self._readable], [], [], seconds)[0]:
            return b""
        try:
            return os.read(self._readable, 65536) or None
        except OSError:
            # A pseudo terminal whose other side is gone.
            return None

    def write(self, data: bytes) -> None:
        """As Port has it. What a machine that has ended does not take is found by the next read."""
        while data:
            try:
                data = data[os.write(self._writable, data) :]
            except OSError:
                return


@dataclass(frozen=True)
class Patience:
    """Host seconds after which something counts as stopped or lost."""

    nudge_s: float = NUDGE_S
    echo_s: float = ECHO_S
    silent_s: float | None = None
    """In place of what the steps have."""


@dataclass
class Console:
    """What came from a machine's console, and what is typed to it."""

    port: Port
    refuse: list[tuple[str, str]]
    """Patterns that end the preparation wherever they appear, and what they mean."""
    note: Callable[[bytes], None] = lambda data: None
    """Takes every byte that came, for the log."""
    clock: Callable[[], float] = time.monotonic
    text: str = ""
    """What came since the last prompt, without what a terminal does not show."""
    ended: bool = False
    _rest: bytes = field(default=b"", repr=False)

    def take(self, seconds: float) -> bool:
        """Wait so long for a byte; True if one came."""
        data = self.port.read(seconds)
        if data is None:
            self.ended = True
            return False
        if data:
            self.note(data)
            text = (self._rest + data).decode("latin-1")
            # An escape sequence may come in two pieces.
            cut = text.rfind("\x1b")
            whole = len(text) if cut < 0 or ESCAPES.match(text, cut) or len(text) - cut > 32 else cut
            self._rest = text[whole:].encode("latin-1")
            self.text = (self.text + ESCAPES.sub("", text[:whole]))[-KEPT_CHARACTERS:]
            for pattern, meaning in self.refuse:
                if found := re.search(pattern, self.text, re.M):
                    raise Stopped(f"{meaning} ({found[0]!r})")
        return bool(data)

    def last_words(self) -> str:
        """The end of what came, for a message."""
        return " ".join(self.text.split())[-QUOTED_CHARACTERS:]

    def expect(self, pattern: str, silent_s: float, nudge: str = "", nudge_s: float = NUDGE_S) -> str:
        """Wait for a prompt; returns what came up to its end, which is taken out of `text`."""
        known = re.compile(pattern, re.M)
        heard = nudged = self.clock()
        # The echo of a nudge is a sign of life, too: without a limit a machine that only echoes would never stop.
        nudges = 0
        while True:
            if (found := known.search(self.text)) and not self.take(0):
                # Nothing more was on its way, so that what looks like a prompt is not the middle of a line.
                found = known.search(self.text) or found
                came, self.text = self.text[: found.end()], self.text[found.end() :]
                return came
            if found:
                heard = nudged = self.clock()
                continue
            if self.ended:
                raise Stopped(f"the machine ended; its last words: {self.last_words()!r}")
            if self.take(min(1.0, nudge_s, silent_s)):
                heard = nudged = self.clock()
                continue
            now = self.clock()
            if now - heard >= silent_s:
                raise Stopped(f"the console said nothing for {silent_s:g} s; its last words: {self.last_words()!r}")
            if nudge and nudges < NUDGES and now - nudged >= nudge_s:
                self.send(nudge)
                nudged, nudges = now, nudges + 1

    def send(self, keys: str) -> None:
        """Type keys as they are."""
        self.port.write(keys.encode("latin-1"))

    def wait_end(self, silent_s: float) -> None:
        """Wait for the machine's end."""
        heard = self.clock()
        while not self.ended:
            if self.take(min(1.0, silent_s)):
                heard = self.clock()
            elif self.clock() - heard >= silent_s:
                raise Stopped(f"the machine did not end in {silent_s:g} s; its last words: {self.last_words()!r}")

    def type_line(self, line: str, echo_s: float) -> None:
        """Type a line at a prompt and end it, once its echo is whole; a line that lost bytes is typed again."""
        wanted = "".join(line.split())
        for _ in range(TYPING_TRIES):
            self.text = ""
            self.send(line)
            heard = self.clock()
            # A shell breaks long lines as it likes: white space is not compared.
            while wanted not in "".join(self.text.split()):
                if self.ended:
                    raise Stopped(f"the machine ended; its last words: {self.last_words()!r}")
                if self.take(min(1.0, echo_s)):
                    heard = self.clock()
                elif self.clock() - heard >= echo_s:
                    break
            else:
                self.text = ""
                self.send(LINE_END)
                return
            self.send(KILL_LINE)
            while self.take(min(1.0, echo_s)):
                pass
        raise Stopped(f"the console loses bytes: {line!r} was typed {TYPING_TRIES} times, and never came back whole")

    def run(self, line: str, number: int, prompt: str, silent_s: float, patience: Patience) -> None:
        """Run a command at a shell's prompt; raises Stopped if it fails. It may be run again where its end was lost, so
        it must be one that can be. The prompt behind it is left for the next step."""
        if "'" in line:
            raise ValueError(f"a command of a step has a quotation mark ': {line}")
        for number_of_try in range(COMMAND_TRIES):
            mark = f"spindle-{number}-{number_of_try}"
            # sh(1), because the shell at the prompt may be csh(1), which calls the status otherwise.
            self.type_line(f"sh -c '{line}; echo {mark}-$?'", patience.echo_s)
            came = self.expect(rf"{mark}-\d+\s|{prompt}", silent_s, INTERRUPT, max(patience.nudge_s, silent_s / 2))
            found = re.search(rf"{mark}-(\d+)\s", came)
            if not found:
                continue
            if found[1] != "0":
                words = " ".join(came[: found.start()].split())[-QUOTED_CHARACTERS:]
                raise Stopped(f"`{line}` exited with status {found[1]}: {words!r}")
            return
        raise Stopped(f"`{line}` was run {COMMAND_TRIES} times, and never said that it had ended")


def play(
    name: str,
    steps: list[dict],
    start: Callable[[str], Console],
    say: Callable[[str], None],
    patience: Patience | None = None,
) -> None:
    """Go through the steps of a guest's preparation. `start` starts the machine from `medium` or `disk`. Raises Stopped
    with one message: guest, step, reason."""
    console: Console | None = None
    patience = patience or Patience()
    for number, step in enumerate(steps, start=1):
        place = f"{name}: step {number} of {len(steps)}, {step['name']}"
        try:
            if "boots" in step:
                if console is not None and not console.ended:
                    raise Stopped("the machine has not ended, so that it cannot be started again")
                console = start(step["boots"])
            if console is None:
                raise Stopped("no step started the machine")
            silent_s = patience.silent_s or step.get("silent_s", SILENT_S)
            say(place)
            if step["wait"] == END:
                if "send" in step:
                    console.type_line(step["send"].removesuffix(LINE_END), patience.echo_s)
                console.wait_end(silent_s)
                continue
            console.expect(step["wait"], silent_s, step.get("nudge", ""), patience.nudge_s)
            console.send(step.get("send", ""))
            if "run" in step:
                console.run(step["run"], number, step["wait"], silent_s, patience)
                # The prompt behind it, for the next step.
                console.send(step.get("nudge", LINE_END))
        except Stopped as error:
            open_question = f"; not known without the real system: {step['unanswered']}" if "unanswered" in step else ""
            raise Stopped(f"{place}: {error}{open_question}") from None
