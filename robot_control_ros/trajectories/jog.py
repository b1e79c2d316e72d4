"""Moving the tip with a wanted twist."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..spatial import cross, make_pose, rotation_exp, rotation_exp_jacobian
from ..types import Array, Reference
from .trajectory import beginning


class Jog:
    """Move the tip with a given twist until `lasting` seconds are over, then brake; speed changes are limited.

    Args:
        start: the reference at `time`; its pose must be given.
        twist: (6,) wanted [m/s, rad/s].
        time: of the start [s].
        acceleration: (linear [m/s²], angular [rad/s²]).
        lasting: [s] without a newer command before it brakes.
    """

    def __init__(
        self, start: Reference, twist: Array, time: float, acceleration: Sequence[float], lasting: float
    ) -> None:
        self._pose, self._before = beginning(start, "jogging")
        self._time, self._twist, self._lasting = time, twist, lasting
        self._rise = _ramp_time(twist - self._before, acceleration)
        self._brake = _ramp_time(twist, acceleration)

    def sample(self, t: float) -> Reference:
        t = max(t - self._time, 0.0)
        rise, last = min(t, self._rise), max(self._lasting, self._rise)
        steady = min(max(t - self._rise, 0.0), last - self._rise)
        brake = min(max(t - last, 0.0), self._brake)
        change = (self._twist - self._before) / self._rise
        twist = self._before + change * rise - self._twist * (brake / self._brake)
        ramp = self._before * rise + change * (rise**2 / 2.0)
        if t < self._rise:
            twist[3:], ramp[3:] = self._turning(rise, twist[3:], ramp[3:])
        else:
            _, ramp[3:] = self._turning(self._rise, self._twist[3:], ramp[3:])
        after = self._twist * (steady + brake - brake**2 / (2.0 * self._brake))
        rotation = rotation_exp(after[3:]) @ rotation_exp(ramp[3:]) @ self._pose[:3, :3]
        pose = make_pose(self._pose[:3, 3] + ramp[:3] + after[:3], rotation)
        return Reference(pose, twist, self._acceleration(t, last, change))

    def _turning(self, t: float, rate: Array, turned: Array) -> tuple[Array, Array]:
        """Angular velocity and rotation vector t seconds into the ramp, whose axis turns (Magnus, two terms)."""
        curl = cross(self._twist[3:] - self._before[3:], self._before[3:]) / self._rise
        turned = turned + t**3 / 12.0 * curl
        return rotation_exp_jacobian(turned) @ (rate + t**2 / 4.0 * curl), turned

    def _acceleration(self, t: float, last: float, change: Array) -> Array:
        if t < self._rise:
            return change
        return -self._twist / self._brake if last < t < last + self._brake else np.zeros(6)


def _ramp_time(change: Array, acceleration: Sequence[float]) -> float:
    linear, angular = float(np.linalg.norm(change[:3])), float(np.linalg.norm(change[3:]))
    return max(linear / acceleration[0], angular / acceleration[1], 1e-3)
