"""Paths of the tip as curves in space or in a plane, by their arc length; and moves along them.

A contour doesn't know time: that comes from a time scaling. Points have d = 3 coordinates, or 2 in
a plane.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ..core.errors import ConfigError, refused
from ..core.spatial import cross
from ..core.types import Array, Reference
from .time_scaling import TimeScaling
from .trajectory import check_positive

NEAR = 1e-3  # m, from the pose that a move begins at to the contour


class Contour(Protocol):
    """A curve, parametrised by the arc length s [m]; s may have any shape (...)."""

    length: float

    def point(self, s: float | Array) -> Array:
        """Point (..., d) [m]."""

    def tangent(self, s: float | Array) -> Array:
        """Derivative of the point by s (..., d), of length 1; where a corner is, that
        of the part after it.
        """

    def curvature(self, s: float | Array) -> Array:
        """Derivative of the tangent by s (..., d) [1/m]; 0 in a corner."""

    def distance(self, p: Array) -> tuple[Array, Array]:
        """Distance (...) [m] from points (..., d) to the nearest point of the curve, and
        the s (...) of that.
        """


class Polyline:
    """Straight segments from point to point. To close it, name the first point again as the last.

    Args:
        points: (k, 2) or (k, 3) corners of the line [m], k >= 2.

    Attributes:
        lengths, length: Lengths (k - 1,) of the segments, and length of the whole [m].

    Raises:
        ConfigError: another shape, numbers that aren't finite, a point that is the same as the one
            before.
    """

    def __init__(self, points: Any) -> None:
        self.points = np.array(points, dtype=float)
        if self.points.ndim != 2 or len(self.points) < 2 or self.points.shape[1] not in (2, 3):
            shape = self.points.shape
            raise refused(
                "shape of points", shape, "must be (k, 2) or (k, 3), k >= 2", where="polyline: "
            )
        sides = np.diff(self.points, axis=0)
        self.lengths: Array = np.linalg.norm(sides, axis=1)
        if not (np.isfinite(self.lengths) & (self.lengths > 0.0)).all():
            raise refused(
                "points",
                self.points,
                "must be finite, each apart from the next",
                where="polyline: ",
            )
        self._directions = sides / self.lengths[:, None]
        self._knots = np.concatenate(([0.0], np.cumsum(self.lengths)))
        self.length = float(self._knots[-1])

    def point(self, s: float | Array) -> Array:
        s = np.minimum(np.maximum(s, 0.0), self.length)
        at = self._segment(s)
        return np.asarray(self.points[at] + (s - self._knots[at])[..., None] * self._directions[at])

    def tangent(self, s: float | Array) -> Array:
        return np.asarray(self._directions[self._segment(s)])

    def curvature(self, s: float | Array) -> Array:
        return np.zeros((*np.shape(s), self.points.shape[1]))

    def distance(self, p: Array) -> tuple[Array, Array]:
        offsets = p[..., None, :] - self.points[:-1]
        along = np.minimum(np.maximum((offsets * self._directions).sum(axis=-1), 0.0), self.lengths)
        gaps = np.linalg.norm(offsets - along[..., None] * self._directions, axis=-1)
        nearest = gaps.argmin(axis=-1)[..., None]
        s = np.take_along_axis(self._knots[:-1] + along, nearest, axis=-1)[..., 0]
        return np.take_along_axis(gaps, nearest, axis=-1)[..., 0], s

    def _segment(self, s: float | Array) -> Any:
        return np.minimum(np.searchsorted(self._knots[1:], s, side="right"), len(self.lengths) - 1)


class CircleContour:
    """A circle, right-handed about its normal, without end: s may be any number.

    Args:
        center: (2,) or (3,) centre of the circle [m].
        radius: Radius of the circle [m].
        normal: (3,) normal of the circle, of any length; in a plane it is z.
        start: Angle of s = 0 [rad], from the first of the base's axes across the normal: x for the
            normal z.

    Attributes:
        length: Length of one turn [m].

    Raises:
        ConfigError: a radius that isn't above 0, a center or normal that isn't one.
    """

    def __init__(
        self,
        center: Any,
        radius: float,
        normal: Sequence[float] = (0.0, 0.0, 1.0),
        start: float = 0.0,
    ) -> None:
        check_positive("circle", radius=radius)
        self.center = np.array(center, dtype=float)
        axis = np.asarray(normal, dtype=float)
        if self.center.shape not in ((2,), (3,)) or not np.isfinite(self.center).all():
            raise refused("center", self.center, "must be 2 or 3 finite numbers", where="circle: ")
        if axis.shape != (3,) or not 0.0 < np.linalg.norm(axis) < math.inf:
            raise refused("normal", axis, "must be 3 finite numbers, not all 0", where="circle: ")
        d = len(self.center)
        if d == 2 and axis[:2].any():
            raise refused(
                "normal", axis, "must be along z where the center has 2 numbers", where="circle: "
            )
        axis = axis / np.linalg.norm(axis)
        helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
        first = helper - axis * (axis @ helper)
        first = first / np.linalg.norm(first)
        self._first = first[:d]
        self._second = cross(axis, first)[:d]
        self.radius = radius
        self._start = start
        self.length = 2.0 * math.pi * radius

    def point(self, s: float | Array) -> Array:
        return self.center + self.radius * self._outward(s)

    def tangent(self, s: float | Array) -> Array:
        angle = np.asarray(s)[..., None] / self.radius + self._start
        return np.asarray(np.cos(angle) * self._second - np.sin(angle) * self._first)

    def curvature(self, s: float | Array) -> Array:
        return self._outward(s) / -self.radius

    def distance(self, p: Array) -> tuple[Array, Array]:
        offset = p - self.center
        x = offset @ self._first
        y = offset @ self._second
        above = offset - x[..., None] * self._first - y[..., None] * self._second
        gap = np.hypot(np.hypot(x, y) - self.radius, np.linalg.norm(above, axis=-1))
        return gap, self.radius * ((np.arctan2(y, x) - self._start) % (2.0 * math.pi))

    def _outward(self, s: float | Array) -> Array:
        angle = np.asarray(s)[..., None] / self.radius + self._start
        return np.asarray(np.cos(angle) * self._first + np.sin(angle) * self._second)


def along(
    contour: Contour, s: float | Array, speed: float | Array, acceleration: float | Array
) -> tuple[Array, Array, Array]:
    """Position, velocity and acceleration (..., d) of a point at s (...) with s' and s'' (...)."""
    tangent = contour.tangent(s)
    rate = np.asarray(speed)[..., None]
    change = np.asarray(acceleration)[..., None] * tangent + rate**2 * contour.curvature(s)
    return contour.point(s), rate * tangent, change


