"""The path of the tip, as a line in pieces: only the last piece changes.

A piece gets the name of one that has gone: viser keeps what it knows of a name for ever.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.types import Array
from ..theme import TRAIL

SPACING = 0.002  # m between two points
PIECE = 60  # points
PIECES = 60  # kept
NAMES = PIECES + 1  # of pieces


class Trail:
    """Draws where the tip has been, while it is shown."""

    def __init__(self, scene: Any) -> None:
        self._shown = False
        self._scene = scene
        self._count = 0
        self._points: list[Array] = []
        self._pieces: list[Any] = []

    def show(self, shown: bool) -> None:
        """Go on, or pause."""
        self._shown = shown

    def draw(self, position: Array) -> None:
        """Add the tip's position (3,) in the base to the path."""
        if not self._shown or (
            self._points and np.linalg.norm(position - self._points[-1]) < SPACING
        ):
            return
        if len(self._points) > PIECE:
            self._points = self._points[-1:]
        self._points.append(np.array(position))
        if len(self._points) < 2:
            return
        segments = np.stack((self._points[:-1], self._points[1:]), axis=1)
        if len(self._points) == 2:
            self._begin_piece(segments)
        else:
            self._pieces[-1].points = segments.astype(np.float32)

    def clear(self) -> None:
        for piece in self._pieces:
            piece.remove()
        self._pieces = []
        self._points = []

    def _begin_piece(self, segments: Array) -> None:
        if len(self._pieces) == PIECES:
            self._pieces.pop(0).remove()
        self._count += 1
        self._pieces.append(
            self._scene.add_line_segments(
                f"/trail/{self._count % NAMES}",
                segments,
                TRAIL,
                thickness=2.5,
                thickness_units="screen",
            )
        )
