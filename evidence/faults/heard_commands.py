"""Commands to the arm of the fault table, each with the time at which it was sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from rclpy.qos import QoSProfile
from std_msgs.msg import Float64MultiArray

from robot_control_ros.core.types import CommandMode
from robot_control_ros.nodes.watchdog.node import LABEL
from robot_control_ros.ros.messages import read_message
from robot_control_ros.ros.polled import PolledSubscriptions

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
        polled = PolledSubscriptions(node, "ears")
        node.context.on_shutdown(polled.close)
        quality = QoSProfile(depth=QUEUE)
        self._subscriptions = []
        for mode in CommandMode:
            topic = f"forward_{mode.value}_controller/commands"
            node.create_subscription(Float64MultiArray, topic, lambda _: None, quality, raw=True)
            self._subscriptions.append((mode, polled.add_timed(Float64MultiArray, topic, quality)))

    def take(self, now: float) -> list[Heard]:
        """Commands since the last look, in the order in which they were sent.

        `now` is the arm's time [s].
        """
        found = []
        for mode, subscription in self._subscriptions:
            for data, info in subscription.take():
                command = self._read(data, info, mode, now)
                if command is not None:
                    found.append(command)
        return sorted(found, key=lambda command: command.clock)

    def _read(self, data: bytes, info: Mapping[str, Any], mode: CommandMode, now: float) -> Heard | None:
        """A command as a forward controller takes it; None where it drops it: of another size, or not finite."""
        message = read_message(data, Float64MultiArray)
        values = np.array(message.data)
        if values.shape != (self._size,) or not np.isfinite(values).all():
            return None
        labels = [dimension.label for dimension in message.layout.dim]
        sent = info["source_timestamp"] * 1e-9
        return Heard(now, sent, mode, values, LABEL in labels, STRANGER in labels)
