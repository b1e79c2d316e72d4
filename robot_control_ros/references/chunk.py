"""Points at given times, joined smoothly, as a policy sends them in advance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import numpy as np

from ..core.errors import refused
from ..core.types import Array

KEPT = 3  # points of a chunk that its last velocities depend on


class Chunk(ABC):
    """Points at rising times. Before the first and after the last one it rests there.

    Between two points it goes along a cubic. The velocities at the points are those of a parabola
    through three of them; at an end, those of a line.

    Args:
        times: (k,) rising times [s], k >= 1.
        points: (k, …) finite points, one for each time.
        shape: Shape of one point.
        where: Name of the trajectory, for errors.
        name: Name of the points, for errors.

    Attributes:
        begin, end: First and last time [s].

    Raises:
        ConfigError: numbers that aren't finite, times that don't rise, other numbers of points.
    """

    def __init__(
        self, times: Array, points: Array, shape: tuple[int, ...], where: str, name: str
    ) -> None:
        if points.shape != (len(times), *shape) or not len(times):
            rule = f"must be one of the shape {shape} for each of {len(times)} times"
            raise refused(name, points.shape, rule, len(times), where=f"{where}: ")
        if not np.isfinite(points).all():
            bad = int(np.flatnonzero(~np.isfinite(points).reshape(len(points), -1).all(axis=1))[0])
            raise refused(name, points[bad], "must be finite", where=f"{where}: point {bad}: ")
        if not (np.isfinite(times).all() and (np.diff(times) > 0.0).all()):
            raise refused("times", times, "must be finite and rise", where=f"{where}: ", unit="s")
        self.begin = float(times[0])
        self.end = float(times[-1])
        self._times = times
        self._points = points
        self._cubic: tuple[int, Array] | None = None  # number and coefficients of the last piece

    @abstractmethod
    def _made(self, times: Array, points: Array) -> Self:
        """A chunk of the same kind, of other points."""

    @abstractmethod
    def _step(self, i: int) -> Array:
        """Way from point i to the next one [m or rad]."""

    def followed_by(self, later: Self) -> Self:
        """A chunk of the last points of this one, and all points of one that begins after them."""
        times = np.concatenate((self._times[-KEPT:], later._times))
        return self._made(times, np.concatenate((self._points[-KEPT:], later._points)))

    def resting(self, time: float) -> Self:
        """A chunk that rests at the last point, at a time [s]."""
        return self._made(np.array((time,)), self._points[-1:])

    def _way(self, t: float) -> tuple[int, Array | None]:
        """Number of the point before t [s], and the way from there; None where it rests."""
        if t <= self.begin or t >= self.end:
            return (0 if t <= self.begin else -1), None
        i = int(np.searchsorted(self._times, t, side="right")) - 1
        if self._cubic is None or self._cubic[0] != i:
            self._cubic = i, self._coefficients(i)
        u = (t - float(self._times[i])) / float(self._times[i + 1] - self._times[i])
        return i, np.tensordot((u, u**2, u**3), self._cubic[1], 1)

    def _coefficients(self, i: int) -> Array:
        """Coefficients (3, …) of u, u² and u³ on the way from point i to the next one.

        u is the fraction of the time between them.
        """
        length = float(self._times[i + 1] - self._times[i])
        step = self._step(i)
        slope = length * self._velocity(i)
        after = self._slope_after(step, length * self._velocity(i + 1))
        return np.array((slope, 3.0 * step - 2.0 * slope - after, slope + after - 2.0 * step))

    def _slope_after(self, step: Array, slope: Array) -> Array:
        """Slope of the way at its end, for a velocity there; `step` is the whole way."""
        return slope

    def _velocity(self, i: int) -> Array:
        """Velocity at point i."""
        last = len(self._times) - 1
        if i in (0, last):
            return self._rate(min(i, last - 1))
        before, after = np.diff(self._times[i - 1 : i + 2])
        rate_before = self._rate(i - 1)
        rate_after = self._rate(i)
        return np.asarray((after * rate_before + before * rate_after) / (before + after))

    def _rate(self, i: int) -> Array:
        """Mean velocity from point i to the next one."""
        return self._step(i) / float(self._times[i + 1] - self._times[i])


class JointChunk(Chunk):
    """Joint angles at rising times; see :class:`Chunk`.

    Args:
        times: (k,) rising times [s], k >= 1.
        positions: (k, n) joint angles [rad].
    """

    def __init__(self, times: Array, positions: Array) -> None:
        super().__init__(times, positions, positions.shape[1:], "joint trajectory", "positions")

    def at(self, t: float) -> Array:
        """Joint angles (n,) at t [s]."""
        i, way = self._way(t)
        point: Array = self._points[i]
        return point if way is None else point + way

    def _made(self, times: Array, points: Array) -> JointChunk:
        return JointChunk(times, points)

    def _step(self, i: int) -> Array:
        return np.asarray(self._points[i + 1] - self._points[i])
