"""viser wakes its server from any thread with an event of asyncio, which only one thread may set;
this one all may.

Without it a drawing ends now and then with ``RuntimeError: deque mutated during iteration``: the
page's thread walks through the tasks that wait for the event, while the server's thread adds one.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from viser.infra import _infra
from viser.infra._async_message_buffer import AsyncMessageBuffer


class LoopEvent(asyncio.Event):
    """An event whose waiting tasks are only touched in the thread of their loop.

    Args:
        loop: Event loop that the waiting tasks run in.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._own_loop = loop

    def set(self) -> None:
        """Wake the tasks: at once in the loop's own thread, else as soon as the loop gets to it."""
        if asyncio._get_running_loop() is self._own_loop:
            super().set()
            return
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._own_loop.call_soon_threadsafe(super().set)


class LoopMessageBuffer(AsyncMessageBuffer):
    """Messages that wait to be sent to browsers; any thread may add to them."""

    def __init__(
        self, event_loop: asyncio.AbstractEventLoop, persistent_messages: bool, **options: Any
    ) -> None:
        super().__init__(event_loop, persistent_messages, **options)
        self.message_event = LoopEvent(event_loop)
        self.flush_event = LoopEvent(event_loop)


def install() -> None:
    """Let viser's servers and clients have such buffers from now on; viser has
    no option for that.
    """
    module: Any = _infra
    module.AsyncMessageBuffer = LoopMessageBuffer
