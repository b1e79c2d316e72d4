"""Joint impedance: a spring and a damper in each joint, and the reference's motion fed forward."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..core.gains import JOINT, gain
from ..core.types import Array, Command, CommandMode, JointSpaceReference, Reference, RobotState
from ..robot.model import RobotDynamics
from .friction_compensation import (
    FrictionCompensation,
    friction_bound_gain,
    friction_by_wrench_gain,
    friction_gain,
    friction_width_gain,
)
from .law import register
from .terms import (
    damping_gain,
    damping_ratio_gain,
    gravity_gain,
    gravity_torque,
    joint_damping,
    joint_stiffness_gain,
    total,
)


@register("joint_impedance")
class JointImpedance:
    """Spring and damper in each joint, about a motion that the model feeds forward (PD+).

    Law:
        tau = K e + D ė + s_ff [M(q) a_ref + C(q, q̇) v_ref] + s_g g(q) + u_f;  e = q_ref - q, ė = v_ref - q̇.
        u_f compensates friction: see FrictionCompensation in laws/friction_compensation.py, and controller.md.
        A cyclic joint goes the short way round: e = ((q_ref - q + π) mod 2π) - π.
        D = D_0 + 2 ζ √(K M_ii(q)): each joint has the damping ratio ζ while the others stand still.
        M and C are taken at the measured state and applied to the reference's motion, which is what the proof below
        needs. C is the matrix of the Christoffel symbols; as C(q, q̇) v_ref is linear in both, two runs of
        inverse dynamics give it: 4 (M a + C v_ref) = ID(q, q̇ + v_ref, 2a) - ID(q, q̇ - v_ref, -2a).
    Closed loop:
        s_ff = 1: M(q) ë + C(q, q̇) ė + D ė + K e = -tau_ext, exactly and at any speed. As Ṁ - 2C is skew-symmetric,
        V = ėᵀ M ė / 2 + eᵀ K e / 2 obeys dV/dt = -ėᵀ D ė - ėᵀ tau_ext: passive, and e tends to 0 where nothing acts.
        With the reference at rest that is M q̈ + (C + D) q̇ + K (q - q_ref) = tau_ext, whatever s_ff.
    Frames and units:
        Joint space. K [N·m/rad], D [N·m·s/rad]; forces instead of torques where joints slide.
    Assumptions:
        Torque-controlled joints; stiffness within what the delay from state to torque allows; |e| below half a turn
        in cyclic joints, where the spring changes its direction.
    Source:
        B. Paden, R. Panja, Globally asymptotically stable 'PD+' controller for robot manipulators, Int. J. Control 47,
        1988. Joint impedance: A. Albu-Schäffer, C. Ott, G. Hirzinger, A unified passivity-based control framework for
        position, torque and impedance control of flexible joint robots, Int. J. Robotics Research 26, 2007.
    """

    @dataclass(frozen=True, eq=False)
    class Gains:
        stiffness: Array = joint_stiffness_gain(50.0)
        damping_ratio: Array = damping_ratio_gain(JOINT)
        damping: Array = damping_gain(JOINT)
        feedforward: float = gain(True, doc="Feed forward the inertial and Coriolis torques of the reference's motion.")
        gravity: float = gravity_gain()
        friction: float = friction_gain()
        friction_bound: Array = friction_bound_gain()
        friction_width: float = friction_width_gain()
        friction_by_wrench: float = friction_by_wrench_gain()

    mode: ClassVar[CommandMode] = CommandMode.EFFORT
    reference: ClassVar[type[Reference]] = JointSpaceReference

    def __init__(self) -> None:
        self.terms: dict[str, Array] = {}
        self._friction = FrictionCompensation()

    @staticmethod
    def joint_gains(gains: Gains, mass: Array, jacobian: Array) -> tuple[Array, Array]:
        """See :class:`~.law.ControlLaw`."""
        return np.diag(gains.stiffness), np.diag(joint_damping(gains, mass.diagonal()))

    def reset(self, state: RobotState, kin: RobotDynamics) -> None:
        """Nothing is remembered."""

    def compute(
        self, state: RobotState, kin: RobotDynamics, reference: JointSpaceReference, gains: Gains, dt: float
    ) -> Command:
        q, v, a = reference.q, reference.v, reference.a
        model = kin.model
        self.terms = terms = {
            "stiffness": gains.stiffness * model.wrap(q - state.q),
            "damping": joint_damping(gains, kin.mass.diagonal()) * (v - state.v),
            "gravity": gravity_torque(gains, kin),
        }
        if gains.feedforward > 0.0 and (v.any() or a.any()):
            forwards = model.inverse_dynamics(state.q, state.v + v, 2.0 * a)
            backwards = model.inverse_dynamics(state.q, state.v - v, -2.0 * a)
            terms["feedforward"] = gains.feedforward * (forwards - backwards) / 4.0
        self._friction.add(terms, gains, state, kin)
        return Command(self.mode, total(terms))
