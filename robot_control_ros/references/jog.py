"""Motion of the tip with a wanted twist."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..core.spatial import cross, make_pose, rotation_exp, rotation_exp_jacobian
from ..core.types import Array, Reference
from .trajectory import beginning


class Jog:
    """Move the tip with a given twist until `lasting` seconds are over, then brake; speed changes
    are limited.

    Args:
        start: Reference at `time`; its pose must be given.
        twist: (6,) wanted twist [m/s, rad/s].
        time: Time of the start [s].
        acceleration: Limits (linear [m/s²], angular [rad/s²]).
        lasting: Time without a newer command after which it brakes [s].

    Attributes:
        heading: Wanted twist.
        rests_at: Time at which it rests [s].
    """

    def __init__(
        self,
        start: Reference,
        twist: Array,
        time: float,
        acceleration: Sequence[float],
        lasting: float,
    ) -> None:
        self._pose, self._before = beginning(start, "jogging")
        self._time = time
        self._lasting = lasting
        self._twist = twist
        self.heading = twist
        self._rise = ramp_time(twist - self._before, acceleration)
        self._brake = ramp_time(twist, acceleration)
        self.rests_at = time + max(lasting, self._rise) + self._brake

    def sample(self, t: float) -> Reference:
        t = max(t - self._time, 0.0)
        rise = min(t, self._rise)
        last = max(self._lasting, self._rise)
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
        """Angular velocity and rotation vector t seconds into the ramp, whose axis turns
        (Magnus, two terms).
        """
        curl = cross(self._twist[3:] - self._before[3:], self._before[3:]) / self._rise
        turned = turned + t**3 / 12.0 * curl
        return rotation_exp_jacobian(turned) @ (rate + t**2 / 4.0 * curl), turned

    def _acceleration(self, t: float, last: float, change: Array) -> Array:
        if t < self._rise:
            return change
        return -self._twist / self._brake if last < t < last + self._brake else np.zeros(6)


def ramp_time(change: Array, acceleration: Sequence[float]) -> float:
    """Duration of a change of a twist (6,) within the limits [s]."""
    linear = float(np.linalg.norm(change[:3]))
    angular = float(np.linalg.norm(change[3:]))
    return max(linear / acceleration[0], angular / acceleration[1], 1e-3)


def reach(twist: Array, before: Array, acceleration: Sequence[float]) -> Array:
    """Farthest points (2, 3) [m] of a jog that is stopped while it changes the twist.

    They are those of each coordinate, ahead and back. Let u go from 1 to 0 over the change, which
    takes the time R. Then the velocity is u b + (1 - u) w. Stopping takes the time u B + (1 - u) W
    at most, where B and W are the times that it takes from b and from w. The way that is gone, and
    that of the stop, are

        R [b (1 - u²) + w (1 - u)²] / 2 + [u b + (1 - u) w] [u B + (1 - u) W] / 2

    Args:
        twist, before: (6,) wanted twist w, and present twist b [m/s, rad/s].
        acceleration: Limits of the jog (linear [m/s²], angular [rad/s²]).
    """
    b, w = (np.array([each[:3], -each[:3]]) for each in (before, twist))
    rise, stop_b, stop_w = (
        ramp_time(each, acceleration) for each in (twist - before, before, twist)
    )
    square = (b - w) * (stop_b - stop_w - rise) / 2.0
    slope = (b * stop_w + w * stop_b) / 2.0 - w * (rise + stop_w)
    at_last = rise * (b + w) / 2.0 + w * stop_w / 2.0
    u = np.clip(-slope / np.where(square < 0.0, 2.0 * square, -1e-12), 0.0, 1.0)
    farthest = np.maximum((square * u + slope) * u + at_last, np.maximum(at_last, b * stop_b / 2.0))
    return np.asarray(np.maximum(farthest, 0.0))
