"""Admittance: a position-controlled arm gives way to the measured wrench as a mass on a
spring and damper would.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..core.compiled import compiled
from ..core.cycle import Cycles, cycle_at
from ..core.gain_rows import gains_record, gains_row
from ..core.gains import AXES, MATRIX, SCALAR, TASK, choice, gain
from ..core.record import Field, Record
from ..core.rotations import pose_error_into, short_way, twist_in_into, wrench_in_into
from ..core.small_matrices import times
from ..core.types import Array, Command, CommandMode, JointPathFunction, RobotState, as_row
from ..robot.differential_kinematics import NEEDS_MASS, TRACKING, joint_step, weigh_axes
from ..robot.model import RobotDynamics
from ..stability.wall_contact import WALL, least_damping, usual_lag
from .compiled_law import CompiledLaw
from .law import register
from .spring.bounded_spring import FRAME_WIDTH, frame_at
from .spring.compliance_frame import (
    WITH_LINK,
    WITH_REFERENCE,
    WITH_TIP,
    ComplianceFrame,
    frame_gain,
)
from .spring.virtual_body import (
    BODY,
    BODY_WIDTH,
    body_at,
    body_twist_into,
    bound,
    change_frame,
    frame_placement_into,
    mass_gain,
    max_displacement_gain,
    max_rotation_gain,
    place,
    step,
    unpaid_gains,
    wait,
)
from .terms import critical_damping, damping_gain

FEEDBACK = 25.0  # 1/s, from the joints' error to their velocity, where velocities are commanded
JOINT_VELOCITY, JOINT_ERROR = range(2)  # its terms
VELOCITY = 1.0  # number of the output


@register("admittance")
class Admittance(CompiledLaw):
    """The measured wrench moves a virtual body tied to the reference, and the joints follow that
    body.

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
        M ≥ 1.75 (2 Λ w τ), with the tip's inertia Λ and the joint servos' bandwidth w. See stability/wall_contact.py.
    Frames and units:
        Axes of `frame`, at the tip or at the link that `frame` names and that moves with it; linear
        then angular.
        M [kg, kg·m²], B [N·s/m, N·m·s/rad], K [N/m, N·m/rad]: diagonals, or symmetric matrices.
        Axes of a link that moves otherwise are renewed as far as the body's tank pays for it.
    Assumptions:
        Position- or velocity-controlled joints, and a wrench: from a sensor, or from joint torques
        (parameter wrench.source). The law feeds back its own virtual state, not the measured pose:
        fed back through the servo's lag, B would destabilise it. Where the joints can't follow
        (limits, singularities) the body waits for them, at their speed: nothing winds up. It slows
        down before `max_displacement` and `max_rotation`.
    Source:
        N. Hogan, Impedance control, ASME J. Dyn. Sys. Meas. Control 107, 1985; in the form of C.
        Ott, R. Mukherjee,
        Y. Nakamura, Unified impedance and admittance control, ICRA 2010.
    """

    @dataclass(frozen=True, eq=False)
    class Gains:
        mass: Array = mass_gain(
            "Mass and inertia M of the virtual body; small ones follow the hand faster and ring sooner in contact."
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
            1.0,
            size=TASK,
            upper=10.0,
            doc="Damping as a ratio of the critical one of mass and stiffness.",
        )
        damping: Array = damping_gain(MATRIX)
        selected_axes: Array = gain(
            1.0,
            size=TASK,
            doc="1 where the tip gives way, 0 where it follows the reference stiffly.",
        )
        axes: Array = gain(
            1.0,
            size=TASK,
            doc="1 for the axes that the arm can move, 0 for those left to themselves.",
        )
        max_displacement: float = max_displacement_gain(
            "The body goes no further from the reference."
        )
        max_rotation: float = max_rotation_gain("The body turns no further from the reference.")
        max_velocity: float = gain(
            0.5,
            size=SCALAR,
            unit="m/s",
            lower=0.001,
            upper=5.0,
            doc="The body goes no faster, relative to the reference.",
        )
        max_rate: float = gain(
            2.0,
            size=SCALAR,
            unit="rad/s",
            lower=0.001,
            upper=20.0,
            doc="The body turns no faster, relative to it.",
        )
        frame: str = frame_gain("mass, stiffness, damping and selected_axes")
        posture_rate: float = gain(
            1.0,
            unit="1/s",
            upper=20.0,
            doc="With which the null space goes to the reference's or last reset's posture; 0 leaves it alone.",
        )
        output: str = choice(
            "position", ("position", "velocity"), doc="What the joints are commanded."
        )

        softening: ClassVar[Mapping[str, float]] = {
            "stiffness": 0.0,
            "damping": -0.5,
            "damping_ratio": -0.5,
        }

        @property
        def virtual_damping(self) -> Array:
            """B of the virtual body (6, 6) [N·s/m, N·m·s/rad]."""
            damping = self.damping.copy()
            if not _damp_diagonals(
                as_row(self.mass), as_row(self.stiffness), as_row(self.damping_ratio), damping
            ):
                mobility = np.asarray(np.linalg.inv(self.mass))
                damping += critical_damping(self.stiffness, mobility, self.damping_ratio)
            return damping

        def warning(self, period: float) -> str:
            """Warning of axes that can't stay in contact with a wall of 10⁴ N/m; empty for none.

            `period` [s] is that of the node that runs the law.
            """
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

    term_names = ("joint_velocity", "joint_error")
    memory = Record(
        "AdmittanceMemory",
        (
            Field("body", (BODY_WIDTH,), "", "The virtual body; see laws/spring/virtual_body.py."),
            Field("placed", (), "", "1 after the body was put where the tip is."),
            Field(
                "turns", (), "", "1 where the body rests in the reference's axes, 0 in the base's."
            ),
            Field("rest_axes", (4, 4), "", "These axes, as a placement about the body's origin."),
            Field("entered", (), "", "Number of the frame that the body is in."),
            Field(
                "frame",
                (FRAME_WIDTH,),
                "",
                "Frame of the gains; see laws/spring/bounded_spring.py.",
            ),
            Field("damping", (6, 6), "N·s/m, N·m·s/rad", "B of the gains."),
            Field(
                "rest",
                (4, 4),
                "m, -",
                "Pose of the last reset; it holds where the reference has none.",
            ),
            Field("posture", ("n",), "rad", "Joint angles of the last reset; likewise."),
            Field("q", ("n",), "rad", "Joint angles that were commanded."),
            Field("path_velocity", ("n",), "rad/s", "Their velocities."),
            Field("active", (2,), "", "1 for each term of the last command."),
            Field(
                "tip_pose",
                (4, 4),
                "m, -",
                "Pose of the tip at the commanded angles of the cycle before.",
            ),
            Field("tip_jacobian", (6, "n"), "m, -", "Its Jacobian there."),
            Field("body_pose", (4, 4), "m, -", "Pose that the body has, in the base."),
            Field("body_twist", (6,), "m/s, rad/s", "Twist that it has, in base axes."),
            Field("cyclic", ("n",), "", "1 for each joint that turns without end."),
            Field("lower", ("n",), "rad", "Limits of the joints."),
            Field("upper", ("n",), "rad", "Limits of the joints."),
            Field("fastest", ("n",), "rad/s", "Limits of the joints' velocities."),
            Field("effort", ("n",), "N·m", "Limits of the joints' torques."),
        ),
    )

    def __init__(self) -> None:
        super().__init__()
        self._frame: ComplianceFrame | None = None
        self._q = np.zeros(0)
        self._tip_pose = np.eye(4)
        self._tip_jacobian = np.zeros((6, 0))
        self.path_velocity = np.zeros(0)

    def remember_in(self, row: Array, n: int) -> None:
        """Keep the memory in a row for n joints, see :class:`~.compiled_law.CompiledLaw`."""
        super().remember_in(row, n)
        self._q = self._memory["q"]
        self._tip_pose = self._memory["tip_pose"]
        self._tip_jacobian = self._memory["tip_jacobian"]
        self.path_velocity = self._memory["path_velocity"]

    def start(self, state: RobotState, kin: RobotDynamics) -> None:
        """Begin commands and posture at the present joint angles, and the body where the tip is."""
        memory = self._memory
        limits = kin.model.limits
        self._frame = None
        memory["placed"] = 0.0
        memory["rest_axes"] = np.eye(4)
        memory["body_pose"] = np.eye(4)
        memory["rest"] = kin.pose
        memory["posture"] = state.q
        memory["q"] = state.q
        memory["path_velocity"] = state.v
        memory["active"] = 0.0
        memory["cyclic"] = kin.model.cyclic
        memory["lower"] = limits.lower
        memory["upper"] = limits.upper
        memory["fastest"] = limits.velocity
        memory["effort"] = limits.effort

    def adopt(self, gains: Gains, kin: RobotDynamics) -> None:
        """Take over gains, their frame and damping; see :class:`~.compiled_law.CompiledLaw`."""
        self._gains = gains
        if self._frame is None or self._frame.name != gains.frame:
            self._frame = ComplianceFrame(gains.frame, kin)
            self._frame.write(self._memory["frame"])
        self._memory["damping"] = gains.virtual_damping

    def run(self, cycles: Array, k: int, kin: RobotDynamics, gains: Gains, dt: float) -> None:
        """Write the command of a cycle and its terms, see :class:`~.compiled_law.CompiledLaw`."""
        memory = self._memory
        model = kin.model
        if gains is not self._gains:
            self.adopt(gains, kin)
        assert self._frame is not None
        self._frame.follow(memory["frame"], kin)
        pose, jacobian = model.link(model.tip, self._q)
        self._tip_pose[:] = pose
        self._tip_jacobian[:] = jacobian
        row = gains_row(gains, self._n)
        move_body(cycles, k, row, self._row, self._n, dt)
        if follow(cycles, k, row, self._row, _NO_MASS, _NO_GRAVITY, self._n, dt) == NEEDS_MASS:
            there = model.at(self._q.copy())
            follow(
                cycles, k, row, self._row, as_row(there.mass), as_row(there.gravity), self._n, dt
            )

    def command(
        self,
        cycles: Cycles,
        k: int,
        kin: RobotDynamics,
        path: JointPathFunction | None,
        gains: Gains,
        dt: float,
    ) -> Command:
        """The command for a cycle, see :class:`~.compiled_law.CompiledLaw`."""
        return with_path_velocity(
            super().command(cycles, k, kin, path, gains, dt), gains, self.path_velocity
        )

    @property
    def warning(self) -> str:
        """Gains that weren't in force in the last command, and why, in words; empty for none."""
        gains = self._gains
        if (
            self._memory is None
            or gains is None
            or self._frame is None
            or not self._memory["placed"]
        ):
            return ""
        told = unpaid_gains(self._memory["body"], gains.mass, gains.stiffness)
        if self._memory["entered"] == self._frame.number:
            return told
        waits = (
            f"frame {gains.frame} isn't in force: it has to be paid for by what the damper takes"
        )
        return f"{told}; {waits}" if told else waits

    @property
    def stiffness_in_force(self) -> Array:
        """K (6, 6) [N/m, N·m/rad] of the body, along the axes of `frame`.

        It differs from that of the gains until the change is paid for.
        """
        return np.array(BODY.by_name(self._memory["body"], 0)["stiffness"])


