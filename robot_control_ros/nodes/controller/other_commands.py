"""What others have commanded on the controller's topics: the watchdog, while the controller stood still."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from std_msgs.msg import Float64MultiArray

from ...control.controller import Controller
from ...core.errors import RobotControlError
from ...core.types import Command, CommandMode
from ...ros.entities import Entities
from ...ros.messages import read_message
from ...ros.polled import PolledSubscriptions


class OtherCommands:
    """Listens on the topics of the forward controllers; nothing is read before somebody asks.

    Nobody is heard where all commands go to one topic, or where the loop's commands are sent where it runs: nobody else
    commands such a robot.

    Args:
        entities: they belong to the same node.
        loop: its profile names the topics.
    """

    def __init__(self, entities: Entities, loop: Controller) -> None:
        self._size = loop.robot.n
        self._waiting: dict[CommandMode, Callable[[], list[bytes]]] = {}
        profile = loop.robot.profile
        if not loop.publishes_commands or profile.joint_commands:
            return
        inputs = PolledSubscriptions(entities.node, "others")
        entities.on_close(inputs.close)
        for mode in profile.commands:
            self._waiting[mode] = inputs.add(Float64MultiArray, profile.command_topic(mode))

    def newest(self, mode: CommandMode, sent: Command | None) -> Command | None:
        """The last command of a mode, where it isn't the one that the controller itself has `sent` last.

        Forward controllers drop commands of another size, and such that aren't finite; so does this.
        """
        waiting = self._waiting.get(mode)
        for data in reversed(waiting() if waiting is not None else []):
            try:
                values = np.array(read_message(data, Float64MultiArray).data)
            except RobotControlError:
                continue
            if values.shape != (self._size,) or not np.isfinite(values).all():
                continue
            own = sent is not None and sent.mode is mode and np.array_equal(values, sent.values)
            return None if own else Command(mode, values)
        return None
