"""The controller's telemetry, at a lower rate than it controls."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from std_msgs.msg import Float64MultiArray

from ...control.controller import Controller
from ...control.state_blocks import state_blocks
from ...core.types import Command
from ..common.entities import Entities
from ..common.messages import fill_pose, fill_twist, fill_wrench, named_blocks, to_stamp


class Telemetry:
    """Publishes ``~/state`` (everything, as named blocks) and, for other tools, pose, reference, twist and wrench.

    Its rate [Hz] is at most that of control.
    """

    def __init__(self, entities: Entities, loop: Controller, rate: float) -> None:
        self._loop = loop
        self._every = max(1, round(loop.robot.profile.rate / rate))
        self._count = 0
        self._blocks = Float64MultiArray()
        self._state = entities.publisher(Float64MultiArray, "~/state")
        self._pose, self._pose_topic = PoseStamped(), entities.publisher(PoseStamped, "~/pose")
        self._reference, self._reference_topic = PoseStamped(), entities.publisher(PoseStamped, "~/reference_pose")
        self._twist, self._twist_topic = TwistStamped(), entities.publisher(TwistStamped, "~/twist")
        self._wrench, self._wrench_topic = WrenchStamped(), entities.publisher(WrenchStamped, "~/tip_wrench")

    def cycle(self, command: Command) -> None:
        """After each control cycle; publishes on every n-th."""
        self._count += 1
        if self._count % self._every == 0:
            self._publish(command)

    def _publish(self, command: Command) -> None:
        loop, kin, state = self._loop, self._loop.kin, self._loop.state
        if kin is None or state is None:
            return
        stamp = to_stamp(state.time)
        for message in (self._pose, self._reference, self._twist, self._wrench):
            message.header.stamp, message.header.frame_id = stamp, loop.robot.base
        fill_pose(self._pose.pose, kin.pose)
        self._pose_topic.publish(self._pose)
        if loop.reference.pose is not None:
            fill_pose(self._reference.pose, loop.reference.pose)
            self._reference_topic.publish(self._reference)
        fill_twist(self._twist.twist, kin.twist)
        self._twist_topic.publish(self._twist)
        blocks = state_blocks(loop, command)
        if not np.isnan(blocks["wrench"]).any():
            # axes of the base, origin of the tip: the frame named is the base's, the point is the tip
            fill_wrench(self._wrench.wrench, blocks["wrench"])
            self._wrench_topic.publish(self._wrench)
        named_blocks(blocks, self._blocks)
        self._state.publish(self._blocks)
