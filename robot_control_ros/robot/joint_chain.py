"""Poses of an arm's joints, for compiled code that asks about many postures."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.compiled import compiled
from ..core.rotations import rotation_exp_into
from ..core.types import Array

BASE = -1  # in place of a joint's number


class JointChain(NamedTuple):
    """The joints of an arm, n of them in the order of its joint arrays.

    Attributes:
        order: (n,) numbers of the joints, those nearer to the base first.
        parent: (n,) number of the joint before, or BASE.
        placement: (n, 4, 4) pose of the joint at 0, in the frame of the joint before.
        axis: (n, 3) unit vector in the joint's frame.
        turns: (n,) True where it turns about the axis; else it slides along it.
    """

    order: NDArray[np.int64]
    parent: NDArray[np.int64]
    placement: Array
    axis: Array
    turns: NDArray[np.bool_]


@compiled
def place_joints(chain: JointChain, q: Array, poses: Array) -> None:
    """Pose of each joint's frame in the base at q (n,), into poses (n, 4, 4)."""
    moved = np.eye(4)
    placed = np.empty((4, 4))
    turn = np.empty(3)
    for joint in chain.order:
        for i in range(3):
            turn[i] = q[joint] * chain.axis[joint, i]
            moved[i, 3] = 0.0
        if not chain.turns[joint]:
            for i in range(3):
                moved[i, 3] = turn[i]
                turn[i] = 0.0
        rotation_exp_into(turn, moved)
        if chain.parent[joint] == BASE:
            multiply_poses(chain.placement[joint], moved, poses[joint])
        else:
            multiply_poses(chain.placement[joint], moved, placed)
            multiply_poses(poses[chain.parent[joint]], placed, poses[joint])


@compiled
def multiply_poses(first: Array, second: Array, result: Array) -> None:
    """Product of poses (4, 4), into result."""
    for i in range(3):
        for j in range(4):
            entry = first[i, 3] if j == 3 else 0.0
            for k in range(3):
                entry += first[i, k] * second[k, j]
            result[i, j] = entry
        result[3, i] = 0.0
    result[3, 3] = 1.0


@compiled
def jacobian_into(
    chain: JointChain, poses: Array, joint: int, point: Array, jacobian: Array
) -> None:
    """Jacobian (6, n) of a point (3,) that a joint moves, in base axes about that point, into
    jacobian.

    Args:
        chain: Joints of the arm, see :class:`JointChain`.
        poses: (n, 4, 4) poses of the joints in the base.
        joint: Number of the last joint that moves the point, or BASE.
        point: (3,) place of the point in the base [m].
        jacobian: (6, n) result.
    """
    jacobian[:] = 0.0
    axis = np.empty(3)
    while joint != BASE:
        pose = poses[joint]
        for i in range(3):
            axis[i] = 0.0
            for k in range(3):
                axis[i] += pose[i, k] * chain.axis[joint, k]
        if chain.turns[joint]:
            x = point[0] - pose[0, 3]
            y = point[1] - pose[1, 3]
            z = point[2] - pose[2, 3]
            jacobian[0, joint] = axis[1] * z - axis[2] * y
            jacobian[1, joint] = axis[2] * x - axis[0] * z
            jacobian[2, joint] = axis[0] * y - axis[1] * x
            jacobian[3:, joint] = axis
        else:
            jacobian[:3, joint] = axis
        joint = chain.parent[joint]
