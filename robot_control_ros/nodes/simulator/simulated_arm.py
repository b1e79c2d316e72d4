"""The topics of one simulated arm, as ros2_control has them: states and wrench out, commands and pushes in."""

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
        entities: of the node.
        robot: the arm's configuration.
        arm: that is simulated.
        plant: what a controller has of it.
        namespace: of its topics, below the node's; empty for the node's.
        report_errors: makes a callback whose refusals go to the log.
        take: is called with this arm and each command.

    Attributes:
        plant: as given.
        private: what its topics and services have in front, as `~`.
        awaited: whether lockstep waits for its command.
        present: whether it has commanded lately, so that lockstep waits for it.
    """

    def __init__(
        self,
        entities: Entities,
        robot: RobotConfig,
        arm: MujocoPlant,
        plant: MujocoPlant | ImperfectPlant,
        namespace: str,
        report_errors: ReportErrors,
        take: Callable[[SimulatedArm, Command], None],
    ) -> None:
        self.plant = plant
        self.awaited = True
        self.present = True
        self._robot = robot
        self._arm = arm
        self._take = take
        self._pushes = LinkPushes(arm)
        at = f"{namespace}/" if namespace else ""
        self.private = f"{at}{entities.node.get_name()}" if namespace else "~"
        self._make_outputs(entities, at, report_errors)
        for mode in CommandMode:
            topic = f"{at}forward_{mode.value}_controller/commands"
            entities.subscription(Float64MultiArray, topic, report_errors(self._forward_command_callback(mode)))
        entities.subscription(JointState, f"{at}joint_commands", report_errors(self._on_joint_command))
        entities.subscription(WrenchStamped, f"{self.private}/push", report_errors(self._pushes.on_push))

    def _make_outputs(self, entities: Entities, at: str, report_errors: ReportErrors) -> None:
        robot = self._robot
        scene = self._arm.scene
        self._gripper = None if self._arm.gripper is None else GripperController(entities, self._arm.gripper, at)
        fingers = () if self._gripper is None else self._gripper.joints
        self._joint_state = JointState(name=[*robot.joints, *fingers])
        self._wrench = WrenchStamped()
        self._wrench.header.frame_id = robot.wrench_frame
        self._joint_states = entities.publisher(JointState, f"{at}joint_states")
        self._wrenches = entities.publisher(WrenchStamped, f"{at}force_torque_sensor_broadcaster/wrench")
        self._scene_topics = (
            None if scene is None else SceneTopics(entities, self._arm, robot, scene, report_errors, self.private)
        )
        description = entities.publisher(String, f"{at}robot_description", LATCHED_QOS)
        description.publish(String(data=robot.urdf()))

    def publish(self, now: Any, stamp: float) -> None:
        """Publish the present sample with a stamp [s]; the scene has the present time `now`, a message."""
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
        """Forget them: the plant was reset."""
        self._pushes.clear()

    def _forward_command_callback(self, mode: CommandMode) -> Callable[[Float64MultiArray], None]:
        return lambda message: self._take(self, Command(mode, np.array(message.data)))

    def _on_joint_command(self, message: JointState) -> None:
        command = read_joint_command(message, self._robot.joints)
        if command is not None:
            self._take(self, command)


class LinkPushes:
    """Passes pushes on to the plant, and ends them."""

    def __init__(self, plant: MujocoPlant) -> None:
        self._plant = plant
        self._pushed_at: dict[str, float] = {}

    def on_push(self, message: WrenchStamped) -> None:
        """A wrench in the axes of the link that header.frame_id names, at its origin.

        Raises:
            ConfigError, ModelError: numbers that aren't finite; an unknown link.
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
        """Forget them: the plant was reset."""
        self._pushed_at.clear()
