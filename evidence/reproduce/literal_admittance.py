"""The source's own form of the admittance law, and its inner loop: evidence of their
faults, not for use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from robot_control_ros.core.gains import JOINT, choice, gain
from robot_control_ros.core.spatial import cross, skew
from robot_control_ros.core.types import Array, Command, CommandMode, Reference, RobotState
from robot_control_ros.robot.model import RobotDynamics

# kg, N/m
MASS = 1.0
STIFFNESS = 1000.0
TOOL = np.array([0.0, 0.0, 0.05])  # m, the source's tool point in the tip


class LiteralAdmittance:
    """The source's own form; evidence of its faults, not for use.

    Law:
        a_c = M⁻¹ [f - B J q̇ - K (x - x_ref)],  q̈ = pinv(J) (a_c - J̇ q̇),  Δq̇ += dt q̈,  Δq += dt Δq̇,
        command q_ref + Δq. x is the tool point; q, q̇ are measured, or those that are commanded.
    """

    @dataclass(frozen=True, eq=False)
    class Gains:
        damping: float = gain(0.0, unit="N·s/m", upper=1000.0, doc="B.")
        feedback: str = choice(
            "measured", ("measured", "commanded"), doc="Of which q and q̇ the law is."
        )

    mode: ClassVar[CommandMode] = CommandMode.POSITION
    needs_wrench: ClassVar[bool] = True

    def __init__(self) -> None:
        self.terms: dict[str, Array] = {}

    def reset(self, state: RobotState, kin: RobotDynamics) -> None:
        """Take the robot's present joints and tool point as the reference."""
        self._q_ref = state.q.copy()
        self._x_ref = _tool(kin)[0]
        self._moved = np.zeros(state.q.size)
        self._rate = np.zeros(state.q.size)

    def compute(
        self, state: RobotState, kin: RobotDynamics, reference: Reference, gains: Gains, dt: float
    ) -> Command:
        assert state.wrench_on_tip is not None
        at = (
            kin
            if gains.feedback == "measured"
            else kin.model.at(self._q_ref + self._moved, self._rate)
        )
        x, jacobian, bias = _tool(at)
        force = (
            state.wrench_on_tip[:3]
            - gains.damping * jacobian @ at.v
            - STIFFNESS * (x - self._x_ref)
        )
        self._rate = self._rate + dt * np.linalg.pinv(jacobian) @ (force / MASS - bias)
        self._moved = self._moved + dt * self._rate
        return Command(self.mode, self._q_ref + self._moved, None, self._rate)


def _tool(kin: RobotDynamics) -> tuple[Array, Array, Array]:
    """Position (3,), Jacobian (3, n) and J̇ q̇ (3,) of the tool point."""
    lever = kin.pose[:3, :3] @ TOOL
    spin = kin.twist[3:]
    jacobian = kin.jacobian[:3] - skew(lever) @ kin.jacobian[3:]
    bias = kin.jdot_v[:3] + cross(kin.jdot_v[3:], lever) + cross(spin, cross(spin, lever))
    return kin.pose[:3, 3] + lever, jacobian, bias


class StiffJoints:
    """The source's inner loop: tau = kp (q_c - q) + kd (q̇_c - q̇) + g(q)."""

    @dataclass(frozen=True, eq=False)
    class Gains:
        p: Array = gain(
            (1e5, 1e5, 1e5, 1e3, 1e3, 10.0), size=JOINT, unit="N·m/rad", upper=1e6, doc="kp."
        )
        d: Array = gain(
            (50.0, 50.0, 50.0, 1.0, 1.0, 0.01), size=JOINT, unit="N·m·s/rad", upper=1e3, doc="kd."
        )

    mode: ClassVar[CommandMode] = CommandMode.EFFORT

    def __init__(self) -> None:
        self.terms: dict[str, Array] = {}

    def reset(self, state: RobotState, kin: RobotDynamics) -> None:
        """Do nothing: the law keeps no state."""

    def compute(
        self, state: RobotState, kin: RobotDynamics, reference: Reference, gains: Gains, dt: float
    ) -> Command:
        assert reference.q is not None
        assert reference.v is not None
        torque = gains.p * (reference.q - state.q) + gains.d * (reference.v - state.v) + kin.gravity
        return Command(self.mode, torque)
