"""The topics of a simulated scene: its objects, their wrench on the robot, and their targets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import PointStamped, WrenchStamped
from visualization_msgs.msg import Marker, MarkerArray

from ...core.errors import refused
from ...robot.configuration import RobotConfig
from ...robot.description import prefixed
from ...robot.solids import Shape
from ...ros.entities import Entities
from ...ros.messages import fill_pose, fill_wrench, vector
from ...simulation.mujoco_plant import MujocoPlant
from ...simulation.scene import Scene

MARKER_RATE = 30.0  # Hz, at most
_KINDS = {
    "sphere": Marker.SPHERE,
    "box": Marker.CUBE,
    "cylinder": Marker.CYLINDER,
    "capsule": Marker.CYLINDER,
    "plane": Marker.CUBE,
    "waves": Marker.CUBE,  # too low to be seen
}
_COLOURS = {"fixed": (0.6, 0.6, 0.62), "free": (0.9, 0.6, 0.2), "slides": (0.8, 0.2, 0.2)}
_GROUND = (4.0, 4.0, 0.001)  # m, as much of a plane as is drawn


class SceneTopics:
    """Publishes a scene, and takes targets for its objects on slides.

    Args:
        entities: Entities of the node, which the topics are made with.
        plant: Simulated arm in its world.
        robot: Configuration of the arm.
        scene: Scene around the arm.
        report_errors: Function that makes a callback whose refusals go to the log.
        private: Prefix of the topics, such as `~`.
    """

    def __init__(
        self,
        entities: Entities,
        plant: MujocoPlant,
        robot: RobotConfig,
        scene: Scene,
        report_errors: Callable[[Callable[[Any], None]], Callable[[Any], None]],
        private: str,
    ) -> None:
        self._plant = plant
        self._robot = robot
        self._scene = scene
        self._every = max(1, round(robot.profile.rate / MARKER_RATE))
        self._published = 0
        self._wrench = WrenchStamped()
        self._wrench.header.frame_id = robot.tip
        self._markers = {
            name: _make_marker(name, 0, robot.base, item.shape, _COLOURS[item.motion])
            for name, item in scene.objects.items()
        }
        self._tool = self._tool_marker()
        self._wrenches = entities.publisher(WrenchStamped, f"{private}/contact_wrench")
        self._objects = entities.publisher(MarkerArray, f"{private}/objects")
        for item in scene.objects.values():
            if item.motion == "slides":
                target = report_errors(self._on_target(item.name))
                entities.subscription(PointStamped, f"{private}/{item.name}/target", target)

    def publish(self, stamp: Any) -> None:
        """Publish the contact wrench, and the objects 30 times a second at most."""
        turn = self._plant.link_rotation(self._robot.tip).T
        wrench = self._plant.contact_wrench()
        self._wrench.header.stamp = stamp
        fill_wrench(self._wrench.wrench, np.concatenate((turn @ wrench[:3], turn @ wrench[3:])))
        self._wrenches.publish(self._wrench)
        if self._published % self._every == 0:
            self._publish_objects(stamp)
        self._published += 1

    def _publish_objects(self, stamp: Any) -> None:
        for name, marker in self._markers.items():
            fill_pose(marker.pose, self._plant.object_pose(name))
        markers = [*self._markers.values(), *self._tool]
        for marker in markers:
            marker.header.stamp = stamp
        self._objects.publish(MarkerArray(markers=markers))

    def _on_target(self, name: str) -> Callable[[PointStamped], None]:
        def on_target(message: PointStamped) -> None:
            if message.header.frame_id != self._robot.base:
                base = self._robot.base
                raise refused(
                    "frame_id",
                    message.header.frame_id,
                    f"must be {base}",
                    base,
                    where=f"target of {name}: ",
                )
            self._plant.move_object(name, vector(message.point))

        return on_target

    def _tool_marker(self) -> list[Marker]:
        tool = self._scene.tool
        if tool is None:
            return []
        robot = self._robot
        link = self._scene.tool_link
        frame = prefixed(link, robot.prefix) if link else robot.tip
        marker = _make_marker("tool", 1, frame, tool, _COLOURS["fixed"])
        marker.frame_locked = True
        fill_pose(marker.pose, tool.pose)
        return [marker]


def _make_marker(
    name: str, number: int, frame: str, shape: Shape, colour: tuple[float, float, float]
) -> Marker:
    marker = Marker(ns=name, id=number, type=_KINDS[shape.kind], action=Marker.ADD)
    marker.header.frame_id = frame
    marker.scale.x, marker.scale.y, marker.scale.z = _extent(shape)
    marker.color.r, marker.color.g, marker.color.b = colour
    marker.color.a = 1.0
    return marker


def _extent(shape: Shape) -> tuple[float, float, float]:
    """Lengths of a shape along its axes [m]."""
    if shape.kind in ("box", "waves"):
        x, y, z = shape.size[:3]
        return x, y, z
    if shape.kind == "plane":
        return _GROUND
    width = 2.0 * shape.size[0]
    if shape.kind == "sphere":
        return width, width, width
    ends = width if shape.kind == "capsule" else 0.0
    return width, width, shape.size[1] + ends
