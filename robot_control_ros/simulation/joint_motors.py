"""What drives the joints of a simulated robot: the last command, by way of a servo or a law within the drives."""

from __future__ import annotations

import math

import numpy as np

from ..core.types import Array, Command, CommandMode, RobotState
from .joint_law import JointLaw
from .mujoco_robot import MujocoRobot


class JointMotors:
    """Motors with effort limits, see :class:`.mujoco_plant.MujocoPlant`.

    Args:
        robot: in the simulation.
        limit: (n,) largest torques [N·m].
        bandwidth: of the servos in position and velocity mode [rad/s].
        timeout: [s] of simulated time after which the joints hold without a new command; 0 never does.
        joint_law: drives the motors instead of the servo; None for the servo.

    Attributes:
        joint_law: as given.
    """

    def __init__(
        self, robot: MujocoRobot, limit: Array, bandwidth: float, timeout: float, joint_law: JointLaw | None
    ) -> None:
        self._robot, self._limit, self._bandwidth, self._timeout = robot, limit, bandwidth, timeout
        self.joint_law = joint_law
        self._velocity_bandwidth = 1.0 / robot.model.opt.timestep  # of a motor under a law: within one step

    def hold(self) -> None:
        """Hold the joints where they are."""
        self._command = Command(CommandMode.POSITION, self._robot.q)
        self._commanded_at, self._holding = math.inf, True  # holding doesn't time out
        if self.joint_law is not None:
            self.joint_law.reset()

    def take(self, command: Command) -> None:
        """Follow a command from the next physics step on."""
        self._command, self._commanded_at, self._holding = command, self._robot.data.time, False

    def torque(self) -> Array:
        """Joint torques (n,) for this physics step [N·m]."""
        data = self._robot.data
        if self._timeout > 0.0 and data.time - self._commanded_at > self._timeout:
            self.hold()
        if self.joint_law is None or self._holding:
            torque = self._motor(self._command, self._bandwidth)
        else:
            v = self._robot.v_index
            state = RobotState(data.time, self._robot.q, data.qvel[v], data.qfrc_applied[v])
            driven = self.joint_law.command(state, self._command)
            torque = self._motor(driven, self._velocity_bandwidth)
            if self._command.feedforward is not None:
                torque = torque + self._command.feedforward
        return np.minimum(np.maximum(torque, -self._limit), self._limit)

    def _motor(self, command: Command, velocity_bandwidth: float) -> Array:
        torque = command.values
        if command.mode is not CommandMode.EFFORT:
            torque = self._servo(command, velocity_bandwidth)
        return torque if command.feedforward is None else torque + command.feedforward

    def _servo(self, command: Command, velocity_bandwidth: float) -> Array:
        """Computed torque: M [w² (q_c - q) + 2 w (v_c - v)], or M w (v_c - v), plus bias."""
        robot, v = self._robot, self._robot.v
        if command.mode is CommandMode.POSITION:
            w = self._bandwidth
            velocity_error = -v if command.velocity is None else command.velocity - v
            wanted = w * (w * (command.values - robot.q) + 2.0 * velocity_error)
        else:
            wanted = velocity_bandwidth * (command.values - v)
        return np.asarray(robot.mass_matrix() @ wanted + robot.data.qfrc_bias[robot.v_index])
