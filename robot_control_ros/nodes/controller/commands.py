"""What the controller sends its commands with: forward controllers' topics, or one topic of joint commands."""

from __future__ import annotations

from typing import Any, Protocol

from rclpy.duration import Duration
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from ...control.controller import Controller
from ...core.types import Command
from ...robot.configuration import RobotConfig
from ..common.entities import Entities
from ..common.messages import joint_command_parts
from ..common.wire import JointStateWriter, WireWriter


class Commands(Protocol):
    """Publishers of commands."""

    def send(self, command: Command, time: float) -> None:
        """Publish one; `time` is the stamp of the state that it answers [s]."""

    def wait(self, limit: Duration) -> None:
        """Wait until what was sent has arrived."""


class ForwardCommands:
    """As ros2_control's forward controllers take them, one topic per mode; what goes with a position is left out."""

    def __init__(self, entities: Entities, robot: RobotConfig) -> None:
        profile = robot.profile
        self._writer = WireWriter(robot.n)
        self._publishers = {
            mode: entities.publisher(Float64MultiArray, profile.command_topic(mode)) for mode in profile.commands
        }

    def send(self, command: Command, time: float) -> None:
        self._publishers[command.mode].publish(self._writer.write(command.values))

    def wait(self, limit: Duration) -> None:
        for publisher in self._publishers.values():
            publisher.wait_for_all_acked(limit)


class JointCommands:
    """As ros2_control's topic-based hardware interface sends them: all modes on one topic, with what goes with them."""

    def __init__(self, entities: Entities, robot: RobotConfig) -> None:
        self._writer = JointStateWriter(robot.joints)
        self._publisher: Any = entities.publisher(JointState, robot.profile.joint_commands)

    def send(self, command: Command, time: float) -> None:
        self._publisher.publish(self._writer.write(time, *joint_command_parts(command)))

    def wait(self, limit: Duration) -> None:
        self._publisher.wait_for_all_acked(limit)


class NoCommands:
    """Nothing: for a loop whose commands have been sent where it runs."""

    def send(self, command: Command, time: float) -> None:
        pass

    def wait(self, limit: Duration) -> None:
        pass


def make_commands(entities: Entities, loop: Controller) -> Commands:
    """As the loop needs it, and its robot's profile has it."""
    if not loop.publishes_commands:
        return NoCommands()
    return (JointCommands if loop.robot.profile.joint_commands else ForwardCommands)(entities, loop.robot)
