"""Motors of a simulated robot's joints: they follow the last command by a servo or a law."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.errors import refused
from ..core.types import Array, Command, CommandMode, Reference, RobotState
from ..laws.running_law import RunningLaw
from ..robot.configuration import RobotConfig
from ..robot.model import RobotModel
from .mujoco_robot import MujocoRobot


class JointLaw:
    """Turns the position commands of a controller into torques or velocities, at the pace of the
    physics.

    The law's reference is the command: its positions, its velocities (zeros where it has none), no
    acceleration, no pose. It sees neither the controller's gains nor a wrench.

    Every command mode is valid, and the law may compensate gravity. It needs a model of its own.

    Raises:
        ConfigError: the law or a gain is refused, or it needs a wrench.
    """

    def __init__(
        self,
        robot: RobotConfig,
        model: RobotModel,
        name: str,
        gains: Mapping[str, Any] | None,
        period: float,
    ) -> None:
        motor = replace(robot.profile, commands=tuple(CommandMode), gravity_by_robot=False)
        self._running = RunningLaw(replace(robot, profile=motor), name, gains)
        if self._running.needs_wrench:
            raise refused("joint_law", name, "it needs a wrench, and the joints have none")
        self.name = name
        self._model = model
        self._period = period
        self._rest = np.zeros(robot.n)
        self._fresh = True

    def reset(self) -> None:
        """Begin anew at the next call."""
        self._fresh = True

    def command(self, state: RobotState, wanted: Command) -> Command:
        """The motors' command in this physics step; `wanted` is the controller's last
        command, of positions.
        """
        kin = self._model.update(state.q, state.v)
        if self._fresh:
            self._running.law.reset(state, kin)
            self._fresh = False
        velocity = self._rest if wanted.velocity is None else wanted.velocity
        reference = Reference(q=wanted.values, v=velocity, a=self._rest)
        return self._running.law.compute(
            state, kin, reference, self._running.gains.current, self._period
        )


class JointMotors:
    """Motors with effort limits, see :class:`.mujoco_plant.MujocoPlant`.

    Args:
        robot: Robot in the simulation.
        limit: (n,) largest torques [N·m].
        bandwidth: Bandwidth of the servos in position and velocity mode [rad/s].
        timeout: Simulated time after which the joints hold without a new command [s]; 0 never does.
        joint_law: Law that drives the motors instead of the servo; None for the servo.
        carried: Model of a robot that adds its own weight to efforts; None where it doesn't.
        offset: (n,) torques that each motor gives beside its own, but not while the joints are held
            [N·m]; None for none.

    Attributes:
        start: (n,) joint angles where a simulation begins [rad].
        effort: (n,) joint torques, mean of the last period [N·m].
    """

    def __init__(
        self,
        robot: MujocoRobot,
        limit: Array,
        bandwidth: float,
        timeout: float,
        joint_law: JointLaw | None,
        carried: RobotModel | None,
        offset: Array | None = None,
    ) -> None:
        self._robot = robot
        self._bandwidth = bandwidth
        self._timeout = timeout
        self._upper = limit
        self._lower = -limit
        self.joint_law = joint_law
        self._carried = carried
        self._offset = offset
        self._still = np.zeros(len(limit))
        # of a motor under a law: within one step
        self._velocity_bandwidth = 1.0 / robot.model.opt.timestep
        self._is_plain = joint_law is None and carried is None and timeout <= 0.0
        # of the command, where it follows from nothing else
        self._steady_torque: Array | None = None
        self.start = robot.q
        self.effort = np.zeros(len(limit))
        self._sum = np.zeros(len(limit))

    def place(self) -> None:
        """Put the arm where it begins; nothing pushes it."""
        self._robot.data.qpos[self._robot.q_index] = self.start
        self._robot.release()

    def begin(self) -> None:
        """Hold the joints, so that the first sample is that of a held robot."""
        self.hold()
        self.apply(self.torque())

    def apply(self, torque: Array) -> None:
        """Let torques (n,) [N·m] and the pushes act in the next physics step."""
        self._robot.apply_pushes()
        self._robot.torque = torque
        self.effort = torque

    def hold_torque(self) -> bool:
        """Let the command's torque act in all steps of a period; False where it isn't the same in
        all of them.

        It follows from the state in a servo, a law within the drives, a carried weight, or a push,
        whose lever arm moves with the link. A time-out may come within the period.
        """
        if self._steady_torque is None or self._robot.pushes:
            return False
        self._robot.torque = self._steady_torque
        self.effort = self._steady_torque
        return True

    def actuate(self) -> None:
        """Let the motors and the pushes act in the next physics step."""
        self._robot.apply_pushes()
        torque = self.torque()
        self._robot.torque = torque
        self._sum += torque

    def end_period(self, steps: int) -> None:
        """End a period of so many steps: the effort is the mean of their torques."""
        self.effort = self._sum / steps
        self._sum[:] = 0.0

    def hold(self) -> None:
        """Hold the joints where they are."""
        self._command = Command(CommandMode.POSITION, self._robot.q)
        self._steady_torque = None
        self._commanded_at = math.inf  # holding doesn't time out
        self._holding = True
        if self.joint_law is not None:
            self.joint_law.reset()

    def take(self, command: Command) -> None:
        """Follow a command from the next physics step on."""
        self._command = command
        self._holding = False
        if self._timeout > 0.0:
            self._commanded_at = self._robot.data.time
        self._steady_torque = None
        if self._is_plain and command.mode is CommandMode.EFFORT:
            self._steady_torque = self._given(_with_feedforward(command.values, command))

    def torque(self) -> Array:
        """Joint torques (n,) for this physics step [N·m]."""
        if self._steady_torque is not None:
            return self._steady_torque
        if self._timeout > 0.0 and self._robot.data.time - self._commanded_at > self._timeout:
            self.hold()
        if self.joint_law is None or self._holding:
            torque = self._motor(self._command, self._bandwidth)
            if self._carried is not None and self._command.mode is CommandMode.EFFORT:
                torque = torque + self._carried.bias(self._robot.q, self._still)
        else:
            state = RobotState(
                self._robot.data.time, self._robot.q, self._robot.v, self._robot.torque
            )
            driven = self.joint_law.command(state, self._command)
            torque = self._motor(driven, self._velocity_bandwidth)
            if self._command.feedforward is not None:
                torque = torque + self._command.feedforward
        return self._limited(torque) if self._holding else self._given(torque)

    def _given(self, torque: Array) -> Array:
        """Torques that the motors give where a torque (n,) is wanted [N·m]."""
        limited = self._limited(torque)
        return limited if self._offset is None else limited + self._offset

    def _limited(self, torque: Array) -> Array:
        return np.minimum(np.maximum(torque, self._lower), self._upper)

    def _motor(self, command: Command, velocity_bandwidth: float) -> Array:
        torque = command.values
        if command.mode is not CommandMode.EFFORT:
            torque = self._servo(command, velocity_bandwidth)
        return _with_feedforward(torque, command)

    def _servo(self, command: Command, velocity_bandwidth: float) -> Array:
        """Computed torque: M [w² (q_c - q) + 2 w (v_c - v)], or M w (v_c - v), plus bias."""
        robot = self._robot
        v = self._robot.v
        if command.mode is CommandMode.POSITION:
            w = self._bandwidth
            velocity_error = -v if command.velocity is None else command.velocity - v
            wanted = w * (w * (command.values - robot.q) + 2.0 * velocity_error)
        else:
            wanted = velocity_bandwidth * (command.values - v)
        return np.asarray(robot.mass_matrix() @ wanted + robot.bias)


def _with_feedforward(torque: Array, command: Command) -> Array:
    """A torque (n,) and what the command adds to it [N·m]."""
    return torque if command.feedforward is None else torque + command.feedforward
