"""PID control of each joint by itself: of a velocity servo, or of the torque."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..core.gains import JOINT, choice, gain
from ..core.types import Array, Command, CommandMode, JointSpaceReference, Reference, RobotState
from ..robot.model import RobotDynamics, RobotModel
from .law import register
from .terms import gravity_gain, gravity_torque, limited, total

SERVO_PERIOD = 0.005  # s: the physics step that the gains of `joint_pid` are made for


class _Pid:
    """What both laws remember: the integral of the error, and the last error."""

    reference: ClassVar[type[Reference]] = JointSpaceReference

    def __init__(self) -> None:
        self.terms: dict[str, Array] = {}
        self._integral = np.zeros(0)
        self._last_error: Array | None = None

    def reset(self, state: RobotState, kin: RobotDynamics) -> None:
        """Begin with no integral; the first command has no derivative of the error."""
        self._integral = np.zeros(kin.model.n)
        self._last_error = None

    def _rate(self, error: Array, model: RobotModel, dt: float) -> Array:
        """Change of the error since the last call, per second (n,)."""
        last, self._last_error = self._last_error, error
        return np.zeros_like(error) if last is None else model.wrap(error - last) / dt

    def _integrate(
        self, error: Array, weight: Array, others: Array, anti_windup: float, dt: float, limit: Array
    ) -> Array:
        """The integral's part (n,) of the command, once it has taken up this error; a `weight` of 0 empties it.

        With `anti_windup` 1, an error that drives the command further beyond its limit isn't taken up.
        """
        step = dt * error
        if anti_windup > 0.0:
            wanted = others + weight * (self._integral + step)
            step = step * (1.0 - anti_windup * ((np.abs(wanted) > limit) & (wanted * error > 0.0)))
        self._integral = (self._integral + step) * (weight > 0.0)
        return np.asarray(weight * self._integral)


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
        Joints with velocity servos whose bandwidth is well above P / T_u. `legacy` gets stiffer as dt gets shorter.
        Nothing gives way in contact: against a wall the joints stand, and safety stops the arm.
    Source:
        CoppeliaSim, joint control callback: its PID script (legacy) and the engine's own controller (current).
        Anti-windup by conditional integration: K. J. Åström, T. Hägglund, Advanced PID Control, ISA 2006, section 3.5.
    """

    @dataclass(frozen=True, eq=False)
    class Gains:
        variant: str = choice(
            "current",
            ("legacy", "current"),
            doc="legacy: D on the change of the error, u per step; current: D on the velocity, u per 5 ms.",
        )
        p: Array = gain(
            0.1, size=JOINT, unit="rad/rad", upper=2.0, doc="P: fraction of the error taken back per step; 0 lets go."
        )
        i: Array = gain(0.0, size=JOINT, unit="1/s", upper=100.0, doc="I, on the integral of the error; 0 empties it.")
        d: Array = gain(0.0, size=JOINT, unit="s", upper=0.1, doc="D, on the rate of the error; 0 leaves it out.")
        velocity_limit: Array = gain(
            100.0,
            size=JOINT,
            unit="rad/s",
            upper=100.0,
            doc="Largest velocity commanded, where it is below the description's; 0 stands still.",
        )
        anti_windup: float = gain(False, doc="Stop integrating in joints that are at their velocity limit.")

        softening: ClassVar[Mapping[str, float]] = {"p": 0.5, "i": 1.0}

    mode: ClassVar[CommandMode] = CommandMode.VELOCITY

    def compute(
        self, state: RobotState, kin: RobotDynamics, reference: JointSpaceReference, gains: Gains, dt: float
    ) -> Command:
        model = kin.model
        error = model.wrap(reference.q - state.q)
        if gains.variant == "legacy":
            rate, scale = self._rate(error, model, dt), 1.0 / dt
        else:
            self._last_error, rate, scale = None, -state.v, 1.0 / SERVO_PERIOD
        limit = np.minimum(gains.velocity_limit, model.limits.velocity)
        self.terms = terms = {"proportional": scale * gains.p * error, "derivative": scale * gains.d * rate}
        others = total(terms)
        terms["integral"] = self._integrate(error, scale * gains.i, others, gains.anti_windup, dt, limit)
        return Command(CommandMode.VELOCITY, limited(terms, others + terms["integral"], limit))


@register("joint_pid_effort")
class JointPidEffort(_Pid):
    """PID from joint positions to joint torques: the textbook's discrete PID, or a spring and a damper.

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
        Torque-controlled joints; D dt well below the joint's inertia. A reference that jumps gives `textbook` a kick.
    Source:
        K. J. Åström, T. Hägglund, Advanced PID Control, ISA 2006. With gravity compensation: M. Takegaki, S. Arimoto,
        A new feedback method for dynamic control of manipulators, ASME J. Dyn. Sys. Meas. Control 103, 1981.
        Spring and damper: CoppeliaSim, joints in spring-damper mode.
    """

    @dataclass(frozen=True, eq=False)
    class Gains:
        variant: str = choice(
            "textbook",
            ("textbook", "spring_damper"),
            doc="textbook: D on the change of the error; spring_damper: D on the velocity, without I.",
        )
        p: Array = gain(50.0, size=JOINT, unit="N·m/rad", upper=5000.0, doc="P, a spring's stiffness; 0 lets go.")
        i: Array = gain(
            0.0, size=JOINT, unit="N·m/(rad·s)", upper=5000.0, doc="I, on the integral of the error; 0 empties it."
        )
        d: Array = gain(10.0, size=JOINT, unit="N·m·s/rad", upper=500.0, doc="D, a damper's; 0 lets the arm swing.")
        gravity: float = gravity_gain()
        anti_windup: float = gain(False, doc="Stop integrating in joints that are at their effort limit.")

        softening: ClassVar[Mapping[str, float]] = {"i": 1.5}

    mode: ClassVar[CommandMode] = CommandMode.EFFORT

    def compute(
        self, state: RobotState, kin: RobotDynamics, reference: JointSpaceReference, gains: Gains, dt: float
    ) -> Command:
        model = kin.model
        error = model.wrap(reference.q - state.q)
        if gains.variant == "textbook":
            rate, weight = self._rate(error, model, dt), gains.i
        else:
            self._last_error, rate, weight = None, -state.v, np.zeros_like(gains.i)
        self.terms = terms = {
            "proportional": gains.p * error,
            "derivative": gains.d * rate,
            "gravity": gravity_torque(gains, kin),
        }
        others, limit = total(terms), model.limits.effort
        terms["integral"] = self._integrate(error, weight, others, gains.anti_windup, dt, limit)
        return Command(CommandMode.EFFORT, limited(terms, others + terms["integral"], limit))
