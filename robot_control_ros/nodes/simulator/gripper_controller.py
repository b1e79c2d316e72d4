"""The simulated gripper's controller, with the names that ros2_controllers have for one.

Its action ``gripper_cmd`` is that of parallel_gripper_action_controller, where control_msgs is
installed. Its topic ``commands`` is that of
forward_command_controller/MultiInterfaceForwardCommandController: position, then force.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from rclpy.task import Future
from std_msgs.msg import Float64MultiArray

from ...core.errors import ConfigError, RobotControlError
from ...core.types import Array
from ...ros.entities import Entities
from ...ros.gripper_commands import action_type, fill_result, read_command, read_goal
from ...ros.running import told_goal
from ...simulation.mujoco_gripper import MujocoGripper


class GripperController:
    """Takes commands for the fingers, which keep the last one, even where its sender has gone.

    Args:
        entities: Entities of the node, which topic and action are made with.
        gripper: Gripper in the simulation.
        at: Namespace of its topics, with a slash at the end; empty for the node's.

    Attributes:
        joints: Names of the joints whose states are published with those of the robot.
    """

    def __init__(self, entities: Entities, gripper: MujocoGripper, at: str) -> None:
        self._gripper = gripper
        self._node = entities.node
        self.joints = (gripper.config.joint,)
        # a goal, and what gets its end: False where it was cancelled
        self._running: tuple[Any, Future] | None = None
        controller = f"{at}{gripper.config.controller}"
        entities.subscription(Float64MultiArray, f"{controller}/commands", self._on_command)
        self._action = action_type(gripper.config)
        if self._action is not None:
            from rclpy.action.server import ActionServer, CancelResponse

            server = ActionServer(
                self._node,
                self._action,
                f"{controller}/gripper_cmd",
                execute_callback=lambda handle: None,  # each goal brings its own
                goal_callback=self._on_goal,
                handle_accepted_callback=self._on_accepted,
                cancel_callback=lambda handle: (
                    CancelResponse.ACCEPT if self._hold(handle) else CancelResponse.REJECT
                ),
            )
            entities.on_close(server.destroy)

    def beside(self, q: Array, v: Array, effort: Array) -> tuple[Array, Array, Array]:
        """Append the driven joint to positions, velocities and efforts (n,) of the robot.

        It is called once a period, and ends a goal whose fingers have come to rest.
        """
        grip = self._gripper.grip
        if self._running is not None and grip.rests:
            self._end(True)
        position, velocity, torque = self._gripper.joint_state
        return np.append(q, position), np.append(v, velocity), np.append(effort, torque)

    def _on_command(self, message: Float64MultiArray) -> None:
        try:
            self._set_target(*read_command(self._gripper.config, message.data))
        except RobotControlError as error:
            self._node.get_logger().error(f"refused: {error}", throttle_duration_sec=1.0)

    def _set_target(self, position: float, force: float) -> None:
        self._gripper.command(position, force)
        self._end(False)  # a goal before it

    def _end(self, reached: bool) -> None:
        if self._running is not None:
            self._running[1].set_result(reached)
            self._running = None

    # --- the action ---

    def _on_goal(self, goal: Any) -> Any:
        from rclpy.action.server import GoalResponse

        try:
            position, force = read_goal(self._gripper.config, goal)
            self._gripper.config.check_position(position)
            self._gripper.config.check_force(force)
        except ConfigError as error:
            self._node.get_logger().error(f"goal of gripper_cmd rejected: {error}")
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _on_accepted(self, handle: Any) -> None:
        self._set_target(*read_goal(self._gripper.config, handle.request))
        ended: Future = Future(executor=self._node.executor)
        self._running = (handle, ended)

        async def execute(handle: Any) -> Any:
            if await ended:
                handle.succeed()  # allow_stalling: true, as the drivers have it
            elif handle.is_cancel_requested:
                handle.canceled()
            else:
                handle.abort()
            position, _, effort = self._gripper.joint_state
            return fill_result(
                self._action.Result(), self._gripper.config, self._gripper.target, position, effort
            )

        handle.execute(told_goal(self._node, execute))

    def _hold(self, handle: Any) -> bool:
        """Stop the fingers if this goal moves them; returns True where it does."""
        if self._running is None or self._running[0] is not handle:
            return False
        position, _, _ = self._gripper.joint_state
        low, high = sorted(self._gripper.config.positions)
        self._set_target(min(max(position, low), high), self._gripper.config.default_force)
        return True
