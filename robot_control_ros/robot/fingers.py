"""Poses of a gripper's links as it opens and closes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..core.types import Array
from .gripper import GripperConfig
from .model import RobotModel


class FingerModel:
    """Kinematics of the gripper alone.

    Attributes:
        joints: Names of its joints that move.
        root: Name of the link that is mounted on the robot.
    """

    def __init__(self, gripper: GripperConfig) -> None:
        self._follow = np.array([(joint.multiplier, joint.offset) for joint in gripper.joints])
        self.joints = tuple(joint.name for joint in gripper.joints)
        self.root = gripper.root
        self._model = RobotModel(gripper.text, self.joints, gripper.root, gripper.tip)

    def poses(self, position: float) -> Mapping[str, Array]:
        """Poses (4, 4) of the links in the root, at a position of the driven joint [rad or m]."""
        multiplier, offset = self._follow.T
        self._model.update(multiplier * position + offset, np.zeros(len(offset)))
        return {link: self._model.frame_pose(link) for link in self._model.frames}
