"""Force control: the tip presses with a given force along some axes, and is
compliant along the others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ...core.compiled import compiled
from ...core.cycle import TERMS, Cycles, cycle_at
from ...core.gain_rows import gains_record, gains_row
from ...core.gains import AXES, choice, make_gains
from ...core.record import Field, Record
from ...core.rotations import twist_in_into, wrench_at_into, wrench_in_into
from ...core.small_matrices import times, transposed_times
from ...core.types import Array, Command, CommandMode, JointPathFunction, RobotState
from ...robot.model import RobotDynamics
from ...stability.wall_contact import WALL, least_damping, usual_lag
from ..admittance import Admittance, with_path_velocity
from ..compiled_law import CompiledLaw
from ..default_gains import ArmAtHome, tip_drag, tip_stiffness
from ..friction_compensation import write_friction
from ..impedance import DRIVES as IMPEDANCE_DRIVES
from ..impedance import FRICTION, Impedance
from ..law import register
from ..spring.bounded_spring import FRAME_WIDTH
from ..spring.compliance_frame import ComplianceFrame, frame_error_into, placement_into
from ..terms import sum_terms
from .pressing import (
    BOUNCING,
    PRESSING,
    PRESSING_WIDTH,
    PressingGains,
    drive_into,
    pressing_at,
    pressing_gains_at,
    reset_pressing,
)

_BODY = make_gains(Admittance.Gains, {}, 0)  # what of the admittance isn't a gain here
# numbers of what follows the reference: the impedance, and the admittance
TORQUES = 1.0
POSITIONS = 2.0
# Numbers of its own terms, after those of the impedance; then come those of the admittance.
FORCE = 8
FORCE_DAMPING = 9
ADMITTANCE = 10  # number of the first of these
# terms that move an arm at rest: those of impedance, and the force
DRIVES = np.append(IMPEDANCE_DRIVES, (1.0, 0.0))

_OWN = Record(
    "ForceControlOwnMemory",
    (
        Field(
            "follower",
            (),
            "",
            "What followed the reference in the last cycle: TORQUES, POSITIONS, or 0.",
        ),
        Field("presses", (), "", "1 where a force was controlled in the last cycle."),
        Field(
            "pressing", (PRESSING_WIDTH,), "", "The axes of the force; see laws/force/pressing.py."
        ),
        Field(
            "frame", (FRAME_WIDTH,), "", "Frame of the gains; see laws/spring/bounded_spring.py."
        ),
        Field(
            "rest", (4, 4), "m, -", "Pose of the last reset; it holds where the reference has none."
        ),
        Field("active", (TERMS,), "", "1 for each term of the last command."),
        Field("viscous", ("n",), "N·m·s/rad", "Viscous friction of the description."),
        Field("dry", ("n",), "N·m", "Dry friction of the description."),
    ),
)
_memory_at = _OWN.views
_impedance_gains_at = gains_record(Impedance.Gains).views  # the law's gains begin with these


@register("force_control")
class ForceControl(CompiledLaw):
    """Hybrid force and impedance control in the axes of a frame; where no torques are taken, force
    and admittance.

    Law:
        Output effort: tau = tau_impedance + Jᵀ Xᵀ w
        with w on the axes that `force_axes` chooses, and the impedance law on the others. X maps the tip's twist to
        the frame's axes. In contact, with the wanted force f and the measured one f_m, both exerted by the robot:
        w = f + k_p (f - f_m) + k_i ∫ (f - f_m) dt - D_f v, f = `force` + target wrench.
        Before contact: w = sign(f) min(|f|, D_f v_a) - D_f v: the arm goes at the speed v_a at most. Contact, its
        loss, the tank of energy and the limits: see Pressing in laws/force/pressing.py.
        The compensation of friction u_f counts the part w + D_f v as a spring: it helps an approach that is weaker than
        the joints' friction. See laws/friction_compensation.py.
        On a force axis nothing pulls towards the reference. Beyond `max_displacement` from it, nothing drives.
        Output position or velocity: the law of the admittance, with the body's damping D_f and without its spring on
        the force axes. There the body gets w + D_f v instead of the measured wrench before contact, w + D_f v - f_m in
        contact and where f = 0, with k_p = 0. So M v' + D_f v = f - f_m + k_i ∫ (f - f_m) dt, whether the reference
        moves or not.
    Closed loop:
        Torques: on a surface of stiffness k, Λ ẍ + D_f ẋ + (1 + k_p) k x = (1 + k_p) f, and k_i takes what friction
        and model errors leave. The measured force is late by τ in all: delay, half a period and servos. Then k_p takes
        k_p k sin(ωτ)/ω of the damping, ω = √(k (1 + k_p)/Λ): it is stable for k_p k sin(ωτ)/ω < D_f cos(ωτ).
        f and D_f are passive. What k_p and k_i give comes from a tank. Position: the loop's gain is k/D_f, late by τ.
        It is quiet for D_f >= 2 to 2.5 k τ, k_i <= 1/(8 τ). A surface that recedes at u lacks D_f u of the force.
    Frames and units:
        Axes of `frame`, at the tip or at the link that `frame` names; linear then angular. f [N,
        N·m],
        D_f [N·s/m, N·m·s/rad]. The others as in impedance, or in admittance.
    Assumptions:
        A wrench, with the weight of tool and load taken out: 1 N of it is 10 % of 10 N. Under
        torques the friction of the joints, less `friction_bound`, is smaller than what D_f v_a
        makes: else the approach stands still.
    Source:
        M. Raibert, J. Craig, Hybrid position/force control of manipulators, ASME J. Dyn. Sys. Meas.
        Control 103, 1981; C. Schindlbeck, S. Haddadin, Unified passivity-based Cartesian
        force/impedance control for rigid and flexible joint robots via task-energy tanks, ICRA
        2015.
    """

    @dataclass(frozen=True, eq=False)
    class Gains(PressingGains, Impedance.Gains):
        output: str = choice(
            "effort", ("effort", "position", "velocity"), doc="What the joints are commanded."
        )

        def warning(self, period: float) -> str:
            """Warning of axes along which position-controlled joints can't press on 10⁴ N/m.

            It is empty for none; `period` [s] is that of the node that runs the law.
            """
            if self.output == "effort":
                return ""
            lag = usual_lag(period)
            least = least_damping(self.mass.diagonal()[:3], lag)
            weak = (self.force_axes[:3] > 0.0) & (self.force_damping[:3] < least)
            if not weak.any():
                following = self.following
                kept = following.axes * (1.0 - self.force_axes)
                return str(replace(following, axes=kept).warning(period))
            axis = int(weak.argmax())
            return (
                f"on a surface of {WALL:g} N/m the tip rings along {AXES[axis]}: force_damping "
                f"{self.force_damping[axis]:g} N·s/m, must be at least {least[axis]:.0f} at {1.0 / period:.0f} Hz, "
                f"where commands act {1e3 * lag:.0f} ms late"
            )

        softening: ClassVar[Mapping[str, float]] = {"force_p": 1.0, "force_i": 1.0}

        @property
        def following(self) -> Any:
            """Gains of the law that follows the reference.

            Under torques that law leaves out the force axes and friction. Friction holds the force,
            too, so :class:`ForceControl` compensates it.
            """
            kept = 1.0 - self.force_axes
            if self.output == "effort":
                return replace(
                    self,
                    axes=self.axes * kept,
                    friction=0.0,
                    friction_bound=0.0 * self.friction_bound,
                )
            stiffness, damping = (
                kept[:, None] * each * kept for each in (self.stiffness, self.damping)
            )
            return replace(
                _BODY,
                mass=self.mass,
                stiffness=stiffness,
                damping_ratio=self.damping_ratio,
                damping=damping + np.diag(self.force_axes * self.force_damping),
                axes=self.axes,
                max_displacement=math.inf,
                max_rotation=math.inf,
                frame=self.frame,
                output=self.output,
            )

    mode: ClassVar[CommandMode] = CommandMode.EFFORT
    needs_wrench: ClassVar[bool] = True

    term_names = (*Impedance.term_names, "force", "force_damping", *Admittance.term_names)
    memory = Record(
        "ForceControlMemory",
        (
            *_OWN.fields,
            *(replace(field, name=f"impedance_{field.name}") for field in Impedance.memory.fields),
            *(
                replace(field, name=f"admittance_{field.name}")
                for field in Admittance.memory.fields
            ),
        ),
    )

    @classmethod
    def default_gains(cls, arm: ArmAtHome) -> dict[str, Array]:
        """Gains that suit an arm, by name; see :mod:`..default_gains`."""
        return {
            "stiffness": tip_stiffness(arm, cls.Gains),
            "force_damping": tip_drag(arm, cls.Gains, "force_damping"),
        }

    def __init__(self) -> None:
        super().__init__()
        self._impedance = Impedance()
        self._admittance = Admittance()
        self._frame: ComplianceFrame | None = None
        self._following: Any = None  # gains of what follows the reference
        self._pressing_gains = np.zeros(0)
        self._inner = Cycles(0)  # the cycle as what follows the reference sees it

    def remember_in(self, row: Array, n: int) -> None:
        """Keep the memory in a row for n joints, see :class:`~.compiled_law.CompiledLaw`.

        Parts of it are the memories of the two inner laws.
        """
        super().remember_in(row, n)
        self._inner = Cycles(n)
        end = self.memory.width(n)
        begin = end - Admittance.memory.width(n)
        self._admittance.remember_in(row[begin:end], n)
        self._impedance.remember_in(row[begin - Impedance.memory.width(n) : begin], n)

    def start(self, state: RobotState, kin: RobotDynamics) -> None:
        """Begin without contact; the law that follows the reference begins anew."""
        self._impedance.reset(state, kin)
        self._admittance.reset(state, kin)
        self._frame = None
        memory = self._memory
        memory["follower"] = 0.0
        memory["presses"] = 0.0
        memory["rest"] = kin.pose
        memory["active"] = 0.0
        memory["viscous"] = kin.model.viscous_friction
        memory["dry"] = kin.model.dry_friction

    def adopt(self, gains: Gains, kin: RobotDynamics) -> None:
        """Take over gains, also for the inner law; see :class:`~.compiled_law.CompiledLaw`."""
        self._gains = gains
        self._following = gains.following
        self._follower(gains).adopt(self._following, kin)
        if self._frame is None or self._frame.name != gains.frame:
            self._frame = ComplianceFrame(gains.frame, kin)
            self._frame.write(self._memory["frame"])
        record = gains_record(PressingGains)
        begin = gains_record(Impedance.Gains).width(self._n)
        self._pressing_gains = gains_row(gains, self._n)[begin : begin + record.width(0)].copy()
        if gains.output != "effort":
            record.by_name(self._pressing_gains, 0)["force_p"] = 0.0

    def run(self, cycles: Array, k: int, kin: RobotDynamics, gains: Gains, dt: float) -> None:
        """Write the command of a cycle and its terms, see :class:`~.compiled_law.CompiledLaw`."""
        follower = TORQUES if gains.output == "effort" else POSITIONS
        memory = self._memory
        if gains is not self._gains:
            if memory["follower"] not in (0.0, follower):
                self.reset(RobotState(0.0, kin.q, kin.v, np.zeros(self._n)), kin)
            self.adopt(gains, kin)
        memory["follower"] = follower
        assert self._frame is not None
        self._frame.follow(memory["frame"], kin)
        inner = self._inner.rows
        n = self._n
        press(cycles, k, self._pressing_gains, self._row, inner, n, dt)
        self._follower(gains).run(inner, 0, kin, self._following, dt)
        active = memory["impedance_active"]
        first = 0
        if follower == POSITIONS:
            active = memory["admittance_active"]
            first = ADMITTANCE
        take_over(cycles, k, inner, active, first, gains_row(gains, n), self._row, n)

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
        command = super().command(cycles, k, kin, path, gains, dt)
        return with_path_velocity(command, gains, self._admittance.path_velocity)

    def _follower(self, gains: Gains) -> Impedance | Admittance:
        """The law that follows the reference."""
        return self._impedance if gains.output == "effort" else self._admittance

    @property
    def spring_load(self) -> float:
        """Force of the impedance's spring without its bound over the bound; 0 without a bound."""
        return self._impedance.spring_load  # 0 of an impedance that hasn't run

    @property
    def warning(self) -> str:
        """What the law doesn't do as its gains say, and why, in words; empty for nothing."""
        if self._memory is None or not self._memory["presses"]:
            return self._followed.warning
        losses = float(PRESSING.by_name(self._memory["pressing"], 0)["losses"])
        if losses < BOUNCING:
            return self._followed.warning
        return (
            f"the tip bounces: contact was lost {losses:.0f} times within a second, and the force is held in the "
            f"mean alone. The surface is too stiff for commands as late as these: use a softer tool, or less delay"
        )

    @property
    def stiffness_in_force(self) -> Array:
        """K (6, 6) [N/m, N·m/rad] of the law that follows the reference; see there."""
        return self._followed.stiffness_in_force

    @property
    def _followed(self) -> Impedance | Admittance:
        """The law that followed the reference in the last cycle."""
        positions = self._memory is not None and self._memory["follower"] == POSITIONS
        return self._admittance if positions else self._impedance

    @property
    def path_velocity(self) -> Array | None:
        """Velocities (n,) of the admittance's path [rad/s]; None where torques are commanded."""
        return self._admittance.path_velocity if self._followed is self._admittance else None

    @staticmethod
    def joint_gains(gains: Gains, mass: Array, jacobian: Array) -> tuple[Array, Array]:
        """K and D (n, n) of the joints at small errors; see :class:`~.law.ControlLaw`."""
        stiffness, damping = Impedance.joint_gains(gains.following, mass, jacobian)
        damper = gains.force_axes * gains.force_damping
        return stiffness, damping + jacobian.T.dot(damper[:, None] * jacobian)


