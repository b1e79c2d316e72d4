"""Cartesian impedance: the tip behaves as if a spring and a damper tied it to the reference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..core.compiled import compiled
from ..core.cycle import cycle_at
from ..core.errors import ConfigError
from ..core.gain_rows import gains_record, gains_row
from ..core.gains import JOINT, MATRIX, TASK, gain
from ..core.record import Field, Record
from ..core.rotations import short_way
from ..core.small_matrices import (
    accelerations_into,
    cholesky_into,
    congruence_into,
    mobility_into,
    product_into,
    solve_with_factor,
    times,
    transposed_times,
)
from ..core.types import Array, CommandMode, RobotState, as_row
from ..robot.model import RobotDynamics
from .compiled_law import CompiledLaw
from .default_gains import ArmAtHome, tip_stiffness
from .friction_compensation import (
    friction_bound_gain,
    friction_by_wrench_gain,
    friction_gain,
    friction_width_gain,
    write_friction,
)
from .law import register
from .spring.bounded_spring import (
    adopt_spring,
    frame_at,
    governor_gain,
    max_force_gain,
    max_torque_gain,
    spring_at,
)
from .spring.compliance_frame import (
    CHANGE_WIDTH,
    FIXED,
    NEXT,
    NOW,
    TANK,
    WANTED,
    ComplianceFrame,
    SpringFrames,
    change_at,
    copy_spring,
    frame_gain,
    new_change,
    passive_pull,
    spring_load,
    stiffness_in_force,
    twist_map_into,
    unpaid_change,
)
from .terms import critical_damping_into, damping_gain, damping_ratio_gain, gravity_gain, sum_terms

# s between two designs of the damping matrix: it follows the posture, not the velocity
DAMPING_PERIOD = 0.04
# s between two of them while gains fade: they fade with a time constant of 0.2 s
FADING_PERIOD = 0.01
# kg or kg·m²: where the tip feels heavier in a direction, the matrix turns quickly with the posture
HEAVY = 100.0
TURNED = 0.02  # rad, after which it is designed anew there
MAX_INERTIA = 1e3  # kg or kg·m²: bound of the operational-space inertia near singularities
# 1/kg, added to J M⁻¹ Jᵀ in the null space: keeps the solve finite at singularities
REGULARISATION = 1e-6
# what compute answers
DONE = 0
NEEDS_MASS = 1
NO_DAMPING = 2
# of the model: M, C q̇ and J̇ q̇
MASS = 1
COUPLING = 2
DRIFT = 4
# its terms
STIFFNESS, DAMPING, GRAVITY, FEEDFORWARD, CORIOLIS, INERTIA, POSTURE, FRICTION = range(8)
# terms that move an arm at rest
DRIVES = np.isin(range(8), (STIFFNESS, FEEDFORWARD, POSTURE)).astype(float)


@register("impedance")
class Impedance(CompiledLaw):
    """Spring and damper between the tip and the reference, for any number of joints.

    Law:
        tau = J_eᵀ K e + Jᵀ [D (v_ref - v) + M (a_ref - a) + w_ref]
              + s_c C(q, q̇) q̇ + s_g g(q) + u_f + Nᵀ [K_n (q_n - q) - D_n q̇]
        e = [p_ref - p; log(R_ref Rᵀ)]; J_e = -∂e/∂q = diag(I, Jr⁻¹(e_rot)) J, the exact derivative of that error.
        D = D_0 + 2 S Z Ω Zᵀ S, S = diag(√ζ): with (K, Λ) diagonalised together, K = Z Ω² Zᵀ and Λ = Z Zᵀ, this
        gives every mode the damping ratio ζ where ζ is the same on all axes. Λ = (J M_q⁻¹ Jᵀ)⁻¹. D is designed each
        40 ms, and each 10 ms while gains fade.
        With max_force or max_torque, K e is the gradient of a potential that is linear beyond these bounds: see
        BoundedSpring in laws/spring/bounded_spring.py. D stays that of K. With another frame than the base, K, D, ζ and
        axes are along its axes: see TipSpring in laws/spring/compliance_frame.py. Changes of such a spring stay
        passive: see PassiveSpring there.
        M = 0 by default. Where it isn't, a is the tip's acceleration that the model and the measured wrench give,
        solved together with tau, so that nothing is differentiated.
        K_n and D_n are diagonal: each joint has a stiffness and a damping beside the tip's. Nᵀ leaves the part of their
        torque that doesn't accelerate the tip. So a hand at the elbow feels them, and the tip doesn't.
        u_f compensates friction: see laws/friction_compensation.py, and controller.md.
        An axis whose entry in `axes` is 0 is free: it has neither spring, damper nor inertia. (Where one or two of the
        three rotations are free, the exact gradient leaves them a part of at most |e| |K e| / 2, second order in e.)
    Closed loop:
        (Λ + M)(a - a_ref) + D (v - v_ref) + K (x - x_ref) = w_ext + w_ref at small errors and low speed. With the
        reference at rest, s_c = 0, M = 0 and no null-space term the energy V = q̇ᵀ M_q q̇ / 2 + eᵀ K e / 2 obeys
        dV/dt = -vᵀ D v + vᵀ w_ext: passive. Coriolis compensation (s_c = 1) gives up that proof for less coupling at
        speed, and a projected posture term gives it up likewise; both are off by default.
    Frames and units:
        Base axes, tip origin; linear then angular; K, D, ζ and axes along those of `frame`. K [N/m,
        N·m/rad],
        D [N·s/m, N·m·s/rad], M [kg, kg·m²].
    Assumptions:
        Torque-controlled joints; stiffness within what the delay from state to torque allows. No
        reference pose leaves out the spring, no reference twist means 0. No measured wrench: a is
        the one of free space.
    Source:
        N. Hogan, Impedance control, ASME J. Dyn. Sys. Meas. Control 107, 1985. Damping: A.
        Albu-Schäffer, C. Ott,
        U. Frese, G. Hirzinger, Cartesian impedance control of redundant robots, ICRA 2003. Exact
        rotational gradient: F. Bullo, R. Murray, Proportional derivative control on the Euclidean
        group, ECC 1995.
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
        posture_stiffness: Array = gain(
            0.0,
            size=JOINT,
            unit="N·m/rad",
            upper=500.0,
            null_space=True,
            doc="Spring of each joint in the null space, towards the reference's or last reset's posture.",
        )
        posture_damping: Array = gain(
            0.0,
            size=JOINT,
            unit="N·m·s/rad",
            upper=100.0,
            null_space=True,
            doc="Damping of each joint in the null space, where joints outnumber axes.",
        )

    mode: ClassVar[CommandMode] = CommandMode.EFFORT
    term_names = (
        "stiffness",
        "damping",
        "gravity",
        "feedforward",
        "coriolis",
        "inertia",
        "posture",
        "friction",
    )
    memory = Record(
        "ImpedanceMemory",
        (
            Field(
                "spring",
                (CHANGE_WIDTH,),
                "",
                "The spring and its change; see laws/spring/compliance_frame.py.",
            ),
            Field(
                "link_turns",
                (9, "n"),
                "rad/rad",
                "Angular Jacobian of the link of each of its three frames.",
            ),
            Field("active", (8,), "", "1 for each term that the last command was summed from."),
            Field(
                "adopted",
                (),
                "",
                "1 where the memory belongs to the gains, 0 where they are others.",
            ),
            Field("begins", (), "", "1 until the first gains are adopted.", first=1.0),
            Field(
                "keeps_energy",
                (),
                "",
                "1 where changes of the spring are paid; 0 for a plain spring.",
            ),
            Field("load", (), "", "How near the spring is to its bound; 0 for a plain spring."),
            Field("mass", ("n", "n"), "kg·m²", "Joint-space inertia, where it is needed."),
            Field("coriolis", ("n",), "N·m", "C(q, q̇) q̇, where gains need it."),
            Field("jdot_v", (6,), "m/s², rad/s²", "J̇ q̇, where gains need it."),
            Field("design", (6, 6), "N·s/m, N·m·s/rad", "Damping matrix D, in base axes."),
            Field("design_age", (), "s", "Time since its design.", first=math.inf),
            Field("changed", (), "", "1 where the gains of the cycle before were new."),
            Field("stale", (), "", "1 where the design is that of gains of before."),
            Field("designed_at", ("n",), "rad", "Joint angles of that."),
            Field("heavy", (), "", "1 where the tip felt heavy there."),
            Field("posture", ("n",), "rad", "Joint angles that the null space holds."),
            Field("cyclic", ("n",), "", "1 for each joint that turns without end."),
            Field("viscous", ("n",), "N·m·s/rad", "Viscous friction of the description."),
            Field("dry", ("n",), "N·m", "Dry friction of the description."),
        ),
    )

    def __init__(self) -> None:
        super().__init__()
        self._frames: SpringFrames | None = None
        self._frame = ""
        self._needs_mass = False
        self._needs_coriolis = False
        self._needs_drift = False

    def start(self, state: RobotState, kin: RobotDynamics) -> None:
        """Take the present joint angles as the posture, and design the damping anew."""
        model = kin.model
        memory = self._memory
        memory["posture"] = state.q
        memory["cyclic"] = model.cyclic
        memory["viscous"] = model.viscous_friction
        memory["dry"] = model.dry_friction
        memory["adopted"] = 0.0
        memory["begins"] = 1.0
        memory["keeps_energy"] = 0.0
        memory["load"] = 0.0
        memory["spring"] = new_change()
        memory["design_age"] = math.inf
        memory["changed"] = 0.0
        memory["stale"] = 0.0
        memory["active"] = 0.0
        self._frames = SpringFrames(memory["spring"], memory["link_turns"])
        self._frame = ""

    def run(self, cycles: Array, k: int, kin: RobotDynamics, gains: Gains, dt: float) -> None:
        """Write the command of a cycle and its terms, see :class:`~.compiled_law.CompiledLaw`."""
        memory = self._memory
        if gains is not self._gains:
            self.adopt(gains, kin)
        if self._needs_mass:
            memory["mass"] = kin.mass
        if self._needs_coriolis:
            memory["coriolis"] = kin.coriolis
        if self._needs_drift:
            memory["jdot_v"] = kin.jdot_v
        assert self._frames is not None
        if self._frames.may_follow:
            self._frames.follow(kin)
        row = self._gains_row
        answer = compute(cycles, k, row, self._row, self._n, dt)
        if answer == NEEDS_MASS:
            memory["mass"] = kin.mass
            answer = compute(cycles, k, row, self._row, self._n, dt)
        if answer == NO_DAMPING:
            raise ConfigError("the operational-space inertia can't be diagonalised")

    @property
    def spring_load(self) -> float:
        """Force of the spring without its bound over the bound; 0 for a plain spring."""
        return self._load.item()

    @property
    def warning(self) -> str:
        """Part of the spring that isn't in force yet, and why, in words; empty for none."""
        return "" if self._memory is None else unpaid_change(self._memory["spring"])

    @property
    def stiffness_in_force(self) -> Array:
        """K (6, 6) [N/m, N·m/rad] of the spring that acts, along the axes of `frame`.

        It is that of the gains once the change is paid for.
        """
        return stiffness_in_force(self._memory["spring"])

    @classmethod
    def default_gains(cls, arm: ArmAtHome) -> dict[str, Array]:
        """Gains that suit an arm, by name; see :mod:`.default_gains`."""
        return {"stiffness": tip_stiffness(arm, cls.Gains)}

    @staticmethod
    def joint_gains(gains: Gains, mass: Array, jacobian: Array) -> tuple[Array, Array]:
        """K and D (n, n) of the joints at small errors, see :class:`~.law.ControlLaw`.

        C(q, q̇) q̇ is of second order, so it is left out.
        """
        axes = gains.axes
        mobility = jacobian.dot(np.linalg.solve(mass, jacobian.T))
        inertia = np.diag(axes * gains.inertia * axes)
        share = np.eye(6) - inertia.dot(
            np.linalg.solve(np.eye(6) + mobility.dot(inertia), mobility)
        )
        spring = axes[:, None] * gains.stiffness * axes
        damper = np.zeros((6, 6))
        bounded = np.zeros((6, 6))
        mass_row = as_row(mass)
        jacobian_row = as_row(jacobian)
        axes_row = as_row(axes)
        _mobility_into(mass_row, jacobian_row, axes_row, bounded)
        ratio = as_row(gains.damping_ratio)
        _design_into(
            as_row(gains.stiffness), as_row(gains.damping), ratio, axes_row, bounded, damper
        )
        stiffness, damping = (
            jacobian.T.dot(share.dot(each)).dot(jacobian) for each in (spring, damper)
        )
        if np.any(gains.posture_stiffness) or np.any(gains.posture_damping):
            rows = axes[:, None] * jacobian
            null = np.column_stack(
                [project(unit, rows, mass, 1.0 - axes**2) for unit in np.eye(len(mass))]
            )
            stiffness = stiffness + gains.posture_stiffness * null
            damping = damping + gains.posture_damping * null
        return stiffness, damping

    def adopt(self, gains: Gains, kin: RobotDynamics) -> None:
        """Take over gains, with their frame; see :class:`~.compiled_law.CompiledLaw`.

        The compiled law adopts their spring in its next cycle, and marks that in its memory.
        """
        self._gains = gains
        self._gains_row = gains_row(gains, self._n)
        if gains.frame != self._frame:
            assert self._frames is not None
            self._frame = gains.frame
            self._frames.adopt(ComplianceFrame(gains.frame, kin))
        needs = prepare_gains(self._gains_row, self._row, self._n)
        self._needs_mass = needs & MASS != 0
        self._needs_coriolis = needs & COUPLING != 0
        self._needs_drift = needs & DRIFT != 0


