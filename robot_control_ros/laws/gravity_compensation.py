"""Gravity compensation: the arm floats and can be led by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..core.gains import JOINT, gain
from ..core.types import Array, Command, CommandMode, Reference, RobotState
from ..robot.model import RobotDynamics
from .law import register
from .terms import friction_gain, gravity_gain, gravity_torque, total


@register("gravity_compensation")
class GravityCompensation:
    """Hold the arm against its own weight, and damp it.

    Law:
        tau = s_g g(q) - D q̇ + s_f friction(q̇)
    Closed loop:
        M(q) q̈ + C(q, q̇) q̇ + (D + B) q̇ = tau_ext, with B the joints' own friction left over: a passive arm with
        kinetic energy only, d/dt (q̇ᵀ M q̇ / 2) = -q̇ᵀ (D + B) q̇ + q̇ᵀ tau_ext.
    Frames and units:
        Joint space; N·m, rad/s. The reference is not used.
    Assumptions:
        The inertial parameters of the description, the tool included, are right; an error of the gravity torque makes
        the arm sink or rise until friction holds it.
    Source:
        B. Siciliano et al., Robotics: Modelling, Planning and Control, Springer 2009, section 8.5.1.
    """

    @dataclass(frozen=True, eq=False)
    class Gains:
        damping: Array = gain(
            1.0, size=JOINT, unit="N·m·s/rad", upper=200.0, doc="Joint damping D; 0 lets the arm swing freely."
        )
        gravity: float = gravity_gain()
        friction: float = friction_gain()

    mode: ClassVar[CommandMode] = CommandMode.EFFORT

    def __init__(self) -> None:
        self.terms: dict[str, Array] = {}

    def reset(self, state: RobotState, kin: RobotDynamics) -> None:
        """Nothing is remembered."""

    def compute(self, state: RobotState, kin: RobotDynamics, reference: Reference, gains: Gains, dt: float) -> Command:
        self.terms = terms = {"gravity": gravity_torque(gains, kin), "damping": -gains.damping * state.v}
        if gains.friction > 0.0:
            terms["friction"] = gains.friction * kin.friction
        return Command(self.mode, total(terms))
