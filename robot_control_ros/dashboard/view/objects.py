"""What stands around the robot; what can be led has a handle."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..link import DrawnObject, RobotLink
from .dragging import Drag
from .placing import place
from .robot_view import RobotView, add_shape
from .shapes import DrawnShape

MOVED = 1e-4


class SceneObjects:
    """Draws the objects of a scene.

    Args:
        scene: of viser.
        link: that takes their targets.
        robot: that carries some.
    """

    def __init__(self, scene: Any, link: RobotLink, robot: RobotView) -> None:
        self._scene, self._link, self._robot = scene, link, robot
        self._drawn: dict[str, DrawnObject] = {}
        self._nodes: dict[str, Any] = {}
        self._handles: dict[str, Any] = {}
        self._drags: dict[str, Drag] = {}

    def draw(self, objects: tuple[DrawnObject, ...]) -> None:
        """As they are now; those no longer named are taken away."""
        for name in set(self._drawn) - {item.name for item in objects}:
            self._remove(name)
        for item in objects:
            before = self._drawn.get(item.name)
            if before is None or not _alike(before, item):
                self._make(item)
            elif np.abs(item.pose - before.pose).max() > MOVED:
                place(self._nodes[item.name], item.pose)
            else:
                item = before  # so that slow moves add up
            self._drawn[item.name] = item
            self._lead(item)

    def _lead(self, item: DrawnObject) -> None:
        handle = self._handles.get(item.name)
        if handle is None:
            return
        if self._drags[item.name].moved():
            self._link.set_object_target(item.name, self._drags[item.name].pose[:3, 3])
        elif np.abs(np.array(handle.position) - item.pose[:3, 3]).max() > MOVED:
            handle.position = item.pose[:3, 3]

    def _make(self, item: DrawnObject) -> None:
        self._remove(item.name)
        size = item.size
        folder = "/objects" if item.frame == self._link.robot.base else self._robot.node(item.frame)
        kinds = {
            "box": DrawnShape("box", tuple(size), item.pose, item.colour),
            "sphere": DrawnShape("sphere", (size[0] / 2.0,), item.pose, item.colour),
            "cylinder": DrawnShape("cylinder", (size[0] / 2.0, size[2]), item.pose, item.colour),
        }
        self._nodes[item.name] = add_shape(self._scene, f"{folder}/{item.name}", kinds[item.shape])
        if item.led:
            handle = self._scene.add_transform_controls(
                f"/lead/{item.name}",
                scale=0.1 + float(max(size)),
                line_width=4.0,
                disable_sliders=True,
                disable_rotations=True,
                depth_test=False,
                position=item.pose[:3, 3],
            )
            self._handles[item.name], self._drags[item.name] = handle, Drag(handle)

    def _remove(self, name: str) -> None:
        self._drawn.pop(name, None)
        self._drags.pop(name, None)
        for kept in (self._nodes, self._handles):
            if name in kept:
                kept.pop(name).remove()


def _alike(a: DrawnObject, b: DrawnObject) -> bool:
    """Whether one can be drawn by moving the other."""
    return (a.shape, a.colour, a.frame, a.led) == (b.shape, b.colour, b.frame, b.led) and bool(
        np.allclose(a.size, b.size)
    )
