"""Monitor of joints that don't follow their commands: they must not jump when they begin to."""

from __future__ import annotations

from operator import gt, sub

import numpy as np

from ..core.types import Array, CommandMode, RobotState
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
        self._min_torque = (MIN_TORQUE * limits.effort).tolist()
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
        # plain numbers: numpy takes longer for so few joints
        commands = last.tolist()
        q = state.q.tolist()
        self._near = self._near or mode is not self._mode
        if self._is_near(mode, commands, q, kin):
            self._near = True
            self._found = ""
        else:
            if self._near:
                self._start(last, commands, q)
            self._found = self._judge(mode, last, commands, q, state)
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
            joints = zip(self._net, self._min_torque, commands, state.effort.tolist(), strict=True)
            left = [
                net > least and abs(effort - command) > 0.5 * net
                for net, least, command, effort in joints
            ]
        joint = self._standing(left, commands, q)
        if joint is None:
            return ""
        return (
            f"{self._robot.joints[joint]} stands at {q[joint]:.3f} {self._limits.unit(joint).position} under "
            f"{commands[joint]:.3f} {self._limits.unit(joint).of_command(mode)} for "
            f"{STANDING:g} s: must move; does its {mode.value} controller run, and is its way free?"
        )

    def _is_near(
        self, mode: CommandMode, commands: list[float], q: list[float], kin: RobotDynamics
    ) -> bool:
        """Return True where no command asks for enough motion that a joint's answer could be judged.

        A position is near the joint's angle, a velocity is small, and a torque moves less than
        friction may hold. It is the usual case, and a cheap one. Net torques are kept in `_net`:
        the judgement of the same cycle needs them.
        """
        if mode is CommandMode.POSITION:
            return all(
                abs(command - angle) < NEAR for command, angle in zip(commands, q, strict=True)
            )
        if mode is CommandMode.VELOCITY:
            return all(abs(command) < DEPARTURE / WINDOW for command in commands)
        self._net = [
            abs(torque)
            for torque in (map(sub, commands, kin.gravity.tolist()) if self._lifts else commands)
        ]
        return not any(map(gt, self._net, self._min_torque))

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
