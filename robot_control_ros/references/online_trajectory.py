"""Trajectories after a target that may move at any time, dragged by a person or streamed.

Position and rotation of a pose, and each joint of a posture, follow in the same way, each on its
own. The wanted velocity points at the target, with the speed min(k x, sqrt(2 b (x - b / 2 k²)),
v_max) at distance x: a linear law near the target, joined smoothly to braking with b. The
acceleration is 4 k times the velocity error, bounded. So velocity is continuous whatever the target
does, the speed limit is never passed, and at constant target there is no overshoot.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.compiled import compiled
from ..core.errors import ConfigError
from ..core.rotations import pose_error_into, rotation_exp_into
from ..core.spatial import pose_error
from ..core.types import Array, Reference, as_row
from ..robot.model import RobotModel
from .joint import joint_reference
from .stepped_trajectory import SteppedTrajectory
from .trajectory import beginning

GAIN = 8.0  # 1/s, from distance to speed near the target: a moving target is followed 1/8 s behind
# 1/s, from speed error to acceleration: near the target critically damped, poles at -16/s
RESPONSE = 4.0 * GAIN
# fraction of the acceleration limit that braking is planned with; the rest is for following the
# plan
BRAKING = 0.6
ARRIVED = 1e-7  # m and rad, m/s and rad/s


@compiled
def change_rate(
    away: Array, speed: Array, acceleration: Array, dt: float, rate: Array, change: Array
) -> None:
    """Advance the velocities of m parts of d coordinates each by one step; see the module.

    Args:
        away: (m, d) way that is left [m or rad].
        speed, acceleration: (m,) limits of each part.
        dt: Duration of the step [s].
        rate: (m, d) velocities, which are changed.
        change: Result (m, d), the accelerations.
    """
    for part in range(away.shape[0]):
        square = 0.0
        for axis in range(away.shape[1]):
            square += away[part, axis] * away[part, axis]
        distance = math.sqrt(square)
        braking = BRAKING * acceleration[part]
        joint = braking / GAIN**2  # where the linear law meets the braking curve
        wanted = GAIN * distance
        if distance > joint:
            wanted = math.sqrt(2.0 * braking * max(distance - joint / 2.0, 0.0))
        wanted = min(wanted, speed[part])
        square = 0.0
        for axis in range(away.shape[1]):
            towards = wanted / max(distance, 1e-12) * away[part, axis]
            change[part, axis] = RESPONSE * (towards - rate[part, axis])
            square += change[part, axis] * change[part, axis]
        scale = acceleration[part] / max(math.sqrt(square), acceleration[part])
        for axis in range(away.shape[1]):
            change[part, axis] *= scale
            rate[part, axis] += dt * change[part, axis]


@compiled
def is_there(away: Array, rate: Array) -> bool:
    """Return True where neither way nor velocity (m, d) is left."""
    for part in range(away.shape[0]):
        for axis in range(away.shape[1]):
            if not (abs(away[part, axis]) < ARRIVED and abs(rate[part, axis]) < ARRIVED):
                return False
    return True


@compiled
def step_pose(
    target: Array,
    speed: Array,
    acceleration: Array,
    dt: float,
    pose: Array,
    rate: Array,
    change: Array,
) -> bool:
    """Move a pose by one step towards its target.

    Args:
        target: (4, 4) pose that it goes to.
        speed, acceleration: (2,) limits, linear and angular.
        dt: Duration of the step [s].
        pose, rate: (4, 4) pose and (2, 3) velocities, which are changed.
        change: Result (2, 3), the accelerations.

    Returns:
        True where the pose rests at the target; then nothing changes.
    """
    error = np.empty(6)
    pose_error_into(target, pose, error)
    away = error.reshape((2, 3))
    if is_there(away, rate):
        return True
    change_rate(away, speed, acceleration, dt, rate, change)
    turn = np.empty((3, 3))
    rotation_exp_into(dt * rate[1], turn)
    before = pose.copy()
    for i in range(3):
        pose[i, 3] += dt * rate[0, i]
        for j in range(3):
            pose[i, j] = 0.0
            for k in range(3):
                pose[i, j] += turn[i, k] * before[k, j]
    return False


@compiled
def step_joints(
    target: Array,
    speed: Array,
    acceleration: Array,
    dt: float,
    q: Array,
    rate: Array,
    change: Array,
) -> bool:
    """Move joints by one step towards their targets.

    Args:
        target: (n,) joint angles that they go to [rad].
        speed, acceleration: (n,) limits.
        dt: Duration of the step [s].
        q, rate: (n,) joint angles and (n, 1) velocities, which are changed.
        change: Result (n, 1), the accelerations.

    Returns:
        True where the joints rest at their targets; then nothing changes.
    """
    away = (target - q).reshape((len(q), 1))
    if is_there(away, rate):
        return True
    change_rate(away, speed, acceleration, dt, rate, change)
    for joint in range(len(q)):
        q[joint] += dt * rate[joint, 0]
    return False


class _OnlineTrajectory(SteppedTrajectory):
    """A trajectory of m parts of d coordinates each, which goes after a target step by step.

    Attributes:
        target: Target, which may change at any time.
        speed_scale: Fraction of its speed limits that it keeps; it may change at any time.
    """

    def __init__(
        self, at: Array, target: Array, time: float, rate: Array, speed: Any, acceleration: Any
    ) -> None:
        self._at = at
        self.target = target
        self.speed_scale = 1.0
        self._time = time
        self._rate = rate  # (m, d)
        self._change = np.zeros_like(rate)  # (m, d)
        self._speed = np.array(speed, dtype=float)  # (m,)
        self._acceleration = np.array(acceleration, dtype=float)  # (m,)
        self._reached: Array | None = None  # the target that was
        self._now = self._reference()

    @property
    def arrived(self) -> bool:
        """True where it rests at the target."""
        return self._reached is self.target

    def _advance(self, dt: float) -> None:
        at = self._at.copy()  # the last reference keeps its own
        rate = self._rate.copy()
        change = np.empty(rate.shape)
        speed = self._speed if self.speed_scale == 1.0 else self.speed_scale * self._speed
        if self._step(as_row(self.target), speed, self._acceleration, dt, at, rate, change):
            self._reached = self.target
            at = self.target
            rate = np.zeros(rate.shape)
            change = rate
        self._at = at
        self._rate = rate
        self._change = change

    @staticmethod
    @abstractmethod
    def _step(
        target: Array,
        speed: Array,
        acceleration: Array,
        dt: float,
        at: Array,
        rate: Array,
        change: Array,
    ) -> bool:
        """Move by one step to the target; return True where it rests. See :func:`step_pose`."""


class OnlineTrajectory(_OnlineTrajectory):
    """Goes after a target pose within limits of speed and acceleration; the target may change at
    any time.

    The rotation goes along the rotation vector of R_target Rᵀ.
    It remembers where it is: sample() must be called with rising times.

    Args:
        start: Reference at `time`; its pose must be given, its twist may be None (at rest).
        target: (4, 4) wanted pose of the tip in the base.
        time: Time of the start [s].
        speed, acceleration: Limits (linear [m/s], angular [rad/s]), and the same per second.
        q: (n,) posture that stands in the reference, or None.
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
        pose, twist = beginning(start, "an online trajectory")
        self._q = q
        super().__init__(pose, target, time, twist.reshape(2, 3), speed, acceleration)

    @property
    def heading(self) -> Array:
        """Way (6,) to the target [m, rad]."""
        return pose_error(self.target, self._at)

    @staticmethod
    def _step(
        target: Array,
        speed: Array,
        acceleration: Array,
        dt: float,
        at: Array,
        rate: Array,
        change: Array,
    ) -> bool:
        return step_pose(target, speed, acceleration, dt, at, rate, change)

    def _reference(self) -> Reference:
        return Reference(self._at, self._rate.reshape(6), self._change.reshape(6), None, self._q)


