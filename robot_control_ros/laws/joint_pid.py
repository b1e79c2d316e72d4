"""PID control of each joint by itself: of a velocity servo, or of the torque."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..core.compiled import compiled
from ..core.cycle import cycle_at
from ..core.gain_rows import gains_record, gains_row
from ..core.gains import JOINT, choice, gain
from ..core.record import Field, Record
from ..core.rotations import short_way
from ..core.types import Array, CommandMode, JointSpaceReference, Reference, RobotState
from ..robot.model import JointLimits, RobotDynamics
from .compiled_law import CompiledLaw
from .default_gains import ArmAtHome, joint_damping, joint_stiffness
from .law import register
from .terms import gravity_gain, limit_sum, sum_terms

SERVO_PERIOD = 0.005  # s: the physics step that the gains of `joint_pid` are made for
BY_ERROR = 0.0  # number of the variants `legacy` and `textbook`: D on the change of the error
PROPORTIONAL, DERIVATIVE, GRAVITY, INTEGRAL, LIMIT = range(5)  # terms; `joint_pid` has no gravity

MEMORY = Record(
    "PidMemory",
    (
        Field("active", (5,), "", "1 for each term that the last command was summed from."),
        Field("integral", ("n",), "rad·s", "S."),
        Field(
            "last_error",
            ("n",),
            "rad",
            "Error of the last cycle; NaN where there was none, or it doesn't count.",
        ),
        Field("limit", ("n",), "rad/s or N·m", "Largest command by the description."),
        Field("cyclic", ("n",), "", "1 for each joint that turns without end."),
    ),
)
memory_at = MEMORY.views


class _Pid(CompiledLaw):
    """Base class of both laws: they remember the integral of the error, and the last error."""

    reference: ClassVar[type[Reference]] = JointSpaceReference
    term_names = ("proportional", "derivative", "gravity", "integral", "limit")
    memory = MEMORY

    @staticmethod
    @abstractmethod
    def _limit(limits: JointLimits) -> Array:
        """Largest command (n,) by the description."""

    def start(self, state: RobotState, kin: RobotDynamics) -> None:
        """Begin with no integral; the first command has no derivative of the error."""
        memory = self._memory
        model = kin.model
        memory["active"] = 0.0
        memory["integral"] = 0.0
        memory["last_error"] = math.nan
        memory["limit"] = self._limit(model.limits)
        memory["cyclic"] = model.cyclic


@register("joint_pid")
class JointPid(_Pid):
    """PID from joint positions to joint velocities, as CoppeliaSim's joints have it.

    Law:
        u = P e + I S + D r;  q̇_c = u / T_u within ±velocity_limit;  e = q_ref - q, S the sum of e dt from the reset on.
        A cyclic joint goes the short way round: e = ((q_ref - q + π) mod 2π) - π. S is 0 where I is 0.
        Variant `legacy`, the script: r = (e - e_last) / dt, 0 in the first call, and T_u = dt, so that u is the
        increment of the position and P = 1 arrives in one step. (In a cyclic joint e - e_last is wrapped, too:
        no kick where e jumps at half a turn.)
        Variant `current`, the engine of today: r = -q̇, so that a jump of q_ref gives no kick, and T_u = 5 ms whatever
        dt is.
        Anti-windup: S stands still in a joint that is at its limit, while e would drive it further.
    Closed loop:
        With a servo that reaches q̇_c within the step T = T_u: e_k = (1 - P)ᵏ e_0 with P alone, stable for 0 < P < 2;
        z² - (2 - P - I T) z + (1 - P) = 0 with P and I. With P and D, `legacy` needs D < T (2 - P) / 2.
        A moving reference is followed with the lag q̇_ref T / P, or without one on ramps where I > 0.
    Frames and units:
        Joint space. P [rad/rad], I [1/s], D [s]; the gains are dimensioned for steps of 5 ms.
    Assumptions:
        Joints with velocity servos whose bandwidth is well above P / T_u. `legacy` gets stiffer as
        dt gets shorter. Nothing gives way in contact: against a wall the joints stand, and safety
        stops the arm.
    Source:
        CoppeliaSim, joint control callback: its PID script (legacy) and the engine's own controller
        (current). Anti-windup by conditional integration: K. J. Åström, T. Hägglund, Advanced PID
        Control, ISA 2006, section 3.5.
    """

    @dataclass(frozen=True, eq=False)
    class Gains:
        variant: str = choice(
            "current",
            ("legacy", "current"),
            doc="legacy: D on the change of the error, u per step; current: D on the velocity, u per 5 ms.",
        )
        p: Array = gain(
            0.1,
            size=JOINT,
            unit="rad/rad",
            upper=2.0,
            doc="P: fraction of the error taken back per step; 0 lets go.",
        )
        i: Array = gain(
            0.0,
            size=JOINT,
            unit="1/s",
            upper=100.0,
            doc="I, on the integral of the error; 0 empties it.",
        )
        d: Array = gain(
            0.0,
            size=JOINT,
            unit="s",
            upper=0.1,
            doc="D, on the rate of the error; 0 leaves it out.",
        )
        velocity_limit: Array = gain(
            100.0,
            size=JOINT,
            unit="rad/s",
            upper=100.0,
            doc="Largest velocity commanded, where it is below the description's; 0 stands still.",
        )
        anti_windup: float = gain(
            False, doc="Stop integrating in joints that are at their velocity limit."
        )

        softening: ClassVar[Mapping[str, float]] = {"p": 0.5, "i": 1.0}

    mode: ClassVar[CommandMode] = CommandMode.VELOCITY

    @staticmethod
    def _limit(limits: JointLimits) -> Array:
        """Largest velocities (n,) by the description [rad/s]."""
        return limits.velocity

    def run(self, cycles: Array, k: int, kin: RobotDynamics, gains: Gains, dt: float) -> None:
        """Write the command of a cycle and its terms, see :class:`~.compiled_law.CompiledLaw`."""
        compute(cycles, k, gains_row(gains, self._n), self._row, self._n, dt)


@register("joint_pid_effort")
class JointPidEffort(_Pid):
    """PID from joint positions to joint torques: the textbook's discrete PID, or a spring and a
    damper.

    Law:
        tau = P e + I S + D r + s_g g(q) within the description's effort limits;  e = q_ref - q, S the sum of e dt from
        the reset on. A cyclic joint goes the short way round: e = ((q_ref - q + π) mod 2π) - π. S is 0 where I is 0.
        Variant `textbook`: r = (e - e_last) / dt, 0 in the first call: u(k) = Kp e + Ki Σ e T + Kd (e(k) - e(k-1)) / T.
        Variant `spring_damper`: r = -q̇ and no integral: tau = P e - D q̇ + s_g g(q).
        Anti-windup: S stands still in a joint that is at its limit, while e would drive it further.
    Closed loop:
        M(q) q̈ + C(q, q̇) q̇ + D q̇ + P (q - q_ref) - I S = tau_ext, for q_ref at rest. I = 0: passive, up to what
        sampling costs, with V = q̇ᵀ M q̇ / 2 + eᵀ P e / 2. I > 0 takes away every constant error, and is stable for
        I < P D / M in a joint alone.
    Frames and units:
        Joint space. P [N·m/rad], I [N·m/(rad·s)], D [N·m·s/rad].
    Assumptions:
        Torque-controlled joints; D dt well below the joint's inertia. A reference that jumps gives
        `textbook` a kick.
    Source:
        K. J. Åström, T. Hägglund, Advanced PID Control, ISA 2006. With gravity compensation: M.
        Takegaki, S. Arimoto,
        A new feedback method for dynamic control of manipulators, ASME J. Dyn. Sys. Meas. Control
        103, 1981.
        Spring and damper: CoppeliaSim, joints in spring-damper mode.
    """

    @dataclass(frozen=True, eq=False)
    class Gains:
        variant: str = choice(
            "textbook",
            ("textbook", "spring_damper"),
            doc="textbook: D on the change of the error; spring_damper: D on the velocity, without I.",
        )
        p: Array = gain(
            50.0,
            size=JOINT,
            unit="N·m/rad",
            upper=5000.0,
            doc="P, a spring's stiffness; 0 lets go.",
        )
        i: Array = gain(
            0.0,
            size=JOINT,
            unit="N·m/(rad·s)",
            upper=5000.0,
            doc="I, on the integral of the error; 0 empties it.",
        )
        d: Array = gain(
            10.0,
            size=JOINT,
            unit="N·m·s/rad",
            upper=500.0,
            doc="D, a damper's; 0 lets the arm swing.",
        )
        gravity: float = gravity_gain()
        anti_windup: float = gain(
            False, doc="Stop integrating in joints that are at their effort limit."
        )

        softening: ClassVar[Mapping[str, float]] = {"i": 1.5}

    mode: ClassVar[CommandMode] = CommandMode.EFFORT

    @classmethod
    def default_gains(cls, arm: ArmAtHome) -> dict[str, Array]:
        """Gains that suit an arm, by name; see :mod:`.default_gains`."""
        stiffness = joint_stiffness(arm, cls.Gains, "p")
        return {"p": stiffness, "d": joint_damping(arm, stiffness, cls.Gains, "d")}

    @staticmethod
    def _limit(limits: JointLimits) -> Array:
        """Largest torques (n,) by the description [N·m]."""
        return limits.effort

    def run(self, cycles: Array, k: int, kin: RobotDynamics, gains: Gains, dt: float) -> None:
        """Write the command of a cycle and its terms, see :class:`~.compiled_law.CompiledLaw`."""
        compute_effort(cycles, k, gains_row(gains, self._n), self._row, self._n, dt)


_gains_at = gains_record(JointPid.Gains).views
_effort_gains_at = gains_record(JointPidEffort.Gains).views


@compiled
def compute(cycles: Array, k: int, gains: Array, memory: Array, n: int, dt: float) -> None:
    """Write the terms of a cycle and their sum; see :class:`JointPid`."""
    gain = _gains_at(gains, n)
    law = memory_at(memory, n)
    by_error = gain.variant[0] == BY_ERROR
    scale = 1.0 / dt if by_error else 1.0 / SERVO_PERIOD
    limit = np.minimum(gain.velocity_limit, law.limit)
    law.active[GRAVITY] = 0.0
    p = scale * gain.p
    i = scale * gain.i
    d = scale * gain.d
    _add_up(cycles[k], memory, p, i, d, by_error, limit, gain.anti_windup[0], n, dt)


@compiled
def compute_effort(cycles: Array, k: int, gains: Array, memory: Array, n: int, dt: float) -> None:
    """Write the terms of a cycle and their sum; see :class:`JointPidEffort`."""
    cycle = cycle_at(cycles[k], n)
    gain = _effort_gains_at(gains, n)
    law = memory_at(memory, n)
    by_error = gain.variant[0] == BY_ERROR
    for joint in range(n):
        cycle.terms[GRAVITY, joint] = gain.gravity[0] * cycle.gravity[joint]
    law.active[GRAVITY] = 1.0
    i = gain.i.copy() if by_error else np.zeros(n)
    _add_up(cycles[k], memory, gain.p, i, gain.d, by_error, law.limit, gain.anti_windup[0], n, dt)


@compiled
def _add_up(
    cycle_row: Array,
    memory: Array,
    p: Array,
    i: Array,
    d: Array,
    by_error: bool,
    limit: Array,
    anti_windup: float,
    n: int,
    dt: float,
) -> None:
    """Add the terms of both laws to gravity's, and write the command.

    Args:
        cycle_row, memory: Rows of the cycle and of the law's memory.
        p, i, d: (n,) gains P, I and D; where I is 0 the integral is emptied.
        by_error: True where D acts on the change of the error; else it acts on the velocity.
        limit: (n,) largest command.
        anti_windup: Fraction to which anti-windup is switched on, 0 to 1.
        n: Number of joints.
        dt: Time since the cycle before [s].
    """
    cycle = cycle_at(cycle_row, n)
    law = memory_at(memory, n)
    terms = cycle.terms
    for joint in range(n):
        cyclic = law.cyclic[joint]
        error = short_way(cycle.target_q[joint] - cycle.q[joint], cyclic)
        rate = _rate(law.last_error[joint], error, cyclic, dt) if by_error else -cycle.v[joint]
        law.last_error[joint] = error if by_error else math.nan
        terms[PROPORTIONAL, joint] = p[joint] * error
        terms[DERIVATIVE, joint] = d[joint] * rate
        others = terms[PROPORTIONAL, joint] + terms[DERIVATIVE, joint]
        if law.active[GRAVITY] == 1.0:
            others += terms[GRAVITY, joint]
        step = dt * error
        wanted = others + i[joint] * (law.integral[joint] + step)
        # it drives the command further beyond its limit
        if abs(wanted) > limit[joint] and wanted * error > 0.0:
            step *= 1.0 - anti_windup
        law.integral[joint] = law.integral[joint] + step if i[joint] > 0.0 else 0.0
        terms[INTEGRAL, joint] = i[joint] * law.integral[joint]
    law.active[PROPORTIONAL] = 1.0
    law.active[DERIVATIVE] = 1.0
    law.active[INTEGRAL] = 1.0
    law.active[LIMIT] = 0.0
    sum_terms(terms, law.active, cycle.asked)
    limit_sum(cycle.asked, limit, terms[LIMIT])
    law.active[LIMIT] = 1.0


@compiled
def _rate(last: float, error: float, cyclic: float, dt: float) -> float:
    """Change of a joint's error since the last cycle, per second; 0 where there was none."""
    if math.isnan(last):
        return 0.0
    return short_way(error - last, cyclic) / dt
