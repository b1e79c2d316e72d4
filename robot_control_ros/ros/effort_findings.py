"""Compares the efforts of joint states with the profile, for the controller and the doctor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..core.types import RobotState
from ..robot.configuration import RobotConfig
from ..robot.model import RobotModel
from ..sensing.joint_effort import judge_effort
from .findings import Finding, error, ok, warning

AT_REST = 0.02  # rad/s
MOVED = 1e-3  # rad from the last posture at rest


def resting(states: Sequence[RobotState]) -> list[RobotState]:
    """The states in which the arm is at rest at the posture of its last rest."""
    still = [state for state in states if np.abs(state.v).max() <= AT_REST]
    return [state for state in still if np.abs(state.q - still[-1].q).max() <= MOVED]


def check_efforts(
    robot: RobotConfig, model: RobotModel, states: Sequence[RobotState]
) -> list[Finding]:
    """Compare measured efforts with the profile, by the torques that hold the arm's weight.

    There are no findings where the arm rests in fewer than half of the states, or where gravity
    acts little.

    Args:
        robot: Configuration under the profile that is checked.
        model: Model of the robot.
        states: Joint states as the driver sent them.
    """
    rested = resting(states)
    if 2 * len(rested) < len(states):
        return []
    profile = robot.profile
    where = f"in profile {robot.profile_name}"
    effort = np.mean([state.effort for state in rested], axis=0)
    if not np.isfinite(effort).all():
        missing = warning("joint states: no effort", f"Set joint_effort: none {where}")
        return [] if profile.joint_effort == "none" else [missing]
    judged = judge_effort(profile, effort, model.at(rested[-1].q).gravity)
    if judged is None or (profile.joint_effort == "none" and judged.kind in ("none", "")):
        return []
    if judged.expected or profile.joint_effort == "none":
        return [ok(judged.text)]
    if judged.kind == profile.joint_effort:
        return [warning(judged.text, f"Check torque_constant {where}")]
    if not judged.kind:
        remedy = "Are they torques? What is mounted must be in the description; or set joint_effort: none"
        return [warning(judged.text, remedy)]
    opposite = {judged.kind, profile.joint_effort} == {"torque", "reversed_torque"}
    level = error if opposite else warning
    return [level(judged.text, f"Set joint_effort: {judged.kind} {where}")]
