"""The warning that the tip stands away from its target, with the cause."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.types import Array, CommandMode, RobotState
from ..laws.running_law import RunningLaw
from ..laws.softening import JOINTS, TIP, springs_and_dampers
from ..robot.configuration import RobotConfig
from ..robot.model import JointLimits, RobotDynamics
from ..sensing.sensor_drift import AT_REST

# m, rad: a tip that stands so far from a resting target is told
AWAY = 0.005
TURNED = 0.05
# N·m, and share of a joint's effort limit, that hold a joint: less is what models are wrong by
LITTLE = 0.25
SHARE = 0.005
TOUCHED = 2.0, 0.3  # N, N·m, that displace a compliant arm as they should


class StandingTip:
    """Tells that the tip stands away from its target, with what holds it.

    A resting arm is in balance. So the torque τ_s beyond that of the model holds it against
    something: friction, an undeclared load, a wrong torque, or a contact. A measured wrench
    explains the part -Jᵀ w of it, which is wanted: a compliant arm gives way. Where the rest is
    little, nothing holds the arm. Then no torque leads it nearer: its target may be beyond reach.

    Where positions are commanded, torques aren't known. There a wrench explains what it displaces,
    and else the target may be beyond reach.

    What a law leaves free is no error: an axis without stiffness, one of force control, or a law
    without a spring.

    Args:
        robot: Configuration of the robot.
        limits: Limits of the robot's joints.
    """

    def __init__(self, robot: RobotConfig, limits: JointLimits) -> None:
        self._joints = robot.joints
        self._limits = limits
        self._axes = np.array(robot.axes)
        self._least = LITTLE + SHARE * limits.effort

    def warning(
        self, running: RunningLaw, error: Array, state: RobotState, kin: RobotDynamics, held: Array
    ) -> str:
        """Warning that the tip stands away from its target, and why; empty where that isn't so, or
        wanted.

        Args:
            running: Law that runs.
            error: (6,) error of the tip, its reference minus its pose [m, rad].
            state, kin: State of the sample, and the dynamics there.
            held: (n,) torque τ_s that holds the arm beyond the model's, under a law of efforts
                [N·m].
        """
        counted = self._axes * error * _followed(running.gains.target, running.mode)
        distance = float(np.linalg.norm(counted[:3]))
        turn = float(np.linalg.norm(counted[3:]))
        if float(np.abs(state.v).max()) > AT_REST or (distance <= AWAY and turn <= TURNED):
            return ""
        away = f"{distance:.3f} m and {turn:.2f} rad" if turn > TURNED else f"{distance:.3f} m"
        wrench = np.zeros(6) if state.wrench_on_tip is None else state.wrench_on_tip
        if running.mode is CommandMode.EFFORT:
            unexplained = np.abs(held + kin.jacobian.T.dot(wrench))
            joint = int((unexplained / self._least).argmax())
            if unexplained[joint] > self._least[joint]:
                unit = self._limits.unit(joint).effort
                holds = f"{unexplained[joint]:.1f} {unit} at {self._joints[joint]} hold it back"
                causes = "friction, a load that isn't declared, or a contact"
                return f"the tip stands {away} from its target: {holds}, from {causes}"
        if touches(wrench):
            return ""
        return f"the tip stands {away} from its target, and nothing holds it back: the target may be beyond reach"


def touches(wrench: Array) -> bool:
    """Look whether a measured wrench (6,) is large enough to displace a compliant arm."""
    return bool((np.linalg.norm(wrench.reshape(2, 3), axis=1) > TOUCHED).any())


def _followed(gains: Any, mode: CommandMode) -> Array:
    """(6,) 1 for each axis along which the law leads the tip to its target, 0
    where it leaves it free.
    """
    if mode is not CommandMode.EFFORT:
        return np.ones(6)
    kind: Any = type(gains)
    springs, _ = springs_and_dampers(kind)
    followed = np.zeros(6)
    for name, acts_on in springs.items():
        values = np.asarray(getattr(gains, name), dtype=float)
        if acts_on == JOINTS:
            followed = np.maximum(followed, float((values > 0.0).all()))
        elif acts_on == TIP:
            stiffness = (
                np.linalg.eigvalsh(values) if values.ndim == 2 else np.broadcast_to(values, 6)
            )
            halves = (stiffness.reshape(2, 3) > 0.0).all(axis=1)  # in any axes
            followed = np.maximum(followed, np.repeat(halves, 3))
    return followed * (1.0 - float(np.any(getattr(gains, "force_axes", 0.0))))
