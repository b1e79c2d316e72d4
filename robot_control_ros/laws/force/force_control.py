"""Force control: the tip presses with a given force along some axes, and is compliant along the others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import lapack

from ...core.gains import AXES, MATRIX, SCALAR, TASK, choice, gain, make_gains
from ...core.types import Array, Command, CommandMode, Reference, RobotState, SensedState
from ...robot.model import RobotDynamics
from ..admittance import Admittance
from ..gain_bounds.wall_contact import WALL, least_damping, usual_lag
from ..impedance import Impedance
from ..law import register
from ..spring.compliance_frame import ComplianceFrame
from ..terms import total
from .pressing import Pressing

_BODY = make_gains(Admittance.Gains, {}, 0)  # what of the admittance isn't a gain here


@register("force_control")
class ForceControl:
    """Hybrid force and impedance control in the axes of a frame; where no torques are taken, force and admittance.

    Law:
        Output effort: tau = tau_impedance + Jᵀ Xᵀ w
        with w on the axes that `force_axes` chooses, and the impedance law on the others. X maps the tip's twist to
        the frame's axes. In contact, with the wanted force f and the measured one f_m, both exerted by the robot:
        w = f + k_p (f - f_m) + k_i ∫ (f - f_m) dt - D_f v, f = `force` + target wrench.
        Before contact: w = sign(f) min(|f|, D_f v_a) - D_f v: the arm goes at the speed v_a at most. Contact, its
        loss, the tank of energy and the limits: see Pressing in laws/force/pressing.py.
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
        Axes of `frame`, at the tip or at the link that `frame` names; linear then angular. f [N, N·m],
        D_f [N·s/m, N·m·s/rad]. The others as in impedance, or in admittance.
    Assumptions:
        A wrench, with the weight of tool and load taken out: 1 N of it is 10 % of 10 N. Under torques the friction of
        the joints is smaller than what D_f v_a makes: else the approach stands still.
    Source:
        M. Raibert, J. Craig, Hybrid position/force control of manipulators, ASME J. Dyn. Sys. Meas. Control 103, 1981;
        C. Schindlbeck, S. Haddadin, Unified passivity-based Cartesian force/impedance control for rigid and flexible
        joint robots via task-energy tanks, ICRA 2015.
    """

    @dataclass(frozen=True, eq=False)
    class Gains(Impedance.Gains):
        force: Array = gain(
            0.0,
            size=TASK,
            unit="N, N·m",
            lower=-200.0,
            upper=200.0,
            doc="Force of the robot on the environment along the force axes; its sign is that of the approach.",
        )
        force_axes: Array = gain(
            0.0, size=TASK, doc="1 where the force is controlled, 0 where the tip follows the reference compliantly."
        )
        force_p: float = gain(
            0.1,
            size=SCALAR,
            upper=2.0,
            doc="Feedback of the measured force under torques; a stiff surface and delay bound it.",
        )
        force_i: float = gain(
            5.0, size=SCALAR, unit="1/s", upper=50.0, doc="Integral of the force error: takes up friction and weight."
        )
        force_damping: Array = gain(
            (200.0, 200.0, 200.0, 2.0, 2.0, 2.0),
            size=TASK,
            unit="N·s/m, N·m·s/rad",
            lower=0.1,
            upper=2000.0,
            doc="Damping along the force axes; position-controlled joints need more of it on a stiffer surface.",
        )
        approach_speed: float = gain(
            0.02, size=SCALAR, unit="m/s", lower=0.001, upper=0.25, doc="Speed of the tip before it touches."
        )
        contact_on: float = gain(
            1.0, size=SCALAR, unit="N", lower=0.1, upper=50.0, doc="Contact begins above it: three times the noise."
        )
        contact_off: float = gain(0.3, size=SCALAR, unit="N", upper=50.0, doc="Contact ends below it.")
        integral_limit: float = gain(
            20.0, size=SCALAR, unit="N", upper=200.0, doc="The integral adds no more; a tenth of it in N·m for torques."
        )
        tank: float = gain(
            1.0, size=SCALAR, unit="J", upper=10.0, doc="Energy that feedback of the force may use at first."
        )
        max_displacement: float = gain(
            0.3,
            size=SCALAR,
            unit="m",
            lower=0.001,
            upper=2.0,
            doc="Along force axes the tip is driven no further from the reference.",
        )
        max_rotation: float = gain(
            1.0, size=SCALAR, unit="rad", lower=0.001, upper=3.0, doc="The same about force axes."
        )
        mass: Array = gain(
            (2.0, 2.0, 2.0, 0.1, 0.1, 0.1),
            size=MATRIX,
            unit="kg, kg·m²",
            lower=0.001,
            upper=100.0,
            symmetric=True,
            doc="Mass and inertia of the virtual body; where torques are commanded it has no effect.",
        )
        output: str = choice("effort", ("effort", "position", "velocity"), doc="What the joints are commanded.")

        def warning(self, period: float) -> str:
            """Along which force axes position-controlled joints can't press on 10⁴ N/m at a period [s]; else empty."""
            lag = usual_lag(period)
            least = least_damping(self.mass.diagonal()[:3], lag)
            weak = (self.force_axes[:3] > 0.0) & (self.force_damping[:3] < least)
            if self.output == "effort" or not weak.any():
                return ""
            axis = int(weak.argmax())
            return (
                f"on a surface of {WALL:g} N/m the tip rings along {AXES[axis]}: force_damping "
                f"{self.force_damping[axis]:g} N·s/m, must be at least {least[axis]:.0f} at {1.0 / period:.0f} Hz, "
                f"where commands act {1e3 * lag:.0f} ms late"
            )

        softening: ClassVar[Mapping[str, float]] = {"force_p": 1.0, "force_i": 1.0}

        @property
        def following(self) -> Any:
            """Those of the law that follows the reference; under torques the force axes are left out."""
            kept = 1.0 - self.force_axes
            if self.output == "effort":
                return replace(self, axes=self.axes * kept)
            stiffness, damping = (kept[:, None] * each * kept for each in (self.stiffness, self.damping))
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

    def __init__(self) -> None:
        self.terms: dict[str, Array] = {}
        self._impedance, self._admittance = Impedance(), Admittance()
        self._pressing = Pressing()
        self._adopted: _Adopted | None = None
        self._rest = np.eye(4)

    def reset(self, state: RobotState, kin: RobotDynamics) -> None:
        """Nothing is touched; the law that follows the reference begins anew."""
        self._impedance.reset(state, kin)
        self._admittance.reset(state, kin)
        self._adopted, self._rest = None, kin.pose

    def compute(self, state: SensedState, kin: RobotDynamics, reference: Reference, gains: Gains, dt: float) -> Command:
        adopted = self._adopted
        if adopted is None or adopted.gains is not gains:
            adopted = self._adopt(gains, state, kin)
        if not gains.force_axes.any():
            command: Command = adopted.law.compute(state, kin, reference, adopted.following, dt)
            self.terms = adopted.law.terms
            return command
        pose = self._rest if reference.pose is None else reference.pose
        to_frame = adopted.frame.map(kin, pose)
        given = np.zeros(6) if reference.wrench is None else reference.wrench
        _, _, wrenches, _ = lapack.dgesv(to_frame.T, np.column_stack((given, -state.wrench_on_tip)))
        target, measured = wrenches.T
        wanted, twist = gains.force + target, to_frame.dot(kin.twist)
        away = self._away(adopted.frame, pose, kin, gains)
        drive = self._pressing.drive(wanted, measured, twist, away, adopted.pressing, dt)
        kept = 1.0 - gains.force_axes
        if gains.output == "effort":
            if reference.wrench is not None:
                reference = replace(reference, wrench=to_frame.T.dot(kept * target))
            self._impedance.compute(state, kin, reference, adopted.following, dt)
            self.terms = terms = self._impedance.terms
            force = drive - gains.force_axes * gains.force_damping * twist
            terms["force"] = kin.jacobian.T.dot(to_frame.T.dot(force))
            return Command(CommandMode.EFFORT, total(terms))
        felt = np.where(self._pressing.touched | (wanted == 0.0), measured, 0.0)
        carried = _carried(reference, to_frame, gains)
        wrench = drive - gains.force_axes * (felt + carried) + kept * (target - measured)
        state = replace(state, wrench_on_tip=to_frame.T.dot(wrench))
        command = self._admittance.compute(state, kin, replace(reference, wrench=None), adopted.following, dt)
        self.terms = self._admittance.terms
        return command

    @property
    def spring_load(self) -> float:
        """See :class:`~.law.ControlLaw`."""
        return self._impedance.spring_load  # 0 of an impedance that hasn't run

    @property
    def path_velocity(self) -> Array | None:
        """See :class:`~.law.ControlLaw`; None where torques are commanded."""
        follows_path = self._adopted is not None and self._adopted.law is self._admittance
        return self._admittance.path_velocity if follows_path else None

    @staticmethod
    def joint_gains(gains: Gains, mass: Array, jacobian: Array) -> tuple[Array, Array]:
        """See :class:`~.law.ControlLaw`."""
        stiffness, damping = Impedance.joint_gains(gains.following, mass, jacobian)
        damper = gains.force_axes * gains.force_damping
        return stiffness, damping + jacobian.T.dot(damper[:, None] * jacobian)

    def _adopt(self, gains: Gains, state: RobotState, kin: RobotDynamics) -> _Adopted:
        """What depends on the gains alone; where no force was controlled before, or another output, it begins anew."""
        before = self._adopted
        law: Impedance | Admittance = self._impedance if gains.output == "effort" else self._admittance
        if before is not None and before.law is not law:
            self.reset(state, kin)
            before = None
        if before is None or not before.gains.force_axes.any():
            self._pressing.reset(gains.tank)
        same = before is not None and before.frame.name == gains.frame
        frame = before.frame if before is not None and same else ComplianceFrame(gains.frame, kin)
        pressing = gains if law is self._impedance else replace(gains, force_p=0.0)
        self._adopted = _Adopted(gains, law, gains.following, pressing, frame)
        return self._adopted

    @staticmethod
    def _away(frame: ComplianceFrame, pose: Array, kin: RobotDynamics, gains: Gains) -> Array:
        """The displacement (6,) from a pose along the frame's axes, over the largest one."""
        error = frame.error(pose, kin)
        axes = frame.axes(kin, pose)
        bounds = np.repeat((gains.max_displacement, gains.max_rotation), 3)
        return np.asarray(-error.reshape(2, 3).dot(axes).ravel() / bounds)


class _Adopted(NamedTuple):
    gains: ForceControl.Gains
    law: Any
    following: Any
    pressing: ForceControl.Gains
    frame: ComplianceFrame


def _carried(reference: Reference, to_frame: Array, gains: ForceControl.Gains) -> Array:
    """The wrench (6,) that a moving reference needs to carry the virtual body along."""
    result = np.zeros(6)
    if reference.twist is not None:
        result += gains.force_damping * to_frame.dot(reference.twist)
    if reference.acceleration is not None:
        result += gains.mass.dot(to_frame.dot(reference.acceleration))
    return result
