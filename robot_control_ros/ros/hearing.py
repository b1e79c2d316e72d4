"""Notices that this process receives no messages any more: it sends some to itself.

Fast DDS can go deaf: two of its threads wait for each other for ever (docs/middleware.md). The
process still publishes then, but receives nothing. Whoever destroys a publisher or a subscription
waits for ever, too. So a process that is deaf says so and ends. Where nobody else sends, its own
message shows whether it hears.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from std_msgs.msg import Empty

from ..core.timeout import Timeout
from .periodic import Periodic
from .polled import PolledSubscriptions

PERIOD = 0.1  # s between two looks
OWN = "~/_own"  # topic, hidden from `ros2 topic list`
LIMIT = 0.7  # s without an own message after which a process that was awake is deaf
ADVICE = "the middleware (DDS) of this process has failed, see docs/middleware.md"


class Hearing:
    """Sends messages to itself, and judges by those that come back.

    A process that stood still itself, or had no processor, is not deaf: see :class:`Timeout`. A
    middleware that has failed may hold up each call that sends or receives. So the thread that
    judges makes no such calls.

    Args:
        send: Sends one message.
        receive: Returns the messages that have come since its last call.
        period: Time between two looks [s].
        limit: Time without a message after which it is deaf [s].
        close: Function that destroys publisher and subscription.

    Attributes:
        deaf: True once no message came back for the limit. It stays True.
    """

    def __init__(
        self,
        send: Callable[[], object],
        receive: Callable[[], list[Any]],
        period: float = PERIOD,
        limit: float = LIMIT,
        close: Callable[[], object] = lambda: None,
    ) -> None:
        self.close = close
        self.deaf = False
        self._limit = limit
        self._period = period
        self._send = send
        self._receive = receive
        self._silence = Timeout(limit)
        self._heard = -math.inf  # when a message came back last [s]
        self._judged: float | None = None  # value of _heard at the last judgement
        self._threads: tuple[Periodic, ...] = ()

    @classmethod
    def of(cls, node: Node, period: float = PERIOD) -> Hearing:
        """The hearing of a node's process, with a topic that only this node uses."""
        polled = PolledSubscriptions(node, "hearing")
        return cls(polled.publisher(Empty, OWN), polled.add(Empty, OWN), period, close=polled.close)

    def look(self, now: float) -> bool:
        """Exchange and judge, at the steady time `now` [s]; returns True where it is deaf."""
        self.exchange(now)
        return self.judge(now)

    def exchange(self, now: float) -> None:
        """Receive the messages that came back, and send again, at the steady time `now` [s]."""
        if self._receive():
            self._heard = now
        self._send()

    def judge(self, now: float) -> bool:
        """Return True where it is deaf, at the steady time `now` [s], by what has come back."""
        heard = self._heard
        if self._judged is None or heard > self._judged:
            self._judged = heard
            self._silence.restart(now)
        elif self._silence.poll(now) > self._limit:
            self.deaf = True
        return self.deaf

    def proven(self, now: float, within: float) -> bool:
        """Return True where a message came back within this time [s] before `now` (steady time)."""
        return not self.deaf and now - self._heard <= within

    def start(self, on_deaf: Callable[[], object]) -> None:
        """Exchange and judge from now on, in a thread each.

        The thread that judges calls `on_deaf`, once.
        """

        def exchange() -> float:
            if not self.deaf:
                self.exchange(time.monotonic())
            return self._period

        def judge() -> float:
            if not self.deaf and self.judge(time.monotonic()):
                on_deaf()
            return PERIOD

        self._threads = (Periodic(exchange, "hearing"), Periodic(judge, "deafness"))
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Look no more."""
        for thread in self._threads:
            thread.stop()


def say_deaf(name: str) -> None:
    """Print to the terminal that a node is deaf; the log's topic needs the middleware."""
    print(f"[{name}]: hears nothing, not even itself: {ADVICE}", file=sys.stderr, flush=True)
