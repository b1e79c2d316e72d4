"""The box that the controller keeps targets of the tip in, as far as it has one."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from ...control.requests import Parameter
from ...core.types import Array
from ...references.workspace import FAR, is_bounded
from ..theme import WORKSPACE

SHOWN = 1.5  # reaches from the base, to where the edges go if there is no wall
# of corners by their bits
EDGES = [(a, b) for a, b in product(range(8), range(8)) if a < b and (a ^ b) in (1, 2, 4)]


class WorkspaceBox:
    """The edges of the box, visible on demand and while a wall stops a target.

    Args:
        scene: Scene of viser.
        reach: Reach of the arm [m].
    """

    def __init__(self, scene: Any, reach: float) -> None:
        self._shown = False
        self._touched = False
        self._scene = scene
        self._reach = reach
        self._lower = np.full(3, -FAR)
        self._upper = np.full(3, FAR)
        self._edges: Any = None
        self._drawn: object = None

    def show(self, shown: bool) -> None:
        """Show the box in any case, or only while it stops a target."""
        self._shown = shown

    def draw(self, parameters: Mapping[str, Parameter]) -> None:
        """Draw the box as the controller has it now."""
        lower, upper = (parameters.get(f"workspace.{name}") for name in ("lower", "upper"))
        if lower is not None and upper is not None:
            self._lower = np.asarray(lower.value, dtype=float)
            self._upper = np.asarray(upper.value, dtype=float)
        visible = self._shown or self._touched
        self._touched = False
        state = (self._lower.tolist(), self._upper.tolist(), visible)
        if state == self._drawn:
            return
        self._drawn = state
        if self._edges is not None:
            self._edges.remove()
        self._edges = self._make() if visible and is_bounded(self._lower, self._upper) else None

    def inside(self, pose: Array) -> Array:
        """The pose (4, 4), or one with the same rotation at the nearest place inside."""
        moved = pose.copy()
        moved[:3, 3] = np.clip(pose[:3, 3], self._lower, self._upper)
        self._touched = not np.array_equal(moved, pose)
        return moved

    def _make(self) -> Any:
        limit = SHOWN * self._reach
        ends = np.clip(np.array([self._lower, self._upper]), -limit, limit)
        corners = np.array(
            [[ends[(number >> axis) & 1, axis] for axis in range(3)] for number in range(8)]
        )
        return self._scene.add_line_segments(
            "/workspace",
            corners[EDGES].astype(np.float32),
            WORKSPACE,
            thickness=1.5,
            thickness_units="screen",
        )
