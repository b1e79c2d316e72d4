"""Keys from the terminal that the program runs in."""

from __future__ import annotations

import atexit
import os
import select
import sys
import termios
import tty
from types import TracebackType
from typing import Any, TextIO

_SEQUENCES = {
    f"\x1b{mode}{final}".encode(): name
    for mode in "[O"  # the two that terminals have
    for final, name in (("A", "up"), ("B", "down"), ("C", "right"), ("D", "left"))
}


class KeyReader:
    """Bytes of a terminal as names of keys: up, down, right, left, escape, or the character."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[str]:
        """The keys that are complete with this; no data says that nothing more will come of what has begun."""
        self._rest += data
        keys = []
        while self._rest:
            key, length = self._first(final=not data)
            if length == 0:
                break
            self._rest = self._rest[length:]
            if key:
                keys.append(key)
        return keys

    def _first(self, final: bool) -> tuple[str, int]:
        """The first key and how many bytes it takes; 0 where more must come, no name where it means nothing here."""
        rest = self._rest
        if rest[:1] != b"\x1b":
            return chr(rest[0]), 1
        if rest[1:2] not in (b"[", b"O"):
            return ("escape", 1) if len(rest) > 1 or final else ("", 0)
        for length in range(3, len(rest) + 1):
            if 0x40 <= rest[length - 1] <= 0x7E:  # the last byte of a sequence
                return _SEQUENCES.get(rest[:length], ""), length
        return ("", len(rest)) if final else ("", 0)


class Keyboard:
    """The keys of a terminal, one by one and without echo, between enter and exit; Ctrl-C stays an interrupt.

    Args:
        stream: the terminal; standard input by default.

    Attributes:
        usable: False where the stream is no terminal, or another program has it; there are no keys then.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stdin if stream is None else stream
        self._reader = KeyReader()
        self._before: list[Any] | None = None
        self.usable = self._in_front()

    def _in_front(self) -> bool:
        try:
            number = self._stream.fileno()
            return os.isatty(number) and os.tcgetpgrp(number) == os.getpgrp()
        except (OSError, ValueError):  # closed, or not this session's terminal
            return False

    def __enter__(self) -> Keyboard:
        if self.usable:
            self._before = termios.tcgetattr(self._stream)
            atexit.register(self._restore)
            tty.setcbreak(self._stream)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
