"""A handle at the elbow of an arm with seven joints: it moves the null space while the tip stays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.spatial import make_pose, pose_error
from ...core.types import Array
from ...robot.model import RobotModel
from ..link import RobotLink
from .dragging import MOVES_ONLY, Drag
from .placing import place

ELBOW = "elbow"  # in the list of what can be dragged
EVERY = 10  # drawings between two postures that are sent while it is dragged
STEPS = 40  # of the search for a posture
LONGEST = 0.1  # rad of a joint in one step of it
FLAT = 0.05  # m/rad: a motion of the null space that moves the elbow less doesn't help


class ElbowHandle:
    """A handle whose place the elbow goes to, as far as the tip's pose lets it.

    While nobody holds it, it is at the elbow.

    Args:
        scene: Scene of viser.
        link: Link to the robot, which takes the posture.
        model: Model of the robot.
        elbow: Name of the link whose origin is the elbow.
        reach: Reach of the arm [m], for the size of the handle.

    Attributes:
        drag: Drag of the handle.
    """

    def __init__(
        self, scene: Any, link: RobotLink, model: RobotModel, elbow: str, reach: float
    ) -> None:
        self._link = link
        self._model = model
        self._elbow = elbow
        self._drawings = 0
        look = {"scale": 0.18 * reach, "opacity": 0.9, "visible": False}
        self.drag = Drag(scene, "/elbow", **MOVES_ONLY, **look)

    def stop(self) -> None:
        """End the drag: it must be grasped anew."""
        self.drag.drop()

    def draw(self, q: Array, shown: bool) -> None:
        """Send a posture while the handle is dragged; else let it follow the elbow.

        Args:
            q: (n,) joint angles of the arm [rad].
            shown: True where the handle is seen.
        """
        self.drag.gizmo.visible = shown
        if not shown:
            self.stop()
        elif self.drag.moved():
            self._drawings += 1
            if not self.drag.held or self._drawings % EVERY == 1:
                place_wanted = self.drag.pose[:3, 3]
                self._link.set_target_posture(
                    posture_with_elbow(self._model, self._elbow, q, place_wanted)
                )
        else:
            self._drawings = 0
            place(self.drag.gizmo, make_pose(self._model.link(self._elbow, q)[0][:3, 3]))


def posture_with_elbow(model: RobotModel, elbow: str, q: Array, place_wanted: Array) -> Array:
    """Joint angles (n,) with the tip's pose of q (n,), and the elbow near to a place (3,) [m].

    It goes along the null space, by damped steps, and takes back what the tip loses.

    Args:
        model: Model of the robot.
        elbow: Name of the link whose origin is the elbow.
        q: (n,) joint angles where the search begins [rad].
        place_wanted: (3,) place of the elbow in the base [m].
    """
    limits = model.limits
    pose = model.link(model.tip, q)[0]
    posture = q
    for _ in range(STEPS):
        tip, jacobian = model.link(model.tip, posture)
        origin, motion = model.link(elbow, posture)
        inverse = np.linalg.pinv(jacobian)
        null = np.eye(model.n) - inverse @ jacobian
        along = motion[:3] @ null
        push = along.T @ (place_wanted - origin[:3, 3])
        step = push / (float((along * along).sum()) + FLAT**2)
        step = step * min(1.0, LONGEST / max(float(np.abs(step).max()), 1e-12))
        posture = posture + null @ step + inverse @ pose_error(pose, tip)
        posture = np.clip(posture, limits.lower, limits.upper)
    return np.asarray(posture)
