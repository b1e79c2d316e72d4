"""The kind of efforts in joint states, recognised by the weight that a resting arm holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.types import Array
from ..robot.profile import HardwareProfile

MIN_GRAVITY = 2.0  # N·m, from which on gravity can be recognised
TORQUE = 0.4  # largest |1 - s| of a torque, s g being the part of the efforts along gravity
NO_GRAVITY = 0.065  # largest |s| of torques without gravity
RESIDUAL = 0.5  # of that part, the largest rest beside it
FRICTION = 0.25  # of gravity, the largest torque without gravity at rest
KINDS = {
    "torque": "torques with gravity",
    "reversed_torque": "torques with gravity, of the opposite sign",
    "torque_without_gravity": "torques without gravity",
    "current": "currents",
    "none": "nothing measured",
    "": "none of torques, torques without gravity and currents",
}


@dataclass(frozen=True)
class EffortFinding:
    """The kind that efforts look like.

    Attributes:
        kind: Value of the profile's `joint_effort` that fits; empty where none does.
        expected: True where the profile says so.
        text: Finding with its numbers, in a line.
    """

    kind: str
    expected: bool
    text: str


def effort_kind(effort: Array, gravity: Array) -> str:
    """Value of `joint_effort` that the efforts of an arm at rest look like; empty for none.

    Let effort = s g + rest, with the rest orthogonal to g. Then s is 1 for torques, -1 for reversed
    ones, and 0 for those without gravity. Gears of arms turn 1 A into 3 to 14 N·m, so s is between
    0.065 and 0.4 for currents. Friction at rest adds to s and to the rest.

    Args:
        effort: (n,) mean effort at rest, as it was sent.
        gravity: (n,) gravity torques g(q), with a norm of at least 2 N·m [N·m].
    """
    if not effort.any():
        return "none"
    size = float(np.linalg.norm(gravity))
    ratio = float(effort.dot(gravity)) / size**2
    rest = float(np.linalg.norm(effort - ratio * gravity)) / size
    if abs(ratio) <= NO_GRAVITY:
        return "torque_without_gravity" if rest <= FRICTION else ""
    if rest > RESIDUAL * abs(ratio):
        return ""
    if abs(abs(ratio) - 1.0) <= TORQUE:
        return "torque" if ratio > 0.0 else "reversed_torque"
    return "current" if abs(ratio) <= TORQUE else ""


def judge_effort(profile: HardwareProfile, effort: Array, gravity: Array) -> EffortFinding | None:
    """Compare the kind of an arm's efforts at rest with its profile; None with little gravity.

    Args:
        profile: Profile of the robot, which says the kind that they should be.
        effort: (n,) mean effort at rest, as the driver sends it.
        gravity: (n,) gravity torques g(q) of the model [N·m].
    """
    if np.linalg.norm(gravity) < MIN_GRAVITY:
        return None
    kind = effort_kind(effort, gravity)
    expected = kind == profile.joint_effort
    if expected and profile.torque_constant:
        expected = effort_kind(profile.effort_factor * effort, gravity) == "torque"
    text = f"effort looks like {KINDS[kind]}: {_numbers(effort)} measured, {_numbers(gravity)} N·m of gravity"
    if not expected:
        text += f"; the profile says {profile.joint_effort}"
    return EffortFinding(kind, expected, text)


def _numbers(values: Array) -> str:
    return "[" + ", ".join(f"{value:.1f}" for value in values) + "]"