class OnlineJointTrajectory(_OnlineTrajectory):
    """Goes after target joint angles within each joint's limits; the target may change at any time.

    It remembers where it is: sample() must be called with rising times.

    Args:
        model: Model of the robot.
        start: Reference at `time`; its q must be given, its v may be None (at rest).
        goal: (n,) joint angles, the first target [rad].
        time: Time of the start [s].
        speed, acceleration: (n,) limits [rad/s, rad/s²].
    """

    def __init__(
        self,
        model: RobotModel,
        start: Reference,
        goal: Array,
        time: float,
        speed: Array,
        acceleration: Array,
    ) -> None:
        if start.q is None:
            raise ConfigError(
                "an online trajectory of joints needs reference joint angles to start from"
            )
        self._model = model
        v = np.zeros_like(start.q) if start.v is None else start.v
        super().__init__(start.q, goal, time, v[:, None], speed, acceleration)

    @staticmethod
    def _step(
        target: Array,
        speed: Array,
        acceleration: Array,
        dt: float,
        at: Array,
        rate: Array,
        change: Array,
    ) -> bool:
        return step_joints(target, speed, acceleration, dt, at, rate, change)

    def _reference(self) -> Reference:
        return joint_reference(self._model, self._at, self._rate[:, 0], self._change[:, 0])
