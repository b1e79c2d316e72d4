"""Compliant arms for LeRobot: the robot `compliant_arm`, and datasets from MCAP records."""

from .compliant_arm import CompliantArm
from .config_compliant_arm import CompliantArmConfig

__all__ = ["CompliantArm", "CompliantArmConfig"]