def with_path_velocity(command: Command, gains: Any, path_velocity: Array) -> Command:
    """Make a law's command one of positions or velocities, as the gain `output` says.

    The velocities (n,) of a path go with positions.
    """
    command.mode = CommandMode(gains.output)
    if command.mode is CommandMode.POSITION:
        command.velocity = path_velocity.copy()
    return command


_NO_MASS = np.empty((0, 0))
_NO_GRAVITY = np.empty(0)
_memory_at = Admittance.memory.views
_gains_at = gains_record(Admittance.Gains).views


@compiled
def _damp_diagonals(mass: Array, stiffness: Array, ratio: Array, damping: Array) -> bool:
    """Add 2 ζ √(M K) to a damping (6, 6) in place, where M and K (6, 6) are diagonal;
    False where they aren't.
    """
    for i in range(6):
        for j in range(6):
            if i != j and (mass[i, j] != 0.0 or stiffness[i, j] != 0.0):
                return False
    for i in range(6):
        damping[i, i] += 2.0 * ratio[i] * math.sqrt(mass[i, i] * stiffness[i, i])
    return True


@compiled
def move_body(cycles: Array, k: int, gains: Array, memory: Array, n: int, dt: float) -> None:
    """Move the virtual body, and write its pose and twist into the memory; see the law.

    Args:
        cycles, k, dt: Records, number of the cycle's row, and time since the cycle before [s].
        gains: Row of the law's gains.
        memory: Row of the law's memory.
        n: Number of joints.
    """
    cycle = cycle_at(cycles[k], n)
    gain = _gains_at(gains, n)
    law = _memory_at(memory, n)
    target = law.rest if math.isnan(cycle.target_pose[0, 0]) else cycle.target_pose
    twist = np.zeros(6)
    wrench = np.zeros(6)
    for i in range(6):
        twist[i] = 0.0 if math.isnan(cycle.target_twist[i]) else cycle.target_twist[i]
        wrench[i] = cycle.wrench[i]
        if not math.isnan(cycle.target_wrench[i]):
            wrench[i] += cycle.target_wrench[i]
    if law.placed[0] == 0.0:
        law.placed[0] = 1.0
        law.turns[0] = 0.0
        law.entered[0] = 0.0
        _place_body(law.body, cycle.pose, cycle.jacobian, cycle.v, target, twist)
    if (
        law.entered[0] != frame_at(law.frame, 0).number[0]
        or int(frame_at(law.frame, 0).kind[0]) == WITH_LINK
    ):
        _enter_frame(law.body, law.frame, law.turns, law.entered, target)
    for i in range(3):
        for j in range(3):
            if law.turns[0] == 1.0:
                law.rest_axes[i, j] = target[i, j]
            else:
                law.rest_axes[i, j] = 1.0 if i == j else 0.0
    along_rest = np.empty(6)
    placement = np.empty((4, 4))
    wrench_in_into(wrench, law.rest_axes, along_rest)
    frame_placement_into(law.body, placement)
    wrench_in_into(along_rest, placement, wrench)
    for i in range(6):
        wrench[i] *= gain.selected_axes[i] * gain.axes[i]
    step(law.body, wrench, gain.mass, law.damping, gain.stiffness, dt)
    bound(
        law.body,
        gain.max_displacement[0],
        gain.max_rotation[0],
        gain.max_velocity[0],
        gain.max_rate[0],
        dt,
    )
    _read_body(
        law.body, law.rest_axes, law.turns[0] == 1.0, target, twist, law.body_pose, law.body_twist
    )


