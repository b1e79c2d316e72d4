"""Pushes: a handle on a link, pulled away from it like a spring."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...robot.model import RobotModel
from ..link import RobotLink
from ..theme import PUSH
from .arrows import ForceArrow
from .dragging import MOVES_ONLY, Drag

SPRING = 200.0  # N/m between link and handle
MAX_FORCE = 150.0  # N


class PushHandle:
    """A handle at a link: while it is dragged, the force of the arrow pushes the link.

    Args:
        scene: Scene of viser.
        link: Link to the robot, which takes the push.
        model: Model of the robot at the state that is drawn.
        reach: Reach of the arm [m].

    Attributes:
        on: True where the handle is shown.
    """

    def __init__(self, scene: Any, link: RobotLink, model: RobotModel, reach: float) -> None:
        self._link = link
        self._model = model
        self.on = False
        self._frame = model.tip
        self._pushed = ""  # the link that is being pushed
        self._drag = Drag(scene, "/push", scale=0.16 * reach, visible=False, **MOVES_ONLY)
        self._arrow = ForceArrow(scene, "/push_force", PUSH, "push", reach, anchor="top-right")

    @property
    def pushes(self) -> bool:
        """True while somebody pushes the arm on this page."""
        return bool(self._pushed)

    def choose(self, on: bool, frame: str) -> None:
        """Show the handle, at this link, or hide it; a push that goes on ends."""
        self._drag.drop()
        self.on = on
        self._frame = frame
        self._drag.gizmo.visible = on

    def draw(self) -> None:
        """Send the force while the handle is dragged; else keep the handle at its link."""
        pose = self._model.frame_pose(self._frame)
        origin = pose[:3, 3]
        if self._drag.moved() and self._drag.held and self.on:
            force = SPRING * (self._drag.pose[:3, 3] - origin)
            force *= min(1.0, MAX_FORCE / max(float(np.linalg.norm(force)), 1e-9))
            self._arrow.draw(origin, force)
            self._pushed = self._frame
            self._link.push(self._frame, pose[:3, :3].T @ force)
            return
        self._drag.gizmo.position = origin
        self._arrow.draw(origin, None)
        if self._pushed:
            self._link.push(self._pushed, np.zeros(3))
            self._pushed = ""
