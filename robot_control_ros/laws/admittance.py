"""Admittance: a position-controlled arm gives way to the measured wrench as a mass on a spring and damper would."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import lapack

from ..core.gains import AXES, SCALAR, TASK, choice, gain
from ..core.spatial import cross, make_pose, pose_error, rotation_exp, rotation_log, rotation_log_jacobian
from ..core.types import Array, Command, CommandMode, Reference, RobotState, SensedState
from ..robot.inverse_kinematics import TRACKING, DifferentialKinematics
from ..robot.model import RobotDynamics
from .law import register
from .terms import damping_gain
from .wall_contact import WALL, least_damping, usual_lag

FOLLOWED = (0.005, 0.02)  # m, rad: how far the joints may be behind the virtual body before it waits for them
FEEDBACK = 25.0  # 1/s, from the joints' error to their velocity, where velocities are commanded
TANK = 1.0  # J, at most, of dissipated energy that later changes of mass and stiffness may use


class VirtualBody:
    """A mass, spring and damper in six degrees of freedom, relative to the reference; integrated implicitly.

    (M + dt B + dt² AᵀKA) v⁺ = M v + dt (f - AᵀK x),  with ẋ = A v. For the translation A = 1 and x⁺ = x + dt v⁺; for
    the rotation x = log(R_c R_refᵀ) and R_c⁺ = exp(dt w⁺) R_c, so that the spring's torque is the gradient of
    xᵀ K x / 2: K x where all three stiffnesses are the same. Stable for every dt > 0 and M, B, K >= 0, M > 0.

    Mass and stiffness that grow while the body moves or is deflected add energy. They do so only as far as what the
    damper has taken out, kept in a tank of at most 1 J, pays for it; else they wait. So the body stays passive while it
    is being tuned. Source: F. Ferraguti et al., An energy tank-based interactive control architecture for autonomous
    and teleoperated robotic surgery, IEEE Trans. Robotics 31(5), 2015.

    Attributes:
        position: (3,) [m], rotation: (3, 3), twist: (6,) [m/s, rad/s], all relative to the reference, along the axes of
            its gains.
    """

    def __init__(self) -> None:
        self.place(np.zeros(3), np.eye(3), np.zeros(6))

    def place(self, position: Array, rotation: Array, twist: Array) -> None:
        """Put it somewhere, with an empty tank; it takes the next step's mass and stiffness as they are."""
        self.position, self.rotation, self.twist = position, rotation, twist
        self._mass: Array | None = None
        self._stiffness = np.zeros(6)
        self._tank = 0.0

    def deflection(self) -> Array:
        """[position; rotation vector] (6,) [m, rad]."""
        return np.concatenate((self.position, rotation_log(self.rotation)))

    def step(self, wrench: Array, mass: Array, damping: Array, stiffness: Array, dt: float) -> None:
        """One step under a wrench (6,); mass, damping and stiffness (6,) are diagonals."""
        x = self.deflection()
        mass, stiffness = self._affordable(x, mass, stiffness)
        slope = rotation_log_jacobian(self.rotation)  # Aᵀ
        pull = stiffness * x
        pull[3:] = slope.dot(pull[3:])
        impulse = mass * self.twist + dt * (wrench - pull)
        inertia = mass + dt * damping
        twist = impulse / (inertia + dt**2 * stiffness)
        square = (dt**2 * slope * stiffness[3:]).dot(slope.T)
        square.flat[::4] += inertia[3:]
        _, twist[3:], _ = lapack.dposv(square, impulse[3:])
        self._tank = min(self._tank + dt * float(damping.dot(twist * twist)), TANK)
        self.move(twist, dt)

    def turn(self, axes: Array) -> bool:
        """Go on along other axes (3, 3), given in the present ones; False where the tank can't pay for that."""
        x, both = self.deflection(), np.kron(np.eye(2), axes.T)
        along, twist = both.dot(x), both.dot(self.twist)
        cost = 0.5 * float(self._stiffness.dot(along * along - x * x))
        if self._mass is not None:
            cost += 0.5 * float(self._mass.dot(twist * twist - self.twist * self.twist))
        if cost > self._tank:
            return False
        self._tank = min(self._tank - cost, TANK)
        self.position, self.twist = along[:3], twist
        self.rotation = axes.T.dot(self.rotation).dot(axes)
        return True

    def move(self, twist: Array, dt: float) -> None:
        """Let it move with a twist (6,) for dt."""
        self.twist = twist
        self.position = self.position + dt * twist[:3]
        self.rotation = rotation_exp(dt * twist[3:]).dot(self.rotation)

    def _affordable(self, x: Array, mass: Array, stiffness: Array) -> tuple[Array, Array]:
        if self._mass is None:
            self._mass, self._stiffness = mass, stiffness
        if mass is self._mass and stiffness is self._stiffness:
            return mass, stiffness
        more_mass, more_stiffness = mass - self._mass, stiffness - self._stiffness
        cost = 0.5 * float(more_mass.dot(self.twist * self.twist) + more_stiffness.dot(x * x))
        if cost > self._tank:
            fraction = self._tank / cost
            mass, stiffness = self._mass + fraction * more_mass, self._stiffness + fraction * more_stiffness
            cost = self._tank
        self._tank = min(self._tank - cost, TANK)
        self._mass, self._stiffness = mass, stiffness
        return mass, stiffness


