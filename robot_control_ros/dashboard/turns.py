"""The page's own thread: what people click and what the node answers waits there for its turn."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from .link import Reply, RequestResult

PERIOD = 1.0 / 30.0  # s between two drawings


class Turns:
    """Calls `draw` 30 times per second, and in between whatever was asked for, all in one thread.

    Args:
        draw: one drawing.
        refuse: called with the message of each refusal.
    """

    def __init__(self, draw: Callable[[], None], refuse: Callable[[str], None]) -> None:
        self._draw, self._refuse = draw, refuse
        self._waiting: queue.SimpleQueue[Callable[[], Any]] = queue.SimpleQueue()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="page", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """End, and wait for it."""
        self._ending.set()
        self._waiting.put(lambda: None)
        self._thread.join()

    def post(self, action: Callable[[], Any]) -> None:
        """Let the action wait for its turn."""
        self._waiting.put(action)

    def callback(self, action: Callable[[], Any]) -> Callable[[Any], Any]:
        """For viser's handles: the action waits for its turn. What this program itself assigns is no event."""
        return self.choice(lambda value: action())

    def choice(self, action: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """The same; the action gets the handle's value of when it happened, as for the button that was clicked."""

        async def take(event: Any) -> None:
            """In viser's own thread, so that nothing overtakes."""
            if event.client_id is not None:
                value = event.target.value
                self._waiting.put(lambda: action(value))

        return take

    def reply(self, then: Callable[[RequestResult], Any] | None = None) -> Reply:
        """For the link: a refusal is passed on, and then, in its turn, what is to be done with the answer."""

        def take(answer: RequestResult) -> None:
            if not answer.accepted:
                self._refuse(answer.message)
            if then is not None:
                then(answer)

        return lambda answer: self._waiting.put(lambda: take(answer))

    def _run(self) -> None:
        due = time.monotonic()
        while not self._ending.is_set():
            now = time.monotonic()
            if now >= due:
                due = max(due + PERIOD, now)
                _report_errors(self._draw)
                continue
            try:
                action = self._waiting.get(timeout=due - now)
            except queue.Empty:
                continue
            _report_errors(action)


def _report_errors(action: Callable[[], Any]) -> None:
    """What goes wrong in one turn is logged, and the page goes on."""
    try:
        action()
    except Exception:
        logging.getLogger(__name__).exception("the page")
