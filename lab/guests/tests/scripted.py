# SPDX-License-Identifier: MIT
"""A machine that is only a script: it prints what an installer prints, reads what is typed, and misbehaves as asked."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from lab.guests.console import Console

PRINT, READ, REBOOT = "print", "read", "reboot"


@dataclass
class Clock:
    """Seconds that pass only while somebody waits."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Scripted:
    """A port that a generator plays: it yields text to print, and gets the next line that was typed for `None`."""

    script: Callable[[], Iterator]
    clock: Clock
    lost: Callable[[str, int], bool] = lambda way, number: False
    """Whether a byte is lost; way is `out` (from the machine) or `in` (typed)."""
    echo: bool = True
    typed: str = ""
    _out: bytes = b""
    _line: str = ""
    _lines: list = field(default_factory=list)
    _count: dict = field(default_factory=lambda: {"in": 0, "out": 0})
    _player: Iterator | None = None
    _ended: bool = False
    _waits: bool = False

    def _keep(self, way: str) -> bool:
        self._count[way] += 1
        return not self.lost(way, self._count[way])

    def _print(self, text: str) -> None:
        self._out += bytes(byte for byte in text.encode("latin-1") if self._keep("out"))

    def _step(self) -> None:
        if self._player is None:
            self._player = self.script()
            self._resume(None)
        while self._waits and self._lines:
            self._waits = False
            self._resume(self._lines.pop(0))

    def _resume(self, value) -> None:
        try:
            asked = self._player.send(value)
            while asked is not None:
                self._print(asked)
                asked = self._player.send(None)
            self._waits = True
        except StopIteration:
            self._ended = True

    def read(self, seconds: float) -> bytes | None:
        self._step()
        if self._out:
            # In pieces, as a line brings them.
            piece, self._out = self._out[:7], self._out[7:]
            return piece
        if self._ended:
            return None
        self.clock.now += seconds
        return b""

    def write(self, data: bytes) -> None:
        self._step()
        for byte in data:
            if not self._keep("in"):
                continue
            key = chr(byte)
            self.typed += key
            if key == "\x15":
                if self.echo:
                    self._print("\b \b" * len(self._line))
                self._line = ""
            elif key == "\x03":
                self._line = ""
                self._lines.append("\x03")
            elif key in "\r\n":
                self._lines.append(self._line)
                self._line = ""
                self._print("\r\n")
            elif key == "\x1b":
                self._lines.append("\x1b")
            else:
                self._line += key
                if self.echo:
                    self._print(key)
        self._step()

    def console(self, refuse=()) -> Console:
        """A console on it."""
        return Console(self, list(refuse), clock=self.clock)


def some(probability: float, seed: int) -> Callable[[str, int], bool]:
    """Bytes are lost at random, the same at each run."""
    source = random.Random(seed)
    return lambda way, number: source.random() < probability


def shell(prompt: str, known: dict[str, str], ends: tuple[str, ...] = ()) -> Iterator:
    """A shell that knows some commands: a part of the command line, and what is printed for it. What asks for the
    status gets 0, for an unknown command 127. Ends at a command of `ends`."""
    while True:
        yield prompt
        line = yield None
        if line in ("", "\x03"):
            continue
        if any(word in line for word in ends):
            return
        inner = line.removeprefix("sh -c '").removesuffix("'")
        command, _, mark = inner.rpartition("; echo ")
        said = next((text for part, text in known.items() if part in command), None)
        yield "sh: not found\r\n" if said is None else said
        if mark:
            yield mark.replace("$?", "127" if said is None else "0") + "\r\n"
