"""The page's own thread: it draws, and runs what people click and what the node answers,
one after the other.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

from ..control.requests import Reply, RequestResult
from ..core.errors import ConfigError

PERIOD = 1.0 / 30.0  # s between two drawings
UNWATCHED_PERIOD = 0.2  # s, where no browser shows the page
EVENTS = ("on_click", "on_upload", "on_update")  # of viser's handles, which have one of them


class PageThread:
    """Calls `draw` 30 times per second, and the actions that wait in between.

    Where nobody watches it draws 5 times per second: a robot's computer has other things to do.

    Args:
        draw: Function that does one drawing.
        refuse: Function that shows the message of a refusal; a panel also calls it if it refuses
            something itself.
        watched: Function that returns True where a browser shows the page.
    """

    def __init__(
        self,
        draw: Callable[[], None],
        refuse: Callable[[str], None],
        watched: Callable[[], bool] = lambda: True,
    ) -> None:
        self._watched = watched
        self._draw = draw
        self.refuse = refuse
        # By id of the handle. An action lives as long as its handle, which is why this must not
        # keep it.
        self._actions: weakref.WeakValueDictionary[int, Callable[[Any], Any]] = (
            weakref.WeakValueDictionary()
        )
        self._waiting: queue.SimpleQueue[Callable[[], Any]] = queue.SimpleQueue()
        self._last_error = ""
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="page", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """End, and wait for the end."""
        self._ending.set()
        self._waiting.put(lambda: None)
        self._thread.join()

    def post(self, action: Callable[[], Any]) -> None:
        """Run an action in the page's thread."""
        self._waiting.put(action)

    def connect(self, handle: Any, action: Callable[[Any], Any]) -> Any:
        """Run `action(value)` in the page's thread after each event of a handle of viser; returns
        the handle.

        The value is the one at the event. What this program itself assigns is no event.
        """

        async def on_event(event: Any) -> None:
            """Runs in viser's own thread, so that the events keep their order."""
            if event.client_id is not None:
                value = event.target.value
                self.post(lambda: action(value))

        next(getattr(handle, name) for name in EVENTS if hasattr(handle, name))(on_event)
        self._actions[id(handle)] = action
        return handle

    def enter(self, handle: Any, value: Any) -> None:
        """Set the value of a handle as a browser does, in the page's thread: its action is run."""
        handle.value = value
        action = self._actions.get(id(handle))
        if action is not None:
            action(handle.value)

    def take_file(self, button: Any, action: Callable[[str, bytes, Any], Any]) -> None:
        """Run `action(name, content, camera)` in the page's thread with each file
        that a browser sends.
        """

        async def on_upload(event: Any) -> None:
            if event.client is not None:
                file = event.target.value
                camera = event.client.camera
                self.post(lambda: action(file.name, file.content, camera))

        button.on_upload(on_upload)

    def offer_file(self, button: Any, make: Callable[[Any, Any], tuple[str, bytes]]) -> None:
        """Send a file to the browser that clicks a button.

        `make(value, camera)` gets that browser's camera, and gives name and content, or raises a
        ConfigError.
        """

        async def on_click(event: Any) -> None:
            """Begins in viser's own thread, before the value changes again; the file is
            made in another thread.
            """
            try:
                name, content = await asyncio.to_thread(
                    make, event.target.value, event.client.camera
                )
            except ConfigError as error:
                reason = str(error)
                self.post(lambda: self.refuse(reason))
            else:
                event.client.send_file_download(name, content, save_immediately=True)

        button.on_click(on_click)

    def reply(self, then: Callable[[RequestResult], Any] | None = None) -> Reply:
        """Make a reply for the link: it shows a refusal, then calls `then` with the result.

        Both are done in the page's thread.
        """

        def take(result: RequestResult) -> None:
            if not result.accepted:
                self.refuse(result.message)
            if then is not None:
                then(result)

        return lambda result: self.post(lambda: take(result))

    def turn(self) -> None:
        """Draw, and run what waits until the next drawing is due."""
        due = time.monotonic() + (PERIOD if self._watched() else UNWATCHED_PERIOD)
        self.draw()
        # also if the drawing took the whole period
        while self.run_next(max(due - time.monotonic(), 0.0)):
            pass

    def draw(self) -> None:
        """Draw once."""
        self._report_errors(self._draw)

    def run_next(self, timeout: float) -> bool:
        """Run the next action that waits, or that comes within a time [s].

        Returns True where there was one.
        """
        try:
            action = self._waiting.get(timeout=timeout)
        except queue.Empty:
            return False
        self._report_errors(action)
        return True

    def _run(self) -> None:
        while not self._ending.is_set():
            self.turn()

    def _report_errors(self, action: Callable[[], Any]) -> None:
        """Log an error, so that the page goes on; the same one again and again only once."""
        try:
            action()
        except Exception as error:
            text = repr(error)
            if text != self._last_error:
                self._last_error = text
                logging.getLogger(__name__).exception("the page")
