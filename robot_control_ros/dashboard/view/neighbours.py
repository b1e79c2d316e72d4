"""The other arms beside the page's own, in the same picture, each with its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...core.errors import RobotControlError
from ...core.types import Array
from ...robot.model import RobotModel
from ..link import Neighbour
from .placing import place
from .robot_view import RobotView
from .shapes import Description

WORLD = "world"  # link that the descriptions of all arms begin with, where their places are known
SAME_PLACE = 0.01  # m: arms whose bases are nearer have no places of their own
NAME_HEIGHT = 0.75  # times the reach, above the base


class _Drawn:
    """One of the other arms, and the node that all of it hangs on."""

    def __init__(self, scene: Any, name: str, arm: Neighbour, reach: float) -> None:
        robot = arm.robot
        self.arm = arm
        self.model = RobotModel.of(robot, arm.urdf)
        self.model.update(np.array(robot.home), np.zeros(robot.n))
        self._node = scene.add_frame(f"/arms/{name}", show_axes=False)
        description = Description(arm.urdf, robot.urdf_path.parent)
        self.view = RobotView(scene, self.model, description, reach, str(self._node.name))
        height = np.array([0.0, 0.0, NAME_HEIGHT * reach])
        scene.add_label(f"{self._node.name}/name", name, position=height)

    def place(self, pose: Array | None) -> None:
        """Draw the arm's base at a pose (4, 4); None hides the arm."""
        self._node.visible = pose is not None
        if pose is not None:
            place(self._node, pose)


class Neighbours:
    """Draws the other arms where the same world tells where they stand.

    Args:
        scene: Scene of viser.
        model: Model of the page's own arm at the state that is drawn.
        name: Name of the page's own arm, shown while there are others.
        reach: Reach of the own arm [m].
    """

    def __init__(self, scene: Any, model: RobotModel, name: str, reach: float) -> None:
        self._scene = scene
        self._model = model
        self._reach = reach
        self._drawn: dict[str, _Drawn] = {}
        self._refused: dict[str, Neighbour] = {}  # arms that can't be drawn
        height = np.array([0.0, 0.0, NAME_HEIGHT * reach])
        self._name = scene.add_label("/own_name", name, position=height, visible=False)
        self._points: tuple[Array, ...] = ()

    @property
    def points(self) -> tuple[Array, ...]:
        """Origins (3,) of base and tip of each arm that is drawn, in the own base."""
        return self._points

    def draw(self, arms: Mapping[str, Neighbour]) -> None:
        """Draw the arms as they are now, by their names; those no longer there are hidden."""
        points: list[Array] = []
        for name in self._drawn.keys() - arms.keys():
            self._drawn[name].place(None)
        for name, drawn in self._present(arms):
            q = arms[name].q
            pose = self._place_of(drawn.model)
            drawn.place(pose)
            if pose is None:
                continue
            if q is not None:
                drawn.view.draw(q)
            tip = pose @ drawn.model.frame_pose(drawn.arm.robot.tip)
            points += [pose[:3, 3], tip[:3, 3]]
        self._points = tuple(points)
        self._name.visible = bool(points)

    def _present(self, arms: Mapping[str, Neighbour]) -> Iterator[tuple[str, _Drawn]]:
        """The arms that can be drawn; a new one gets its nodes."""
        for name, arm in arms.items():
            if name not in self._drawn and name not in self._refused:
                try:
                    self._drawn[name] = _Drawn(self._scene, name, arm, self._reach)
                except RobotControlError:  # its page says why
                    self._refused[name] = arm
            if name in self._drawn:
                yield name, self._drawn[name]

    def _place_of(self, other: RobotModel) -> Array | None:
        """Pose (4, 4) of another arm's base in the own base; None where it isn't known."""
        if WORLD not in self._model.frames or WORLD not in other.frames:
            return None
        world = other.frame_pose(WORLD)
        pose = np.asarray(self._model.frame_pose(WORLD) @ np.linalg.inv(world))
        return None if np.linalg.norm(pose[:3, 3]) < SAME_PLACE else pose