_memory_at = Impedance.memory.views
_gains_at = gains_record(Impedance.Gains).views


@compiled
def prepare_gains(gains: Array, memory: Array, n: int) -> int:
    """Mark in the memory that the gains are others, which the next cycle adopts.

    Returns:
        Quantities of the model that each cycle needs: the sum of MASS, COUPLING and DRIFT.
    """
    gain = _gains_at(gains, n)
    _memory_at(memory, n).adopted[0] = 0.0
    needs = 0
    shapes_inertia = np.any(gain.inertia != 0.0)
    if shapes_inertia:
        needs += DRIFT
    if shapes_inertia or gain.coriolis[0] > 0.0:
        needs += COUPLING
    holds_posture = np.any(gain.posture_stiffness != 0.0) or np.any(gain.posture_damping != 0.0)
    if shapes_inertia or holds_posture:
        needs += MASS
    return needs


@compiled
def compute(cycles: Array, k: int, gains: Array, memory: Array, n: int, dt: float) -> int:
    """Write the terms of a cycle and their sum; see the law.

    Returns:
        DONE. NEEDS_MASS where a new design of the damping is due, and the mass of this posture
        isn't in the memory yet: write it there, and call again. NO_DAMPING where the inertia has no
        modes.
    """
    cycle = cycle_at(cycles[k], n)
    gain = _gains_at(gains, n)
    law = _memory_at(memory, n)
    if law.design_age[0] >= 0.0:
        law.design_age[0] += dt
        changed = law.adopted[0] == 0.0
        if changed:
            _adopt_spring(memory, gains, n)
            law.adopted[0] = 1.0
        if _design_is_due(memory, cycle.q, changed, n):
            law.design_age[0] = -1.0  # with the mass of this posture, next time
            return NEEDS_MASS
    elif not _design_damping(cycles[k], gains, memory, n):
        return NO_DAMPING
    terms = cycle.terms
    law.active[:] = 0.0
    twist_error = np.empty(6)
    times(cycle.jacobian, cycle.v, twist_error)
    for i in range(6):
        twist_error[i] = (
            -twist_error[i]
            if math.isnan(cycle.target_twist[i])
            else cycle.target_twist[i] - twist_error[i]
        )
    damper = np.empty(6)
    times(law.design, twist_error, damper)
    transposed_times(cycle.jacobian, damper, terms[DAMPING])
    law.active[DAMPING] = 1.0
    spring = np.zeros(6)
    turning = np.zeros(n)
    if not math.isnan(cycle.target_pose[0, 0]):
        taken = 0.0
        if change_at(law.spring, 0).tank[0] < TANK:
            for i in range(6):
                taken += dt * damper[i] * twist_error[i]
        passive_pull(
            law.spring, law.link_turns, cycle.target_pose, cycle.pose, taken, dt, spring, turning, n
        )
    law.load[0] = spring_load(law.spring) if law.keeps_energy[0] == 1.0 else 0.0
    transposed_times(cycle.jacobian, spring, terms[STIFFNESS])
    law.active[STIFFNESS] = 1.0
    law.active[GRAVITY] = 1.0
    for joint in range(n):
        terms[STIFFNESS, joint] += turning[joint]
        terms[GRAVITY, joint] = gain.gravity[0] * cycle.gravity[joint]
    if not math.isnan(cycle.target_wrench[0]):
        transposed_times(cycle.jacobian, cycle.target_wrench, terms[FEEDFORWARD])
        law.active[FEEDFORWARD] = 1.0
    if gain.coriolis[0] > 0.0:
        for joint in range(n):
            terms[CORIOLIS, joint] = gain.coriolis[0] * law.coriolis[joint]
        law.active[CORIOLIS] = 1.0
    if np.any(gain.inertia != 0.0):
        for i in range(6):
            spring[i] += damper[i]
        _add_inertia(cycles[k], gains, memory, spring, n)
    if np.any(gain.posture_stiffness != 0.0) or np.any(gain.posture_damping != 0.0):
        _add_posture(cycles[k], gains, memory, n)
    write_friction(cycles[k], FRICTION, DRIVES, gain, law, n)
    sum_terms(terms, law.active, cycle.asked)
    return DONE


