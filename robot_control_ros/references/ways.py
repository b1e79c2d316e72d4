"""Ways of the joints in moves that haven't begun, as joint angles (k, n), for checks in advance."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..core.compiled import compiled
from ..core.rotations import pose_error_into
from ..core.spatial import make_pose, pose_error, rotation_exp
from ..core.types import Array, Reference, as_row
from ..robot.differential_kinematics import DifferentialKinematics
from ..robot.joint_chain import JointChain, jacobian_into, multiply_poses, place_joints
from ..robot.model import RobotModel
from .joint_reference import POSTURE_SPEED, follow_pose
from .online_trajectory import step_joints, step_pose
from .trajectory import Trajectory

SPACING = 0.04  # s between two points of a way of the tip: 10 mm at the usual speed
APART = 0.01, 0.04  # m, rad between two points of a way of the tip that has no times
STEPS = 8  # of integration between two points
# s that a move takes at most beyond the time at its limits: it comes to rest by a linear law
SETTLING = 3.0


class Ways:
    """Predicts the joints' way for each kind of move.

    Moves of the tip are followed by the inverse kinematics of
    :class:`~.joint_reference.JointReference`, in steps of 0.04 s. A law that moves the tip by
    torques leads the joints along nearly the same way.

    Args:
        model: Model of the robot.
        axes: (6,) 1 for each axis of the tip that counts.
    """

    def __init__(self, model: RobotModel, axes: Array) -> None:
        kinematics = DifferentialKinematics(axes)
        self._model = model
        self._weight = kinematics.weight
        self._count = kinematics.count
        self._tip_joint, self._tip_pose = model.carrier(model.tip)

    def of_joints(
        self, q: Array, v: Array, goal: Array, speed: Array, acceleration: Array
    ) -> Array:
        """Way of an :class:`~.online_trajectory.OnlineJointTrajectory`.

        Args:
            q, v: (n,) joint angles and velocities where it begins [rad, rad/s].
            goal: (n,) joint angles where it ends [rad].
            speed, acceleration: (n,) limits of the move [rad/s, rad/s²].

        Returns:
            Joint angles (k, n); the last ones are the goal.
        """
        lasting = (
            float((np.abs(goal - q) / speed + (speed + np.abs(v)) / acceleration).max()) + SETTLING
        )
        way = np.empty((math.ceil(lasting / SPACING) + 2, q.size))
        count = joint_move_into(
            as_row(goal), as_row(speed), as_row(acceleration), as_row(q), as_row(v), way
        )
        return way[:count]

    def of_pose(
        self,
        start: Reference,
        q: Array,
        posture: Array,
        target: Array,
        speed: Sequence[float],
        acceleration: Sequence[float],
    ) -> Array:
        """Way (k, n) of the joints for an :class:`~.online_trajectory.OnlineTrajectory`.

        Args:
            start: Reference where it begins, which has a pose.
            q, posture: Joint angles (n,) at the beginning, and posture (n,), see :meth:`of_poses`.
            target: (4, 4) pose where it ends.
            speed, acceleration: Limits of the move, linear and angular.
        """
        assert start.pose is not None
        pose = np.array(start.pose)
        rate = np.zeros((2, 3)) if start.twist is None else np.array(start.twist).reshape(2, 3)
        away = float(np.linalg.norm(target[:3, 3] - pose[:3, 3]))
        lasting = max(away / speed[0], math.pi / speed[1]) + SETTLING
        lasting += max(each / limit for each, limit in zip(speed, acceleration, strict=True))
        poses = np.empty((math.ceil(lasting / SPACING) + 2, 4, 4))
        limits = np.array(speed, dtype=float), np.array(acceleration, dtype=float)
        count = pose_move_into(as_row(target), *limits, pose, rate, poses)
        return self.of_poses(poses[:count], q, posture)

    def of_trajectory(
        self, trajectory: Trajectory, time: float, end: float, q: Array, posture: Array
    ) -> Array:
        """Way (k, n) of the joints for any trajectory of poses, from a time to its end [s].

        q and posture are those of :meth:`of_poses`.
        """
        count = max(math.ceil((end - time) / SPACING), 1)
        samples = [
            trajectory.sample(time + each).pose for each in np.linspace(0.0, end - time, count + 1)
        ]
        return self.of_poses(np.array(samples), q, posture)

    def of_chunk(self, poses: Array, q: Array, posture: Array) -> Array:
        """Way (m, n) of the joints along poses (k, 4, 4) that may be far apart.

        They are joined by straight lines. q and posture are those of :meth:`of_poses`.
        """
        at = self._model.link(self._model.tip, q)[0]
        between = [at[None]]
        for pose in poses:
            way = pose_error(pose, at)
            count = max(
                math.ceil(
                    max(np.linalg.norm(way[:3]) / APART[0], np.linalg.norm(way[3:]) / APART[1])
                ),
                1,
            )
            shares = np.linspace(0.0, 1.0, count + 1)[1:]
            between.append(
                np.array(
                    [
                        make_pose(at[:3, 3] + s * way[:3], rotation_exp(s * way[3:]) @ at[:3, :3])
                        for s in shares
                    ]
                )
            )
            at = pose
        return self.of_poses(np.concatenate(between), q, posture)

    def of_joint_chunk(self, positions: Array, q: Array) -> Array:
        """Way (m, n) of the joints from q (n,) along positions (k, n) that may be far apart.

        They are joined by straight lines.
        """
        between = [q[None]]
        at = q
        for position in positions:
            count = max(math.ceil(float(np.abs(position - at).max()) / APART[1]), 1)
            shares = np.linspace(0.0, 1.0, count + 1)[1:, None]
            between.append(at + shares * (position - at))
            at = position
        return np.concatenate(between)

    def of_posture(self, pose: Array, q: Array, posture: Array) -> Array:
        """Way (k, n) of the joints from q (n,) to a posture (n,), while the tip keeps its pose."""
        speed = POSTURE_SPEED * self._model.limits.velocity
        lasting = float((np.abs(posture - q) / speed).max()) + SETTLING
        poses = np.repeat(pose[None], math.ceil(lasting / SPACING), axis=0)
        return self.of_poses(poses, q, posture, seeks=1.0)

    def of_poses(self, poses: Array, q: Array, posture: Array, seeks: float = 0.0) -> Array:
        """Way (k + 1, n) of the joints along poses of the tip.

        Args:
            poses: (k, 4, 4) poses near to each other, at equal times.
            q: (n,) joint angles at the beginning [rad].
            posture: (n,) joint angles to which the null space goes [rad].
            seeks: 1 where it goes there while the tip rests, too; see
                :func:`~.joint_reference.follow_pose`.
        """
        limits = self._model.limits
        way = np.empty((len(poses) + 1, q.size))
        way[0] = q
        bounds = limits.lower, limits.upper, limits.velocity
        tip = self._tip_joint, self._tip_pose
        follow_poses_into(
            self._model.chain,
            *tip,
            as_row(poses),
            self._weight,
            self._count,
            *bounds,
            as_row(posture),
            seeks,
            way,
        )
        return way


@compiled
def joint_move_into(
    target: Array, speed: Array, acceleration: Array, q: Array, v: Array, way: Array
) -> int:
    """Write the points of a move of the joints into `way` (k, n), and return their number.

    See :meth:`Ways.of_joints`.
    """
    n = len(q)
    at = q.copy()
    rate = v.copy().reshape((n, 1))
    change = np.empty((n, 1))
    way[0] = at
    for point in range(1, len(way) - 1):
        for _ in range(STEPS):
            if step_joints(target, speed, acceleration, SPACING / STEPS, at, rate, change):
                way[point] = target
                return point + 1
        way[point] = at
    way[-1] = target
    return len(way)


@compiled
def pose_move_into(
    target: Array, speed: Array, acceleration: Array, pose: Array, rate: Array, poses: Array
) -> int:
    """Write the poses of a move of the tip into `poses` (k, 4, 4), and return their number.

    Pose and rate are changed.
    """
    change = np.empty((2, 3))
    poses[0] = pose
    for point in range(1, len(poses) - 1):
        for _ in range(STEPS):
            if step_pose(target, speed, acceleration, SPACING / STEPS, pose, rate, change):
                poses[point] = target
                return point + 1
        poses[point] = pose
    poses[-1] = target
    return len(poses)


@compiled
def follow_poses_into(
    chain: JointChain,
    tip_joint: int,
    tip_pose: Array,
    poses: Array,
    weight: Array,
    count: int,
    lower: Array,
    upper: Array,
    fastest: Array,
    posture: Array,
    seeks: float,
    way: Array,
) -> None:
    """Write the joint angles that lead the tip along poses into `way`; way[0] is the beginning.

    Args:
        chain: Joints of the arm.
        tip_joint, tip_pose: Number of the joint that moves the tip, and the tip's pose (4, 4) in
            its frame.
        poses: (k, 4, 4) poses of the tip.
        weight, count, lower, upper, fastest, posture, seeks: Axes, limits and posture, see
            :func:`~.joint_reference.follow_pose`.
        way: Result (k + 1, n), whose first row is given.
    """
    n = way.shape[1]
    joints = np.empty((n, 4, 4))
    tip = np.empty((4, 4))
    jacobian = np.empty((6, n))
    twist = np.empty(6)
    sample = np.empty((3, n))
    last = np.full((3, n), math.nan)
    unbounded = np.full(2, math.inf)  # a bound on the tip's speed leads along the same way
    for point in range(len(poses)):
        last[0] = way[point]
        place_joints(chain, way[point], joints)
        multiply_poses(joints[tip_joint], tip_pose, tip)
        jacobian_into(chain, joints, tip_joint, tip[:3, 3].copy(), jacobian)
        pose_error_into(poses[point], tip, twist)
        for i in range(6):
            twist[i] /= SPACING
        follow_pose(
            poses[point],
            twist,
            posture,
            seeks,
            tip,
            jacobian,
            last,
            weight,
            count,
            lower,
            upper,
            fastest,
            unbounded,
            SPACING,
            sample,
        )
        way[point + 1] = sample[0]
