"""The arm under task-space PD as an ordinary differential equation, for integrators."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_control_ros.core.gains import make_gains
from robot_control_ros.core.types import Array, Reference, RobotState
from robot_control_ros.laws.task_space_pd import TaskSpacePD
from robot_control_ros.robot.model import RobotDynamics, RobotModel


class TaskSpaceMotionModel:
    """d/dt [q; q̇] of an arm under :class:`~robot_control_ros.laws.task_space_pd.TaskSpacePD`.

    The law is the package's own, without delay, limits or sampling. The arm is
    M q̈ + C q̇ + g = tau. It has the rotor inertia of the model, and no joint friction. The
    equation
    is stiff: take an implicit integrator.

    Args:
        model: Model of the arm; poses are those of its tip in its base.
        stiffness, damping: Kp, Kd: one number, the six of a diagonal, or (6, 6); linear then
            angular.
        gains: Other gains of the law, by name.

    Raises:
        ConfigError: a gain of the wrong shape, not finite or out of bounds.
    """

    def __init__(
        self, model: RobotModel, stiffness: Any = 500.0, damping: Any = 100.0, **gains: Any
    ) -> None:
        self.model = model
        values = {"stiffness": stiffness, "damping": damping, "joint_damping": 1.0, **gains}
        self.gains: TaskSpacePD.Gains = make_gains(TaskSpacePD.Gains, values, model.n)
        self._law = TaskSpacePD()

    def derivative(self, state: Array, pose_ref: Array, twist_ref: Array) -> Array:
        """Derivative d/dt [q; q̇], (2n,) [rad/s, rad/s²], of a state [q; q̇], (2n,) [rad, rad/s].

        The tip is to follow a pose (4, 4) and a twist (6,).
        """
        kin = self.model.at(*np.split(state, 2))
        torque = self.torque(kin, pose_ref, twist_ref)
        return np.concatenate((kin.v, self.model.forward_dynamics(kin.q, kin.v, torque)))

    def torque(self, kin: RobotDynamics, pose_ref: Array, twist_ref: Array) -> Array:
        """The law's joint torques (n,) [N·m]."""
        state = RobotState(0.0, kin.q, kin.v, np.zeros(self.model.n))
        return self._law.compute(state, kin, Reference(pose_ref, twist_ref), self.gains, 0.0).values