@compiled
def _adopt_spring(memory: Array, gains: Array, n: int) -> None:
    """Go to the spring of these gains; a plain spring takes them as they are."""
    gain = _gains_at(gains, n)
    law = _memory_at(memory, n)
    change = change_at(law.spring, 0)
    springs = change.springs
    wanted = spring_at(springs[WANTED], 0)
    stiffness = gain.stiffness.copy()
    _select(stiffness, gain.axes)
    plain = (
        gain.max_force[0] == 0.0
        and gain.max_torque[0] == 0.0
        and int(frame_at(wanted.frame, 0).kind[0]) == FIXED
    )
    for i in range(6):
        for j in range(6):
            if i != j and stiffness[i, j] != 0.0:
                plain = False
    adopt_spring(springs[WANTED], stiffness, gain.max_force[0], gain.max_torque[0])
    if law.keeps_energy[0] == 1.0:
        change.changes[0] = 1.0
        change.next_is_wanted[0] = 0.0
        return
    if plain or law.begins[0] == 1.0:
        copy_spring(springs, law.link_turns, WANTED, NOW)
        copy_spring(springs, law.link_turns, WANTED, NEXT)
    else:
        change.changes[0] = 1.0
        change.next_is_wanted[0] = 0.0
    law.keeps_energy[0] = 0.0 if plain else 1.0
    law.begins[0] = 0.0


