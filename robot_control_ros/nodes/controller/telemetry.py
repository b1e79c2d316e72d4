"""The controller's telemetry, at a lower rate than it controls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from std_msgs.msg import Float64MultiArray

from ...control.controller import Controller
from ...control.state_blocks import state_blocks
from ...core.types import Command, RobotState
from ...robot.model import RobotDynamics
from ...ros.entities import Entities
from ...ros.messages import fill_pose, fill_twist, fill_wrench, named_blocks, to_stamp

# a publisher, and the method that publishes with it
_Part = tuple[Any, Callable[[RobotState, RobotDynamics, Command], None]]


class Telemetry:
    """Publishes ``~/state`` (everything, as named blocks) and, for other tools, pose, reference,
    twist and wrench.

    A message is only made where somebody listens. Each topic has a control cycle of its own, so
    that no cycle takes much longer.

    Args:
        entities: Entities of the node, which the publishers are made with.
        loop: Control loop whose cycles are published.
        rate: Rate of each topic, at most that of control [Hz].
    """

    def __init__(self, entities: Entities, loop: Controller, rate: float) -> None:
        self._loop = loop
        self._every = max(1, round(loop.robot.profile.rate / rate))
        self._count = 0
        self._blocks = Float64MultiArray()
        self._pose = PoseStamped()
        self._reference = PoseStamped()
        self._twist = TwistStamped()
        self._wrench = WrenchStamped()
        for message in (self._pose, self._reference, self._twist, self._wrench):
            message.header.frame_id = loop.robot.base
        self._state_topic = entities.publisher(Float64MultiArray, "~/state")
        self._pose_topic = entities.publisher(PoseStamped, "~/pose")
        self._reference_topic = entities.publisher(PoseStamped, "~/reference_pose")
        self._twist_topic = entities.publisher(TwistStamped, "~/twist")
        self._wrench_topic = entities.publisher(WrenchStamped, "~/tip_wrench")
        self._parts = self._shared_out(
            (self._state_topic, self._publish_state),
            (self._pose_topic, self._publish_pose),
            (self._reference_topic, self._publish_reference),
            (self._twist_topic, self._publish_twist),
            (self._wrench_topic, self._publish_wrench),
        )

    def cycle(self, command: Command) -> None:
        """Publish what is due, after a control cycle whose command was sent."""
        self._count += 1
        state = self._loop.state
        kin = self._loop.kin
        if state is None or kin is None:
            return
        for topic, publish in self._parts.get(self._count % self._every, ()):
            if topic.get_subscription_count() > 0:
                publish(state, kin, command)

    def _shared_out(self, *parts: _Part) -> dict[int, list[_Part]]:
        """Distribute the parts over the cycles from one message of a topic to its next.

        The keys count these cycles from 0; the values are the parts that are published then.
        """
        shared: dict[int, list[_Part]] = {}
        for i, part in enumerate(parts):
            shared.setdefault(i * self._every // len(parts), []).append(part)
        return shared

    def _publish_state(self, state: RobotState, kin: RobotDynamics, command: Command) -> None:
        named_blocks(state_blocks(self._loop, command), self._blocks)
        self._state_topic.publish(self._blocks)

    def _publish_pose(self, state: RobotState, kin: RobotDynamics, command: Command) -> None:
        self._pose.header.stamp = to_stamp(state.time)
        fill_pose(self._pose.pose, kin.pose)
        self._pose_topic.publish(self._pose)

    def _publish_reference(self, state: RobotState, kin: RobotDynamics, command: Command) -> None:
        pose = self._loop.reference.pose
        if pose is None:
            return
        self._reference.header.stamp = to_stamp(state.time)
        fill_pose(self._reference.pose, pose)
        self._reference_topic.publish(self._reference)

    def _publish_twist(self, state: RobotState, kin: RobotDynamics, command: Command) -> None:
        self._twist.header.stamp = to_stamp(state.time)
        fill_twist(self._twist.twist, kin.twist)
        self._twist_topic.publish(self._twist)

    def _publish_wrench(self, state: RobotState, kin: RobotDynamics, command: Command) -> None:
        """Publish the wrench in the base's axes, about the tip; its frame_id is the base."""
        if state.wrench_on_tip is None:
            return
        self._wrench.header.stamp = to_stamp(state.time)
        fill_wrench(self._wrench.wrench, state.wrench_on_tip)
        self._wrench_topic.publish(self._wrench)
