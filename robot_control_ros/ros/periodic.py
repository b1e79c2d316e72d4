"""A function that is called again and again in a thread of its own."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

from ..core.timeout import Timeout

# s that stop() waits for a call that goes on; one that hangs would hold up the end of the process
STOPPED_WITHIN = 0.2
_supervised: set[Periodic] = set()


class Periodic:
    """Calls a function until :meth:`stop`; neither an executor nor simulated time holds it up.

    What the function raises goes to ``threading.excepthook``: :func:`.running.run` ends the process
    then.

    Args:
        step: Function that is called. It returns the time until its next call [s].
        name: Name of the thread.
        limit: Longest time without an end of a call [s]; where it takes longer, run() ends the
            process.

    Attributes:
        step: Function that is called; a test may call it without the thread.
    """

    def __init__(self, step: Callable[[], float], name: str, limit: float = math.inf) -> None:
        self.step = step
        self._limit = limit
        self._calls = 0
        self._seen = 0
        self._silence = Timeout(limit)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Call the function from now on."""
        self._silence.restart(time.monotonic())
        if math.isfinite(self._limit):
            _supervised.add(self)
        self._thread.start()

    def stop(self) -> None:
        """End the calls; a call that goes on has 0.2 s to end."""
        self._ending.set()
        _supervised.discard(self)
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(STOPPED_WITHIN)

    def complaint(self, now: float) -> str:
        """Text that says that a call hangs at the steady time `now` [s]; empty where none does.

        Only one thread may ask.
        """
        if self._calls != self._seen:
            self._seen = self._calls
            self._silence.restart(now)
            return ""
        silence = self._silence.poll(now)
        if silence <= self._limit:
            return ""
        return f"the thread {self._thread.name!r} hangs for {silence:.1f} s: must end a call within {self._limit:g} s"

    def _run(self) -> None:
        while not self._ending.wait(self.step()):
            self._calls += 1


def complaints(now: float) -> list[str]:
    """Texts on the threads that exceed their limit, at the steady time `now` [s]."""
    return [text for each in tuple(_supervised) if (text := each.complaint(now))]