@compiled
def _design_is_due(memory: Array, q: Array, changed: bool, n: int) -> bool:
    """Return True where D has to be designed anew at joint angles q (n,).

    `changed` is True where the gains have changed in this cycle. Gains that fade change in each
    cycle: D follows them every 10 ms, and when they have arrived.
    """
    law = _memory_at(memory, n)
    fade = changed and law.changed[0] == 1.0
    law.changed[0] = 1.0 if changed else 0.0
    if changed and not fade:
        return True
    if law.design_age[0] >= (FADING_PERIOD if fade else DAMPING_PERIOD):
        return True
    if fade:
        law.stale[0] = 1.0
    elif law.stale[0] == 1.0:
        return True
    return law.heavy[0] == 1.0 and _have_turned(q, law.designed_at)


@compiled
def _have_turned(q: Array, before: Array) -> bool:
    """Return True where the joints (n,) have left the posture of the last design (n,)."""
    square = 0.0
    for joint in range(len(q)):
        square += (q[joint] - before[joint]) ** 2
    return square > TURNED**2


@compiled
def _design_damping(cycle_row: Array, gains: Array, memory: Array, n: int) -> bool:
    """Design the damping matrix D for this posture, and keep it in the memory.

    D is positive semidefinite however old it gets: its age never costs passivity. Near singular
    postures it is large in one direction. An old direction, from which the arm has turned, gives
    the torque a saw-tooth with the period of the designs. So the memory also says whether the tip
    feels heavier than HEAVY in some direction: its damping is then designed more often.

    Returns:
        False where the posture or the gains have no such D.
    """
    cycle = cycle_at(cycle_row, n)
    gain = _gains_at(gains, n)
    law = _memory_at(memory, n)
    frame = spring_at(change_at(law.spring, 0).springs[WANTED], 0).frame
    fixed = int(frame_at(frame, 0).kind[0]) == FIXED
    to_frame = np.empty((6, 6))
    _frame_map_into(frame, cycle.target_pose, cycle.pose, to_frame)
    jacobian = cycle.jacobian.copy()
    if not fixed:
        product_into(to_frame, cycle.jacobian, jacobian)
    mobility = np.empty((6, 6))
    if not _mobility_into(law.mass, jacobian, gain.axes, mobility):
        return False
    damping = np.empty((6, 6))
    if not _design_into(
        gain.stiffness, gain.damping, gain.damping_ratio, gain.axes, mobility, damping
    ):
        return False
    if fixed:
        law.design[:] = damping
    else:
        congruence_into(damping, to_frame, law.design)
    for i in range(6):
        mobility[i, i] -= 1.0 / HEAVY
    light = cholesky_into(mobility, np.empty((6, 6))) or not np.any(gain.damping_ratio != 0.0)
    law.heavy[0] = 0.0 if light else 1.0
    law.design_age[0] = 0.0
    law.stale[0] = 0.0
    law.designed_at[:] = cycle.q
    return True