@compiled
def press(
    cycles: Array, k: int, gains: Array, memory: Array, inner: Array, n: int, dt: float
) -> None:
    """Write the terms of the force, and the cycle as the law that follows the reference shall see
    it.

    Args:
        cycles, k, dt: Records, number of the cycle's row, and time since the cycle before [s].
        gains: Row of :class:`~.pressing.PressingGains`.
        memory: Row of the law's memory.
        inner: (1, width) record of the cycle for the law that follows the reference.
        n: Number of joints.
    """
    cycle = cycle_at(cycles[k], n)
    gain = pressing_gains_at(gains, 0)
    law = _memory_at(memory, n)
    seen = cycle_at(inner[0], n)
    for i in range(inner.shape[1]):
        inner[0, i] = cycles[k, i]
    if not np.any(gain.force_axes != 0.0):
        law.presses[0] = 0.0
        return
    if law.presses[0] == 0.0:
        law.presses[0] = 1.0
        reset_pressing(law.pressing, gain.tank[0])
    pose = law.rest if math.isnan(cycle.target_pose[0, 0]) else cycle.target_pose
    placement = np.empty((4, 4))
    placement_into(law.frame, pose, cycle.pose, placement)
    target = np.zeros(6)
    if not math.isnan(cycle.target_wrench[0]):
        wrench_in_into(cycle.target_wrench, placement, target)
    measured = np.empty(6)
    twist = np.empty(6)
    away = np.empty(6)
    drive = np.empty(6)
    wrench_in_into(cycle.wrench, placement, measured)
    times(cycle.jacobian, cycle.v, drive)
    twist_in_into(drive, placement, twist)
    _away_into(
        law.frame, gain.max_displacement[0], gain.max_rotation[0], pose, cycle.pose, placement, away
    )
    wanted = np.empty(6)
    for i in range(6):
        measured[i] = -measured[i]  # what the robot exerts
        wanted[i] = gain.force[i] + target[i]
    drive_into(law.pressing, gains, wanted, measured, twist, away, dt, drive)
    if law.follower[0] == TORQUES:
        damper = np.empty(6)
        at_tip = np.empty(6)
        _damp_force(gain.force_axes, gain.force_damping, twist, target, damper)
        wrench_at_into(drive, placement, at_tip)
        transposed_times(cycle.jacobian, at_tip, cycle.terms[FORCE])
        wrench_at_into(damper, placement, at_tip)
        transposed_times(cycle.jacobian, at_tip, cycle.terms[FORCE_DAMPING])
        if not math.isnan(cycle.target_wrench[0]):
            wrench_at_into(target, placement, seen.target_wrench)
        return
    carried = np.zeros(6)
    if not math.isnan(cycle.target_twist[0]):
        twist_in_into(cycle.target_twist, placement, twist)
        for i in range(6):
            carried[i] += gain.force_damping[i] * twist[i]
    if not math.isnan(cycle.target_acceleration[0]):
        twist_in_into(cycle.target_acceleration, placement, twist)
        for i in range(6):
            for j in range(6):
                carried[i] += gain.mass[i, j] * twist[j]
    touched = pressing_at(law.pressing, 0).touched
    _press_with_positions(gain.force_axes, touched, wanted, measured, carried, target, drive)
    wrench_at_into(drive, placement, seen.wrench)
    for i in range(6):
        seen.target_wrench[i] = math.nan