@compiled
def _place_body(
    body: Array, pose: Array, jacobian: Array, v: Array, target: Array, twist: Array
) -> None:
    """Put a body where the tip is, with its twist; it rests in the base's axes.

    Args:
        body: Row of the body.
        pose, jacobian: Pose (4, 4) and Jacobian (6, n) of the tip in the base.
        v: Velocities (n,) of the joints [rad/s].
        target, twist: Pose (4, 4) and twist (6,) of the reference.
    """
    position = np.empty(3)
    rotation = np.empty((3, 3))
    away = np.empty(6)
    times(jacobian, v, away)
    for i in range(3):
        position[i] = pose[i, 3] - target[i, 3]
        away[i] -= twist[i]
        for j in range(3):
            rotation[i, j] = (
                pose[i, 0] * target[j, 0] + pose[i, 1] * target[j, 1] + pose[i, 2] * target[j, 2]
            )
            away[3 + i] -= rotation[i, j] * twist[3 + j]
    place(body, position, rotation, away)


@compiled
def _enter_frame(
    body: Array, frame_row: Array, turns: Array, entered: Array, target: Array
) -> None:
    """Let a body go on in the frame of the gains, as soon as it can pay for that; axes of a link
    are renewed.

    Args:
        body, frame_row: Rows of the body and of the frame.
        turns, entered: (1,) fields of the law's memory, which are written where the frame is
            entered.
        target: Pose (4, 4) of the reference.
    """
    frame = frame_at(frame_row, 0)
    kind = int(frame.kind[0])
    turns_with_reference = 1.0 if kind in (WITH_REFERENCE, WITH_TIP) else 0.0
    rest = np.empty((3, 3))
    axes = np.empty((3, 3))
    lever = np.zeros(3)
    for i in range(3):
        if kind == WITH_TIP:
            lever[i] = frame.offset[i, 3]
        for j in range(3):
            axes[i, j] = 1.0 if i == j else 0.0
            rest[i, j] = axes[i, j]
            if kind == WITH_LINK:
                axes[i, j] = frame.link_pose[i, j]
            elif kind == WITH_TIP:
                axes[i, j] = frame.offset[i, j]
            if turns_with_reference != turns[0]:
                rest[i, j] = target[i, j] if turns[0] == 0.0 else target[j, i]
    if change_frame(body, axes, lever, 1.0 if kind == WITH_TIP else 0.0, rest):
        turns[0] = turns_with_reference
        entered[0] = frame.number[0]


