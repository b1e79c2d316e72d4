"""The way that the arm was pushed, or the target was dragged: a line and its length [mm]."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.types import Array
from ..theme import DISPLACEMENT

SHOWN_FROM = 1e-3  # m
MOVED = 5e-4  # m: smaller moves are not drawn


class Displacement:
    """A line between two points, with a label at its middle; hidden at first."""

    def __init__(self, scene: Any) -> None:
        self._points = np.zeros((1, 2, 3))
        self._line = scene.add_line_segments(
            "/displacement",
            self._points,
            DISPLACEMENT,
            thickness=3.0,
            thickness_units="screen",
            visible=False,
        )
        self._label = scene.add_label(
            "/displacement/label", "", anchor="bottom-right", visible=False
        )

    def draw(self, ends: tuple[Array, Array] | None) -> None:
        """Draw the way between two points (3,) [m] in the base; None hides it."""
        length = 0.0 if ends is None else float(np.linalg.norm(ends[1] - ends[0]))
        shown = bool(length >= SHOWN_FROM)  # False for NaN as well
        if ends is not None and shown:
            points = np.array([ends])
            if np.abs(points - self._points).max() > MOVED:
                self._points = points
                self._line.points = points.astype(np.float32)
                self._label.position = points[0].mean(axis=0)
            self._label.text = f"{1e3 * length:.0f} mm"
        self._line.visible = shown
        self._label.visible = shown
