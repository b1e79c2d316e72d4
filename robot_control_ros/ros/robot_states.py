"""A robot's joint states as its profile says that they are to be read: one place for all nodes."""

from __future__ import annotations

from dataclasses import replace

from sensor_msgs.msg import JointState

from ..core.types import RobotState
from ..robot.configuration import RobotConfig
from ..robot.model import RobotModel
from ..sensing.derived_velocity import DerivedVelocity
from ..sensing.joint_jumps import JointJumps
from .messages import JointStateReader
from .wire import WireReader


class RobotStateReader:
    """Makes a RobotState of each joint state; derives the velocities where the profile has a `velocity_filter`.

    Args:
        robot: its configuration.
    """

    def __init__(self, robot: RobotConfig) -> None:
        time_constant = robot.profile.velocity_filter
        self._messages = JointStateReader(robot.joints, velocities=time_constant == 0.0)
        self._wire = WireReader(self._messages)
        self._velocity: DerivedVelocity | None = None
        if time_constant > 0.0:
            jumps = JointJumps(RobotModel.of(robot), robot.period)
            self._velocity = DerivedVelocity(time_constant, robot.period, jumps)

    def read(self, data: bytes) -> RobotState | None:
        """The state in a serialised joint state; None where it names none of the robot's joints.

        Raises:
            ConfigError: see :class:`JointStateReader`; or the bytes are no joint state.
        """
        return self._complete(self._wire.read(data))

    def read_message(self, message: JointState) -> RobotState | None:
        """The same of a message that was deserialised."""
        return self._complete(self._messages.read(message))

    def _complete(self, state: RobotState | None) -> RobotState | None:
        if state is None or self._velocity is None:
            return state
        return replace(state, v=self._velocity.update(state.time, state.q))