@compiled
def _read_body(
    row: Array,
    rest_axes: Array,
    turns: bool,
    target: Array,
    twist: Array,
    body_pose: Array,
    body_twist: Array,
) -> None:
    """Write the pose and the twist of a body in the base.

    Args:
        row: Row of the body.
        rest_axes: Axes that the body rests in, as a placement (4, 4).
        turns: True where these axes turn with the reference.
        target, twist: Pose (4, 4) and twist (6,) of the reference.
        body_pose, body_twist: Results, the pose (4, 4) and the twist (6,) of the body.
    """
    body = body_at(row, 0)
    away = np.empty(6)
    body_twist_into(row, away)
    for i in range(3):
        body_twist[i] = twist[i]
        body_twist[3 + i] = twist[3 + i] if turns else 0.0
        body_pose[i, 3] = target[i, 3]
        for j in range(3):
            body_pose[i, 3] += rest_axes[i, j] * body.position[j]
            body_twist[i] += rest_axes[i, j] * away[j]
            body_twist[3 + i] += rest_axes[i, j] * away[3 + j]
            body_pose[i, j] = 0.0
            for k in range(3):
                if turns:
                    body_pose[i, j] += target[i, k] * body.rotation[k, j]
                else:
                    body_pose[i, j] += body.rotation[i, k] * target[k, j]
            if not turns:
                body_twist[3 + i] += body.rotation[i, j] * twist[3 + j]
    if turns:
        x = body_pose[0, 3] - target[0, 3]
        y = body_pose[1, 3] - target[1, 3]
        z = body_pose[2, 3] - target[2, 3]
        body_twist[0] += twist[4] * z - twist[5] * y
        body_twist[1] += twist[5] * x - twist[3] * z
        body_twist[2] += twist[3] * y - twist[4] * x


