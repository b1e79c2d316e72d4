"""Monitor of joints that don't follow their commands: they must not jump when they begin to."""

from __future__ import annotations

import numpy as np

from ..core.compiled import compiled
from ..core.types import Array, CommandMode, RobotState, as_row
from ..robot.configuration import RobotConfig
from ..robot.model import JointLimits, RobotDynamics

INTERVAL = 0.01  # s between two judgements
WINDOW = 0.1  # s by which a joint may be late
DEFLECTION = 0.2  # rad by which a load may push a joint away from its position command
REST = 1e-3  # rad within which a joint stands
NEAR = 0.005  # rad within which a position command isn't judged
DEPARTURE = 0.02  # rad that a command may leave a joint that stands
STANDING = 0.08  # s that a joint may stand after that
MIN_TORQUE = 0.25  # of a joint's effort limit, that moves a joint against its friction


class FollowingMonitor:
    """Finds joints that don't follow their commands.

    A position must be within 0.2 rad of where its command was during the last 0.1 s. A joint that
    stands for 0.08 s after its command moved on by 0.02 rad doesn't follow either. Under
    velocities, the 0.02 rad are the angle by which the commands of the last 0.1 s would have moved
    the joint.

    Under efforts, a joint that stands may be in contact. It doesn't follow where more than a
    quarter of its effort limit would move it, and half of that isn't measured. Where no joint
    torques are measured, efforts aren't judged. The joints are judged every 10 ms.

    Args:
        robot: Configuration of the robot.
        limits: Limits of the robot's joints.
    """

    def __init__(self, robot: RobotConfig, limits: JointLimits) -> None:
        self._robot = robot
        self._limits = limits
        self._min_torque = MIN_TORQUE * limits.effort
        self._near_angle = np.full(robot.n, NEAR)
        self._slow_speed = np.full(robot.n, DEPARTURE / WINDOW)
        self._none = np.zeros(robot.n)
        self._lifts = not robot.profile.gravity_by_robot
        self.reset()

    def reset(self) -> None:
        """Begin anew with the next command."""
        self._mode: CommandMode | None = None
        self._since = 0.0
        self._near = True
        self._found = ""
        self._ways: list[float] = []  # angles by which velocity commands lead the joints [rad]

    def check(
        self, mode: CommandMode, last: Array, state: RobotState, kin: RobotDynamics, dt: float
    ) -> str:
        """Look for joints that don't follow, at a sample `dt` seconds after the last command (n,).

        Returns:
            One such joint in words; empty where all joints follow.
        """
        self._since += dt
        if mode is self._mode and self._since < INTERVAL:
            return self._found
        self._near = self._near or mode is not self._mode
        if self._is_near(mode, last, state.q, kin):
            self._near = True
            self._found = ""
        else:
            # plain numbers: numpy takes longer for so few joints
            commands = last.tolist()
            q = state.q.tolist()
            if self._near:
                self._start(last, commands, q)
            self._found = self._judge(mode, last, commands, q, state, kin)
        self._mode = mode
        self._since = 0.0
        return self._found

    def _judge(
        self,
        mode: CommandMode,
        last: Array,
        commands: list[float],
        q: list[float],
        state: RobotState,
        kin: RobotDynamics,
    ) -> str:
        if mode is CommandMode.POSITION:
            if late := self._late(last, state):
                return late
            left = [
                abs(command - start) >= DEPARTURE
                for command, start in zip(commands, self._starts, strict=True)
            ]
        elif mode is CommandMode.VELOCITY:
            kept = max(1.0 - self._since / WINDOW, 0.0)
            ways = zip(self._ways, commands, strict=True)
            self._ways = [(way + command * self._since) * kept for way, command in ways]
            left = [abs(way) >= DEPARTURE for way in self._ways]
        else:
            net = np.abs(last - self._held(kin))
            missing = np.abs(state.effort - last) > 0.5 * net
            left = ((net > self._min_torque) & missing).tolist()
        joint = self._standing(left, commands, q)
        if joint is None:
            return ""
        return (
            f"{self._robot.joints[joint]} stands at {q[joint]:.3f} {self._limits.unit(joint).position} under "
            f"{commands[joint]:.3f} {self._limits.unit(joint).of_command(mode)} for "
            f"{STANDING:g} s: must move; does its {mode.value} controller run, and is its way free?"
        )

    def _is_near(self, mode: CommandMode, last: Array, q: Array, kin: RobotDynamics) -> bool:
        """Return True where no command asks for enough motion that a joint's answer could be judged.

        A position is near the joint's angle, a velocity is small, and a torque moves less than
        friction may hold. It is the usual case, and a cheap one.
        """
        if mode is CommandMode.POSITION:
            return are_near(last, as_row(q), self._near_angle)
        if mode is CommandMode.VELOCITY:
            return are_near(last, self._none, self._slow_speed)
        return are_near(last, self._held(kin), self._min_torque)

    def _held(self, kin: RobotDynamics) -> Array:
        """The part (n,) of torque commands that moves no joint [N·m]."""
        return kin.gravity if self._lifts else self._none

    def _start(self, last: Array, commands: list[float], q: list[float]) -> None:
        self._near = False
        self._low = last
        self._high = last
        self._old_low = last
        self._old_high = last
        self._window_age = 0.0
        self._anchors = list(q)
        self._starts = list(commands)
        self._ways = [0.0] * len(q)
        self._left_for = [0.0] * len(q)

    def _late(self, last: Array, state: RobotState) -> str:
        """The joint, in words, that is far from its last position commands; empty for none.

        These are the commands of the present half of the window, and of the one before.
        """
        self._low = np.minimum(self._low, last)
        self._high = np.maximum(self._high, last)
        low = np.minimum(self._low, self._old_low)
        high = np.maximum(self._high, self._old_high)
        self._window_age += self._since
        if self._window_age >= WINDOW / 2.0:
            self._old_low = self._low
            self._old_high = self._high
            self._low = last
            self._high = last
            self._window_age = 0.0
        beyond = np.maximum(low - state.q, state.q - high)
        joint = int(beyond.argmax())
        if beyond[joint] <= DEFLECTION:
            return ""
        unit = self._limits.unit(joint).position
        return (
            f"{self._robot.joints[joint]} doesn't follow: it is at {state.q[joint]:.3f} {unit}, commanded to "
            f"{last[joint]:.3f} {unit}: must be within {DEFLECTION:g} {unit} of its commands of the last "
            f"{WINDOW:g} s; is the robot stopped or blocked?"
        )

    def _standing(self, left: list[bool], commands: list[float], q: list[float]) -> int | None:
        """The joint that has stood longest since its command left it; None before 0.08 s."""
        for joint, behind in enumerate(left):
            if abs(q[joint] - self._anchors[joint]) > REST:
                self._anchors[joint] = q[joint]
                self._starts[joint] = commands[joint]
                self._ways[joint] = 0.0
                self._left_for[joint] = 0.0
            elif behind:
                self._left_for[joint] += self._since
            else:
                self._left_for[joint] = 0.0
        longest = max(self._left_for)
        return self._left_for.index(longest) if longest >= STANDING else None


@compiled
def are_near(values: Array, others: Array, most: Array) -> bool:
    """Return True where no value (n,) is farther from its counterpart than it may be."""
    near = True
    for i in range(len(values)):
        near = near and abs(values[i] - others[i]) <= most[i]
    return near
