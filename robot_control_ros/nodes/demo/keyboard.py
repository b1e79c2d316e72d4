"""Keys from the terminal that the program runs in."""

from __future__ import annotations

import atexit
import os
import re
import select
import sys
import termios
import tty
from typing import Any, TextIO

_NAMES = {b"\x1b": "escape"} | {
    f"\x1b{mode}{final}".encode(): name
    for mode in "[O"  # the two that terminals have
    for final, name in (("A", "up"), ("B", "down"), ("C", "right"), ("D", "left"))
}
_KEY = re.compile(rb"\x1b[\[O][^@-~]*[@-~]|\x1b(?=[^\[O])|[^\x1b]", re.DOTALL)  # a sequence, Escape, a character


class KeyReader:
    """Bytes of a terminal as names of keys: up, down, right, left, escape, or the character."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[str]:
        """The keys that are complete with this; no data means that the key that has begun gets no more bytes."""
        self._rest += data
        found = []
        while key := _KEY.match(self._rest):
            self._rest = self._rest[key.end() :]
            found.append(key.group())
        if not data:
            found.append(self._rest)
            self._rest = b""
        names = (_NAMES.get(key, key.decode("latin-1") if len(key) == 1 else "") for key in found)
        return [name for name in names if name]


class Keyboard:
    """The keys of a terminal, one by one and without echo, between enter and exit; Ctrl-C stays an interrupt.

    Attributes:
        usable: False where the stream is no terminal, or another program has it; there are no keys then.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stdin if stream is None else stream
        self._reader = KeyReader()
        self._before: list[Any] | None = None
        try:
            number = self._stream.fileno()
            self.usable = os.isatty(number) and os.tcgetpgrp(number) == os.getpgrp()
        except (OSError, ValueError):  # closed, or not this session's terminal
            self.usable = False

    def __enter__(self) -> Keyboard:
        if self.usable:
            self._before = termios.tcgetattr(self._stream)
            atexit.register(self._restore)
            tty.setcbreak(self._stream)
        return self

    def __exit__(self, *exception: object) -> None:
        self._restore()
        atexit.unregister(self._restore)

    def _restore(self) -> None:
        if self._before is not None:
            termios.tcsetattr(self._stream, termios.TCSAFLUSH, self._before)
            self._before = None

    def keys(self) -> list[str]:
        """The keys since the last call, at once."""
        if self._before is None:
            return []
        ready, _, _ = select.select([self._stream], [], [], 0.0)
        try:
            data = os.read(self._stream.fileno(), 1024) if ready else b""
        except OSError:  # the terminal has gone
            data = b""
        return self._reader.feed(data)
