"""The topics that say where the robot should go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

from ....control.controller import Controller, set_posture
from ....control.motion_commands import JOG_LASTS
from ....core.errors import ConfigError, RobotControlError
from ....core.spatial import wrench_at
from ....core.types import Array, is_finite
from ....ros.entities import Entities
from ....ros.messages import (
    MAX_POINTS,
    MAX_POSES,
    bounded_reader,
    from_stamp,
    read_joint_positions,
    read_joint_trajectory,
    read_pose,
    read_tip_trajectory,
    seconds,
    vector,
)
from .impedance_targets import ImpedanceTargets

WRENCH_LASTS = 0.5  # s that a target wrench is exerted without a newer one


class Targets:
    """Subscribes to the targets of one loop.

    A target in a frame that isn't the base is transformed to the base with the model.

    Args:
        entities: Entities of the controller's node, which the subscriptions are made with.
        loop: Control loop that follows the targets.
        answered: Function that makes a callback which reports what can't be used, and answers.
        refuse: Function that reports an error outside of such a callback: a trajectory that is too
            long or can't be read, or gains that are refused when they are due.
    """

    def __init__(
        self,
        entities: Entities,
        loop: Controller,
        answered: Callable[[Any], Any],
        refuse: Callable[[Exception], None],
    ) -> None:
        self._loop = loop
        self._impedance = ImpedanceTargets(entities, loop, answered, refuse)
        self._refuse = refuse
        for kind, topic, callback in (
            (PoseStamped, "~/target_pose", self._pose),
            (TwistStamped, "~/target_twist", self._twist),
            (WrenchStamped, "~/target_wrench", self._wrench),
            (JointState, "~/target_joint", self._joint),
            (JointState, "~/target_posture", self._posture),
        ):
            entities.subscription(kind, topic, answered(callback))
        for what, kind, topic, callback, most in (
            (
                "joint trajectory",
                JointTrajectory,
                "~/joint_trajectory",
                self._joint_trajectory,
                MAX_POINTS,
            ),
            (
                "tip trajectory",
                MultiDOFJointTrajectory,
                "~/tip_trajectory",
                self._tip_trajectory,
                MAX_POSES,
            ),
        ):
            bounded = bounded_reader(what, kind, answered(callback), refuse, most)
            entities.subscription(kind, topic, bounded, raw=True)

    def cycle(self, time: float) -> None:
        """Set the gains that are due, after a cycle at a time [s] of the joint states."""
        try:
            self._impedance.cycle(time)
        except RobotControlError as error:
            self._refuse(error)

    def forget(self) -> None:
        """Drop the gains that aren't due yet."""
        self._impedance.forget()

    def _pose(self, message: PoseStamped) -> None:
        self._loop.motion.move_to(self._frame(message) @ read_pose(message.pose))

    def _twist(self, message: TwistStamped) -> None:
        rotation = self._frame(message)[:3, :3]
        both = np.concatenate((vector(message.twist.linear), vector(message.twist.angular)))
        twist = _finite("target twist", both)
        self._loop.motion.jog(
            np.concatenate((rotation @ twist[:3], rotation @ twist[3:])), JOG_LASTS
        )

    def _wrench(self, message: WrenchStamped) -> None:
        frame = self._frame(message)
        frame[:3, 3] -= self._loop.tip()[:3, 3]
        both = np.concatenate((vector(message.wrench.force), vector(message.wrench.torque)))
        self._loop.motion.set_feedforward_wrench(
            wrench_at(_finite("target wrench", both), frame), WRENCH_LASTS
        )

    def _joint(self, message: JointState) -> None:
        self._loop.motion.move_joints_to(read_joint_positions(message, self._loop.robot.joints))

    def _posture(self, message: JointState) -> None:
        set_posture(self._loop, read_joint_positions(message, self._loop.robot.joints))

    def _joint_trajectory(self, message: JointTrajectory) -> None:
        """Follow a path where each point has velocities, else a chunk of positions."""
        self._loop.tip()
        assert self._loop.state is not None
        now = self._loop.state.time
        frequency = self._loop.motion.stream.target.policy_frequency
        path = read_joint_trajectory(message, self._loop.robot.joints, frequency)
        times, positions, velocities = path
        if velocities is None:
            self._loop.motion.follow_joint_chunk(
                times + _until(message.header.stamp, now), positions
            )
        else:
            self._loop.motion.follow_joints(*from_stamp(message.header.stamp, now, *path))

    def _tip_trajectory(self, message: MultiDOFJointTrajectory) -> None:
        frame = self._frame(message)
        assert self._loop.state is not None
        times, poses = read_tip_trajectory(message, self._loop.robot.tip)
        start = _until(message.header.stamp, self._loop.state.time)
        self._loop.motion.follow_tip(times + start, frame @ poses)

    def _frame(self, message: Any) -> Array:
        """Pose (4, 4) of the message's frame in the base, now."""
        self._loop.tip()
        return self._loop.model.frame_pose(message.header.frame_id)


def _until(stamp: Time, now: float) -> float:
    """Time from now to a stamp [s]; a stamp of 0 is now."""
    start = seconds(stamp)
    return start - now if start else 0.0


def _finite(what: str, values: Array) -> Array:
    if not is_finite(values):
        raise ConfigError(f"{what} = {values.tolist()}: must be finite numbers")
    return values
