"""Time scaling: position and speed along a path of given length over time, from rest to rest."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Protocol

import numpy as np

from ..core.errors import refused
from ..core.types import Array
from .trajectory import check_positive

SHORTEST = 0.1  # s, of a quintic within limits
# of a quintic over distance 1 in time 1
PEAK_SPEED = 15.0 / 8.0
PEAK_ACCELERATION = 10.0 / math.sqrt(3.0)


class TimeScaling(Protocol):
    """Arc length along a path over time.

    It rests at 0 before the start, and at `length` after `duration` seconds.
    """

    length: float
    duration: float

    def at(self, t: float | Array) -> tuple[Array, Array, Array]:
        """Arc length s, with s' and s'', at t [s] after the start, each of the shape of t."""


class Trapezoid:
    """Speed that rises evenly, stays, and falls evenly: the shortest time within limits of speed
    and acceleration.

    Where the path is too short to reach the speed, it falls right after it has risen.

    Args:
        length: Length of the path [m or rad].
        speed, acceleration: Limits [m/s, m/s², or rad/s, rad/s²].

    Attributes:
        speed: Highest speed that is reached.
        ramp: Time to reach it [s].

    Raises:
        ConfigError: a value that isn't above 0.
    """

    def __init__(self, length: float, speed: float, acceleration: float) -> None:
        check_positive("trapezoid", length=length, speed=speed, acceleration=acceleration)
        self.length = length
        self._acceleration = acceleration
        self.ramp = min(speed / acceleration, math.sqrt(length / acceleration))
        self.speed = acceleration * self.ramp
        self.duration = length / self.speed + self.ramp

    @classmethod
    def lasting(cls, length: float, duration: float, ramp: float = 0.1) -> Trapezoid:
        """The trapezoid of a duration [s]; each ramp takes a fraction `ramp` of it, up to 0.5."""
        check_positive("trapezoid", duration=duration)
        if not 0.0 < ramp <= 0.5:
            raise refused(
                "ramp", ramp, "must be above 0, at most 0.5", (0.0, 0.5), where="trapezoid: "
            )
        speed = length / (duration * (1.0 - ramp))
        return cls(length, speed, speed / (duration * ramp))

    def at(self, t: float | Array) -> tuple[Array, Array, Array]:
        """Return path length, speed and acceleration at times t after the start [s].

        The speed rises along a ramp, stays, and falls along the same ramp. Before the start and
        after the end all stands still.
        """
        t = np.asarray(t, dtype=float)
        first_half = t < self.duration / 2.0
        # time to the nearer end, and how much of it is ramp: the second half is the first one,
        # mirrored
        near = np.maximum(np.where(first_half, t, self.duration - t), 0.0)
        ramp = np.minimum(near, self.ramp)
        speed = self._acceleration * ramp
        way = speed * (near - ramp / 2.0)
        s = np.where(first_half, way, self.length - way)
        ramping = (t >= 0.0) & (t < self.duration) & (near < self.ramp)
        return s, speed, np.where(first_half, self._acceleration, -self._acceleration) * ramping


class QuinticTimeScaling:
    """Motion of minimum jerk from rest to rest, a polynomial of degree five.

    Source: T. Flash, N. Hogan, The coordination of arm movements, J. Neuroscience 5(7), 1985.

    Args:
        length: Length of the path [m or rad].
        duration: Duration of the motion [s].

    Raises:
        ConfigError: a value that isn't above 0.
    """

    def __init__(self, length: float, duration: float) -> None:
        check_positive("quintic scaling", length=length, duration=duration)
        self.length = length
        self.duration = duration

    @classmethod
    def within(
        cls, length: float, speed: float, acceleration: float = math.inf
    ) -> QuinticTimeScaling:
        """The shortest scaling within limits of speed and acceleration, but at least SHORTEST."""
        check_positive("quintic scaling", length=length, speed=speed)
        if not acceleration > 0.0:
            raise refused(
                "acceleration",
                acceleration,
                "must be above 0",
                (0.0, math.inf),
                where="quintic scaling: ",
            )
        by_acceleration = math.sqrt(PEAK_ACCELERATION * length / acceleration)
        return cls(length, max(SHORTEST, PEAK_SPEED * length / speed, by_acceleration))

    def at(self, t: float | Array) -> tuple[Array, Array, Array]:
        u = np.minimum(np.maximum(np.asarray(t, dtype=float) / self.duration, 0.0), 1.0)
        left = 1.0 - u
        speed = self.length / self.duration
        s = self.length * u**3 * (10.0 - 15.0 * u + 6.0 * u**2)
        return (
            s,
            30.0 * speed * (u * left) ** 2,
            60.0 * speed / self.duration * u * left * (left - u),
        )


class Chain:
    """Time scalings one after another, at rest between them.

    Args:
        scalings: Time scalings in their order.
        dwell: Rest between two of them [s].

    Raises:
        ConfigError: no scaling, or a dwell below 0.
    """

    def __init__(self, scalings: Sequence[TimeScaling], dwell: float = 0.0) -> None:
        if not (scalings and 0.0 <= dwell < math.inf):
            rule = "must be 0 s or more, after 1 time scaling or more"
            raise refused(
                "dwell",
                dwell,
                rule,
                (0.0, math.inf),
                where=f"chain of {len(scalings)} time scalings: ",
            )
        self._scalings = tuple(scalings)
        self._starts = tuple(accumulate((p.duration + dwell for p in scalings), initial=0.0))[:-1]
        self.length = sum(p.length for p in scalings)
        self.duration = self._starts[-1] + scalings[-1].duration

    @classmethod
    def shared(
        cls,
        lengths: Sequence[float] | Array,
        duration: float,
        scaling: Callable[[float, float], TimeScaling] = QuinticTimeScaling,
        dwell: float = 0.0,
    ) -> Chain:
        """A chain with one scaling for each length.

        The duration [s], without the dwells, is shared between them in proportion to their lengths.
        `scaling` makes one from a length and a duration: QuinticTimeScaling or Trapezoid.lasting.
        """
        total = sum(lengths)
        return cls(
            [scaling(float(length), duration * float(length) / total) for length in lengths], dwell
        )

    def at(self, t: float | Array) -> tuple[Array, Array, Array]:
        """Return path length, speed and acceleration at times t after the start [s].

        The speed rises along a ramp, stays, and falls along the same ramp. Before the start and
        after the end all stands still.
        """
        t = np.asarray(t, dtype=float)
        parts = [p.at(t - start) for p, start in zip(self._scalings, self._starts, strict=True)]
        s, speed, acceleration = (sum(part, np.zeros_like(t)) for part in zip(*parts, strict=True))
        return s, speed, acceleration
