"""What others have commanded on the controller's topics: the watchdog, while the
controller stood still.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np
from std_msgs.msg import Float64MultiArray

from ...control.controller import Controller
from ...core.errors import RobotControlError
from ...core.types import Command, CommandMode
from ...ros.entities import Entities
from ...ros.messages import read_message
from ...ros.polled import PolledSubscriptions


class OtherCommands:
    """Listens on the topics of the forward controllers; messages are read when somebody asks.

    It doesn't listen where all commands go to one topic, or where the process that runs the loop
    sends its commands itself. Nobody else commands such a robot.

    Args:
        entities: Entities of the node that listens.
        loop: Control loop; the profile of its robot names the topics.
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

    def newest(
        self, mode: CommandMode, own: Collection[Command], crossing: bool = False
    ) -> Command | None:
        """The newest command of a mode; None where it is one of this controller's own.

        Commands of another size, or with numbers that aren't finite, are passed over. Forward
        controllers drop them, too.

        Args:
            mode: Mode of the commands.
            own: Last commands of this controller.
            crossing: True where the last look was a cycle ago: then its own commands are passed
                over, since they may arrive after those of another that were sent later.
        """
        waiting = self._waiting.get(mode)
        for data in reversed(waiting() if waiting is not None else []):
            try:
                values = np.array(read_message(data, Float64MultiArray).data)
            except RobotControlError:
                continue
            if values.shape != (self._size,) or not np.isfinite(values).all():
                continue
            is_own = any(each.mode is mode and np.array_equal(values, each.values) for each in own)
            if not is_own:
                return Command(mode, values)
            if not crossing:
                return None
        return None
