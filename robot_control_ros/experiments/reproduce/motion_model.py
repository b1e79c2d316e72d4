"""The arm under task-space PD as an ordinary differential equation, for integrators."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.errors import ConfigError
from ...core.gains import make_gains
from ...core.types import Array, Reference, RobotState
from ...laws.task_space_pd import TaskSpacePD
from ...robot.configuration import RobotConfig
from ...robot.model import RobotDynamics, RobotModel


class TaskSpaceMotionModel:
    """d/dt [q; q̇] of an arm under :class:`~robot_control_ros.laws.task_space_pd.TaskSpacePD`.

    The law is the package's own, without delay, limits or sampling; the arm is M q̈ + C q̇ + g = tau + Jᵀ F_ext, with the
    rotor inertia of the model and without joint friction. It is stiff: take an implicit integrator.

    Args:
        robot: a model, or a configuration to make it from; poses are its `tip` in its `base`.
        stiffness, damping: Kp, Kd: one number, the six of a diagonal, or (6, 6); linear then angular.
        joint_damping: B: one number or (n,).
        rotation_error: "so3_log" or "euler_xyz".

    Attributes:
        model: the :class:`RobotModel`.
        gains: the law's checked gains, `stiffness` and `damping` (6, 6), `joint_damping` (n,).

    Raises:
        ConfigError: a gain of the wrong shape, not finite or out of bounds.
        ModelError: a joint, or the frame of the tip, is not in the description.
    """

    def __init__(
        self,
        robot: RobotModel | RobotConfig,
        stiffness: Any = 500.0,
        damping: Any = 100.0,
        joint_damping: Any = 1.0,
        rotation_error: str = "so3_log",
    ) -> None:
        self.model = RobotModel.of(robot) if isinstance(robot, RobotConfig) else robot
        values = {
            "stiffness": stiffness,
            "damping": damping,
            "joint_damping": joint_damping,
            "rotation_error": rotation_error,
        }
        self.gains: TaskSpacePD.Gains = make_gains(TaskSpacePD.Gains, values, self.model.n)
        self._law = TaskSpacePD()

    def derivative(self, state: Array, pose_ref: Array, twist_ref: Array, wrench_ext: Array | None = None) -> Array:
        """d/dt [q; q̇], (2n,) [rad/s, rad/s²].

        Args:
            state: [q; q̇], (2n,) [rad, rad/s].
            pose_ref: (4, 4) tip in base.
            twist_ref: (6,) [m/s, rad/s], linear then angular, in base axes.
            wrench_ext: (6,) by the environment on the tip [N, N·m], force then torque; acts on the arm, the law doesn't
                see it.

        Raises:
            ConfigError: an argument of the wrong shape.
        """
        n = self.model.n
        _check_shapes(state=(state, (2 * n,)), pose_ref=(pose_ref, (4, 4)), twist_ref=(twist_ref, (6,)))
        kin = self.model.at(state[:n], state[n:])
        tau = self.torque(kin, pose_ref, twist_ref)
        if wrench_ext is not None:
            _check_shapes(wrench_ext=(wrench_ext, (6,)))
            tau = tau + kin.jacobian.T.dot(wrench_ext)
        return np.concatenate((kin.v, self.model.forward_dynamics(kin.q, kin.v, tau)))

    def torque(self, kin: RobotDynamics, pose_ref: Array, twist_ref: Array) -> Array:
        """The law's joint torques (n,) [N·m]."""
        state = RobotState(0.0, kin.q, kin.v, np.zeros(self.model.n))
        return self._law.compute(state, kin, Reference(pose_ref, twist_ref), self.gains, 0.0).values


def _check_shapes(**arrays: tuple[Array, tuple[int, ...]]) -> None:
    for name, (array, shape) in arrays.items():
        if np.shape(array) != shape:
            raise ConfigError(f"{name} has the shape {np.shape(array)}: must have {shape}")
