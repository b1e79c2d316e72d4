"""The rate at which a force-torque sensor drifts, found while the arm rests."""

from __future__ import annotations

import math

import numpy as np

from ..core.types import Array

AT_REST = 0.01  # rad/s of each joint, below which an arm rests
SAMPLES = 10  # whose mean is taken
MAX_GAP = 0.3  # s between two samples of one rest
STEPS = 0.5, 0.05  # N, N·m from one mean to the next: more is a contact
TURNED = 0.02  # rad of any joint in one rest: then the weight of what the sensor carries shows
SHORTEST = 30.0  # s of a rest that tells a drift
LONGEST = 600.0  # s, after which the next rest begins: a sensor that gets warm drifts less and less
CERTAIN = 4.0  # standard deviations of a rate that counts


class SensorDrift:
    """Finds the rate at which the wrench of a resting arm changes.

    The wrench of a resting arm is constant: the sensor's bias, a weight, a contact. A slow change
    of it is the sensor's drift. A rest is a time in which no joint turns by more than 0.02 rad, and
    the wrench makes no step. A line is laid through means of ten samples by least squares. Its
    slope counts where it is four of its standard deviations from 0. The last rest of at least 30 s
    counts.

    A hand that presses harder and harder for half a minute, or foam that yields, looks the same.

    Attributes:
        rate: (6,) change of the wrench in the sensor's frame [N/s, N·m/s]; None before the first
            rest.
    """

    def __init__(self) -> None:
        self.rate: Array | None = None
        self._time = math.nan  # of the last sample [s]
        self._q = np.empty(0)  # where the rest has begun
        self._samples: list[Array] = []  # for the next mean
        self._line = _Line()

    def interrupt(self) -> None:
        """End the rest; the rate that it has shown stays."""
        self._time = math.nan

    def add(self, time: float, q: Array, v: Array, wrench: Array) -> None:
        """Take a sample of an arm that no force control leads.

        Args:
            time: Time of the sample [s].
            q, v: Joint positions and velocities (n,) [rad, rad/s].
            wrench: (6,) wrench in the sensor's frame, without the weight that it carries [N, N·m].
        """
        follows = 0.0 < time - self._time <= MAX_GAP  # False where there was none
        self._time = time
        if not follows or q.shape != self._q.shape or np.abs(q - self._q).max() > TURNED:
            self._begin(q)
        if np.abs(v).max() > AT_REST:
            self.interrupt()
            return
        self._samples.append(wrench.copy())
        if len(self._samples) < SAMPLES:
            return
        mean = np.mean(self._samples, axis=0)
        self._samples.clear()
        if self._line.is_step(mean):
            self._begin(q)
        self._line.add(time, mean)
        if self._line.length >= SHORTEST:
            self.rate = self._line.slope()
        if self._line.length >= LONGEST:
            self._begin(q)

    def _begin(self, q: Array) -> None:
        """Begin a rest at joint positions q (n,) [rad]."""
        self._q = q.copy()
        self._samples.clear()
        self._line = _Line()


class _Line:
    """A line through wrenches over time, by least squares; times and wrenches count from the first.

    Attributes:
        length: Time from the first wrench to the last [s].
    """

    def __init__(self) -> None:
        self.length = 0.0
        self._begin = 0.0
        self._first = np.zeros(6)
        self._last = np.zeros(6)
        self._count = 0
        self._t = 0.0  # sum of times [s]
        self._tt = 0.0  # and of their squares
        self._w = np.zeros(6)  # sum of wrenches [N, N·m]
        self._tw = np.zeros(6)  # of their products with times
        self._ww = np.zeros(6)  # and of their squares

    def is_step(self, wrench: Array) -> bool:
        """Return True where a wrench (6,) is too far from the last one to be of the same rest."""
        way = wrench - self._last
        return self._count > 0 and bool((np.linalg.norm(way.reshape(2, 3), axis=1) > STEPS).any())

    def add(self, time: float, wrench: Array) -> None:
        """Take a wrench (6,) of a time [s]."""
        if self._count == 0:
            self._begin = time
            self._first = wrench
        self._count += 1
        self._last = wrench
        self.length = time - self._begin
        way = wrench - self._first
        self._t += self.length
        self._tt += self.length**2
        self._w += way
        self._tw += self.length * way
        self._ww += way**2

    def slope(self) -> Array:
        """Slopes (6,) [N/s, N·m/s]; 0 where they may be noise. It takes three wrenches."""
        spread = self._tt - self._t**2 / self._count
        slope = (self._tw - self._t * self._w / self._count) / spread
        left = self._ww - self._w**2 / self._count - slope**2 * spread
        deviation = np.sqrt(np.maximum(left, 0.0) / (self._count - 2) / spread)
        return np.where(np.abs(slope) > CERTAIN * deviation, slope, 0.0)
