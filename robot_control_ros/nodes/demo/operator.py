"""A person's part in the demonstration: leads the tip along a circle, pushes it, and keeps a record."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from std_msgs.msg import Float64MultiArray

from ...core.spatial import pose_from_rows
from ...core.types import Array
from ...laws import law_class
from ...references import Circle
from ...robot.configuration import RobotConfig
from ...ros.messages import fill_pose, fill_vector
from ...simulation.log import Log, LogSample
from .spectator import Spectator

PERIOD = 0.02  # s between two targets
SETTLE = 1.0  # s before the circle begins
# s, s, N
PUSH_AT = 8.0
PUSH_FOR = 1.0
PUSH_FORCE = 20.0
# m, s
RADIUS = 0.08
TURN = 5.0


class Operator(Spectator):
    """Runs the demonstration over topics alone.

    Attributes:
        samples: of the telemetry.
    """

    length = 20.0

    def __init__(self, robot: RobotConfig, law: str, namespace: str = "") -> None:
        super().__init__(namespace)
        self.samples: list[LogSample] = []
        self._mode = law_class(law).mode
        self._robot = robot
        self._circle: Circle | None = None
        self._was_pushing = False
        self._target = self._entities.publisher(PoseStamped, "controller/target_pose")
        self._push = self._entities.publisher(WrenchStamped, "simulator/push")
        self._entities.timer(PERIOD, self._act)

    @property
    def plan(self) -> str:
        return (
            f"a circle of {RADIUS * 1e3:.0f} mm radius from {SETTLE:g} s on, "
            f"a push of {PUSH_FORCE:g} N upwards from {PUSH_AT:g} s to {PUSH_AT + PUSH_FOR:g} s"
        )

    @property
    def note(self) -> str:
        return "pushing" if self._pushing(self.elapsed) else ""

    def log(self) -> Log:
        """The telemetry so far."""
        return Log.of(self._robot.joints, self._mode, self.samples)

    def pushed(self, log: Log) -> Array:
        """In which of the log's samples something pushed the robot, (N,) bool."""
        return np.array([self._pushing(t) for t in log.t])

    def _pushing(self, t: float) -> bool:
        return PUSH_AT <= t < PUSH_AT + PUSH_FOR

    def _on_state(self, message: Float64MultiArray) -> None:
        super()._on_state(message)
        if self.latest is not None:
            self.samples.append(LogSample.of(self.elapsed, self.latest))

    def _act(self) -> None:
        if self.latest is None:
            return
        pose = pose_from_rows(self.latest["pose"])
        if self._circle is None:
            self._circle = Circle(pose, RADIUS, TURN, SETTLE, normal=(0.0, 0.0, 1.0))
        reference = self._circle.sample(self.elapsed).pose
        assert reference is not None
        self._send_target(reference)
        pushing = self._pushing(self.elapsed)
        if pushing or self._was_pushing:
            self._push.publish(self._upward_push(pose[:3, :3], PUSH_FORCE if pushing else 0.0))
        self._was_pushing = pushing

    def _send_target(self, pose: Array) -> None:
        target = PoseStamped()
        target.header.frame_id = self._robot.base
        fill_pose(target.pose, pose)
        self._target.publish(target)

    def _upward_push(self, rotation: Array, size: float) -> WrenchStamped:
        """A push along +z of the base (+y where the arm has no z), in the axes of the link it acts on."""
        message = WrenchStamped()
        message.header.frame_id = self._robot.tip
        upward = [0.0, 0.0, size] if self._robot.axes[2] else [0.0, size, 0.0]
        fill_vector(message.wrench.force, rotation.T @ np.array(upward))
        return message