@compiled
def _away_into(
    frame: Array,
    farthest: float,
    widest: float,
    target: Array,
    pose: Array,
    placement: Array,
    away: Array,
) -> None:
    """Write the displacement (6,) from a target along a frame's axes, over the largest one.

    Args:
        frame: Row of the frame.
        farthest, widest: Largest displacement [m] and rotation [rad].
        target, pose: Wanted and present pose (4, 4) of the tip.
        placement: (4, 4) placement of the frame about the tip's origin.
        away: Result (6,).
    """
    error = np.empty(6)
    frame_error_into(frame, target, pose, error)
    for i in range(3):
        away[i] = 0.0
        away[3 + i] = 0.0
        for j in range(3):
            away[i] -= placement[j, i] * error[j] / farthest
            away[3 + i] -= placement[j, i] * error[3 + j] / widest


@compiled
def _damp_force(axes: Array, damping: Array, twist: Array, target: Array, damper: Array) -> None:
    """Write the damper of a force, and take the force's axes out of the reference's wrench.

    Args:
        axes, damping: Axes (6,) of the force, and its damping (6,) [N·s/m, N·m·s/rad].
        twist: Twist (6,) of the tip along the frame's axes [m/s, rad/s].
        target: Wrench (6,) of the reference along the same axes [N, N·m], changed in place.
        damper: Result (6,), wrench of the damper along the same axes [N, N·m].
    """
    for i in range(6):
        damper[i] = -axes[i] * damping[i] * twist[i]
        target[i] *= 1.0 - axes[i]


