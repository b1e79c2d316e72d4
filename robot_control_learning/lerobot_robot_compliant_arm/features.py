"""Names and values of observations and actions. This module needs NumPy alone.

Two axes of the tip, x and y, give its rotation. These numbers are continuous. A rotation vector
jumps where a tool points down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

POSE = tuple(f"ee.{name}" for name in ("x", "y", "z", "xx", "xy", "xz", "yx", "yy", "yz"))
AXES = ("x", "y", "z", "rx", "ry", "rz")
WRENCH = tuple(f"ee.wrench_{axis}" for axis in AXES)
STIFFNESS = tuple(f"ee.stiffness_{axis}" for axis in AXES)


def observation_names(joints: Sequence[str]) -> tuple[str, ...]:
    """Names of joint angles [rad], joint velocities [rad/s], pose [m], and wrench [N, N·m]."""
    return (
        *(f"{joint}.pos" for joint in joints),
        *(f"{joint}.vel" for joint in joints),
        *POSE,
        *WRENCH,
    )


def observation_numbers(q: Any, v: Any, pose: Any, wrench: Any) -> np.ndarray:
    """The values of :func:`observation_names`, with zeros where no wrench is measured."""
    return np.concatenate(
        (q, v, pose_numbers(pose), np.nan_to_num(np.asarray(wrench, dtype=float)))
    )


def pose_numbers(pose: np.ndarray) -> np.ndarray:
    """The nine numbers of a pose (4, 4)."""
    return np.concatenate((pose[:3, 3], pose[:3, 0], pose[:3, 1]))


def pose_of(action: Mapping[str, float]) -> np.ndarray:
    """The pose (4, 4) of an action. Its axes are made orthogonal, and x keeps its direction."""
    numbers = np.array([float(action[name]) for name in POSE])
    x = numbers[3:6] / np.linalg.norm(numbers[3:6])
    y = numbers[6:9] - x * x.dot(numbers[6:9])
    y = y / np.linalg.norm(y)
    pose = np.eye(4)
    pose[:3, :3] = np.column_stack((x, y, np.cross(x, y)))
    pose[:3, 3] = numbers[:3]
    return pose
