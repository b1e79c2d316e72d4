"""Commands to the arm of the fault table, each with the time at which it was sent."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from rclpy.qos import QoSProfile
from std_msgs.msg import Float64MultiArray

from robot_control_ros.core.types import CommandMode
from robot_control_ros.nodes.watchdog.node import LABEL
from robot_control_ros.ros.topic_recorder import RecordedMessage, TopicRecorder

from .judge import Heard

STRANGER = "stranger"  # label of the commands of rows
QUEUE = 1000  # commands that may wait until they are heard: none of them gets lost here
LOOK = 0.001  # s between two looks at what has come


class HeardCommands:
    """The commands of the forward controllers' topics.

    They are taken by a hidden node, for rclpy tells times to no callback here. A subscription of
    `node` shows a controller that somebody takes its commands, and wakes who waits. The hidden node
    may get a command a little later: look each :data:`LOOK`.

    Args:
        node: Node whose topics are used.
        size: Number of joints.
    """

    def __init__(self, node: Any, size: int) -> None:
        self._size = size
        self._now = 0.0  # the arm's time [s]
        self._commands: list[Heard] = []
        self._recorder = TopicRecorder(node, "ears")
        node.context.on_shutdown(self._recorder.close)
        quality = QoSProfile(depth=QUEUE)
        for mode in CommandMode:
            topic = f"forward_{mode.value}_controller/commands"
            node.create_subscription(Float64MultiArray, topic, lambda _: None, quality, raw=True)
            self._recorder.add(Float64MultiArray, topic, partial(self._keep, mode), quality)

    def take(self, now: float) -> list[Heard]:
        """What has come since the last look, in the order in which it was sent; `now` is
        the arm's time [s].
        """
        self._now = now
        self._commands = []
        self._recorder.poll()
        return sorted(self._commands, key=lambda command: command.clock)

    def _keep(self, mode: CommandMode, recorded: RecordedMessage) -> None:
        """Keep a command as a forward controller does: one of another size, or not
        finite, is dropped.
        """
        message = recorded.read()
        values = np.array(message.data)
        if values.shape != (self._size,) or not np.isfinite(values).all():
            return
        labels = [dimension.label for dimension in message.layout.dim]
        command = Heard(
            self._now, recorded.sent_at, mode, values, LABEL in labels, STRANGER in labels
        )
        self._commands.append(command)
