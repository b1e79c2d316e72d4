"""Task-space PD: a spring and a damper with full matrices between the tip and the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..core.gains import JOINT, MATRIX, choice, gain
from ..core.spatial import rotation_error_euler_xyz, rotation_log
from ..core.types import Array, Command, CommandMode, Reference, RobotState
from ..robot.model import RobotDynamics
from .law import register
from .spring.bounded_spring import BoundedSpring, bounded, governor_gain, max_force_gain, max_torque_gain
from .terms import gravity_gain, gravity_torque, total

ROTATION_ERRORS = {"so3_log": rotation_log, "euler_xyz": rotation_error_euler_xyz}


@register("task_space_pd")
class TaskSpacePD:
    """PD control of the tip's pose by the transposed Jacobian, for any number of joints.

    Law:
        tau = Jᵀ [Kp e + Kd (v_ref - J q̇)] - B q̇ + s_g g(q)
        e = [p_ref - p; e_rot], with e_rot of R_ref Rᵀ: its rotation vector (so3_log), or the angles (a, b, c) of
        R_ref Rᵀ = Rx(a) Ry(b) Rz(c) (euler_xyz, the source's). Neither the reference's acceleration nor Coriolis
        torques are used. With max_force or max_torque, Kp e is the gradient of a potential that is linear beyond these
        bounds: see BoundedSpring in laws/spring/bounded_spring.py.
    Closed loop:
        M_q q̈ + C q̇ + (B + Jᵀ Kd J) q̇ = Jᵀ (Kp e + Kd v_ref + w_ext).
        With so3_log, s_g = 1, a resting reference and Kp = diag(K, k I), K symmetric, k a number, Jᵀ Kp e is the exact
        gradient of -V_p, V_p = (e_posᵀ K e_pos + k |e_rot|²) / 2, and V = q̇ᵀ M_q q̇ / 2 + V_p obeys
        dV/dt = -q̇ᵀ B q̇ - vᵀ Kd v + vᵀ w_ext: passive. With other Kp that holds to second order in e_rot only. With
        euler_xyz it holds near zero error; beyond 90° about y the error turns the tip about other axes, and jumps.
        The rotation vector jumps, too, but only where the error is half a turn: there its sign is fixed by the matrix.
    Frames and units:
        Base axes, tip origin; linear then angular. Kp [N/m, N·m/rad], Kd [N·s/m, N·m·s/rad], B [N·m·s/rad].
    Assumptions:
        Torque-controlled joints, the model's gravity right. Damping so high that the tip's inertia, divided by it, is
        no longer than a control period makes the joints rattle. No reference pose leaves out the spring, no reference
        twist means 0.
    Source:
        The task-space PD motion model of robotics toolboxes, angular part first there. M. Takegaki, S. Arimoto, A new
        feedback method for dynamic control of manipulators, ASME J. Dyn. Sys. Meas. Control 103, 1981. Rotation vector:
        F. Bullo, R. Murray, Proportional derivative control on the Euclidean group, ECC 1995.
    """

    @dataclass(frozen=True, eq=False)
    class Gains:
        stiffness: Array = gain(
            500.0,
            size=MATRIX,
            unit="N/m, N·m/rad",
            upper=10000.0,
            doc="Spring Kp between tip and reference; 0 on an axis lets it float.",
        )
        damping: Array = gain(
            100.0,
            size=MATRIX,
            unit="N·s/m, N·m·s/rad",
            upper=2000.0,
            doc="Damper Kd between the tip's twist and the reference's.",
        )
        max_force: float = max_force_gain()
        max_torque: float = max_torque_gain()
        governor: float = governor_gain()
        joint_damping: Array = gain(
            1.0,
            size=JOINT,
            unit="N·m·s/rad",
            upper=200.0,
            doc="Damping B of each joint; it also slows what moves the joints but not the tip.",
        )
        rotation_error: str = choice(
            "so3_log",
            tuple(ROTATION_ERRORS),
            doc="Error of the orientation: the rotation vector, or x-y-z angles as the source has them.",
        )
        gravity: float = gravity_gain()

    mode: ClassVar[CommandMode] = CommandMode.EFFORT

    def __init__(self) -> None:
        self.terms: dict[str, Array] = {}
        self._adopted: object = None
        self._bounded: BoundedSpring | None = None
        self._rotation_error = rotation_log

    @property
    def spring_load(self) -> float:
        """See :class:`~.law.ControlLaw`."""
        return 0.0 if self._bounded is None else self._bounded.load

    @staticmethod
    def joint_gains(gains: Gains, mass: Array, jacobian: Array) -> tuple[Array, Array]:
        """See :class:`~.law.ControlLaw`."""
        stiffness, damping = (jacobian.T.dot(each).dot(jacobian) for each in (gains.stiffness, gains.damping))
        return stiffness, damping + np.diag(gains.joint_damping)

    def reset(self, state: RobotState, kin: RobotDynamics) -> None:
        """Nothing is remembered."""

    def compute(self, state: RobotState, kin: RobotDynamics, reference: Reference, gains: Gains, dt: float) -> Command:
        if gains is not self._adopted:
            self._adopted, self._rotation_error = gains, ROTATION_ERRORS[gains.rotation_error]
            self._bounded = bounded(gains.stiffness, gains)
        jacobian_t = kin.jacobian.T
        twist_error = -kin.twist if reference.twist is None else reference.twist - kin.twist
        error = np.zeros(6)
        if reference.pose is not None:
            error[:3] = reference.pose[:3, 3] - kin.pose[:3, 3]
            error[3:] = self._rotation_error(reference.pose[:3, :3].dot(kin.pose[:3, :3].T))
        spring = gains.stiffness.dot(error) if self._bounded is None else self._bounded.gradient(error)
        self.terms = terms = {
            "stiffness": jacobian_t.dot(spring),
            "damping": jacobian_t.dot(gains.damping.dot(twist_error)),
            "joint_damping": -gains.joint_damping * state.v,
            "gravity": gravity_torque(gains, kin),
        }
        return Command(self.mode, total(terms))
