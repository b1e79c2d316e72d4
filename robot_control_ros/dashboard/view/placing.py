"""Conversion between our poses and viser's positions and quaternions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.spatial import make_pose, quaternion_to_rotation, rotation_to_quaternion
from ...core.types import Array

_WXYZ = [3, 0, 1, 2]
_XYZW = [1, 2, 3, 0]


def placed(pose: Array) -> dict[str, Any]:
    """Keyword arguments of a new node at a pose (4, 4)."""
    return {"position": pose[:3, 3], "wxyz": rotation_to_quaternion(pose[:3, :3])[_WXYZ]}


def place(handle: Any, pose: Array) -> None:
    """Move a node to a pose (4, 4)."""
    handle.position = pose[:3, 3]
    handle.wxyz = rotation_to_quaternion(pose[:3, :3])[_WXYZ]


def pose_of(handle: Any) -> Array:
    """Pose (4, 4) of a node."""
    return make_pose(np.array(handle.position), quaternion_to_rotation(handle.wxyz[_XYZW]))
