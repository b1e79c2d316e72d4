"""Cartesian impedance: the tip behaves as if a spring and a damper tied it to the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import lapack

from ..core.gains import MATRIX, TASK, gain
from ..core.spatial import pose_error_and_map
from ..core.types import Array, Command, CommandMode, Reference, RobotState
from ..robot.model import RobotDynamics
from .friction_compensation import (
    FrictionCompensation,
    friction_bound_gain,
    friction_by_wrench_gain,
    friction_gain,
    friction_width_gain,
)
from .law import register
from .spring.bounded_spring import BoundedSpring, governor_gain, max_force_gain, max_torque_gain
from .spring.compliance_frame import BASE, TANK, ComplianceFrame, PassiveSpring, TipSpring, frame_gain, frame_jacobian
from .terms import critical_damping, damping_gain, damping_ratio_gain, gravity_gain, gravity_torque, is_diagonal, total

DAMPING_PERIOD = 0.04  # s between two designs of the damping matrix: it follows the posture, not the velocity
HEAVY = 100.0  # kg or kg·m²: where the tip feels heavier in a direction, the matrix turns quickly with the posture
TURNED = 0.02  # rad, after which it is designed anew there
MAX_INERTIA = 1e3  # kg or kg·m²: bound of the operational-space inertia near singularities
REGULARISATION = 1e-6  # 1/kg, added to J M⁻¹ Jᵀ in the null space: keeps the solve finite at singularities


@register("impedance")
class Impedance:
    """Spring and damper between the tip and the reference, for any number of joints.

    Law:
        tau = J_eᵀ K e + Jᵀ [D (v_ref - v) + M (a_ref - a) + w_ref]
              + s_c C(q, q̇) q̇ + s_g g(q) + u_f + Nᵀ [k_n (q_n - q) - d_n q̇]
        e = [p_ref - p; log(R_ref Rᵀ)]; J_e = -∂e/∂q = diag(I, Jr⁻¹(e_rot)) J, the exact derivative of that error.
        D = D_0 + 2 S Z Ω Zᵀ S, S = diag(√ζ): with (K, Λ) diagonalised together, K = Z Ω² Zᵀ and Λ = Z Zᵀ, this
        gives every mode the damping ratio ζ where ζ is the same on all axes. Λ = (J M_q⁻¹ Jᵀ)⁻¹.
        With max_force or max_torque, K e is the gradient of a potential that is linear beyond these bounds: see
        BoundedSpring in laws/spring/bounded_spring.py. D stays that of K. With another frame than the base, K, D, ζ and
        axes are along its axes: see TipSpring in laws/spring/compliance_frame.py. Changes of such a spring stay
        passive: see PassiveSpring there.
        M = 0 by default. Where it isn't, a is the tip's acceleration that the model and the measured wrench give,
        solved together with tau, so that nothing is differentiated.
        u_f compensates friction: see FrictionCompensation in laws/friction_compensation.py, and controller.md.
        An axis whose entry in `axes` is 0 is free: it has neither spring, damper nor inertia. (Where one or two of the
        three rotations are free, the exact gradient leaves them a part of at most |e| |K e| / 2, second order in e.)
    Closed loop:
        (Λ + M)(a - a_ref) + D (v - v_ref) + K (x - x_ref) = w_ext + w_ref at small errors and low speed. With the
        reference at rest, s_c = 0, M = 0 and no null-space term the energy V = q̇ᵀ M_q q̇ / 2 + eᵀ K e / 2 obeys
        dV/dt = -vᵀ D v + vᵀ w_ext: passive. Coriolis compensation (s_c = 1) gives up that proof for less coupling at
        speed, and a projected posture term gives it up likewise; both are off by default.
    Frames and units:
        Base axes, tip origin; linear then angular; K, D, ζ and axes along those of `frame`. K [N/m, N·m/rad],
        D [N·s/m, N·m·s/rad], M [kg, kg·m²].
    Assumptions:
        Torque-controlled joints; stiffness within what the delay from state to torque allows. No reference pose
        leaves out the spring, no reference twist means 0. No measured wrench: a is the one of free space.
    Source:
        N. Hogan, Impedance control, ASME J. Dyn. Sys. Meas. Control 107, 1985. Damping: A. Albu-Schäffer, C. Ott,
        U. Frese, G. Hirzinger, Cartesian impedance control of redundant robots, ICRA 2003. Exact rotational gradient:
        F. Bullo, R. Murray, Proportional derivative control on the Euclidean group, ECC 1995.
    """

    @dataclass(frozen=True, eq=False)
    class Gains:
        stiffness: Array = gain(
            (500.0, 500.0, 500.0, 50.0, 50.0, 50.0),
            size=MATRIX,
            unit="N/m, N·m/rad",
            upper=10000.0,
            symmetric=True,
            doc="Spring K between tip and reference, along the axes of `frame`; 0 lets that axis float.",
        )
        damping_ratio: Array = damping_ratio_gain(TASK)
        damping: Array = damping_gain(MATRIX)
        frame: str = frame_gain()
        max_force: float = max_force_gain()
        max_torque: float = max_torque_gain()
        governor: float = governor_gain()
        inertia: Array = gain(
            0.0,
            size=TASK,
            unit="kg, kg·m²",
            upper=50.0,
            doc="Inertia added to the arm's own, from model and measured wrench; 0 leaves the arm's own.",
        )
        axes: Array = gain(
            1.0,
            size=TASK,
            doc="1 where the axis is controlled, 0 where it is free; a planar arm controls x and y only.",
        )
        coriolis: float = gain(False, doc="Compensate Coriolis and centrifugal torques.")
        gravity: float = gravity_gain()
        friction: float = friction_gain()
        friction_bound: Array = friction_bound_gain()
        friction_width: float = friction_width_gain()
        friction_by_wrench: float = friction_by_wrench_gain()
        posture_stiffness: float = gain(
            0.0,
            unit="N·m/rad",
            upper=500.0,
            doc="Null-space spring towards the reference's or last reset's posture, where joints outnumber axes.",
        )
        posture_damping: float = gain(
            0.0, unit="N·m·s/rad", upper=100.0, doc="Null-space damping, where joints outnumber axes."
        )

    mode: ClassVar[CommandMode] = CommandMode.EFFORT

    def __init__(self) -> None:
        self.terms: dict[str, Array] = {}
        self._friction = FrictionCompensation()
        self._posture = np.zeros(0)
        self._stiffness = np.zeros(6)
        self._spring: PassiveSpring | None = None  # None: a diagonal K in base axes, without bounds
        self._frame: ComplianceFrame | None = None  # None: the base
        self._damping = np.zeros((6, 6))
        self._damping_age = np.inf
        self._designed_at = np.zeros(0)  # q where the tip feels heavy; empty where it doesn't
        self._adopted: object = None
        self._adds_inertia = False
        self._holds_posture = False

    def reset(self, state: RobotState, kin: RobotDynamics) -> None:
        """Take the present joint angles as the posture, and design the damping anew."""
        self._posture = state.q.copy()
        self._adopted = self._spring = None
        self._damping_age = np.inf

    def compute(self, state: RobotState, kin: RobotDynamics, reference: Reference, gains: Gains, dt: float) -> Command:
        if gains is not self._adopted:
            self._adopt(gains, kin)
        self._damping_age += dt
        if self._damping_age >= DAMPING_PERIOD or (self._designed_at.size and self._has_turned(kin)):
            self._design_damping(kin, gains)
        jacobian_t = kin.jacobian.T
        twist_error = -kin.twist if reference.twist is None else reference.twist - kin.twist
        damper = self._damping.dot(twist_error)
        turning: Array | None = None
        if reference.pose is None:
            spring = np.zeros(6)
        elif self._spring is not None:
            taken = dt * float(damper.dot(twist_error)) if self._spring.tank < TANK else 0.0
            spring, turning = self._spring.pull(reference.pose, kin, taken, dt)
        else:
            error, rotation_map = pose_error_and_map(reference.pose, kin.pose)
            spring = self._stiffness * error
            turn = spring[3:]
            turn[:] = rotation_map.T.dot(turn)
        stiffness = jacobian_t.dot(spring)
        self.terms = terms = {
            "stiffness": stiffness if turning is None else stiffness + turning,
            "damping": jacobian_t.dot(damper),
            "gravity": gravity_torque(gains, kin),
        }
        if reference.wrench is not None:
            terms["feedforward"] = jacobian_t.dot(reference.wrench)
        if gains.coriolis > 0.0:
            terms["coriolis"] = gains.coriolis * kin.coriolis
        if self._adds_inertia:
            terms["inertia"] = jacobian_t.dot(self._inertia_force(state, kin, reference, gains, spring + damper))
        if self._holds_posture:
            terms["posture"] = self._posture_torque(state, kin, reference, gains)
        self._friction.add(terms, gains, state, kin)
        return Command(self.mode, total(terms))

    @property
    def spring_load(self) -> float:
        """See :class:`~.law.ControlLaw`."""
        return 0.0 if self._spring is None else self._spring.load

    @staticmethod
    def joint_gains(gains: Gains, mass: Array, jacobian: Array) -> tuple[Array, Array]:
        """See :class:`~.law.ControlLaw`; C(q, q̇) is of second order."""
        axes = gains.axes
        mobility = jacobian.dot(np.linalg.solve(mass, jacobian.T))
        inertia = np.diag(axes * gains.inertia * axes)
        share = np.eye(6) - inertia.dot(np.linalg.solve(np.eye(6) + mobility.dot(inertia), mobility))
        spring = axes[:, None] * gains.stiffness * axes
        damper = _designed_damping(gains, _mobility(gains, mass, jacobian))
        stiffness, damping = (jacobian.T.dot(share.dot(each)).dot(jacobian) for each in (spring, damper))
        if gains.posture_stiffness > 0.0 or gains.posture_damping > 0.0:
            rows = axes[:, None] * jacobian
            null = np.column_stack([project(unit, rows, mass, 1.0 - axes**2) for unit in np.eye(len(mass))])
            stiffness, damping = stiffness + gains.posture_stiffness * null, damping + gains.posture_damping * null
        return stiffness, damping

    def _adopt(self, gains: Gains, kin: RobotDynamics) -> None:
        """What depends on the gains alone."""
        stiffness = gains.axes[:, None] * gains.stiffness * gains.axes
        if self._frame is None or self._frame.name != gains.frame:
            self._frame = None if gains.frame == BASE else ComplianceFrame(gains.frame, kin)
        self._change_spring(stiffness, gains, kin)
        self._stiffness = stiffness.diagonal()
        self._adds_inertia = bool(gains.inertia.any())
        self._holds_posture = gains.posture_stiffness > 0.0 or gains.posture_damping > 0.0
        self._adopted, self._damping_age = gains, np.inf

    def _change_spring(self, stiffness: Array, gains: Gains, kin: RobotDynamics) -> None:
        """Go to the spring of these gains; the plain one takes its gains as they are."""
        bounds = gains.max_force, gains.max_torque
        if self._spring is None and not (self._frame or any(bounds) or not is_diagonal(stiffness)):
            return
        base = ComplianceFrame(BASE, kin)
        spring = TipSpring(BoundedSpring(stiffness, *bounds), self._frame or base)
        if self._spring is None:
            plain = TipSpring(BoundedSpring(np.diag(self._stiffness), 0.0, 0.0), base)
            self._spring = PassiveSpring(spring if self._adopted is None else plain)
        self._spring.change(spring)

    def _design_damping(self, kin: RobotDynamics, gains: Gains) -> None:
        """D for this posture. It is positive semidefinite however old it gets: its age never costs passivity.

        Near singular postures it is large in one direction. An old direction, that the arm has turned from, gives the
        torque a saw-tooth with the period of the designs.
        """
        to_frame = None if self._frame is None else self._frame.map(kin)
        mobility = _mobility(gains, kin.mass, kin.jacobian if to_frame is None else to_frame.dot(kin.jacobian))
        damping = _designed_damping(gains, mobility)
        self._damping = damping if to_frame is None else to_frame.T.dot(damping).dot(to_frame)
        light = lapack.dpotrf(mobility - np.eye(6) / HEAVY)[1] == 0 or not gains.damping_ratio.any()
        self._damping_age, self._designed_at = 0.0, np.zeros(0) if light else kin.q

    def _has_turned(self, kin: RobotDynamics) -> bool:
        """Whether the joints have left the posture of the last design."""
        away = kin.q - self._designed_at
        return bool(away.dot(away) > TURNED**2)

    @staticmethod
    def _inertia_force(
        state: RobotState, kin: RobotDynamics, reference: Reference, gains: Gains, force: Array
    ) -> Array:
        """M (a_ref - a), with a from (1 + W M) a = W (f + M a_ref + w_ext) + J̇ q̇ - (1 - s_c) J M_q⁻¹ C q̇."""
        inertia = gains.axes * gains.inertia * gains.axes
        _, solved, _ = lapack.dposv(kin.mass, np.column_stack((kin.jacobian.T, kin.coriolis)))
        both = kin.jacobian.dot(solved)
        mobility, drift = both[:, :6], kin.jdot_v - (1.0 - gains.coriolis) * both[:, 6]
        pull = force if reference.wrench is None else force + reference.wrench
        if state.wrench_on_tip is not None:
            pull = pull + state.wrench_on_tip
        wanted = np.zeros(6) if reference.acceleration is None else reference.acceleration
        right = mobility.dot(pull + inertia * wanted) + drift
        _, _, acceleration, _ = lapack.dgesv(np.eye(6) + mobility * inertia, right)
        return np.asarray(inertia * (wanted - acceleration))

    def _posture_torque(self, state: RobotState, kin: RobotDynamics, reference: Reference, gains: Gains) -> Array:
        posture = self._posture if reference.q is None else reference.q
        away = kin.model.wrap(posture - state.q)
        torque = gains.posture_stiffness * away - gains.posture_damping * state.v
        rows = gains.axes[:, None] * frame_jacobian(gains, kin)
        return project(torque, rows, kin.mass, 1.0 - gains.axes**2)


def _mobility(gains: Impedance.Gains, mass: Array, jacobian: Array) -> Array:
    """J M⁻¹ Jᵀ (6, 6) of the controlled axes, of which none feels heavier than the bound."""
    axes = gains.axes
    _, solved, _ = lapack.dposv(mass, jacobian.T)
    mobility = axes[:, None] * jacobian.dot(solved) * axes  # an axis that is 0 is taken out of it
    mobility.flat[::7] += 1.0 - axes * axes + 1.0 / MAX_INERTIA
    return np.asarray(mobility)


def _designed_damping(gains: Impedance.Gains, mobility: Array) -> Array:
    """D (6, 6) at a posture."""
    axes = gains.axes
    damping = gains.damping.copy()
    if gains.damping_ratio.any():
        stiffness = axes[:, None] * gains.stiffness * axes
        damping += critical_damping(stiffness, mobility, gains.damping_ratio)
    return np.asarray(axes[:, None] * damping * axes)


def project(torque: Array, jacobian: Array, mass: Array, slack: Array | float = 0.0) -> Array:
    """The part of a joint torque (n,) that doesn't accelerate the task: Nᵀ tau.

    Nᵀ = I - Jᵀ Λ J M⁻¹ with Λ = (J M⁻¹ Jᵀ)⁻¹, the dynamically consistent projector:  J M⁻¹ Nᵀ tau = 0.

    Args:
        torque: (n,) [N·m].
        jacobian: (m, n) of the task's axes; m may be 0; a row of zeros is no axis.
        mass: (n, n) [kg·m²].
        slack: (m,) or one number [1/kg], added to J M⁻¹ Jᵀ: 0 for an axis of the task, 1 with a row of zeros; between
            the two an axis is faded out.

    Source: O. Khatib, A unified approach for motion and force control of robot manipulators: the operational
    space formulation, IEEE J. Robotics and Automation 3(1), 1987.
    """
    if jacobian.shape[0] == 0:
        return torque
    both = np.column_stack((jacobian.T, torque))
    _, solved, _ = lapack.dposv(mass, both)  # M⁻¹ [Jᵀ tau]
    mobility = jacobian @ solved
    inverse_inertia = mobility[:, :-1]
    inverse_inertia.flat[:: inverse_inertia.shape[1] + 1] += REGULARISATION + slack
    _, force, _ = lapack.dposv(inverse_inertia, mobility[:, -1])
    return np.asarray(torque - jacobian.T @ force)
