"""Takes targets as Intrinsic's aic_controller does: MotionUpdate in, the controller's own targets
out.

It needs aic_control_interfaces. Start the controller with ``impedance.damping_ratio:=0.0``, for the
damping comes with the messages. Then type in a terminal with ROS:

    python examples/aic_motion_update.py --ros-args -p tip:=tool0 -r pose_commands:=/aic_controller/pose_commands

A pose goes to ``tip_trajectory``, so that stiffness and damping on ``target_impedance`` are in step
with it. Gains are published where they change. A velocity goes to ``target_twist`` and lasts 0.2 s.
A wrench lasts 0.5 s. So a program that has ended moves nothing; ``aic_controller`` goes on with
both.

Not used are ``wrench_feedback_gains_at_tip``. ``aic_controller`` adds these gains times (wrench of
the message - measured wrench): the arm yields more or less by the sign of its sensor, which the
message doesn't say. ``JointMotionUpdate`` and the services of ``aic_controller`` don't exist here.

This program has never met one that was written for ``aic_controller``. It stands on the definitions
of the messages (aic_control_interfaces/msg) and on docs/aic_controller.md of intrinsic-dev/aic.
"""

from __future__ import annotations

import sys

import numpy as np
import rclpy
from aic_control_interfaces.msg import MotionUpdate
from geometry_msgs.msg import Transform, TwistStamped, Vector3, Wrench, WrenchStamped
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from trajectory_msgs.msg import (
    JointTrajectory,
    JointTrajectoryPoint,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)

from robot_control_ros import ConfigError

VELOCITY = 1  # of aic_control_interfaces/msg/TrajectoryGenerationMode
POSITION = 2
TIP_FRAME = "gripper/tcp"  # frame of the tip in messages
MAX_FEEDBACK = 0.95  # of wrench_feedback_gains_at_tip, by the comment in the message
GAINS = ["stiffness", "damping"]
NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


class AicMotionUpdate(Node):
    """Subscribes to ``pose_commands``, and publishes targets of the controller."""

    def __init__(self) -> None:
        super().__init__("aic_motion_update")
        controller = self.declare_parameter("controller", "controller").value
        self._tip = str(self.declare_parameter("tip", "").value)
        if not self._tip:
            text = "tip = '': must be the tip's name in the description, such as tool0"
            raise ConfigError(text, name="tip", value="")
        self._gains: list[float] = []  # of the message before
        self._pushes = False  # whether the message before had a wrench
        self._poses = self.create_publisher(
            MultiDOFJointTrajectory, f"{controller}/tip_trajectory", 1
        )
        self._twists = self.create_publisher(TwistStamped, f"{controller}/target_twist", 1)
        self._impedances = self.create_publisher(
            JointTrajectory, f"{controller}/target_impedance", 1
        )
        self._wrenches = self.create_publisher(WrenchStamped, f"{controller}/target_wrench", 1)
        self.create_subscription(MotionUpdate, "pose_commands", self._on_update, NEWEST)

    def _on_update(self, message: MotionUpdate) -> None:
        try:
            self._check(message)
        except ConfigError as error:
            self.get_logger().error(f"motion update: {error}", throttle_duration_sec=1.0)
            return
        stiffness = [float(value) for value in message.target_stiffness]
        damping = [float(value) for value in message.target_damping]
        self._send_gains(stiffness + damping)
        self._send_wrench(message.feedforward_wrench_at_tip)
        if message.trajectory_generation_mode.mode == VELOCITY:
            self._send_twist(message)
        else:
            self._send_pose(message)

    def _check(self, message: MotionUpdate) -> None:
        """Refuse an unknown mode, and feedback gains out of their range.

        Raises:
            ConfigError: The message makes no sense.
        """
        mode = message.trajectory_generation_mode.mode
        if mode not in (VELOCITY, POSITION):
            text = f"mode = {mode}: must be 1 (velocity) or 2 (position)"
            raise ConfigError(text, name="mode", value=mode, bound=(VELOCITY, POSITION))
        feedback = np.asarray(message.wrench_feedback_gains_at_tip)
        if not np.all((feedback >= 0.0) & (feedback <= MAX_FEEDBACK)):
            name = "wrench_feedback_gains_at_tip"
            text = f"{name} = {feedback.tolist()}: must be within [0, {MAX_FEEDBACK}]"
            raise ConfigError(text, name=name, value=feedback.tolist(), bound=(0.0, MAX_FEEDBACK))
        if feedback.any():
            self.get_logger().warning("wrench_feedback_gains_at_tip are not used", once=True)

    def _frame(self, message: MotionUpdate) -> str:
        """The frame of a message, by its name in the description."""
        frame = str(message.header.frame_id)
        return self._tip if frame == TIP_FRAME else frame

    def _send_twist(self, message: MotionUpdate) -> None:
        twist = TwistStamped(twist=message.velocity)
        twist.header.frame_id = self._frame(message)
        self._twists.publish(twist)

    def _send_pose(self, message: MotionUpdate) -> None:
        position = message.pose.position
        place = Transform(
            translation=Vector3(x=position.x, y=position.y, z=position.z),
            rotation=message.pose.orientation,
        )
        point = MultiDOFJointTrajectoryPoint(transforms=[place])
        chunk = MultiDOFJointTrajectory(joint_names=[self._tip], points=[point])
        chunk.header.frame_id = self._frame(message)
        self._poses.publish(chunk)

    def _send_gains(self, gains: list[float]) -> None:
        """Publish stiffness and damping where they have changed."""
        if gains != self._gains:
            self._gains = gains
            point = JointTrajectoryPoint(positions=gains)
            self._impedances.publish(JointTrajectory(joint_names=GAINS, points=[point]))

    def _send_wrench(self, wrench: Wrench) -> None:
        """Publish a wrench in the tip's axes; zeros once, and then no more."""
        force = (wrench.force.x, wrench.force.y, wrench.force.z)
        torque = (wrench.torque.x, wrench.torque.y, wrench.torque.z)
        pushes = any(force) or any(torque)
        if pushes or self._pushes:
            message = WrenchStamped(wrench=wrench)
            message.header.frame_id = self._tip
            self._wrenches.publish(message)
        self._pushes = pushes


def main() -> None:
    """Run the node until Ctrl-C; a node that can't be made says why."""
    rclpy.init()
    try:
        rclpy.spin(AicMotionUpdate())
    except ConfigError as error:
        sys.exit(f"not started: {error}")
    except (KeyboardInterrupt, ExternalShutdownException):
        sys.exit(0)


if __name__ == "__main__":
    main()