class TimedContour:
    """A contour passed by a time scaling, once.

    Args:
        contour: Curve along which the point moves.
        timing: Time scaling of the motion, as long as the contour.

    Attributes:
        duration: Duration of the motion [s].

    Raises:
        ConfigError: the lengths differ.
    """

    def __init__(self, contour: Contour, timing: TimeScaling) -> None:
        if not math.isclose(contour.length, timing.length, rel_tol=1e-9):
            rule = f"must be {contour.length:g} m, as the contour"
            raise refused("length of timing", timing.length, rule, contour.length, unit="m")
        self.contour = contour
        self._timing = timing
        self.duration = timing.duration

    def at(self, t: float | Array) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration (..., d) at t (...) [s] after the start."""
        return along(self.contour, *self._timing.at(t))


class ContourMove:
    """Moves the tip along a contour, with its orientation kept.

    Args:
        contour: Contour in the base, with three coordinates, which begins where the tip is.
        timing: Time scaling as long as the contour.
        start: (4, 4) pose to begin at.
        time: Time of the start [s].

    Raises:
        ConfigError: lengths that differ, a contour in a plane, or one that begins elsewhere.
    """

    def __init__(self, contour: Contour, timing: TimeScaling, start: Array, time: float) -> None:
        self._path = TimedContour(contour, timing)
        begin = contour.point(0.0)
        if begin.shape != (3,):
            raise ConfigError(
                "contour move: a contour with 2 coordinates: must have 3", name="contour", bound=3
            )
        if not np.linalg.norm(begin - start[:3, 3]) <= NEAR:
            rule = f"must be within {NEAR} m of the tip, {start[:3, 3].tolist()}"
            raise refused("beginning", begin, rule, NEAR, where="contour move: ")
        self._start = start
        self._time = time
        self.end = time + timing.duration

    def sample(self, t: float) -> Reference:
        return tip_reference(self._start, self._path.at(t - self._time))


class Circle:
    """A circle of the tip through the start pose, with its orientation kept; it never ends.

    Its speed is faded in, so that it begins at rest.

    Args:
        start: (4, 4) pose to begin at.
        radius: Radius of the circle [m].
        period: Duration of one turn [s].
        time: Time of the start [s].
        normal: (3,) axis of the circle in the base.
        fade: Time to reach full speed [s].
    """

    def __init__(
        self,
        start: Array,
        radius: float,
        period: float,
        time: float = 0.0,
        normal: Sequence[float] = (1.0, 0.0, 0.0),
        fade: float = 1.0,
    ) -> None:
        check_positive("circle", radius=radius, period=period, fade=fade)
        there = CircleContour((0.0, 0.0, 0.0), radius, normal).point(0.0)
        self._contour = CircleContour(start[:3, 3] - there, radius, normal)
        self._start = start
        self._time = time
        self._speed = 2.0 * math.pi * radius / period
        self._fade = fade

    def sample(self, t: float) -> Reference:
        return tip_reference(self._start, along(self._contour, *self._way(t - self._time)))

    def _way(self, t: float) -> tuple[float, float, float]:
        """Arc length, speed and its derivative: the speed rises as 3 s² - 2 s³ over the fade."""
        if t <= 0.0:
            return 0.0, 0.0, 0.0
        if t >= self._fade:
            return self._speed * (t - self._fade / 2.0), self._speed, 0.0
        s = t / self._fade
        way = self._speed * self._fade * (s**3 - s**4 / 2.0)
        return (
            way,
            self._speed * (3.0 - 2.0 * s) * s**2,
            self._speed * 6.0 * s * (1.0 - s) / self._fade,
        )


def tip_reference(start: Array, motion: tuple[Array, Array, Array]) -> Reference:
    """Reference with the orientation of `start` and the position, velocity and
    acceleration (3,) of `motion`.
    """
    pose = start.copy()
    twist = np.zeros(6)
    acceleration = np.zeros(6)
    pose[:3, 3], twist[:3], acceleration[:3] = motion
    return Reference(pose, twist, acceleration)
