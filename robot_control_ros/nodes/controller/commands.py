"""What the controller sends its commands with: forward controllers' topics, or one
topic of joint commands.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from rclpy.duration import Duration
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from ...control.controller import Controller
from ...core.types import Command, CommandMode
from ...ros.entities import Entities
from ...ros.messages import ValuesMessage, fill_joint_state, joint_command_parts

RECENT = 10  # commands, more than are on their way at once


class CommandPublishers:
    """Publishers of commands, on the topics of the robot's profile.

    There are none where the process that runs the loop sends its commands itself, as a bus does.
    They exist from :meth:`open` to :meth:`close`. So the graph shows who leads the robot, and an
    inactive controller isn't among them.

    A profile has one of two forms. With one topic per mode, ros2_control's forward controllers take
    the commands; feed-forwards are not sent. With one topic for all modes, commands and
    feed-forwards go there, as ros2_control's topic-based hardware interface sends them.

    Attributes:
        recent: Commands that were sent last, the newest at the end.
        gids: Identifiers of the publishers in the graph; only they tell nodes of one name apart.
    """

    def __init__(self, entities: Entities, loop: Controller) -> None:
        self.recent: deque[Command] = deque(maxlen=RECENT)
        self.gids: frozenset[bytes] = frozenset()
        self._loop = loop
        self._profile = loop.robot.profile
        self._publishers: dict[CommandMode, Any] = {}
        self._values = ValuesMessage(loop.robot.n)
        self._joint_state = JointState(name=list(loop.robot.joints))
        self._on_one_topic = bool(self._profile.joint_commands)
        self._entities = Entities(entities.node)  # of the publishers, while they are there
        entities.on_close(self.close)

    @property
    def last(self) -> Command | None:
        """Command that was sent last; None before the first."""
        return self.recent[-1] if self.recent else None

    def open(self) -> None:
        """Make the publishers."""
        if not self._loop.publishes_commands:
            return
        others = self._graph()
        self._make()
        self.gids = self._graph() - others

    def close(self) -> None:
        """Destroy the publishers."""
        self._publishers = {}
        self.gids = frozenset()
        self._entities.close()

    def send(self, command: Command, time: float) -> None:
        """Publish a command; `time` is the stamp of the joint state that it answers [s]."""
        self.recent.append(command)
        if not self._publishers:
            return
        if self._on_one_topic:
            fill_joint_state(self._joint_state, time, *joint_command_parts(command))
            self._publishers[command.mode].publish(self._joint_state)
        else:
            self._publishers[command.mode].publish(self._values.of(command.values))

    def wait(self, limit: Duration) -> None:
        """Wait until the commands that were sent are acknowledged, at most for `limit`."""
        for publisher in set(self._publishers.values()):
            publisher.wait_for_all_acked(limit)

    def _graph(self) -> frozenset[bytes]:
        """Identifiers of all publishers on the topics of commands, other nodes' included."""
        node = self._entities.node
        profile = self._profile
        topics = {node.resolve_topic_name(profile.command_topic(mode)) for mode in profile.commands}
        ends = (end for topic in topics for end in node.get_publishers_info_by_topic(topic))
        return frozenset(bytes(end.endpoint_gid) for end in ends)

    def _make(self) -> None:
        profile = self._profile
        entities = Entities(self._entities.node)
        self._entities = entities
        if self._on_one_topic:
            self._publishers = dict.fromkeys(
                profile.commands, entities.publisher(JointState, profile.joint_commands)
            )
        else:
            for mode in profile.commands:
                self._publishers[mode] = entities.publisher(
                    Float64MultiArray, profile.command_topic(mode)
                )
