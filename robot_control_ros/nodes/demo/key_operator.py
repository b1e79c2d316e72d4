"""A person's part in a scene: leads an object, or the tip, with the keys of the terminal."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import PointStamped

from ...core.spatial import make_pose, pose_from_rows
from ...core.types import Array
from ...robot.configuration import RobotConfig
from ...ros.messages import fill_vector
from ...simulation.log import Log
from ...simulation.scene import Scene
from .keyboard import Keyboard
from .operator import Operator

STROKE = 0.002  # m
TOUCH = 0.5  # N, above which the robot counts as pushed
STROKES = {
    "up": (1.0, 0.0, 0.0),
    "down": (-1.0, 0.0, 0.0),
    "left": (0.0, 1.0, 0.0),
    "right": (0.0, -1.0, 0.0),
    "g": (0.0, 0.0, 1.0),
    "b": (0.0, 0.0, -1.0),
}


class KeyOperator(Operator):
    """Leads the scene's first object on slides, or where there is none the target of the tip, stroke by stroke.

    Attributes:
        leads: what is led.
    """

    def __init__(self, robot: RobotConfig, law: str, scene: Scene, keyboard: Keyboard, namespace: str = "") -> None:
        super().__init__(robot, law, namespace)
        self.keyboard: Keyboard = keyboard
        if keyboard.usable:
            self.length = 0.0
        self._object = next((item for item in scene.objects.values() if item.motion == "slides"), None)
        self.leads = "tip" if self._object is None else self._object.name
        self._pose: Array | None = None  # of what is led
        if self._object is not None:
            self._pose = self._object.shape.pose
            self._object_target = self._entities.publisher(PointStamped, f"simulator/{self.leads}/target")

    @property
    def plan(self) -> str:
        keys = (
            f"the arrows lead the {self.leads} along x (up, down) and y (left, right), g and b up and down along z, "
            f"{STROKE * 1e3:g} mm a stroke; Esc ends"
        )
        return keys if self.keyboard.usable else f"the {self.leads} stays where it is, for there is no terminal to read"

    @property
    def note(self) -> str:
        if self._pose is None:
            return ""
        x, y, z = self._pose[:3, 3] * 1e3
        return f"{self.leads} to ({x:.0f}, {y:.0f}, {z:.0f}) mm"

    def pushed(self, log: Log) -> Array:
        return np.asarray(np.linalg.norm(log.wrench[:, :3], axis=1) > TOUCH)

    def _act(self) -> None:
        if self.latest is None:
            return
        pose = pose_from_rows(self.latest["pose"]) if self._pose is None else self._pose
        keys = self.keyboard.keys()
        self.finished |= "escape" in keys
        strokes = sum((np.array(STROKES[key]) for key in keys if key in STROKES), start=np.zeros(3))
        self._pose = make_pose(pose[:3, 3] + STROKE * strokes, pose[:3, :3])
        if self.keyboard.usable:
            self._send(self._pose)

    def _send(self, pose: Array) -> None:
        if self._object is None:
            self._send_target(pose)
            return
        point = PointStamped()
        point.header.frame_id = self._robot.base
        fill_vector(point.point, pose[:3, 3])
        self._object_target.publish(point)