@compiled
def _frame_map_into(frame: Array, target: Array, pose: Array, result: Array) -> None:
    """Write the map from the tip's twist to the frame's.

    See :func:`.spring.compliance_frame.twist_map_into`.

    Without a target, the axes of the reference are the tip's.
    """
    twist_map_into(frame, pose if math.isnan(target[0, 0]) else target, pose, result)


@compiled
def _mobility_into(mass: Array, jacobian: Array, axes: Array, mobility: Array) -> bool:
    """Write J M⁻¹ Jᵀ (6, 6) of the controlled axes into `mobility`.

    No axis feels heavier than MAX_INERTIA.

    Returns:
        False where the mass matrix isn't positive definite.
    """
    if not mobility_into(mass, jacobian, mobility):
        return False
    _select(mobility, axes)
    for i in range(6):
        mobility[i, i] += 1.0 - axes[i] * axes[i] + 1.0 / MAX_INERTIA
    return True


@compiled
def _design_into(
    stiffness: Array, damping: Array, ratio: Array, axes: Array, mobility: Array, result: Array
) -> bool:
    """Write D (6, 6) at a posture, along the gains' axes; return False where there is none."""
    result[:] = 0.0
    if np.any(ratio != 0.0):
        controlled = stiffness.copy()
        _select(controlled, axes)
        if not critical_damping_into(controlled, mobility, ratio, result):
            return False
    result += damping
    _select(result, axes)
    return True


