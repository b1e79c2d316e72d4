"""A circle of the tip."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..core.types import Array, Reference
from .contours import CircleContour, along, tip_reference
from .trajectory import check_positive


class Circle:
    """A circle of the tip through the start pose, orientation kept, faded in so that it begins at rest; without end.

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
        check_positive("circle", radius=radius, period=period, fade=fade)
        there = CircleContour((0.0, 0.0, 0.0), radius, normal).point(0.0)
        self._contour = CircleContour(start[:3, 3] - there, radius, normal)
        self._start, self._time, self._q = start, time, q
        self._speed, self._fade = 2.0 * math.pi * radius / period, fade

    def sample(self, t: float) -> Reference:
        return tip_reference(self._start, along(self._contour, *self._way(t - self._time)), self._q)

    def _way(self, t: float) -> tuple[float, float, float]:
        """Way along the circle, speed and its derivative: the speed rises as 3 s² - 2 s³ over the fade."""
        if t <= 0.0:
            return 0.0, 0.0, 0.0
        if t >= self._fade:
            return self._speed * (t - self._fade / 2.0), self._speed, 0.0
        s = t / self._fade
        way = self._speed * self._fade * (s**3 - s**4 / 2.0)
        return way, self._speed * (3.0 - 2.0 * s) * s**2, self._speed * 6.0 * s * (1.0 - s) / self._fade
