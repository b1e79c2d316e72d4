"""What the efforts of joint states are: an arm at rest tells, by the torques that hold its weight."""

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
    """What efforts look like.

    Attributes:
        kind: a value of the profile's `joint_effort`; empty where they look like none of them.
        expected: whether the profile says so.
        text: the same with the numbers, in a line.
    """

    kind: str
    expected: bool
    text: str


def effort_kind(effort: Array, gravity: Array) -> str:
    """Which value of `joint_effort` the efforts (n,) of an arm at rest look like; empty if none.

    With effort = s g + rest, the rest orthogonal to g: s is 1 for torques, -1 for reversed ones, 0 for those without
    gravity. Gears of arms turn 1 A into 3 to 14 N·m, so s is between 0.065 and 0.4 for currents. Friction at rest adds
    to s and to the rest.

    Args:
        effort: (n,) mean at rest, as it was sent.
        gravity: (n,) g(q), of at least 2 N·m [N·m].
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
    """What efforts of an arm at rest look like, beside what the profile says; None where there is little gravity.

    Args:
        profile: says what they should be.
        effort: (n,) mean at rest, as the driver sends it.
        gravity: (n,) g(q) of the model [N·m].
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
