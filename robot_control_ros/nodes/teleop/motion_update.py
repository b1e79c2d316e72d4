"""Targets of Intrinsic's aic_controller: MotionUpdate in, the controller's own targets out."""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import Transform, TwistStamped, Vector3, WrenchStamped
from trajectory_msgs.msg import (
    JointTrajectory,
    JointTrajectoryPoint,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)

from ...core.errors import refused
from ...ros.entities import Entities
from ...ros.messages import vector

# aic_control_interfaces/msg/TrajectoryGenerationMode; frames and meanings: docs/aic_controller.md of intrinsic-dev/aic
VELOCITY = 1
POSITION = 2
TIP_FRAME = "gripper/tcp"
MAX_FEEDBACK = 0.95  # as the message's comment has it
GAINS = ["stiffness", "damping"]
WHERE = "motion update: "


class MotionUpdateInput:
    """Subscribes to ``pose_commands``: poses, velocities, stiffness, damping and a wrench.

    A pose goes to ``tip_trajectory``, so that stiffness and damping on ``target_impedance`` are in step with it. These
    are published where they change. A velocity goes to ``target_twist``, and lasts 0.2 s only.

    Args:
        entities: of the node.
        kind: aic_control_interfaces/MotionUpdate.
        controller: name of the controller.
        tip: name of the tip in the description, which is ``gripper/tcp`` in messages; other frames are as they are.
    """

    def __init__(self, entities: Entities, kind: type, controller: str, tip: str) -> None:
        self._tip = tip
        self._logger = entities.node.get_logger()
        self._gains: list[float] = []
        self._pushes = False
        self._poses = entities.publisher(MultiDOFJointTrajectory, f"{controller}/tip_trajectory")
        self._twists = entities.publisher(TwistStamped, f"{controller}/target_twist")
        self._impedances = entities.publisher(JointTrajectory, f"{controller}/target_impedance")
        self._wrenches = entities.publisher(WrenchStamped, f"{controller}/target_wrench")
        entities.subscription(kind, "pose_commands", self._on_update)

    def _on_update(self, message: Any) -> None:
        try:
            self._take(message)
        except ValueError as error:
            self._logger.error(str(error), throttle_duration_sec=1.0)

    def _take(self, message: Any) -> None:
        mode = message.trajectory_generation_mode.mode
        frame_id = message.header.frame_id
        if mode not in (VELOCITY, POSITION):
            raise refused("mode", mode, "must be 1 (velocity) or 2 (position)", (VELOCITY, POSITION), where=WHERE)
        feedback = np.asarray(message.wrench_feedback_gains_at_tip)
        if not np.all((feedback >= 0.0) & (feedback <= MAX_FEEDBACK)):
            rule = f"must be within [0, {MAX_FEEDBACK}]"
            raise refused("wrench_feedback_gains_at_tip", feedback.tolist(), rule, (0.0, MAX_FEEDBACK), where=WHERE)
        if feedback.any():
            self._logger.warning("wrench_feedback_gains_at_tip are not used: see docs/teleop.md", once=True)
        self._set_gains([*map(float, message.target_stiffness), *map(float, message.target_damping)])
        self._push(message.feedforward_wrench_at_tip)
        frame = self._tip if frame_id == TIP_FRAME else frame_id
        if mode == VELOCITY:
            twist = TwistStamped(twist=message.velocity)
            twist.header.frame_id = frame
            self._twists.publish(twist)
            return
        at = message.pose.position
        turn = message.pose.orientation
        place = Transform(translation=Vector3(x=at.x, y=at.y, z=at.z), rotation=turn)
        chunk = MultiDOFJointTrajectory(
            joint_names=[self._tip], points=[MultiDOFJointTrajectoryPoint(transforms=[place])]
        )
        chunk.header.frame_id = frame
        self._poses.publish(chunk)

    def _set_gains(self, gains: list[float]) -> None:
        if gains != self._gains:
            self._gains = gains
            self._impedances.publish(JointTrajectory(joint_names=GAINS, points=[JointTrajectoryPoint(positions=gains)]))

    def _push(self, wrench: Any) -> None:
        """The wrench for 0.5 s, in the tip's axes; zeros once, and then no more."""
        pushes = bool(np.any((vector(wrench.force), vector(wrench.torque))))
        if pushes or self._pushes:
            message = WrenchStamped(wrench=wrench)
            message.header.frame_id = self._tip
            self._wrenches.publish(message)
        self._pushes = pushes
