"""The axes of the base and of the tip, with their names."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.types import Array
from .placing import place

LENGTH = 0.16  # times the reach


class NamedAxes:
    """Two frames whose axes are named x, y and z: red, green and blue.

    Args:
        scene: Scene of viser.
        names: Names of the frames in the description, base and tip.
        reach: Reach of the arm [m].
    """

    def __init__(self, scene: Any, names: tuple[str, str], reach: float) -> None:
        length = LENGTH * reach
        self._frames = []
        for role, frame in zip(("base", "tip"), names, strict=True):
            node = scene.add_frame(
                f"/axes_{role}",
                axes_length=length,
                axes_radius=0.004 * reach,
                origin_radius=0.008 * reach,
            )
            origin = -0.35 * length * np.ones(3) / np.sqrt(3.0)
            scene.add_label(
                f"{node.name}/name", f"{role}: {frame}", position=origin, font_screen_scale=0.8
            )
            for axis, end in zip("xyz", 1.12 * length * np.eye(3), strict=True):
                scene.add_label(
                    f"{node.name}/{axis}",
                    axis,
                    position=end,
                    font_screen_scale=0.7,
                    anchor="center-left",
                )
            self._frames.append(node)

    def show(self, shown: bool) -> None:
        """Show the frames, or hide them."""
        for node in self._frames:
            node.visible = shown

    def draw(self, tip: Array) -> None:
        """Draw the tip's frame at a pose (4, 4) in the base."""
        place(self._frames[1], tip)
