"""The target of the tip: a gizmo to drag, and a ghost where the reference is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.spatial import pose_error
from ...core.types import Array
from ..link import RobotLink
from .dragging import Drag
from .placing import place

AT_REST = 15  # drawings without a move of the reference after which the gizmo goes where it is
MOVED = 1e-4  # m, rad


class Target:
    """A 6-degree gizmo whose pose is sent with every drawing while it is dragged.

    When the reference has come to rest, the gizmo goes to it: whatever else moved the reference, or stopped it short,
    then shows.

    Args:
        scene: of viser.
        link: that takes the target.
        reach: of the arm [m].
        axes: (6,) those that the arm can move.
        inside: makes of a pose the nearest one that may be sent.
    """

    def __init__(
        self, scene: Any, link: RobotLink, reach: float, axes: tuple[float, ...], inside: Callable[[Array], Array]
    ) -> None:
        self._link, self._inside = link, inside
        self._led = False  # the gizmo is ahead of the reference
        self._reference: Array | None = None  # where the ghost is
        self._still = 0
        x, y, z = (bool(axis) for axis in axes[:3])
        self.gizmo = scene.add_transform_controls(
            "/target",
            scale=0.24 * reach,
            line_width=4.0,
            active_axes=(x, y, z),
            disable_rotations=not any(axes[3:]),
            depth_test=False,
            opacity=0.9,
            visible=False,
        )
        self._ghost = scene.add_frame(
            "/reference", axes_length=0.11 * reach, axes_radius=0.005 * reach, origin_radius=0.001, visible=False
        )
        scene.add_icosphere(
            "/reference/ghost", 0.04 * reach, (60, 140, 250), opacity=0.35, cast_shadow=False, receive_shadow=False
        )
        self._drag = Drag(self.gizmo)

    def release(self) -> None:
        """Follow the reference again: it is led by something else now."""
        self._led = False

    def stop(self) -> None:
        """Whoever drags it must grasp it anew; until then it is where the reference is."""
        self._drag.drop()
        self._led, self._reference = False, None

    def draw(self, reference: Array | None, shown: bool) -> None:
        """Send the target while it is dragged; else let the gizmo follow the reference (4, 4), where it is shown.

        None: nothing is commanded, and there is nothing to drag.
        """
        if reference is None:
            self.stop()
        else:
            self._lead()
            self._follow(reference)
        for handle, seen in ((self._ghost, reference is not None), (self.gizmo, shown and reference is not None)):
            if handle.visible != seen:
                handle.visible = seen

    def _lead(self) -> None:
        if self._drag.moved():
            self._led, self._still = True, 0
            self._link.set_target_pose(self._inside(self._drag.pose))

    def _follow(self, reference: Array) -> None:
        moved = self._reference is None or np.abs(pose_error(reference, self._reference)).max() > MOVED
        self._still = 0 if moved else self._still + 1
        if moved:
            self._reference = reference
            place(self._ghost, reference)
        if not self._drag.held and (not self._led or self._still >= AT_REST):
            if moved or self._led:
                place(self.gizmo, reference)
            self._led = False
