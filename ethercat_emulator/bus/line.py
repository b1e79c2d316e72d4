"""The cable between the master and the first slave, on which frames get lost or late."""

from __future__ import annotations

from collections import deque

from .chain import Bus


class Line:
    """Frames go in, and come out of it when it is time.

    Args:
        bus: at its end.

    Attributes:
        up: else nothing goes through.
        lose: so many frames get lost from now on, before they reach a slave.
        late: so many frames come back late from now on.
        delay: how late [ns].
    """

    def __init__(self, bus: Bus) -> None:
        self.bus = bus
        self.up = True
        self.lose = 0
        self.late = 0
        self.delay = 0
        self._waiting: deque[tuple[int, bytes]] = deque()

    def exchange(self, frame: bytes | None, now: int) -> list[bytes]:
        """Send a frame, or none, and get those that come back by now [ns]."""
        if frame is None:
            self.bus.advance(now)
        else:
            self._send(frame, now)
        replies = []
        while self._waiting and self._waiting[0][0] <= now:
            replies.append(self._waiting.popleft()[1])
        return replies

    def due(self, now: int) -> int | None:
        """How long it is until the next late frame [ns]; None where none is under way."""
        return max(self._waiting[0][0] - now, 0) if self._waiting else None

    def _send(self, frame: bytes, now: int) -> None:
        if not self.up or self.lose:
            self.lose -= self.up
            self.bus.advance(now)
            return
        reply = self.bus.process(frame, now)
        if reply is None:
            return
        due = now
        if self.late:
            self.late -= 1
            due += self.delay
        self._waiting.append((max(due, self._waiting[-1][0] if self._waiting else 0), reply))
