"""The states that a robot's user wants to keep."""

from __future__ import annotations

import math

from ..simulation.log import LogSample
from .snapshot import Snapshot
from .state_feed import Event


class StateRecording:
    """Keeps nothing before :meth:`restart`.

    Attributes:
        samples: so far.
    """

    def __init__(self) -> None:
        self.samples: list[LogSample] = []
        self._start = math.inf

    def restart(self, start: float) -> None:
        """Keep the states from a time [s] on, and forget those of before."""
        self.samples = []
        self._start = start

    def take(self, event: Event) -> None:
        """A state; what else comes isn't kept."""
        if isinstance(event, Snapshot) and event.time >= self._start:
            self.samples.append(LogSample.of(event.time - self._start, event.blocks))
