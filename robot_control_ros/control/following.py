"""Whether the joints follow their commands: one that executes none must not jump when it begins to."""

from __future__ import annotations

import numpy as np

from ..core.types import Array, CommandMode, RobotState
from ..robot.configuration import RobotConfig
from ..robot.model import JointLimits, RobotDynamics

WINDOW = 0.1  # s by which a joint may be late
DEFLECTION = 0.2  # rad by which a load may push a joint away from its position command
REST = 1e-3  # rad within which a joint stands
NEAR = 0.005  # rad within which a position command isn't judged
DEPARTURE = 0.02  # rad that a command may leave a joint that stands
STANDING = 0.08  # s that a joint may stand after that
MIN_TORQUE = 0.25  # of a joint's effort limit, that moves a joint against its friction

UNITS = {CommandMode.EFFORT: "N·m", CommandMode.POSITION: "rad", CommandMode.VELOCITY: "rad/s"}


class FollowingMonitor:
    """Finds joints that don't follow their commands.

    A position must be within 0.2 rad of where its command was during the last 0.1 s. A joint that stands for 0.08 s
    after its command moved on by 0.02 rad doesn't follow either; for velocities that is what they would have moved it
    by in the last 0.1 s. Under efforts, a joint that stands may be in contact. It doesn't follow where more than a
    quarter of its effort limit would move it, and half of that isn't measured. Where no joint torques are measured,
    efforts aren't judged.

    Args:
        robot: its configuration.
        limits: of its joints.
    """

    def __init__(self, robot: RobotConfig, limits: JointLimits) -> None:
        self._robot = robot
        self._n, self._min_torque = robot.n, MIN_TORQUE * limits.effort
        self._anchor_target = np.zeros(robot.n)
        self.reset()

    def reset(self) -> None:
        """Begin anew with the next command."""
        self._mode: CommandMode | None = None

    def check(self, mode: CommandMode, last: Array, state: RobotState, kin: RobotDynamics, dt: float) -> str:
        """What is wrong at a sample, `dt` seconds after the last command (n,); empty where all joints follow."""
        if self._is_near(mode, last, state, kin):
            self._mode = None
            return ""
        if mode is not self._mode:
            self._start(mode, last, state)
        if mode is CommandMode.POSITION:
            self._target = last
            if late := self._late(state, dt):
                return late
        elif mode is CommandMode.VELOCITY:
            self._target = self._target + last * dt
            self._anchor_target = self._anchor_target + (self._target - self._anchor_target) * min(dt / WINDOW, 1.0)
        joint = self._standing(mode, last, state, dt)
        if joint is None:
            return ""
        return (
            f"{self._robot.joints[joint]} stands at {state.q[joint]:.3f} rad under {last[joint]:.3f} {UNITS[mode]} for "
            f"{STANDING:g} s: must move; does its {mode.value} controller run?"
        )

    def _is_near(self, mode: CommandMode, last: Array, state: RobotState, kin: RobotDynamics) -> bool:
        """Whether no command is far enough from what the robot does to be judged: the usual case, and a cheap one."""
        if mode is CommandMode.POSITION:
            return float(np.abs(last - state.q).max()) < NEAR
        if mode is CommandMode.VELOCITY:
            return float(np.abs(last).max()) < DEPARTURE / WINDOW
        self._net = np.abs(last if self._robot.profile.gravity_by_robot else last - kin.gravity)
        self._strong = self._net > self._min_torque
        return not self._strong.any()

    def _start(self, mode: CommandMode, last: Array, state: RobotState) -> None:
        self._mode = mode
        self._target = last if mode is CommandMode.POSITION else state.q
        self._low = self._high = self._old_low = self._old_high = self._target
        self._window_age = 0.0
        self._anchor, self._anchor_target = state.q, self._target
        self._left_for = np.zeros(self._n)

    def _late(self, state: RobotState, dt: float) -> str:
        """Which joint isn't where its position command was within the last window, or up to two."""
        self._low, self._high = np.minimum(self._low, self._target), np.maximum(self._high, self._target)
        low, high = np.minimum(self._low, self._old_low), np.maximum(self._high, self._old_high)
        self._window_age += dt
        if self._window_age >= WINDOW / 2.0:
            self._old_low, self._old_high = self._low, self._high
            self._low = self._high = self._target
            self._window_age = 0.0
        beyond = np.maximum(low - state.q, state.q - high)
        joint = int(beyond.argmax())
        if beyond[joint] <= DEFLECTION:
            return ""
        return (
            f"{self._robot.joints[joint]} doesn't follow: it is at {state.q[joint]:.3f} rad, commanded to "
            f"{self._target[joint]:.3f} rad: must be within {DEFLECTION:g} rad of its commands of the last "
            f"{WINDOW:g} s; is the robot stopped?"
        )

    def _standing(self, mode: CommandMode, last: Array, state: RobotState, dt: float) -> int | None:
        """The joint that has stood longest, where that is the window's time after its command left it."""
        moved = np.abs(state.q - self._anchor) > REST
        if moved.any():
            self._anchor = np.where(moved, state.q, self._anchor)
            self._anchor_target = np.where(moved, self._target, self._anchor_target)
        if mode is CommandMode.EFFORT:
            left = self._strong & (np.abs(state.effort - last) > 0.5 * self._net)
        else:
            left = np.abs(self._target - self._anchor_target) >= DEPARTURE
        self._left_for = np.where(left & ~moved, self._left_for + dt, 0.0)
        joint = int(self._left_for.argmax())
        return joint if self._left_for[joint] >= STANDING else None
