"""The configuration of the camera `rendered` on LeRobot's command line."""

from __future__ import annotations

from dataclasses import dataclass, field

from lerobot.cameras import CameraConfig


@CameraConfig.register_subclass("rendered")
@dataclass(kw_only=True)
class RenderedCameraConfig(CameraConfig):
    """Place and view of a camera, in the base of the arm.

    Attributes:
        position: Position (3,) of the camera [m].
        target: Point (3,) in the middle of the picture [m].
        opening: Angle of view over the height of the picture [degrees].
    """

    position: list[float] = field(default_factory=lambda: [1.5, 0.0, 0.8])
    target: list[float] = field(default_factory=lambda: [0.4, 0.0, 0.4])
    opening: float = 40.0
