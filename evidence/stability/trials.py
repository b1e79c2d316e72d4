"""One trial: an arm in simulation, disturbed, comes to rest or doesn't."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.control.reactions.ringing_reaction import WARN
from robot_control_ros.core.errors import ConfigError, HardwareFault
from robot_control_ros.core.types import Array, RobotState
from robot_control_ros.robot.configuration import RobotConfig
from robot_control_ros.robot.model import RobotDynamics, RobotModel
from robot_control_ros.simulation.imperfect.delayed import DelayedPlant
from robot_control_ros.simulation.in_process import lockstep
from robot_control_ros.simulation.mujoco_plant import PHYSICS_STEP, MujocoPlant

PUSH = (20.0, 2.0)  # N, N·m, along DIRECTION
DIRECTION = np.array([1.0, 2.0, 3.0]) / math.sqrt(14.0)
PUSH_LENGTH = 0.1  # s
HELD = (0.05, 3.0)  # s: start of the push and end of a trial of the impedance
PRESSED = (0.75, 1.75)  # s: the same in contact
PRESS = 0.02  # m that the reference is moved into the wall
CONTACT = {
    "mass": [2.0] * 3 + [0.1] * 3,
    "stiffness": [500.0] * 3 + [20.0] * 3,
    "damping_ratio": 1.0,
}
LAST = 0.25  # s at the end of a trial, in which the arm must be at rest
REMAINDER = 0.1  # of the largest motion, or of the mean contact force, that counts as rest


def impedance_is_stable(
    robot: RobotConfig, q: Array, rate: float, delay: float, translation: float, rotation: float
) -> bool:
    """True where the impedance law comes to rest at q (n,) after a push with PUSH.

    The law has its defaults but for the stiffness, `translation` [N/m] and `rotation` [N·m/rad].
    Stable means that no effort limit is met, and that five quantities come to rest. They are
    position error, rotation error, the tip's two speeds, and the largest joint speed. At the end
    each stays below a tenth of its largest value.
    """
    robot = robot.at_rate(rate)
    arm = _TouchedArm(robot, q, push=np.outer(PUSH, DIRECTION).ravel(), start=HELD[0], wall=0.0)
    loop = ControlLoop(
        robot, "impedance", {"stiffness": [translation] * 3 + [rotation] * 3}, model=arm.kinematics
    )
    loop.ringing.settings.set({"reaction": WARN})
    motion = []
    try:
        for kin in _drive(loop, arm, delay, HELD[1]):
            error = loop.pose_error()
            twist = kin.twist
            parts = (error[:3], error[3:], twist[:3], twist[3:])
            motion.append([*(math.sqrt(part.dot(part)) for part in parts), np.abs(kin.v).max()])
    except HardwareFault:
        return False
    size = np.array(motion)
    return bool((size[-round(LAST * rate) :].max(axis=0) <= REMAINDER * size.max(axis=0)).all())


def contact_is_stable(robot: RobotConfig, q: Array, rate: float, delay: float, wall: float) -> bool:
    """True where the admittance law comes to rest against a wall of a stiffness [N/m].

    The law has the gains CONTACT.

    The wall, a spring without damping that can't pull, touches the tip at q (n,), across its z
    axis. The reference moves into it by PRESS, and later a force pulls the tip off. Stable: at the
    end the contact force varies by less than a tenth of its mean, and is never lost.
    """
    robot = robot.at_rate(rate)
    pose = RobotModel.of(robot).at(q).pose
    pull = np.concatenate((-PUSH[0] * pose[:3, 2], np.zeros(3)))
    arm = _TouchedArm(robot, q, push=pull, start=PRESSED[0], wall=wall)
    loop = ControlLoop(robot, "admittance", CONTACT, model=arm.kinematics)
    loop.ringing.settings.set({"reaction": WARN})
    goal = pose.copy()
    goal[:3, 3] += PRESS * pose[:3, 2]
    try:
        for _ in _drive(loop, arm, delay, PRESSED[1]):
            loop.motion.move_to(goal)
    except HardwareFault:
        return False
    force = np.array(arm.forces[-round(LAST / PHYSICS_STEP) :])
    return bool(force.min() > 0.0 and np.ptp(force) <= REMAINDER * force.mean())


def _drive(
    loop: ControlLoop, arm: _TouchedArm, delay: float, seconds: float
) -> Iterator[RobotDynamics]:
    """Yield the arm's kinematics after each cycle.

    Raises:
        HardwareFault: a limit is met, safety stops the arm, or the physics diverges.
    """
    rate = loop.robot.profile.rate
    plant = DelayedPlant(arm, 1.0 / PHYSICS_STEP, rate=rate, delay=delay)
    try:
        for _, kin, _ in lockstep(plant, loop, round(seconds * rate)):
            if loop.safety.fault or loop.safety.saturated.any():
                raise HardwareFault("safety limits a command")
            yield kin
    except ConfigError as error:  # a joint state that no joint can have
        raise HardwareFault(f"the physics diverges: {error}") from error


class _TouchedArm(MujocoPlant):
    """A simulated arm with forces on its tip that are renewed at each physics step: a push, and
    a wall at its start.
    """

    def __init__(
        self, robot: RobotConfig, q: Array, *, push: Array, start: float, wall: float
    ) -> None:
        super().__init__(robot, rate=1.0 / PHYSICS_STEP)
        self.reset(q)
        self.kinematics = RobotModel.of(robot)
        self.forces: list[float] = []
        self._tip = robot.tip
        self._push = push
        self._begin = start
        self._wall = wall
        pose = self.kinematics.at(q).pose
        self._place = pose[:3, 3].copy()
        self._inward = pose[:3, 2].copy()
        self._force = 0.0

    def read(self) -> RobotState:
        acting = self._begin <= self.time < self._begin + PUSH_LENGTH
        wrench = self._push.copy() if acting else np.zeros(6)
        wrench[:3] -= self._force * self._inward
        self.push(self._tip, wrench[:3], wrench[3:])
        state = super().read()
        if self._wall > 0.0:
            depth = (self.kinematics.at(state.q).pose[:3, 3] - self._place).dot(self._inward)
            self._force = self._wall * max(float(depth), 0.0)
            self.forces.append(self._force)
        return state
