"""The camera of viser's view, given in the page's address, so that it is known where a point is to be seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from browser import Box, Browser

from robot_control_ros.core.types import Array

VIEW = """(at => [at.x, at.y, at.width, at.height])(
  document.querySelector("canvas[data-engine]").getBoundingClientRect())"""  # three.js marks its canvas


@dataclass(frozen=True)
class Camera:
    """Upright, looking from one point at another.

    Attributes:
        position, look_at: (3,) [m].
        fov: vertical angle of view [rad].
    """

    position: Sequence[float]
    look_at: Sequence[float]
    fov: float = 0.75

    @property
    def query(self) -> str:
        """For the page's address."""
        place, aim = (
            ",".join(f"{number:g}" for number in point) for point in (self.position, self.look_at)
        )
        return f"?initialCameraPosition={place}&initialCameraLookAt={aim}&initialCameraFov={self.fov:g}"

    def pixel(self, point: Array, browser: Browser) -> Array:
        """Where a point (3,) [m] is in the window, (2,) [px]."""
        view = Box(*browser.evaluate(VIEW))
        forward = np.subtract(self.look_at, self.position)
        forward /= np.linalg.norm(forward)
        right = np.cross(forward, (0.0, 0.0, 1.0))
        right /= np.linalg.norm(right)
        ray = np.subtract(point, self.position)
        seen = np.array([ray @ right, -ray @ np.cross(right, forward)]) / (ray @ forward)
        return np.array(view.centre) + view.height / 2 / math.tan(self.fov / 2) * seen