@compiled
def follow(
    cycles: Array,
    k: int,
    gains: Array,
    memory: Array,
    mass: Array,
    gravity: Array,
    n: int,
    dt: float,
) -> int:
    """Let the joints follow the body, which waits for them, and write the command; see the law.

    Args:
        cycles, k, gains, memory, n, dt: Cycle, gains and memory, see :func:`move_body`.
        mass, gravity: (n, n) inertia and (n,) gravity torques at the commanded angles; (0, 0) and
            (0,) where they aren't known.

    Returns:
        DONE, or NEEDS_MASS where inertia and gravity have to be known: call again with them.
    """
    cycle = cycle_at(cycles[k], n)
    gain = _gains_at(gains, n)
    law = _memory_at(memory, n)
    error = np.empty(6)
    wanted = np.empty(6)
    weight = np.empty(6)
    rate = np.empty(n)
    q = np.empty(n)
    pose_error_into(law.body_pose, law.tip_pose, error)
    for i in range(6):
        error[i] *= gain.axes[i]
        # it makes good the rest now
        wanted[i] = law.body_twist[i] + TRACKING * (error[i] - dt * law.body_twist[i])
    for joint in range(n):
        posture = law.posture[joint] if math.isnan(cycle.target_q[joint]) else cycle.target_q[joint]
        rate[joint] = gain.posture_rate[0] * short_way(posture - law.q[joint], law.cyclic[joint])
    count = weigh_axes(gain.axes, weight)
    answer = joint_step(
        law.tip_jacobian,
        law.q,
        gravity,
        mass,
        weight,
        count,
        law.lower,
        law.upper,
        law.fastest,
        law.effort,
        wanted,
        rate,
        dt,
        0.0,
        law.path_velocity,
        q,
    )
    if answer == NEEDS_MASS:
        return NEEDS_MASS
    for joint in range(n):
        law.path_velocity[joint] = (q[joint] - law.q[joint]) / dt
        law.q[joint] = q[joint]
    _let_body_wait(
        law.body,
        law.rest_axes,
        gain.axes,
        error,
        law.body_twist,
        law.tip_jacobian,
        law.path_velocity,
        dt,
    )
    _write_command(
        cycle.q,
        q,
        law.path_velocity,
        law.cyclic,
        gain.output[0] == VELOCITY,
        cycle.terms,
        cycle.asked,
    )
    law.active[JOINT_VELOCITY] = 1.0
    law.active[JOINT_ERROR] = 1.0
    return answer


