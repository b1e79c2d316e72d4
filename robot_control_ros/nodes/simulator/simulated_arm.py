"""The topics of one simulated arm, as ros2_control has them: states and wrench out,
commands and pushes in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from ...core.types import Command, CommandMode
from ...robot.configuration import RobotConfig
from ...ros.entities import Entities
from ...ros.messages import fill_joint_state, fill_wrench, read_joint_command, vector
from ...ros.qos import LATCHED_QOS
from ...simulation.imperfect.imperfect_plant import ImperfectPlant
from ...simulation.mujoco_plant import MujocoPlant
from .gripper_controller import GripperController
from .scene_topics import SceneTopics

PUSH_DURATION = 0.2  # s of simulated time that a push acts without a newer one
ReportErrors = Callable[[Callable[[Any], None]], Callable[[Any], None]]


class SimulatedArm:
    """Publishes one arm, and takes its commands.

    Args:
        entities: Entities of the node, which the topics are made with.
        robot: Configuration of the arm.
        arm: Simulated arm in its world.
        plant: Plant that publishes and takes commands: the arm itself, or the arm with
            imperfections.
        namespace: Namespace of its topics, below the node's; empty for the node's.
        report_errors: Function that makes a callback whose refusals go to the log.
        on_command: Function that is called with this arm and each command.

    Attributes:
        plant: Plant that publishes and takes commands.
        private: Prefix of its own topics and services, such as `~`.
        awaited: True while no command has answered its last state.
        present: True while its controller takes part; lockstep doesn't wait for another one.
    """

    def __init__(
        self,
        entities: Entities,
        robot: RobotConfig,
        arm: MujocoPlant,
        plant: MujocoPlant | ImperfectPlant,
        namespace: str,
        report_errors: ReportErrors,
        on_command: Callable[[SimulatedArm, Command], None],
    ) -> None:
        self.plant = plant
        self.awaited = True
        self.present = True
        self._robot = robot
        self._arm = arm
        self._on_command = on_command
        self._pushes = LinkPushes(arm)
        at = f"{namespace}/" if namespace else ""
        self.private = f"{at}{entities.node.get_name()}" if namespace else "~"
        self._make_outputs(entities, at, report_errors)
        for mode in CommandMode:
            topic = f"{at}forward_{mode.value}_controller/commands"
            entities.subscription(
                Float64MultiArray, topic, report_errors(self._forward_command_callback(mode))
            )
        entities.subscription(
            JointState, f"{at}joint_commands", report_errors(self._on_joint_command)
        )
        entities.subscription(
            WrenchStamped, f"{self.private}/push", report_errors(self._pushes.on_push)
        )

    def _make_outputs(self, entities: Entities, at: str, report_errors: ReportErrors) -> None:
        robot = self._robot
        scene = self._arm.scene
        self._gripper = (
            None
            if self._arm.gripper is None
            else GripperController(entities, self._arm.gripper, at)
        )
        fingers = () if self._gripper is None else self._gripper.joints
        self._joint_state = JointState(name=[*robot.joints, *fingers])
        self._wrench = WrenchStamped()
        self._wrench.header.frame_id = robot.wrench_frame
        self._joint_states = entities.publisher(JointState, f"{at}joint_states")
        self._wrenches = entities.publisher(
            WrenchStamped, f"{at}force_torque_sensor_broadcaster/wrench"
        )
        self._scene_topics = (
            None
            if scene is None
            else SceneTopics(entities, self._arm, robot, scene, report_errors, self.private)
        )
        description = entities.publisher(String, f"{at}robot_description", LATCHED_QOS)
        description.publish(String(data=robot.urdf()))

    def publish(self, now: Any, stamp: float) -> None:
        """Publish the sample with a `stamp` [s], and the scene with the time `now` (message)."""
        state = self.plant.sample()
        assert state.wrench is not None
        parts = (state.q, state.v, state.effort)
        if self._gripper is not None:
            parts = self._gripper.beside(*parts)
        fill_joint_state(self._joint_state, stamp, *parts)
        self._wrench.header.stamp = self._joint_state.header.stamp
        fill_wrench(self._wrench.wrench, np.concatenate((state.wrench.force, state.wrench.torque)))
        self._wrenches.publish(self._wrench)
        if self._scene_topics is not None:
            self._scene_topics.publish(now)
        self._joint_states.publish(self._joint_state)

    def expire_pushes(self) -> None:
        """End pushes that no newer message has renewed in time."""
        self._pushes.expire()

    def clear_pushes(self) -> None:
        """Forget the pushes, as the plant was reset."""
        self._pushes.clear()

    def _forward_command_callback(self, mode: CommandMode) -> Callable[[Float64MultiArray], None]:
        return lambda message: self._on_command(self, Command(mode, np.array(message.data)))

    def _on_joint_command(self, message: JointState) -> None:
        command = read_joint_command(message, self._robot.joints)
        if command is not None:
            self._on_command(self, command)


class LinkPushes:
    """Passes pushes of links on to the plant, and ends each after 0.2 s without a newer one."""

    def __init__(self, plant: MujocoPlant) -> None:
        self._plant = plant
        self._pushed_at: dict[str, float] = {}

    def on_push(self, message: WrenchStamped) -> None:
        """Push a link with a wrench in its own axes, about its origin; header.frame_id names it.

        Raises:
            ConfigError, ModelError: A number isn't finite, or the link is unknown.
        """
        link = message.header.frame_id
        rotation = self._plant.link_rotation(link)
        force = vector(message.wrench.force)
        torque = vector(message.wrench.torque)
        self._plant.push(link, rotation @ force, rotation @ torque)
        self._pushed_at[link] = self._plant.time

    def expire(self) -> None:
        """End pushes that no newer message has renewed in time."""
        for link, since in list(self._pushed_at.items()):
            if self._plant.time - since > PUSH_DURATION:
                self._plant.push(link, np.zeros(3), np.zeros(3))
                del self._pushed_at[link]

    def clear(self) -> None:
        """Forget the pushes, as the plant was reset."""
        self._pushed_at.clear()
