"""Following a target that may be moved at any time, as a person drags it or a program streams it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..errors import ConfigError
from ..spatial import make_pose, rotation_exp, rotation_log
from ..types import Array, Reference

GAIN = 8.0  # 1/s, from distance to speed near the target: a moving target is followed 1/8 s behind
RESPONSE = 4.0 * GAIN  # 1/s, from speed error to acceleration: near the target critically damped, poles at -16/s
BRAKING = 0.6  # share of the acceleration limit that braking is planned with; the rest is for following the plan
STEP = 0.005  # s, longest step of integration
ARRIVED = 1e-7  # m and rad, m/s and rad/s


class Pursuit:
    """Goes after a target pose within limits of speed and acceleration; the target may change at any time.

    The wanted velocity points at the target, with the speed min(k d, sqrt(2 b (d - b / 2 k²)), v_max) at distance d: a
    linear law near the target, joined smoothly to braking with b. The acceleration is 4 k times the velocity error,
    bounded. So velocity is continuous whatever the target does, the speed limit is never passed, and at constant
    target there is no overshoot. Position and rotation (rotation vector of R_target Rᵀ) alike, each on its own.

    It remembers where it is: sample() must be called with rising times.

    Args:
        start: the reference at `time`; its pose must be given, its twist may be None (at rest).
        target: (4, 4) tip in base.
        time: of the start [s].
        speed, acceleration: limits (linear [m/s], angular [rad/s]) and the same per second.
        q: (n,) posture to name in the reference, or None.
    """

    def __init__(
        self,
        start: Reference,
        target: Array,
        time: float,
        speed: Sequence[float],
        acceleration: Sequence[float],
        q: Array | None = None,
    ) -> None:
        if start.pose is None:
            raise ConfigError("a pursuit needs a reference pose to start from")
        self.target = target
        self._speed, self._acceleration, self._q, self._time = speed, acceleration, q, time
        still = np.zeros(6)
        self._now = Reference(start.pose, still if start.twist is None else start.twist, still, None, q)
        self._rest: Array | None = None  # the target that was reached

    def sample(self, t: float) -> Reference:
        left = t - self._time
        if left > 0.0 and self._rest is not self.target:
            steps = math.ceil(left / STEP)
            for _ in range(steps):
                self._advance(left / steps)
        self._time = max(t, self._time)
        return self._now

    def _advance(self, dt: float) -> None:
        pose, twist = self._now.pose, self._now.twist
        assert pose is not None
        assert twist is not None
        away = self.target[:3, 3] - pose[:3, 3]
        turn = rotation_log(self.target[:3, :3] @ pose[:3, :3].T)
        linear = _pursue(away, twist[:3], self._speed[0], self._acceleration[0])
        angular = _pursue(turn, twist[3:], self._speed[1], self._acceleration[1])
        acceleration = np.concatenate((linear, angular))
        after = twist + dt * acceleration
        if max(abs(np.concatenate((away, turn, twist)))) < ARRIVED:
            self._rest = self.target
            self._now = Reference(self.target, np.zeros(6), np.zeros(6), None, self._q)
            return
        moved = make_pose(pose[:3, 3] + dt * after[:3], rotation_exp(dt * after[3:]) @ pose[:3, :3])
        self._now = Reference(moved, after, acceleration, None, self._q)


def _pursue(away: Array, velocity: Array, speed: float, acceleration: float) -> Array:
    """Acceleration (3,) for the way that is left (3,) and the velocity (3,)."""
    distance = math.sqrt(away.dot(away))
    braking = BRAKING * acceleration
    joint = braking / GAIN**2  # where the linear law meets the braking curve
    wanted = GAIN * distance if distance <= joint else math.sqrt(2.0 * braking * (distance - joint / 2.0))
    error = (min(wanted, speed) / max(distance, 1e-12)) * away - velocity
    result = RESPONSE * error
    size = math.sqrt(result.dot(result))
    return np.asarray(result if size <= acceleration else result * (acceleration / size))
