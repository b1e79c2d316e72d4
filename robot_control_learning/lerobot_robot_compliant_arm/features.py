"""Names and values of observations and actions. This module needs NumPy alone.

Two axes of the tip, x and y, give its rotation. These numbers are continuous. A rotation vector
jumps where a tool points down.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from robot_control_ros.core.errors import refused, unknown

POSE = tuple(f"ee.{name}" for name in ("x", "y", "z", "xx", "xy", "xz", "yx", "yy", "yz"))
AXES = ("x", "y", "z", "rx", "ry", "rz")
WRENCH = tuple(f"ee.wrench_{axis}" for axis in AXES)
STIFFNESS = tuple(f"ee.stiffness_{axis}" for axis in AXES)
GRIPPER = ("gripper.pos",)
OBSERVED = ("position", "velocity", "pose", "wrench")  # groups of numbers of each arm
ACTIONS = ("pose", "joints")


def joint_names(joints: Sequence[str]) -> tuple[str, ...]:
    """Names of joint angles [rad]."""
    return tuple(f"{joint}.pos" for joint in joints)


def group_names(group: str, joints: Sequence[str]) -> tuple[str, ...]:
    """Names of the numbers of one of OBSERVED.

    They are joint angles [rad], joint velocities [rad/s], pose [m], and wrench [N, N·m].
    """
    names = {
        "position": joint_names(joints),
        "velocity": tuple(f"{joint}.vel" for joint in joints),
        "pose": POSE,
        "wrench": WRENCH,
    }
    if group not in names:
        raise unknown("group of observations", group, OBSERVED)
    return names[group]


def observation_names(joints: Sequence[str], groups: Sequence[str] = OBSERVED) -> tuple[str, ...]:
    """Names of all numbers of groups, in their order."""
    return tuple(name for group in groups for name in group_names(group, joints))


def observation_numbers(
    q: Any, v: Any, pose: Any, wrench: Any, groups: Sequence[str] = OBSERVED
) -> np.ndarray:
    """The values of :func:`observation_names`, with zeros where no wrench is measured."""
    values = {
        "position": q,
        "velocity": v,
        "pose": pose_numbers(pose),
        "wrench": np.nan_to_num(np.asarray(wrench, dtype=float)),
    }
    return np.concatenate([values[group] for group in groups])


def check_action(action: Mapping[str, Any], names: Sequence[str]) -> None:
    """Refuse an action of another robot, or one with numbers that aren't finite.

    Raises:
        ConfigError: The action hasn't these names exactly, or a number isn't finite.
    """
    if set(action) != set(names):
        missing = [name for name in names if name not in action]
        others = [name for name in action if name not in names]
        rule = (
            f"must have exactly the names of this arm; missing: {', '.join(missing) or 'none'}; "
            f"of another arm: {', '.join(others) or 'none'}"
        )
        raise refused("names", list(action), rule, tuple(names), where="action: ")
    for name in names:
        if not math.isfinite(float(action[name])):
            raise refused(name, float(action[name]), "must be finite", where="action: ")


def pose_numbers(pose: np.ndarray) -> np.ndarray:
    """The nine numbers of a pose (4, 4)."""
    return np.concatenate((pose[:3, 3], pose[:3, 0], pose[:3, 1]))


def pose_of(action: Mapping[str, float]) -> np.ndarray:
    """The pose (4, 4) of an action. Its axes are made orthogonal, and x keeps its direction.

    Raises:
        ConfigError: The axes are zero or parallel, so they give no rotation.
    """
    numbers = np.array([float(action[name]) for name in POSE])
    x = numbers[3:6] / max(float(np.linalg.norm(numbers[3:6])), 1e-12)
    y = numbers[6:9] - x * x.dot(numbers[6:9])
    length = float(np.linalg.norm(y))
    if not (np.linalg.norm(x) > 0.5 and length > 1e-6):
        rule = "must have two axes that are neither zero nor parallel"
        raise refused("axes", numbers[3:], rule, where="action: ")
    y = y / length
    pose = np.eye(4)
    pose[:3, :3] = np.column_stack((x, y, np.cross(x, y)))
    pose[:3, 3] = numbers[:3]
    return pose
