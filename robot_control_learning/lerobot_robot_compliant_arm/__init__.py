"""Compliant arms for LeRobot: a robot, a camera, teleoperators, and datasets from MCAP records."""

from .compliant_arm import CompliantArm
from .config_compliant_arm import CompliantArmConfig
from .config_rendered_camera import RenderedCameraConfig
from .config_teleoperators import (
    CompliantArmExpertConfig,
    CompliantArmGamepadConfig,
    CompliantArmLeaderConfig,
)
from .rendered_camera import RenderedCamera
from .teleoperators import CompliantArmExpert, CompliantArmGamepad, CompliantArmLeader

__all__ = [
    "CompliantArm",
    "CompliantArmConfig",
    "CompliantArmExpert",
    "CompliantArmExpertConfig",
    "CompliantArmGamepad",
    "CompliantArmGamepadConfig",
    "CompliantArmLeader",
    "CompliantArmLeaderConfig",
    "RenderedCamera",
    "RenderedCameraConfig",
]
