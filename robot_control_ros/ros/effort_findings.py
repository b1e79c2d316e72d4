"""Compares the efforts of joint states with the profile, for the controller and the doctor."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..core.types import Array, RobotState
from ..robot.configuration import RobotConfig
from ..robot.model import RobotDynamics, RobotModel
from ..sensing.base_tilt import explain_torque, tilted_mount
from ..sensing.joint_effort import judge_effort
from .findings import Finding, error, ok, warning

AT_REST = 0.02  # rad/s
MOVED = 1e-3  # rad from the last posture at rest


def resting(states: Sequence[RobotState]) -> list[RobotState]:
    """The states in which the arm is at rest at the posture of its last rest."""
    still = [state for state in states if np.abs(state.v).max() <= AT_REST]
    return [state for state in still if np.abs(state.q - still[-1].q).max() <= MOVED]


def check_efforts(
    robot: RobotConfig,
    model: RobotModel,
    states: Sequence[RobotState],
    alone: bool = False,
    contact: Array | None = None,
) -> list[Finding]:
    """Compare measured efforts with the profile, by the torques that hold the arm's weight.

    There are no findings where the arm rests in fewer than half of the states, or where gravity
    acts little.

    Args:
        robot: Configuration under the profile that is checked.
        model: Model of the robot.
        states: Joint states as the driver sent them.
        alone: True where nothing but its weight should load the arm: what its description doesn't
            explain is told then.
        contact: Torques (n,) that a contact of the tool exerts on the joints [N·m]; None where
            nothing is known to touch it.
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
    kin = model.at(rested[-1].q)
    judged = judge_effort(profile, effort, kin.gravity)
    if contact is not None and profile.measures_torque:
        of_weight = judge_effort(profile, effort + contact / profile.effort_factor, kin.gravity)
        if of_weight is not None and of_weight.expected:
            judged = of_weight
    if judged is None or (profile.joint_effort == "none" and judged.kind in ("none", "")):
        return []
    if judged.expected and profile.measures_torque and alone:
        return [ok(judged.text), *_unexplained(robot, kin, effort)]
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


def _unexplained(robot: RobotConfig, kin: RobotDynamics, effort: Array) -> list[Finding]:
    """Tell what explains the torque of a resting arm that its model doesn't; empty for nothing.

    Args:
        robot: Configuration under the profile that is checked.
        kin: Dynamics at the posture of the rest.
        effort: (n,) mean effort there, as the driver sent it, of the kind that the profile says.
    """
    torque = robot.profile.effort_factor * effort
    if robot.profile.joint_effort == "torque_without_gravity":
        torque = torque + kin.gravity
    explained = explain_torque([kin], torque[np.newaxis])
    if explained is None:
        return []
    beyond = f"the arm holds {explained.missing:.1f} N·m that its description doesn't explain"
    causes = []
    if explained.by_tilt:
        roll, pitch, yaw = tilted_mount(robot.mount, explained.tilt)
        causes.append(
            f"a base tilted by {math.degrees(explained.angle):.1f}° leaves {explained.tilted_rest:.1f} N·m "
            f"(mount: roll {roll:.3f}, pitch {pitch:.3f}, yaw {yaw:.3f} rad)"
        )
    if explained.by_load:
        causes.append(
            f"{explained.mass:.2f} kg at the tip leave {explained.loaded_rest:.1f} N·m (payload.mass)"
        )
    if not causes:
        return []
    remedy = (
        "Look at the base, at what the tip carries, and whether something touches the arm; "
        "robot_control identify measures base and load"
    )
    return [warning(f"{beyond}: {', or '.join(causes)}", remedy)]
