"""The target of the tip: a gizmo to drag, and a ghost at the reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.spatial import pose_error
from ...core.types import Array
from ..link import RobotLink
from ..theme import REFERENCE
from .dragging import Drag
from .placing import place

AT_REST = 15  # drawings without a move of the reference, after which the gizmo goes to it
MOVED = 1e-4  # m, rad


class Target:
    """A 6-degree gizmo whose pose is sent with every drawing while it is dragged.

    When the reference has come to rest, the gizmo goes to it. So other moves of the reference show,
    and its limits.

    Args:
        scene: Scene of viser.
        link: Link to the robot, which takes the target.
        reach: Reach of the arm [m].
        axes: (6,) flags of the axes that the arm can move along, not 0 where it can.
        inside: Function that gives the nearest pose that is allowed.

    Attributes:
        drag: Drag of the gizmo.
    """

    def __init__(
        self,
        scene: Any,
        link: RobotLink,
        reach: float,
        axes: tuple[float, ...],
        inside: Callable[[Array], Array],
    ) -> None:
        self._link = link
        self._inside = inside
        self._ahead = False  # the gizmo was dragged away from the reference
        self._reference: Array | None = None  # of the ghost
        self._still = 0
        x, y, z = (bool(axis) for axis in axes[:3])
        look = {"scale": 0.24 * reach, "opacity": 0.9, "visible": False}
        self.drag = Drag(
            scene, "/target", active_axes=(x, y, z), disable_rotations=not any(axes[3:]), **look
        )
        self._ghost = scene.add_frame(
            "/reference",
            axes_length=0.11 * reach,
            axes_radius=0.005 * reach,
            origin_radius=0.001,
            visible=False,
        )
        scene.add_icosphere(
            "/reference/ghost",
            0.04 * reach,
            REFERENCE,
            opacity=0.35,
            cast_shadow=False,
            receive_shadow=False,
        )

    def release(self) -> None:
        """Follow the reference again, as something else moves it now."""
        self._ahead = False

    def stop(self) -> None:
        """End the drag: it must be grasped anew, and until then follows the reference."""
        self.drag.drop()
        self._ahead = False
        self._reference = None

    def draw(self, reference: Array | None, shown: bool) -> None:
        """Send the target while it is dragged; else let the gizmo follow the reference (4, 4).

        None: nothing is commanded, and there is nothing to drag.
        """
        if reference is None:
            self.stop()
        else:
            self._send()
            self._follow(reference)
        self._ghost.visible = reference is not None
        self.drag.gizmo.visible = shown and reference is not None

    def _send(self) -> None:
        if self.drag.moved():
            self._ahead = True
            self._still = 0
            self._link.set_target_pose(self._inside(self.drag.pose))

    def _follow(self, reference: Array) -> None:
        moved = (
            self._reference is None or np.abs(pose_error(reference, self._reference)).max() > MOVED
        )
        self._still = 0 if moved else self._still + 1
        if moved:
            self._reference = reference
            place(self._ghost, reference)
        if not self.drag.held and (not self._ahead or self._still >= AT_REST):
            if moved or self._ahead:
                place(self.drag.gizmo, reference)
            self._ahead = False
