"""The names of what is observed and done, and their values; needs NumPy alone.

A rotation is given by the x and the y axis of the tip: these numbers are continuous, and those of a rotation vector
jump where a tool points down.
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
    """Angles [rad] and velocities [rad/s] of the joints, pose of the tip [m], wrench on it [N, N·m]."""
    return (*(f"{joint}.pos" for joint in joints), *(f"{joint}.vel" for joint in joints), *POSE, *WRENCH)


def observed(q: Any, v: Any, pose: Any, wrench: Any) -> np.ndarray:
    """The values of :func:`observation_names`; zeros where no wrench is measured."""
    return np.concatenate((q, v, pose_numbers(pose), np.nan_to_num(np.asarray(wrench, dtype=float))))


def pose_numbers(pose: np.ndarray) -> np.ndarray:
    """The nine numbers of a pose (4, 4)."""
    return np.concatenate((pose[:3, 3], pose[:3, 0], pose[:3, 1]))


def pose_of(action: Mapping[str, float]) -> np.ndarray:
    """The pose (4, 4) of an action; its axes are made orthogonal, x being kept."""
    numbers = np.array([float(action[name]) for name in POSE])
    x = numbers[3:6] / np.linalg.norm(numbers[3:6])
    y = numbers[6:9] - x * x.dot(numbers[6:9])
    y = y / np.linalg.norm(y)
    pose = np.eye(4)
    pose[:3, :3] = np.column_stack((x, y, np.cross(x, y)))
    pose[:3, 3] = numbers[:3]
    return pose
