"""What the network between an arm and its computer does to messages."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable
from typing import Any


class Line:
    """Carries messages: all of them, at once and in order, until one of its attributes says
    otherwise.

    Attributes:
        loss: Share of the messages that get lost, from 0 to 1.
        delay: Time that each message takes [s].
        jitter: Largest time that is added to the delay by chance [s]; so messages overtake each
            other.
        copies: Number of times that each message comes again.
        change: Function that makes another message of each one, or None where nothing shall arrive.
            Without it messages stay as they are.
        lost: Number of messages that were lost.
    """

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self._numbers = itertools.count()
        self._on_the_way: list[tuple[float, int, Any]] = []
        self.lost = 0
        self.mend()

    def mend(self) -> None:
        """Carry all messages again; those on the way arrive."""
        self.loss = 0.0
        self.delay = 0.0
        self.jitter = 0.0
        self.copies = 0
        self.change: Callable[[Any], Any] | None = None

    @property
    def perfect(self) -> bool:
        """True where the line carries all messages, at once, in order and once each."""
        return self.change is None and not any(
            (self.loss, self.delay, self.jitter, self.copies, self._on_the_way)
        )

    def send(self, time: float, message: Any) -> None:
        """Take a message at a time [s]."""
        changed = message if self.change is None else self.change(message)
        if changed is None or self._random.random() < self.loss:
            self.lost += 1
            return
        for _ in range(1 + self.copies):
            arrival = time + self.delay + self.jitter * self._random.random()
            heapq.heappush(self._on_the_way, (arrival, next(self._numbers), changed))

    def arrived(self, time: float) -> list[Any]:
        """The messages that have arrived at a time [s] since the last call, in the
        order of their arrival.
        """
        messages = []
        while self._on_the_way and self._on_the_way[0][0] <= time + 1e-9:
            messages.append(heapq.heappop(self._on_the_way)[2])
        return messages
