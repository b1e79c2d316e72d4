"""Reads a robot's joint states as its profile says; all nodes read them here."""

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
    """Makes a RobotState of each joint state.

    Where the profile has a `velocity_filter`, velocities are derived from the positions.

    Args:
        robot: Configuration of the robot.
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
            ConfigError: The bytes are no joint state, or :class:`JointStateReader` refuses it.
        """
        return self._complete(self._wire.read(data))

    def read_message(self, message: JointState) -> RobotState | None:
        """The state in a deserialised joint state; None where it names none of the robot's joints.

        Raises:
            ConfigError: :class:`JointStateReader` refuses the message.
        """
        return self._complete(self._messages.read(message))

    def _complete(self, state: RobotState | None) -> RobotState | None:
        if state is None or self._velocity is None:
            return state
        return replace(state, v=self._velocity.update(state.time, state.q))
