"""The reaction of an arm to a contact, in place of its law."""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from ...core.types import Array, Command, CommandMode, RobotState
from ...robot.configuration import RobotConfig
from ...robot.model import JointLimits, RobotDynamics
from ..safety import STOPPING, Safety

# 1/s: rate at which efforts brake, at most; s: how long
BRAKING = 60.0
BRAKED = 0.1
# of the effort limits, and s: how hard at most, and how long, efforts push away
PUSH = 0.1
PUSHED = 0.3
# s that positions take to go back, and of motion that they go back by
BACK = 0.5
PATH = 0.3


class ContactReaction:
    """Commands in place of the law's, from a contact on.

    With torque-controlled joints:

    - ``brake``: tau = g - λ M(q) q̇ for 0.1 s. λ = 60/s, less where states are old: as M is
      positive definite it only takes energy. It doesn't end at the first rest, where what the arm
      ran into is compressed most.
    - ``retreat``: tau = g + r - D q̇ for 0.3 s, r being the external torque at the contact, at most
      a tenth of the effort limits: away from what pushes, with a speed that D, the robot's
      safe_damping, bounds.
    - ``soft``: first as ``retreat``, and then tau = g - D q̇ for as long as it lasts: any push
      moves the arm away. Without the retreat, dry friction would hold the arm against what it
      touches.

    Position and velocity controlled joints can't give way. ``brake`` stops them at the largest
    deceleration. ``soft`` and ``retreat`` then lead them back along the path of the last 0.3 s.
    Positions begin where the joints are: drives that were held back would go on pressing towards
    their last command.

    After brake and retreat, and at once with ``hold``, the law holds the arm where it is.

    Args:
        robot: Configuration of the robot.
        limits: Limits of the robot's joints.
    """

    def __init__(self, robot: RobotConfig, limits: JointLimits) -> None:
        self._robot = robot
        self._damping = np.array(robot.safe_damping)
        self._deceleration = STOPPING * limits.velocity
        self._push = PUSH * limits.effort
        self._path: deque[Array] = deque(maxlen=max(2, math.ceil(PATH / robot.period)))
        self.end()

    def end(self) -> None:
        """End the reaction: the law commands again."""
        self._kind = "none"
        self._mode = CommandMode.EFFORT
        self._time = 0.0
        self._way: Array | None = None

    def begin(self, kind: str, torque: Array) -> None:
        """React from the next command on; `torque` (n,) is what the contact exerts
        on the joints [N·m].
        """
        self.end()
        self._torque = np.clip(torque, -self._push, self._push)
        self._kind = kind

    def remember(self, q: Array) -> None:
        """Keep the joint angles (n,) of a sample without contact, as part of the way back."""
        self._path.append(q)

    def command(
        self, mode: CommandMode, state: RobotState, kin: RobotDynamics, safety: Safety, dt: float
    ) -> Command | None:
        """Command in place of the law's; None where the law's is right."""
        if self._kind in ("none", "hold"):
            return None
        if mode is not self._mode and self._time > 0.0:  # another law
            self._time = 0.0
            self._way = None
        self._mode = mode
        values = (self._effort if mode is CommandMode.EFFORT else self._motion)(
            state, kin, safety, dt
        )
        self._time += dt
        if values is None:
            self._kind = "hold"
            return None
        return Command(mode, values)

    def _effort(
        self, state: RobotState, kin: RobotDynamics, safety: Safety, dt: float
    ) -> Array | None:
        holding = safety.holding(CommandMode.EFFORT, state, kin)
        if self._kind == "brake":
            if self._time >= BRAKED:
                return None
            rate = min(BRAKING, 1.0 / (math.e * (state.age + dt)))
            return np.asarray(holding - rate * kin.mass.dot(state.v))
        if self._time >= PUSHED and self._kind == "retreat":
            return None
        away = self._torque if self._time < PUSHED else 0.0
        return np.asarray(holding + away - self._damping * state.v)

    def _motion(
        self, state: RobotState, kin: RobotDynamics, safety: Safety, dt: float
    ) -> Array | None:
        """Positions (n,), or velocities (n,), that brake and then lead back along the path."""
        velocities = self._mode is CommandMode.VELOCITY
        if self._time == 0.0:
            self._speed = state.v
            if not velocities:
                safety.release(state)
        last = kin.q if velocities else safety.start(self._mode, state, kin)
        if self._speed.any():
            self._speed = np.sign(self._speed) * np.maximum(
                np.abs(self._speed) - self._deceleration * dt, 0.0
            )
            return self._speed if velocities else np.asarray(last + dt * self._speed)
        if self._kind == "brake" or not self._path:
            return None
        if self._way is None:
            self._way = np.array(self._path)[::-1]
            self._from = last
            self._back_at = self._time
        now, then = (self._back(self._time - self._back_at + ahead) for ahead in (0.0, dt))
        if self._time - self._back_at >= BACK:
            return None
        return np.asarray((then - now) / dt if velocities else then)

    def _back(self, passed: float) -> Array:
        """Joint angles (n,) on the way back, `passed` seconds after its start."""
        assert self._way is not None
        u = min(passed / BACK, 1.0)
        u = u * u * (3.0 - 2.0 * u)
        count = len(self._way) - 1
        index = min(int(u * count), count - 1) if count else 0
        way = self._way[index : index + 2]
        left = u * count - index
        on_way = way[0] + left * (way[-1] - way[0])
        return np.asarray(on_way + (1.0 - u) * (self._from - self._way[0]))