@compiled
def _press_with_positions(
    axes: Array,
    touched: Array,
    wanted: Array,
    measured: Array,
    carried: Array,
    target: Array,
    drive: Array,
) -> None:
    """Turn a force into the wrench that moves the virtual body; all (6,) along the frame's axes.

    Args:
        axes: 1 for each axis of the force, else 0.
        touched: 1 for each axis that is in contact.
        wanted, measured: Wanted force, and the force that the robot exerts.
        carried: Wrench that carries the body along with a moving reference.
        target: Wrench of the reference.
        drive: Force without its damper, which becomes the wrench.
    """
    for i in range(6):
        felt = measured[i] if touched[i] == 1.0 or wanted[i] == 0.0 else 0.0
        drive[i] += (1.0 - axes[i]) * (target[i] - measured[i]) - axes[i] * (felt + carried[i])


@compiled
def take_over(
    cycles: Array,
    k: int,
    inner: Array,
    active: Array,
    first: int,
    gains: Array,
    memory: Array,
    n: int,
) -> None:
    """Write the command of the law that follows the reference.

    Under torques the terms of force and friction are added to it.

    Args:
        cycles, k, inner, memory, n: Records and memory, see :func:`press`.
        active: `active` of that law's memory, see :class:`~..compiled_law.CompiledLaw`.
        first: Number of the first of that law's terms here.
        gains: Row of the law's gains.
    """
    cycle = cycle_at(cycles[k], n)
    law = _memory_at(memory, n)
    followed = cycle_at(inner[0], n)
    for term in range(len(law.active)):
        law.active[term] = 0.0
    for term in range(len(active)):
        law.active[first + term] = active[term]
        for joint in range(n):
            cycle.terms[first + term, joint] = followed.terms[term, joint]
    if law.follower[0] == POSITIONS:
        cycle.asked[:] = followed.asked
        return
    law.active[FORCE] = law.presses[0]
    law.active[FORCE_DAMPING] = law.presses[0]
    gain = _impedance_gains_at(gains, n)
    write_friction(cycles[k], FRICTION, DRIVES, gain, law, n)
    sum_terms(cycle.terms, law.active, cycle.asked)
