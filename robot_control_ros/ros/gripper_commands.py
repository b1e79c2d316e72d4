"""Commands to a gripper over ROS, and its state from the joint states.

The action ``gripper_cmd`` is used where control_msgs is installed and somebody serves it, else the
topic ``commands``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from ..core.errors import refused
from ..robot.gripper import Grip, GripMonitor, GripperConfig
from .entities import Entities
from .messages import seconds
from .polled import PolledSubscriptions

PERIOD = 0.05  # s between two looks at the joint states


class RosGripper:
    """Leads the fingers of a gripper over ROS, as :class:`~..robot.gripper.Fingers` defines.

    Args:
        node: Node that it is made on; the gripper's controller is in its namespace.
        entities: Entities of the node, which the topic is made with.
        gripper: Configuration of the gripper.
        joint_states: Topic of joint states that has the driven joint.
    """

    def __init__(
        self, node: Node, entities: Entities, gripper: GripperConfig, joint_states: str
    ) -> None:
        self.config = gripper
        self.refusal = ""
        self._monitor = GripMonitor(gripper)
        name = gripper.controller
        self._commands = entities.publisher(Float64MultiArray, f"{name}/commands")
        # what is sent again until the fingers begin to move; None for an action
        self._repeated: Float64MultiArray | None = None
        self._action: Any = None
        if (kind := action_type(gripper)) is not None:
            from rclpy.action.client import ActionClient

            self._action = ActionClient(node, kind, f"{name}/gripper_cmd")
            self._goal = kind.Goal
            entities.on_close(self._action.destroy)
        polled = PolledSubscriptions(node)
        entities.on_close(polled.close)
        self._newest_state = polled.add_newest(JointState, joint_states)
        entities.timer(PERIOD, self._look)

    @property
    def ready(self) -> bool:
        return self._served() or self._commands.get_subscription_count() > 0

    @property
    def grip(self) -> Grip | None:
        return self._monitor.grip

    def command(self, position: float, force: float) -> None:
        self.config.check_position(position)
        self.config.check_force(force)
        self.refusal = ""
        self._monitor.command(position)
        if self._served():
            self._action.send_goal_async(
                fill_goal(self._goal(), self.config, position, force)
            ).add_done_callback(self._on_response)
            self._repeated = None
        else:
            self._repeated = Float64MultiArray(data=[position, force])
            self._commands.publish(self._repeated)

    def _served(self) -> bool:
        return self._action is not None and bool(self._action.server_is_ready())

    def _on_response(self, response: Any) -> None:
        if not response.result().accepted:
            self.refusal = f"{self.config.controller} rejected the goal: see its own messages"

    def _look(self) -> None:
        """Take the newest joint state; publish a command again until the fingers begin to move.

        A subscription that has just come may have missed it.
        """
        message = self._newest_state()
        if message is not None and self.config.joint in message.name:
            index = list(message.name).index(self.config.joint)
            if index < len(message.position):
                effort = message.effort[index] if len(message.effort) > index else math.nan
                self._monitor.update(seconds(message.header.stamp), message.position[index], effort)
        if self._repeated is not None and self._monitor.begins:
            self._commands.publish(self._repeated)


def action_type(gripper: GripperConfig) -> Any:
    """Type of the gripper's action; None where control_msgs is missing, or is too old for it."""
    try:
        from control_msgs import action
    except ImportError:
        return None
    return getattr(action, gripper.action, None)


def fill_goal(goal: Any, gripper: GripperConfig, position: float, force: float) -> Any:
    """Fill a goal of the gripper's action, and return it."""
    if gripper.action == "GripperCommand":
        goal.command.position = position
        goal.command.max_effort = force
    else:
        goal.command.name = [gripper.joint]
        goal.command.position = [position]
        goal.command.effort = [force]
    return goal


def read_goal(gripper: GripperConfig, goal: Any) -> tuple[float, float]:
    """Position and force of a goal, the default force where it has none.

    Raises:
        ConfigError: The goal hasn't exactly one position, or a number isn't finite.
    """
    if gripper.action == "GripperCommand":
        return goal.command.position, goal.command.max_effort or gripper.default_force
    if len(goal.command.position) != 1:
        raise refused(
            "position", list(goal.command.position), "must be one", 1, where=f"{gripper.name}: "
        )
    return read_command(gripper, [*goal.command.position, *goal.command.effort])


def read_command(gripper: GripperConfig, values: Sequence[float]) -> tuple[float, float]:
    """Position and force of a command, the default force where there is one value only.

    Raises:
        ConfigError: The values aren't one or two finite numbers.
    """
    if len(values) not in (1, 2) or not all(map(math.isfinite, values)):
        raise refused(
            "command",
            list(values),
            "must be a position, and a force or none",
            where=f"{gripper.name}: ",
        )
    return values[0], values[1] if len(values) == 2 else gripper.default_force


def fill_result(
    result: Any, gripper: GripperConfig, target: float, position: float, effort: float
) -> Any:
    """Fill a result of the gripper's action, and return it.

    The fingers were sent to a target, and rest at a position with an effort.
    """
    error = abs(gripper.width(position) - gripper.width(target))
    result.reached_goal = error <= gripper.tolerance
    result.stalled = not result.reached_goal
    if gripper.action == "GripperCommand":
        result.position = position
        result.effort = effort
    else:
        result.state = JointState(name=[gripper.joint], position=[position], effort=[effort])
    return result
