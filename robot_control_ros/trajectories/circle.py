"""A circle of the tip."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..errors import ConfigError
from ..spatial import cross
from ..types import Array, Reference


class Circle:
    """A circle of the tip through the start pose, orientation kept, faded in so that it begins at rest.

    Args:
        start: (4, 4) pose to begin at.
        radius: [m].
        period: of one turn [s].
        time: of the start [s].
        normal: (3,) axis of the circle in the base.
        fade: time to reach full speed [s].
        q: (n,) posture to name in the reference, or None.
    """

    def __init__(
        self,
        start: Array,
        radius: float,
        period: float,
        time: float = 0.0,
        normal: Sequence[float] = (1.0, 0.0, 0.0),
        fade: float = 1.0,
        q: Array | None = None,
    ) -> None:
        for name, value in (("radius", radius), ("period", period), ("fade", fade)):
            if not (math.isfinite(value) and value > 0.0):
                raise ConfigError(f"circle: {name} = {value}: must be above 0")
        axis = np.asarray(normal, dtype=float)
        if axis.shape != (3,) or not 0.0 < np.linalg.norm(axis) < math.inf:
            raise ConfigError(f"circle: normal = {axis.tolist()}: must be 3 finite numbers, not all 0")
        axis = axis / np.linalg.norm(axis)
        helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
        first = helper - axis * (axis @ helper)
        self._first = first / np.linalg.norm(first)
        self._second = cross(axis, self._first)
        self._start, self._radius, self._time, self._q = start, radius, time, q
        self._rate, self._fade = 2.0 * math.pi / period, fade

    def sample(self, t: float) -> Reference:
        angle, rate, change = self._phase(t - self._time)
        cosine, sine = math.cos(angle), math.sin(angle)
        along = self._radius * (-sine * self._first + cosine * self._second)
        inward = -self._radius * (cosine * self._first + sine * self._second)
        pose = self._start.copy()
        pose[:3, 3] += -self._radius * self._first - inward
        twist, acceleration = np.zeros(6), np.zeros(6)
        twist[:3] = rate * along
        acceleration[:3] = change * along + rate**2 * inward
        return Reference(pose, twist, acceleration, None, self._q)

    def _phase(self, t: float) -> tuple[float, float, float]:
        """Angle, angular rate and its derivative: the rate rises as 3 s² - 2 s³ over the fade."""
        if t <= 0.0:
            return 0.0, 0.0, 0.0
        if t >= self._fade:
            return self._rate * (t - self._fade / 2.0), self._rate, 0.0
        s = t / self._fade
        angle = self._rate * self._fade * (s**3 - s**4 / 2.0)
        return angle, self._rate * (3.0 - 2.0 * s) * s**2, self._rate * 6.0 * s * (1.0 - s) / self._fade
