"""From where a browser sees the whole arm, with its tip and its target."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.types import Array
from ...robot.model import RobotModel
from ..bar.status_bar import Outlook

SHAPE = 0.12  # times the reach, around the origins of links: their shapes, and names
ARROWS = 0.24  # the same, around the target: its arrows
MOVED = 0.01  # m: smaller moves are no reason for another ball
ASIDE = (1.2, -1.45, 0.68)  # direction of the camera, of an arm that moves in space
ABOVE = (0.0, -0.01, 1.0)  # the same, of an arm that moves in a plane


def direction(flat: bool) -> Array:
    """Direction (3,) from the arm to the camera, of length 1.

    Args:
        flat: True where the arm moves in a horizontal plane.
    """
    towards = np.array(ABOVE if flat else ASIDE)
    return np.asarray(towards / np.linalg.norm(towards))


class WholeArm:
    """A ball around the arm as it stands, and the direction to look from.

    Args:
        model: Model of the robot at the state that is drawn.
        links: Names of the links whose origins are in the ball.
        reach: Reach of the arm [m].
        flat: True where the arm moves in a horizontal plane.
        floor: Height of the floor that is drawn [m].
    """

    def __init__(
        self, model: RobotModel, links: list[str], reach: float, flat: bool, floor: float
    ) -> None:
        self._model = model
        self._links = links
        self._reach = reach
        self._towards = direction(flat)
        self._floor = floor
        self._corners = np.full((2, 3), np.nan)  # of the box around the points of the last ball
        self._outlook: Outlook | None = None

    def outlook(self, target: Array | None, others: Sequence[Array] = ()) -> Outlook:
        """The ball around the arm, and what else is to be seen.

        Args:
            target: Pose (4, 4) of the target, where there is one.
            others: Points (3,) of other arms.
        """
        points = [self._model.frame_pose(link)[:3, 3] for link in self._links]
        points += others
        margins = [SHAPE * self._reach] * len(points)
        if target is not None:
            points.append(target[:3, 3])
            margins.append(ARROWS * self._reach)
        around = np.array(margins)[:, None]
        cloud = np.array(points)
        corners = np.array([(cloud - around).min(axis=0), (cloud + around).max(axis=0)])
        if self._outlook is None or not np.abs(corners - self._corners).max() < MOVED:
            self._corners = corners
            self._outlook = self._around(cloud, around[:, 0], corners.mean(axis=0))
        return self._outlook

    def _around(self, points: Array, margins: Array, centre: Array) -> Outlook:
        radius = float((np.linalg.norm(points - centre, axis=1) + margins).max())
        x, y, z = (round(float(each), 4) for each in centre)
        towards = tuple(round(float(each), 4) for each in self._towards)
        return Outlook((x, y, z), round(radius, 4), towards, self._floor)  # type: ignore[arg-type]
