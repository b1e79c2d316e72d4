"""A camera that draws the arm, for a simulation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from lerobot.cameras import Camera
from lerobot.utils.errors import DeviceNotConnectedError

from .config_rendered_camera import RenderedCameraConfig
from .ray_picture import Capsule, RayPicture


class RenderedCamera(Camera):
    """Draws what the robot `compliant_arm` shows it, whenever it is read.

    Args:
        config: Configuration of the camera, with width, height and fps.

    Attributes:
        capsules: Function that returns what there is to see. The robot sets it.
    """

    def __init__(self, config: RenderedCameraConfig) -> None:
        super().__init__(config)
        self.capsules: Callable[[], Sequence[Capsule]] = tuple
        self._picture = RayPicture(
            config.position,
            config.target,
            config.opening,
            int(config.width or 0),
            int(config.height or 0),
        )
        self._connected = False

    @property
    def is_connected(self) -> bool:
        return self._connected

    @staticmethod
    def find_cameras() -> list[dict[str, Any]]:
        """No device: a rendered camera is where its configuration puts it."""
        return []

    def connect(self, warmup: bool = True) -> None:
        self._connected = True

    def read(self) -> np.ndarray:
        """Draw a picture (height, width, 3), red, green, blue."""
        if not self._connected:
            raise DeviceNotConnectedError(f"{self} is not connected: call connect() first")
        return self._picture.draw(self.capsules())

    def async_read(self, timeout_ms: float = 200.0) -> np.ndarray:
        return self.read()

    def read_latest(self, max_age_ms: int = 500) -> np.ndarray:
        return self.read()

    def disconnect(self) -> None:
        self._connected = False