@compiled
def _select(matrix: Array, axes: Array) -> None:
    """Take the axes that are 0 out of a matrix (6, 6), in place: A_ij becomes a_i A_ij a_j."""
    for i in range(6):
        for j in range(6):
            matrix[i, j] = axes[i] * matrix[i, j] * axes[j]


@compiled
def _add_inertia(cycle_row: Array, gains: Array, memory: Array, force: Array, n: int) -> None:
    """Add the term Jᵀ M (a_ref - a), where the tip's acceleration a solves

    (1 + W M) a = W (f + M a_ref + w_ext) + J̇ q̇ - (1 - s_c) J M_q⁻¹ C q̇.
    """
    cycle = cycle_at(cycle_row, n)
    gain = _gains_at(gains, n)
    law = _memory_at(memory, n)
    columns = np.empty((n, 7))
    columns[:, :6] = cycle.jacobian.T
    columns[:, 6] = law.coriolis
    both = np.zeros((6, 7))
    accelerations_into(law.mass, cycle.jacobian, columns, both)
    inertia = gain.axes * gain.inertia * gain.axes
    pull = force.copy()
    wanted = np.zeros(6)
    if not math.isnan(cycle.target_wrench[0]):
        pull += cycle.target_wrench
    if not math.isnan(cycle.wrench[0]):
        pull += cycle.wrench
    if not math.isnan(cycle.target_acceleration[0]):
        wanted[:] = cycle.target_acceleration
    pull += inertia * wanted
    matrix = np.eye(6)
    right = np.empty(6)
    for i in range(6):
        right[i] = law.jdot_v[i] - (1.0 - gain.coriolis[0]) * both[i, 6]
        for j in range(6):
            right[i] += both[i, j] * pull[j]
            matrix[i, j] += both[i, j] * inertia[j]
    acceleration = np.linalg.solve(matrix, right)
    transposed_times(cycle.jacobian, inertia * (wanted - acceleration), cycle.terms[INERTIA])
    law.active[INERTIA] = 1.0