@register("admittance")
class Admittance:
    """The measured wrench moves a virtual body tied to the reference, and the joints follow that body.

    Law:
        M (V_c - V_ref)' + B (V_c - V_ref) + K (x_c - x_ref) = w_ext + w_ref, integrated implicitly (see VirtualBody),
        with B = 2 ζ √(M K) + B_0, on the axes chosen by `selected_axes`; on the others w_ext + w_ref = 0.
        q̇_c = J⁺(q_c) [V_c + k e(x_c, x(q_c))] + N k_n (q_n - q_c), J⁺ by damped least squares (see
        DifferentialKinematics), within the joints' velocity and position limits; q_c⁺ = q_c + dt q̇_c.
        Output position: q_c, with q̇_c as the velocity that goes with it; output velocity: q̇_c + k_q (q_c - q).
    Closed loop:
        With joints that follow, M ẍ + B ẋ + K x = w_ext about the reference. The virtual body is passive by itself,
        also while its gains change. In contact with a wall of stiffness k, the delay τ from force to motion takes k τ
        of the damping. It stays in contact with B ≥ k τ + 0.2 √(k (M + k τ²/2)). A rigid wall needs a mass as well,
        M ≥ 1.75 (2 Λ w τ), with the tip's inertia Λ and the joint servos' bandwidth w. See laws/wall_contact.py.
    Frames and units:
        Axes of `frame`: the base's or the reference's; tip origin; linear then angular. M [kg, kg·m²],
        B [N·s/m, N·m·s/rad], K [N/m, N·m/rad].
    Assumptions:
        Position- or velocity-controlled joints, and a wrench: from a sensor, or from joint torques (parameter
        wrench.source). The law feeds back its own virtual state, not the measured pose: fed back through the servo's
        lag, B would destabilise it. Where the joints can't follow (limits, singularities) the body waits for them:
        nothing winds up.
    Source:
        N. Hogan, Impedance control, ASME J. Dyn. Sys. Meas. Control 107, 1985; in the form of C. Ott, R. Mukherjee,
        Y. Nakamura, Unified impedance and admittance control, ICRA 2010.
    """

    @dataclass(frozen=True, eq=False)
    class Gains:
        mass: Array = gain(
            (2.0, 2.0, 2.0, 0.1, 0.1, 0.1),
            size=TASK,
            unit="kg, kg·m²",
            lower=0.001,
            upper=100.0,
            doc="Mass and inertia M of the virtual body; small ones follow the hand faster and ring sooner in contact.",
        )
        stiffness: Array = gain(
            (500.0, 500.0, 500.0, 20.0, 20.0, 20.0),
            size=TASK,
            unit="N/m, N·m/rad",
            upper=20000.0,
            doc="Spring K between body and reference; 0 lets that axis float away: give it damping.",
        )
        damping_ratio: Array = gain(
            1.0, size=TASK, upper=10.0, doc="Damping as a ratio of the critical one of mass and stiffness."
        )
        damping: Array = damping_gain(TASK)
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
        frame: str = choice("base", ("base", "reference"), doc="Axes of mass, stiffness, damping and selected_axes.")
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
            """B of the virtual body (6,) [N·s/m, N·m·s/rad]."""
            return np.asarray(2.0 * self.damping_ratio * np.sqrt(self.mass * self.stiffness) + self.damping)

        def warning(self, period: float) -> str:
            """Which axes can't stay in contact with a wall of 10⁴ N/m where a node runs at a period [s]; else empty."""
            lag = usual_lag(period)
            damping, least = self.virtual_damping[:3], least_damping(self.mass[:3], lag)
            weak = (self.moved_axes[:3] > 0.0) & (damping < least)
            if not weak.any():
                return ""
            axes = ", ".join(axis for axis, is_weak in zip(AXES, weak, strict=False) if is_weak)
            worst = int(np.where(weak, damping / least, np.inf).argmin())
            return (
                f"against a wall of {WALL:g} N/m the tip rings along {axes}: damping {damping[worst]:.0f} N·s/m, must "
                f"be at least {least[worst]:.0f} for a mass of {self.mass[worst]:g} kg at {1.0 / period:.0f} Hz, where "
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
        self._body = VirtualBody()
        self._placed = False
        self._adopted: object = None
        self._damping = self._moved_axes = np.zeros(6)
        self._kinematics = DifferentialKinematics()
        self._q = self._posture = np.zeros(0)
        self._rest = np.eye(4)
        self._turns, self._axes = False, np.eye(3)  # whether the body's axes are the reference's, and these

    def reset(self, state: RobotState, kin: RobotDynamics) -> None:
        """The joints' commands and the posture begin at the present joint angles; the body where the tip is."""
        self._q = self._posture = state.q.copy()
        self._rest, self._placed = kin.pose, False

    def compute(self, state: SensedState, kin: RobotDynamics, reference: Reference, gains: Gains, dt: float) -> Command:
        if gains is not self._adopted:
            self._adopt(gains)
        pose_ref = self._rest if reference.pose is None else reference.pose
        twist_ref = np.zeros(6) if reference.twist is None else reference.twist
        if not self._placed:
            self._place(kin, pose_ref, twist_ref)
        wrench = state.wrench_on_tip
        if reference.wrench is not None:
            wrench = wrench + reference.wrench
        body = self._body
        if self._turns is not (gains.frame == "reference"):
            self._change_axes(pose_ref[:3, :3])
        if self._turns:
            self._axes = pose_ref[:3, :3]
            wrench = wrench.reshape(2, 3).dot(self._axes).ravel()
        body.step(self._moved_axes * wrench, gains.mass, self._damping, gains.stiffness, dt)
        self._bound(gains, dt)
        pose, twist = self._turned(pose_ref, twist_ref) if self._turns else self._along_base(pose_ref, twist_ref)
        velocity = self._follow(kin, reference, gains, pose, twist, dt)
        behind = kin.model.wrap(self._q - state.q)
        self.terms = {"joint_velocity": velocity, "joint_error": behind}
        if gains.output == "velocity":
            return Command(CommandMode.VELOCITY, velocity + FEEDBACK * behind)
        return Command(CommandMode.POSITION, self._q, None, velocity)

    def _adopt(self, gains: Gains) -> None:
        """What depends on the gains alone."""
        self._damping, self._moved_axes = gains.virtual_damping, gains.moved_axes
        self._kinematics = DifferentialKinematics(gains.axes)
        self._adopted = gains

    def _change_axes(self, axes: Array) -> None:
        """Let the body's axes be the reference's instead of the base's, or the other way round, as soon as it can."""
        if self._body.turn(axes.T if self._turns else axes):
            self._turns = not self._turns

    def _along_base(self, pose_ref: Array, twist_ref: Array) -> tuple[Array, Array]:
        """Pose (4, 4) and twist (6,) of the body."""
        body = self._body
        pose = make_pose(pose_ref[:3, 3] + body.position, body.rotation.dot(pose_ref[:3, :3]))
        twist = twist_ref + body.twist
        twist[3:] += body.rotation.dot(twist_ref[3:]) - twist_ref[3:]
        return pose, twist

    def _turned(self, pose_ref: Array, twist_ref: Array) -> tuple[Array, Array]:
        """The same of a body whose axes turn with the reference."""
        body, axes = self._body, self._axes
        away = axes.dot(body.position)
        pose = make_pose(pose_ref[:3, 3] + away, axes.dot(body.rotation))
        twist = twist_ref + body.twist.reshape(2, 3).dot(axes.T).ravel()
        twist[:3] += cross(twist_ref[3:], away)
        return pose, twist

    def _place(self, kin: RobotDynamics, pose_ref: Array, twist_ref: Array) -> None:
        rotation = kin.pose[:3, :3].dot(pose_ref[:3, :3].T)
        twist = kin.twist - twist_ref
        twist[3:] += twist_ref[3:] - rotation.dot(twist_ref[3:])
        self._body.place(kin.pose[:3, 3] - pose_ref[:3, 3], rotation, twist)
        self._turns = False
        self._placed = True

    def _bound(self, gains: Gains, dt: float) -> None:
        """Keep the body's speed within its limits, and let it not go further out than it may."""
        body = self._body
        twist, deflection = body.twist, body.deflection()
        for part, distance, speed in (
            (slice(0, 3), gains.max_displacement, gains.max_velocity),
            (slice(3, 6), gains.max_rotation, gains.max_rate),
        ):
            size = math.sqrt(twist[part].dot(twist[part]))
            if size > speed:
                twist = _with(twist, part, twist[part] * (speed / size))
            away = deflection[part]
            length = math.sqrt(away.dot(away))
            if length > distance:
                twist = _with(twist, part, _without(twist[part], away / length))
        if twist is not body.twist:
            body.move(twist - body.twist, dt)
            body.twist = twist

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
        self._q = self._kinematics.step(there, twist + TRACKING * lag, rate, dt)
        self._wait(error, dt)
        return np.asarray((self._q - q) / dt)

    def _wait(self, error: Array, dt: float) -> None:
        """Take back what the joints are behind the body beyond the tolerance."""
        if self._turns:
            error = error.reshape(2, 3).dot(self._axes).ravel()
        for part, tolerance in ((slice(0, 3), FOLLOWED[0]), (slice(3, 6), FOLLOWED[1])):
            behind = error[part]
            size = math.sqrt(behind.dot(behind))
            if size > tolerance:
                body = self._body
                outward = body.twist
                back = np.zeros(6)
                back[part] = -(1.0 - tolerance / size) / dt * behind
                body.move(back, dt)
                body.twist = _with(outward, part, _without(outward[part], behind / size))


def _with(twist: Array, part: slice, values: Array) -> Array:
    changed = twist.copy()
    changed[part] = values
    return changed


def _without(velocity: Array, direction: Array) -> Array:
    """A velocity (3,) without what goes in a direction (3,) of length 1."""
    along = float(velocity.dot(direction))
    return velocity - along * direction if along > 0.0 else velocity