@compiled
def _let_body_wait(
    body: Array,
    rest_axes: Array,
    axes: Array,
    error: Array,
    twist: Array,
    jacobian: Array,
    velocity: Array,
    dt: float,
) -> None:
    """Slow a body down by what the joints lag behind it after they have moved.

    The lag of the tip and its lack of velocity are turned into the body's axes, for
    :func:`~.spring.virtual_body.wait`.

    Args:
        body: Row of the body.
        rest_axes: Axes that the body rests in, as a placement (4, 4).
        axes: (6,) 1 for each axis that counts, else 0.
        error: (6,) error by which the tip was behind the body before the joints moved, in base axes
            [m, rad].
        twist: (6,) twist of the body, in base axes [m/s, rad/s].
        jacobian: (6, n) Jacobian of the tip.
        velocity: (n,) velocities of the joints [rad/s].
        dt: Time for which the joints moved [s].
    """
    lag = np.empty(6)
    slower = np.empty(6)
    along_rest = np.empty(6)
    placement = np.empty((4, 4))
    times(jacobian, velocity, slower)
    for i in range(6):
        lag[i] = error[i] - dt * axes[i] * slower[i]
        slower[i] = axes[i] * (twist[i] - slower[i])
    frame_placement_into(body, placement)
    twist_in_into(lag, rest_axes, along_rest)
    twist_in_into(along_rest, placement, lag)
    twist_in_into(slower, rest_axes, along_rest)
    twist_in_into(along_rest, placement, slower)
    wait(body, lag, slower, dt)


@compiled
def _write_command(
    q: Array,
    path: Array,
    velocity: Array,
    cyclic: Array,
    commands_velocity: bool,
    terms: Array,
    asked: Array,
) -> None:
    """Write the terms of a cycle, and the command that the law asks for.

    Args:
        q: (n,) present joint angles [rad].
        path, velocity: (n,) wanted joint angles [rad] and velocities [rad/s].
        cyclic: (n,) 1 for each joint that turns without end.
        commands_velocity: True where velocities are commanded, False where positions are.
        terms, asked: Results.
    """
    for joint in range(len(q)):
        terms[JOINT_ERROR, joint] = short_way(path[joint] - q[joint], cyclic[joint])
        terms[JOINT_VELOCITY, joint] = velocity[joint]
        asked[joint] = path[joint]
        if commands_velocity:
            asked[joint] = velocity[joint] + FEEDBACK * terms[JOINT_ERROR, joint]
