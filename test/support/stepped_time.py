"""A time that only the test moves, and what happens in it.

:mod:`graph` adds nodes to it, :mod:`stepped_loop` runs the servers of pages on it.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable


class SteppedTime:
    """What is due, in the order of its times; whatever happens takes no time itself.

    Args:
        start: what the clock shows at first [ns].

    Attributes:
        now: the clock [ns].
    """

    def __init__(self, start: int) -> None:
        self.now = start
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._stepping = False

    def after(self, delay: int, action: Callable[[], None]) -> None:
        """Do something after a delay [ns]."""
        heapq.heappush(self._events, (self.now + delay, next(self._numbers), action))

    def step(self, end: int) -> bool:
        """Let the next thing happen, unless that is after `end` [ns]; returns whether something
        did.

        The time is then that of what happened, or `end`.
        """
        due, action = self._next_thing()
        if due is None or due > end:
            self.now = max(self.now, end)
            return False
        self.now = max(self.now, due)
        before, self._stepping = self._stepping, True
        try:
            action()
        finally:
            self._stepping = before
        return True

    def run_for(self, duration: int) -> None:
        """Let a time [ns] pass, and what happens in it."""
        end = self.now + duration
        while self.step(end):
            pass

    def sleep(self, seconds: float) -> None:
        """``time.sleep``: where the test sleeps, the world goes on; what sleeps in a
        step holds up all else.
        """
        if self._stepping:
            self.now += round(seconds * 1e9)
        else:
            self.run_for(round(seconds * 1e9))

    def _next_thing(self) -> tuple[int | None, Callable[[], None]]:
        """When the next thing is due [ns], and how it is done; None where nothing is."""
        return (self._events[0][0] if self._events else None), self._do_event

    def _do_event(self) -> None:
        heapq.heappop(self._events)[2]()
