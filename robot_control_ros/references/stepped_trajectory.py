"""Trajectories that are integrated from sample to sample."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

from ..core.types import Reference

STEP = 0.005  # s, longest step of integration


class SteppedTrajectory(ABC):
    """A trajectory that is integrated from sample to sample.

    It remembers where it is: sample() must be called with rising times.
    """

    _time: float  # of the last step [s]
    _now: Reference  # of the last sample

    @property
    @abstractmethod
    def arrived(self) -> bool:
        """True where it rests at its target."""

    def sample(self, t: float) -> Reference:
        left = t - self._time
        if left <= 0.0:
            return self._now
        if not self.arrived:
            steps = math.ceil(left / STEP)
            for _ in range(steps):
                self._advance(left / steps)
            self._now = self._reference()
        self._time = t
        return self._now

    @abstractmethod
    def _advance(self, dt: float) -> None:
        """Advance by one step of dt [s]."""

    @abstractmethod
    def _reference(self) -> Reference:
        """The present reference."""
