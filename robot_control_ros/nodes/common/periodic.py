"""A function that is called again and again in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Periodic:
    """Calls a function until :meth:`stop`; neither an executor nor simulated time holds it up.

    Args:
        step: The function. It returns the time until its next call [s].
        name: Name of the thread.

    Attributes:
        step: As given; a test may call it without the thread.
        failed: Whether the thread has ended by an error of the function.
    """

    def __init__(self, step: Callable[[], float], name: str) -> None:
        self.step, self.failed = step, False
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Call the function from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Wait for the end of a call that goes on; the function is not called any more after this."""
        self._ending.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        try:
            while not self._ending.wait(self.step()):
                pass
        finally:
            self.failed = not self._ending.is_set()
