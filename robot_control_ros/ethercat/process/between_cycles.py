"""Lets another thread change what the cycle uses: between two cycles, in the cycle's own thread."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from ...core.errors import HardwareFault

CALL_TIMEOUT = 1.0  # s for an action to be done


class BetweenCycles:
    """Actions that wait for the end of the cycle."""

    def __init__(self) -> None:
        self._actions: deque[Callable[[], None]] = deque()

    def add(self, action: Callable[[], None]) -> None:
        """Have an action done, from any thread."""
        self._actions.append(action)

    def call(self, action: Callable[[], Any]) -> Any:
        """Have an action done, from another thread than the cycle's; returns its result, and raises its error.

        Raises:
            HardwareFault: the cycle doesn't run.
        """
        done, result = threading.Event(), []

        def act() -> None:
            try:
                result.append(action())
            except Exception as error:
                result.append(error)
            done.set()

        self.add(act)
        if not done.wait(CALL_TIMEOUT):
            raise HardwareFault("the cycle doesn't run")
        if isinstance(result[0], Exception):
            raise result[0]
        return result[0]

    def run(self) -> None:
        """Do them; in the cycle's thread."""
        while self._actions:
            self._actions.popleft()()
