"""Targets of a controller as messages, for all that lead it from outside."""

from __future__ import annotations

from collections.abc import Sequence

from geometry_msgs.msg import PoseStamped, Transform, TwistStamped, WrenchStamped
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import (
    JointTrajectory,
    JointTrajectoryPoint,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)

from ..core.spatial import rotation_to_quaternion
from ..core.types import Array
from .messages import fill_pose, fill_twist, fill_vector, fill_wrench, numbers, to_duration


def pose_message(base: str, pose: Array) -> PoseStamped:
    """Message of a pose (4, 4) of the tip in the base."""
    message = PoseStamped()
    message.header.frame_id = base
    fill_pose(message.pose, pose)
    return message


def joints_message(joints: Sequence[str], q: Array) -> JointState:
    """Message of joint angles (n,) [rad]."""
    return JointState(name=list(joints), position=numbers(q))


def path_message(
    joints: Sequence[str], times: Array, positions: Array, velocities: Array | None
) -> JointTrajectory:
    """Message of joint angles (k, n) at times (k,) [s], with velocities (k, n) or without."""
    message = JointTrajectory(joint_names=list(joints))
    for index, time in enumerate(times.tolist()):
        point = JointTrajectoryPoint(positions=numbers(positions[index]))
        if velocities is not None:
            point.velocities = numbers(velocities[index])
        point.time_from_start = to_duration(time)
        message.points.append(point)
    return message


def poses_message(base: str, tip: str, times: Array, poses: Array) -> MultiDOFJointTrajectory:
    """Message of poses (k, 4, 4) of the tip in the base, at times (k,) [s]."""
    message = MultiDOFJointTrajectory(joint_names=[tip])
    message.header.frame_id = base
    for time, pose in zip(times.tolist(), poses, strict=True):
        transform = Transform()
        fill_vector(transform.translation, pose[:3, 3])
        turn = rotation_to_quaternion(pose[:3, :3]).tolist()
        quaternion = transform.rotation
        quaternion.x, quaternion.y, quaternion.z, quaternion.w = turn
        point = MultiDOFJointTrajectoryPoint(transforms=[transform])
        point.time_from_start = to_duration(time)
        message.points.append(point)
    return message


def twist_message(frame: str, twist: Array) -> TwistStamped:
    """Message of a twist (6,) of the tip in the axes of a frame [m/s, rad/s]."""
    message = TwistStamped()
    message.header.frame_id = frame
    fill_twist(message.twist, twist)
    return message


def wrench_message(frame: str, wrench: Array) -> WrenchStamped:
    """Message of a wrench (6,) at the origin of a frame, in its axes [N, N·m]."""
    message = WrenchStamped()
    message.header.frame_id = frame
    fill_wrench(message.wrench, wrench)
    return message


def push_message(link: str, force: Array) -> WrenchStamped:
    """Message of a force (3,) on a simulated link, at its origin, in its axes [N]."""
    message = WrenchStamped()
    message.header.frame_id = link
    fill_vector(message.wrench.force, force)
    return message