@compiled
def _add_posture(cycle_row: Array, gains: Array, memory: Array, n: int) -> None:
    """Add the term of the null space: towards the posture, and against motion."""
    cycle = cycle_at(cycle_row, n)
    gain = _gains_at(gains, n)
    law = _memory_at(memory, n)
    wanted = np.empty(n)
    for joint in range(n):
        posture = law.posture[joint] if math.isnan(cycle.target_q[0]) else cycle.target_q[joint]
        away = short_way(posture - cycle.q[joint], law.cyclic[joint])
        spring = gain.posture_stiffness[joint] * away
        wanted[joint] = spring - gain.posture_damping[joint] * cycle.v[joint]
    frame = spring_at(change_at(law.spring, 0).springs[WANTED], 0).frame
    to_frame = np.empty((6, 6))
    _frame_map_into(frame, cycle.target_pose, cycle.pose, to_frame)
    rows = np.empty((6, n))
    product_into(to_frame, cycle.jacobian, rows)
    slack = np.empty(6)
    for i in range(6):
        slack[i] = 1.0 - gain.axes[i] ** 2
        for joint in range(n):
            rows[i, joint] *= gain.axes[i]
    _project_into(wanted, rows, law.mass, slack, cycle.terms[POSTURE])
    law.active[POSTURE] = 1.0


def project(torque: Array, jacobian: Array, mass: Array, slack: Array | float = 0.0) -> Array:
    """The part of a joint torque (n,) that doesn't accelerate the task: Nᵀ tau.

    Nᵀ = I - Jᵀ Λ J M⁻¹ with Λ = (J M⁻¹ Jᵀ)⁻¹, the dynamically consistent projector:  J M⁻¹ Nᵀ tau =
    0.

    Args:
        torque: (n,) joint torques [N·m].
        jacobian: (m, n) Jacobian of the task's axes; m may be 0; a row of zeros is no axis.
        mass: (n, n) joint-space inertia [kg·m²].
        slack: (m,) numbers or a single one [1/kg], added to the diagonal of J M⁻¹ Jᵀ: 0 for an axis
            of the task, 1 for a row of zeros; between the two an axis is faded out.

    Source: O. Khatib, A unified approach for motion and force control of robot manipulators: the
        operational
    space formulation, IEEE J. Robotics and Automation 3(1), 1987.
    """
    rows = as_row(jacobian)
    result = np.empty(len(torque))
    each = np.array(np.broadcast_to(slack, (len(rows),)), dtype=float)
    _project_into(np.array(torque, dtype=float), rows, as_row(mass), each, result)
    return result


@compiled
def _project_into(torque: Array, jacobian: Array, mass: Array, slack: Array, result: Array) -> None:
    """Write Nᵀ tau of :func:`project` into `result` (n,)."""
    rows, n = jacobian.shape
    result[:] = torque
    if rows == 0:
        return
    columns = np.empty((n, rows + 1))
    columns[:, :rows] = jacobian.T
    columns[:, rows] = torque
    both = np.zeros((rows, rows + 1))
    accelerations_into(mass, jacobian, columns, both)
    mobility = both[:, :rows].copy()
    force = both[:, rows:].copy()
    for i in range(rows):
        mobility[i, i] += REGULARISATION + slack[i]
    factor = np.empty((rows, rows))
    cholesky_into(mobility, factor)
    solve_with_factor(factor, force)
    for joint in range(n):
        for i in range(rows):
            result[joint] -= jacobian[i, joint] * force[i, 0]
