"""The states of a robot from a time on, as samples of a log: in memory or in a file."""

from __future__ import annotations

from collections.abc import Callable

from ..simulation.log import LogSample
from .snapshot import Snapshot
from .state_feed import Event


class StateRecording:
    """Gives the states of a feed to a function that keeps them.

    Args:
        keep: Function that takes each sample.
        start: Time of the first state that is kept, which counts as 0 [s].
    """

    def __init__(self, keep: Callable[[LogSample], object], start: float) -> None:
        self._keep = keep
        self._start = start

    def restart(self, start: float) -> None:
        """Keep the states from another time [s] on."""
        self._start = start

    def take(self, event: Event) -> None:
        """A state; what else comes isn't kept."""
        if isinstance(event, Snapshot) and event.time >= self._start:
            self._keep(LogSample.of(event.time - self._start, event.blocks))
