"""Waiting for a robot, in the thread of its user."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..core.errors import NotReached
from .backend import RobotBackend
from .snapshot import Snapshot

SLICE = 0.05  # s, longest wait without a look at the clock


def wait_for(
    backend: RobotBackend,
    condition: Callable[[Snapshot], Any],
    timeout: float = math.inf,
    faults: int | None = None,
    what: str = "the condition",
) -> Snapshot:
    """Wait for the first state with a condition, of those that are looked at.

    Args:
        backend: Robot that is waited for.
        condition: Condition of a state.
        timeout: Time after which the wait ends [s].
        faults: Number of the feed's faults when the wait began to count; None for now.
        what: Name of what is waited for.

    Raises:
        NotReached: The time is over.
        RobotControlError: The robot has a fault.
    """
    feed = backend.feed
    seen = None
    since = feed.faults if faults is None else faults
    start = backend.clock()
    while True:
        feed.check(since)
        newest = feed.newest
        if newest is not None and newest is not seen and condition(newest):
            return newest
        seen = newest
        left = start + timeout - backend.clock()
        if left <= 0.0:
            raise NotReached(
                f"{what} was not reached within {timeout:g} s", name=what, bound=timeout
            )
        backend.advance(seen, min(left, SLICE))


@contextmanager
def held_on_interrupt(backend: RobotBackend) -> Iterator[None]:
    """A Ctrl-C within it holds the robot, and goes on at once."""
    try:
        yield
    except KeyboardInterrupt:
        backend.interrupt()
        raise
