"""Velocities of joints whose driver sends positions only."""

from __future__ import annotations

import math

import numpy as np

from ..core.errors import ConfigError
from ..core.types import Array, is_finite
from .joint_jumps import JointJumps

# s, and periods, between two samples after which it begins anew
RESTART = 0.1
RESTART_PERIODS = 3.0


class DerivedVelocity:
    """Differentiates positions behind a low-pass filter of first order.

    Positions are assumed to change evenly between two samples. Then the filter is exact for any
    interval h:

        v_k = a v_{k-1} + (1 - a) (q_k - q_{k-1}) / h,   a = exp(-h / T).

    It delays slow changes by :attr:`HardwareProfile.velocity_delay`, about T. A sample without new
    time changes nothing, nor does one that `jumps` refuses. After a gap, or after stamps that have
    gone back by as much, the filter begins anew at rest. Positions of a joint without end may jump
    by a turn. So a change by more than half a turn counts as one the other way.

    Args:
        time_constant: Time constant T of the filter [s].
        period: Usual interval between samples [s].
        jumps: Judge that refuses positions that no joint can have reached; None to believe all.
    """

    def __init__(
        self, time_constant: float, period: float, jumps: JointJumps | None = None
    ) -> None:
        self._time_constant = time_constant
        self._restart = max(RESTART, RESTART_PERIODS * period)
        self._jumps = jumps
        self._time = -math.inf
        self._q = np.zeros(0)
        self._v = self._q

    def update(self, time: float, q: Array) -> Array:
        """Velocities (n,) [rad/s] after a sample of positions (n,) [rad] with a stamp [s].

        The first ones, and those that begin anew, are 0. Positions that aren't finite change
        nothing.
        """
        interval = time - self._time
        if not abs(interval) <= self._restart:
            self._begin(time, q)
        elif interval > 0.0 and is_finite(q):
            self._differentiate(time, q, interval)
        return self._v

    def _differentiate(self, time: float, q: Array, interval: float) -> None:
        if self._jumps is not None:
            try:
                jumped = self._jumps.check(time, q, self._v)
            except ConfigError:  # whoever controls the robot refuses the sample, and says so
                return
            if jumped:
                self._begin(time, q)
                return
        change = q - self._q
        change = np.where(
            np.abs(change) > np.pi, np.remainder(change + np.pi, 2.0 * np.pi) - np.pi, change
        )
        forgotten = -math.expm1(-interval / self._time_constant)
        self._take(time, q, self._v + forgotten * (change / interval - self._v))

    def _begin(self, time: float, q: Array) -> None:
        self._take(time, q, np.zeros(len(q)))

    def _take(self, time: float, q: Array, v: Array) -> None:
        self._time = time
        self._q = q
        self._v = v
        if self._jumps is not None:
            self._jumps.accept(time, q, v)
