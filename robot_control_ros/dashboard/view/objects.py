"""The objects around the robot; those that can be moved have a handle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..link import DrawnObject, RobotLink
from .dragging import MOVES_ONLY, Drag
from .placing import place
from .robot_view import RobotView, add_shape
from .shapes import DrawnShape

LARGE = 0.5  # m: a longer object could hide the arm, so one sees through it
OPACITY = 0.35
MOVED = 1e-4  # m, or entry of a rotation matrix


@dataclass
class _Drawn:
    """An object as it was drawn last, its node, and its handle."""

    item: DrawnObject
    node: Any
    drag: Drag | None


class SceneObjects:
    """Draws the objects of a scene."""

    def __init__(self, scene: Any, link: RobotLink, robot: RobotView) -> None:
        self._scene = scene
        self._link = link
        self._robot = robot
        self._drawn: dict[str, _Drawn] = {}

    def draw(self, objects: tuple[DrawnObject, ...], dragged: str) -> None:
        """Draw the objects as they are now; those no longer named are removed.

        Only the object named `dragged` shows its handle.
        """
        for name in set(self._drawn) - {item.name for item in objects}:
            self._remove(name)
        for item in objects:
            drawn = self._drawn.get(item.name)
            if drawn is None or not _same_look(drawn.item, item):
                self._remove(item.name)
                self._add(item)
            elif np.abs(item.pose - drawn.item.pose).max() > MOVED:  # slow moves add up
                drawn.item = item
                place(drawn.node, item.pose)
            self._drag(self._drawn[item.name], item.name == dragged)

    def _drag(self, drawn: _Drawn, shown: bool) -> None:
        if drawn.drag is None:
            return
        drawn.drag.gizmo.visible = shown
        handle = drawn.drag.gizmo
        position = drawn.item.pose[:3, 3]
        if drawn.drag.moved():
            self._link.set_object_target(drawn.item.name, drawn.drag.pose[:3, 3])
        elif np.abs(handle.position - position).max() > MOVED:
            handle.position = position

    def _add(self, item: DrawnObject) -> None:
        size = tuple(item.size)
        sizes = {"box": size, "sphere": (size[0] / 2.0,), "cylinder": (size[0] / 2.0, size[2])}
        shape = DrawnShape(item.shape, sizes[item.shape], item.pose, item.colour)
        opacity = OPACITY if max(size) > LARGE else None
        folder = "/objects" if item.frame == self._link.robot.base else self._robot.node(item.frame)
        node = add_shape(self._scene, f"{folder}/{item.name}", shape, opacity)
        drag = None
        if item.led:
            look = {"scale": 0.1 + float(max(size)), "position": item.pose[:3, 3], **MOVES_ONLY}
            drag = Drag(self._scene, f"/lead/{item.name}", **look)
        self._drawn[item.name] = _Drawn(item, node, drag)

    def _remove(self, name: str) -> None:
        if name in self._drawn:
            drawn = self._drawn.pop(name)
            drawn.node.remove()
            if drawn.drag is not None:
                drawn.drag.gizmo.remove()


def _same_look(a: DrawnObject, b: DrawnObject) -> bool:
    """True where moving one object draws the other."""
    looks = [(each.shape, each.colour, each.frame, each.led, *each.size) for each in (a, b)]
    return looks[0] == looks[1]
