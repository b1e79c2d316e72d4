"""Admittance: a position-controlled arm gives way to the measured wrench as a mass on a spring and damper would."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..core.gains import AXES, MATRIX, SCALAR, TASK, choice, gain
from ..core.spatial import cross, make_pose, pose_error
from ..core.types import Array, Command, CommandMode, Reference, RobotState, SensedState
from ..robot.differential_kinematics import TRACKING, DifferentialKinematics
from ..robot.model import RobotDynamics
from .gain_bounds.wall_contact import WALL, least_damping, usual_lag
from .law import register
from .spring.compliance_frame import BASE, REFERENCE, ComplianceFrame, frame_gain
from .spring.virtual_body import PLAIN, BodyFrame, VirtualBody
from .terms import critical_damping, damping_gain, is_diagonal

FEEDBACK = 25.0  # 1/s, from the joints' error to their velocity, where velocities are commanded


@register("admittance")
class Admittance:
    """The measured wrench moves a virtual body tied to the reference, and the joints follow that body.

    Law:
        M (V_c - V_ref)' + B (V_c - V_ref) + K (x_c - x_ref) = w_ext + w_ref, integrated implicitly (see VirtualBody),
        with B = 2 ζ √(M K) + B_0, on the axes chosen by `selected_axes`; on the others w_ext + w_ref = 0.
        q̇_c = J⁺(q_c) [V_c + k e(x_c, x(q_c))] + N k_n (q_n - q_c), J⁺ by damped least squares (see
        DifferentialKinematics), within the joints' velocity and position limits, and never changing faster than
        servos can follow; q_c⁺ = q_c + dt q̇_c.
        Output position: q_c, with q̇_c as the velocity that goes with it; output velocity: q̇_c + k_q (q_c - q).
    Closed loop:
        With joints that follow, M ẍ + B ẋ + K x = w_ext about the reference. The virtual body is passive by itself,
        also while its gains change. In contact with a wall of stiffness k, the delay τ from force to motion takes k τ
        of the damping. It stays in contact with B ≥ k τ + 0.2 √(k (M + k τ²/2)). A rigid wall needs a mass as well,
        M ≥ 1.75 (2 Λ w τ), with the tip's inertia Λ and the joint servos' bandwidth w. See gain_bounds/wall_contact.py.
    Frames and units:
        Axes of `frame`, at the tip or at the link that `frame` names and that moves with it; linear then angular.
        M [kg, kg·m²], B [N·s/m, N·m·s/rad], K [N/m, N·m/rad]: diagonals, or symmetric matrices. Axes of a link that
        moves otherwise are renewed as far as the body's tank pays for it.
    Assumptions:
        Position- or velocity-controlled joints, and a wrench: from a sensor, or from joint torques (parameter
        wrench.source). The law feeds back its own virtual state, not the measured pose: fed back through the servo's
        lag, B would destabilise it. Where the joints can't follow (limits, singularities) the body waits for them, at
        their speed: nothing winds up. It slows down before `max_displacement` and `max_rotation`.
    Source:
        N. Hogan, Impedance control, ASME J. Dyn. Sys. Meas. Control 107, 1985; in the form of C. Ott, R. Mukherjee,
        Y. Nakamura, Unified impedance and admittance control, ICRA 2010.
    """

    @dataclass(frozen=True, eq=False)
    class Gains:
        mass: Array = gain(
            (2.0, 2.0, 2.0, 0.1, 0.1, 0.1),
            size=MATRIX,
            unit="kg, kg·m²",
            lower=0.001,
            upper=100.0,
            symmetric=True,
            doc="Mass and inertia M of the virtual body; small ones follow the hand faster and ring sooner in contact.",
        )
        stiffness: Array = gain(
            (500.0, 500.0, 500.0, 20.0, 20.0, 20.0),
            size=MATRIX,
            unit="N/m, N·m/rad",
            upper=20000.0,
            symmetric=True,
            doc="Spring K between body and reference; 0 lets that axis float away: give it damping.",
        )
        damping_ratio: Array = gain(
            1.0, size=TASK, upper=10.0, doc="Damping as a ratio of the critical one of mass and stiffness."
        )
        damping: Array = damping_gain(MATRIX)
        selected_axes: Array = gain(
            1.0, size=TASK, doc="1 where the tip gives way, 0 where it follows the reference stiffly."
        )
        axes: Array = gain(1.0, size=TASK, doc="1 for the axes that the arm can move, 0 for those left to themselves.")
        max_displacement: float = gain(
            0.3, size=SCALAR, unit="m", lower=0.001, upper=2.0, doc="The body goes no further from the reference."
        )
        max_rotation: float = gain(
            1.0, size=SCALAR, unit="rad", lower=0.001, upper=3.0, doc="The body turns no further from the reference."
        )
        max_velocity: float = gain(
            0.5,
            size=SCALAR,
            unit="m/s",
            lower=0.001,
            upper=5.0,
            doc="The body goes no faster, relative to the reference.",
        )
        max_rate: float = gain(
            2.0, size=SCALAR, unit="rad/s", lower=0.001, upper=20.0, doc="The body turns no faster, relative to it."
        )
        frame: str = frame_gain("mass, stiffness, damping and selected_axes")
        posture_rate: float = gain(
            1.0,
            unit="1/s",
            upper=20.0,
            doc="With which the null space goes to the reference's or last reset's posture; 0 leaves it alone.",
        )
        output: str = choice("position", ("position", "velocity"), doc="What the joints are commanded.")

        softening: ClassVar[Mapping[str, float]] = {"stiffness": 0.0, "damping": -0.5, "damping_ratio": -0.5}

        @property
        def virtual_damping(self) -> Array:
            """B of the virtual body (6, 6) [N·s/m, N·m·s/rad]."""
            if is_diagonal(self.mass) and is_diagonal(self.stiffness):
                product = self.mass.diagonal() * self.stiffness.diagonal()
                return np.asarray(np.diag(2.0 * self.damping_ratio * np.sqrt(product)) + self.damping)
            return (
                critical_damping(self.stiffness, np.asarray(np.linalg.inv(self.mass)), self.damping_ratio)
                + self.damping
            )

        def warning(self, period: float) -> str:
            """Which axes can't stay in contact with a wall of 10⁴ N/m where a node runs at a period [s]; else empty."""
            lag = usual_lag(period)
            mass, damping = (each.diagonal()[:3] for each in (self.mass, self.virtual_damping))
            least = least_damping(mass, lag)
            weak = (self.moved_axes[:3] > 0.0) & (damping < least)
            if not weak.any():
                return ""
            axes = ", ".join(axis for axis, is_weak in zip(AXES, weak, strict=False) if is_weak)
            worst = int(np.where(weak, damping / least, np.inf).argmin())
            return (
                f"against a wall of {WALL:g} N/m the tip rings along {axes}: damping {damping[worst]:.0f} N·s/m, must "
                f"be at least {least[worst]:.0f} for a mass of {mass[worst]:g} kg at {1.0 / period:.0f} Hz, where "
                f"commands act {1e3 * lag:.0f} ms late"
            )

        @property
        def moved_axes(self) -> Array:
            """(6,) 1 for each axis of the wrench that moves the body, else 0."""
            return self.selected_axes * self.axes

    mode: ClassVar[CommandMode] = CommandMode.POSITION
    needs_wrench: ClassVar[bool] = True

    def __init__(self) -> None:
        self.terms: dict[str, Array] = {}
        self._body, self._placed = VirtualBody(), False
        self._adopted: object = None
        self._mass = self._damping = self._stiffness = self._moved_axes = np.zeros(6)
        self._kinematics = DifferentialKinematics()
        self._q = self._posture = self.path_velocity = np.zeros(0)
        self._rest = np.eye(4)
        self._frame: ComplianceFrame | None = None  # None: the base
        self._entered = BASE  # the frame that the body is in
        self._turns, self._axes = False, np.eye(3)  # whether the body rests in the reference's axes, and these

    def reset(self, state: RobotState, kin: RobotDynamics) -> None:
        """The joints' commands and the posture begin at the present joint angles; the body where the tip is."""
        self._q = self._posture = state.q.copy()
        self.path_velocity = state.v.copy()
        self._rest, self._placed = kin.pose, False

    def compute(self, state: SensedState, kin: RobotDynamics, reference: Reference, gains: Gains, dt: float) -> Command:
        if gains is not self._adopted:
            self._adopt(gains, kin)
        pose_ref = self._rest if reference.pose is None else reference.pose
        twist_ref = np.zeros(6) if reference.twist is None else reference.twist
        if not self._placed:
            self._place(kin, pose_ref, twist_ref)
        wrench, body = state.wrench_on_tip, self._body
        if reference.wrench is not None:
            wrench = wrench + reference.wrench
        if self._entered != gains.frame or (self._frame is not None and self._frame.is_other_link):
            self._enter_frame(gains.frame, pose_ref[:3, :3], kin)
        if self._turns:
            self._axes = pose_ref[:3, :3]
            wrench = wrench.reshape(2, 3).dot(self._axes).ravel()
        wrench = body.frame.wrench(wrench, body.rotation)
        body.step(self._moved_axes * wrench, self._mass, self._damping, self._stiffness, dt)
        body.bound((gains.max_displacement, gains.max_rotation), (gains.max_velocity, gains.max_rate), dt)
        pose, twist = self._turned(pose_ref, twist_ref) if self._turns else self._along_base(pose_ref, twist_ref)
        velocity = self._follow(kin, reference, gains, pose, twist, dt)
        behind = kin.model.wrap(self._q - state.q)
        self.path_velocity = velocity
        self.terms = {"joint_velocity": velocity, "joint_error": behind}
        if gains.output == "velocity":
            return Command(CommandMode.VELOCITY, velocity + FEEDBACK * behind)
        return Command(CommandMode.POSITION, self._q, None, velocity)

    def _adopt(self, gains: Gains, kin: RobotDynamics) -> None:
        """What depends on the gains alone."""
        self._mass, self._damping, self._stiffness = _simplest(gains.mass, gains.virtual_damping, gains.stiffness)
        if self._frame is None or self._frame.name != gains.frame:
            self._frame = None if gains.frame == BASE else ComplianceFrame(gains.frame, kin)
        self._moved_axes, self._kinematics = gains.moved_axes, DifferentialKinematics(gains.axes)
        self._adopted = gains

    def _enter_frame(self, name: str, axes_ref: Array, kin: RobotDynamics) -> None:
        """Let the body go on in the frame of the gains, as soon as it can pay for that; axes of a link are renewed."""
        frame = PLAIN if self._frame is None else _body_frame(self._frame, kin)
        turns = name == REFERENCE or frame.lever is not None
        axes = np.eye(3) if turns is self._turns else axes_ref if turns else axes_ref.T
        if self._body.change(frame, axes):
            self._turns, self._entered = turns, name

    def _along_base(self, pose_ref: Array, twist_ref: Array) -> tuple[Array, Array]:
        """Pose (4, 4) and twist (6,) of the body."""
        body = self._body
        pose = make_pose(pose_ref[:3, 3] + body.position, body.rotation.dot(pose_ref[:3, :3]))
        twist = twist_ref + body.body_twist()
        twist[3:] += body.rotation.dot(twist_ref[3:]) - twist_ref[3:]
        return pose, twist

    def _turned(self, pose_ref: Array, twist_ref: Array) -> tuple[Array, Array]:
        """The same of a body whose axes turn with the reference."""
        body, axes = self._body, self._axes
        away = axes.dot(body.position)
        pose = make_pose(pose_ref[:3, 3] + away, axes.dot(body.rotation))
        twist = twist_ref + body.body_twist().reshape(2, 3).dot(axes.T).ravel()
        twist[:3] += cross(twist_ref[3:], away)
        return pose, twist

    def _place(self, kin: RobotDynamics, pose_ref: Array, twist_ref: Array) -> None:
        rotation = kin.pose[:3, :3].dot(pose_ref[:3, :3].T)
        twist = kin.twist - twist_ref
        twist[3:] += twist_ref[3:] - rotation.dot(twist_ref[3:])
        self._body.place(kin.pose[:3, 3] - pose_ref[:3, 3], rotation, twist)
        self._turns, self._entered = False, BASE
        self._placed = True

    def _follow(
        self, kin: RobotDynamics, reference: Reference, gains: Gains, pose: Array, twist: Array, dt: float
    ) -> Array:
        """Move the joint commands towards a pose and a twist; returns their velocities (n,)."""
        model, q = kin.model, self._q
        there = model.at(q)
        error = gains.axes * pose_error(pose, there.pose)
        posture = self._posture if reference.q is None else reference.q
        lag = error - dt * twist  # the twist makes good the rest in this step
        rate = gains.posture_rate * model.wrap(posture - q)
        self._q = self._kinematics.step(there, twist + TRACKING * lag, rate, dt, 0.0, self.path_velocity)
        velocity = (self._q - q) / dt
        moved = gains.axes * there.jacobian.dot(velocity)
        self._body.wait(self._along_body(error - dt * moved), self._along_body(gains.axes * twist - moved), dt)
        return np.asarray(velocity)

    def _along_body(self, twist: Array) -> Array:
        """A twist or an error (6,) of the tip, in base axes, along those of the body."""
        if self._turns:
            twist = twist.reshape(2, 3).dot(self._axes).ravel()
        return self._body.frame.twist(twist, self._body.rotation)


def _simplest(*matrices: Array) -> list[Array]:
    """The diagonals (6,) where all (6, 6) are diagonal, else the matrices."""
    return [each.diagonal().copy() for each in matrices] if all(map(is_diagonal, matrices)) else list(matrices)


def _body_frame(frame: ComplianceFrame, kin: RobotDynamics) -> BodyFrame:
    in_tip = frame.in_tip
    if in_tip is not None:
        return BodyFrame(in_tip[:3, :3], in_tip[:3, 3])
    return BodyFrame(frame.axes(kin)) if frame.is_other_link else PLAIN
