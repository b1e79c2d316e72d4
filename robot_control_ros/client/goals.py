"""The goals of motions: sending them, and seeing whether they are reached."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ..core.errors import ConfigError, NotReached, refused
from ..core.spatial import make_pose, pose_error, wrap
from ..core.types import Array
from ..references.governor import BLOCKED, ONSET
from ..robot.inverse_kinematics import check_reach
from .backend import RobotBackend
from .snapshot import Snapshot

AT_GOAL = 1e-5  # m and rad, between a reference and the goal that it has reached
AT_REST = 0.002  # rad/s, of each joint
SETTLE = 2.0  # s after which an arm counts as settled that doesn't come to rest at its goal
# m and rad: a tip that rests further from its target may have one that is beyond reach
NEAR_TIP = 0.005, 0.02
# m and rad: a tip that rests further from its target isn't there, whatever holds it
FAR_TIP = 0.05, 0.2
# rad (m): joints that rest further from their goal have another posture, as with the elbow turned
FAR_JOINTS = 1.0
STANDS = 0.005, 0.02  # m/s and rad/s of a tip that doesn't follow a reference
WAITS = 1.0  # s of that, while its spring is near the bound, after which its way counts as blocked
TIP_RULE = (
    "must be three numbers (x, y, z in m), or a pose: four rows of four numbers, "
    "as robot.pose has them"
)
_IDENTITY = np.eye(3)


class MotionGoal:
    """A goal that a robot has taken.

    Args:
        since: Time [s]; states later than it are under the goal.
        error: Function that gives the distance of a state's reference from the goal, (m,) [m, rad].
        backend: Robot, whose axes of the tip count.
        pose: Pose (4, 4) where it is a goal of the tip; None where it is one of the joints.

    Attributes:
        arrived: Stamp of the first state whose reference rests at the goal [s]; None before.
    """

    def __init__(
        self,
        since: float,
        error: Callable[[Snapshot], Array],
        backend: RobotBackend,
        pose: Array | None = None,
    ) -> None:
        self.arrived: float | None = None
        self._since = since
        self._error = error
        self._backend = backend
        self._pose = pose
        self._axes = np.array(backend.config.axes)
        self._stands_since: float | None = None  # stamp [s]; None while the tip follows

    def reached(self, state: Snapshot) -> bool:
        """Say whether the reference rests at the goal, and the arm too, or long enough.

        Raises:
            NotReached: The reference rests elsewhere, or waits for an arm whose way is blocked. Or
                the arm rests too far away, as from a pose that is beyond reach.
        """
        if self.arrived is None:
            if state.time <= self._since:
                return False
            if state.moving:
                self._check_way(state)
                return False
            left = float(np.abs(self._error(state)).max())
            if not left < AT_GOAL:
                text = f"the motion ended {left:.3g} (m or rad) before its goal: by a hold, or another target"
                raise NotReached(text, name="the goal", value=left, bound=AT_GOAL)
            self.arrived = state.time
        rests = bool(np.abs(state.v).max() < AT_REST) or state.time - self.arrived > SETTLE
        if rests:
            self._check_place(state)
        return rests

    def _check_way(self, state: Snapshot) -> None:
        """Raise NotReached for a blocked tip.

        It stands while the reference waits for it, or moves the joints without the tip.
        """
        speed = np.linalg.norm(state.twist[:3])
        turning = np.linalg.norm(state.twist[3:])
        waits = state.blocks["spring_load"][0] >= ONSET
        joints_only = self._pose is not None and float(np.abs(self._error(state)).max()) < AT_GOAL
        if speed > STANDS[0] or turning > STANDS[1] or not (waits or joints_only):
            self._stands_since = None
            return
        if self._stands_since is None:
            self._stands_since = state.time
        if state.time - self._stands_since < WAITS:
            return
        if waits:
            raise self._not_reached(state, BLOCKED)
        self._check_place(state)

    def _check_place(self, state: Snapshot) -> None:
        """Raise NotReached where the arm rests too far away.

        A soft arm gives way to a load. So only what is beyond reach counts near the target.
        """
        if self._is_beyond(state, FAR_TIP):
            raise self._not_reached(state, "something holds it, or its law lets go")
        if self._is_beyond(state, NEAR_TIP) and self._beyond_reach:
            raise self._not_reached(state, "")
        if self._pose is None:
            self._check_posture(state)

    def _check_posture(self, state: Snapshot) -> None:
        """Raise NotReached where the tip is there, but the joints have another posture.

        A law of the tip holds no joint: an arm that was stretched may have turned its elbow.
        """
        left = self._backend.model.wrap(state.blocks["reference_position"] - state.q)
        worst = int(np.abs(left).argmax())
        if abs(left[worst]) > FAR_JOINTS:
            joint = self._backend.config.joints[worst]
            rule = "a law of the joints, as joint_impedance, moves it there"
            text = (
                f"the tip is there in another posture: {joint} stands {left[worst]:.2f} "
                f"(rad or m) before its goal; {rule}"
            )
            raise NotReached(text, name=joint, value=float(left[worst]), bound=FAR_JOINTS)

    def _is_beyond(self, state: Snapshot, bounds: tuple[float, float]) -> bool:
        """Say whether the tip is further from its target than bounds [m, rad]."""
        distance, angle = self._left(state)
        return distance > bounds[0] or angle > bounds[1]

    def _left(self, state: Snapshot) -> tuple[float, float]:
        """Distance [m] and angle [rad] of the tip from its target, along the axes that count."""
        error = state.pose_error if self._pose is None else pose_error(self._pose, state.pose)
        counted = self._axes * error
        return float(np.linalg.norm(counted[:3])), float(np.linalg.norm(counted[3:]))

    @cached_property
    def _beyond_reach(self) -> str:
        """Text that no posture reaches the pose; empty where one does."""
        if self._pose is None:
            return ""
        backend = self._backend
        assert backend.feed.newest is not None
        try:
            check_reach("the goal", backend.model, self._pose, backend.feed.newest.q, self._axes)
        except ConfigError as error:
            return f"it can't move towards it; {error}"
        return ""

    def _not_reached(self, state: Snapshot, why: str) -> NotReached:
        distance, angle = self._left(state)
        text = f"the tip stands {distance:.3f} m and {angle:.2f} rad before its goal: {self._beyond_reach or why}"
        return NotReached(text, name="the goal", value=distance, bound=FAR_TIP[0])


def tip_target(backend: RobotBackend, pose: Any) -> Array:
    """Target (4, 4) of a pose (4, 4), or of a position (3,) with the rotation of the reference.

    Raises:
        ConfigError: It is no pose.
    """
    target = _numbers(pose)
    if not np.isfinite(target).all() or target.shape not in ((3,), (4, 4)):
        raise refused("pose", pose, TIP_RULE, ((3,), (4, 4)))
    if target.shape == (3,):
        assert backend.feed.newest is not None
        return make_pose(target, backend.feed.newest.reference_pose[:3, :3])
    rotation = target[:3, :3]
    if np.abs(rotation @ rotation.T - _IDENTITY).max() > 1e-6 or np.linalg.det(rotation) < 0.0:
        raise refused("pose", pose, "its first three rows and columns must be a rotation matrix")
    return target


def send_tip_target(backend: RobotBackend, pose: Any) -> MotionGoal:
    """Send the target of a pose, see :func:`tip_target`; ConfigError where it is refused."""
    target = tip_target(backend, pose)
    since = backend.move_to(target)
    return MotionGoal(
        since, lambda state: pose_error(target, state.reference_pose), backend, target
    )


def send_joint_target(backend: RobotBackend, q: Any) -> MotionGoal:
    """Send joint angles (n,) [rad]; ConfigError where they are refused."""
    target = _numbers(q)
    if not np.isfinite(target).all() or target.shape != (backend.config.n,):
        raise refused("q", q, _joint_rule(backend), (backend.config.n,))
    return _joint_goal(backend, backend.move_joints_to(target), target)


def send_joint_path(
    backend: RobotBackend, times: Any, positions: Any, velocities: Any
) -> MotionGoal:
    """Send joint angles over time, see Robot.follow_joints; ConfigError where they are refused."""
    count = len(np.atleast_1d(times))
    shape = (count, backend.config.n)
    path_times = finite("times", times, (count,))
    path = finite("positions", positions, shape)
    speeds = None if velocities is None else finite("velocities", velocities, shape)
    if count == 0:
        raise refused("times", (), "must be one or more")
    return _joint_goal(backend, backend.follow_joints(path_times, path, speeds), path[-1])


def send_chunk(backend: RobotBackend, q: Any, poses: Any, dt: float, stamp: float | None) -> None:
    """Send a chunk, see Robot.follow_chunk; ConfigError where it is refused."""
    what, points = ("q", q) if poses is None else ("poses", poses)
    count = len(np.atleast_1d(points))
    shape = (count, backend.config.n) if poses is None else (count, 4, 4)
    if count == 0:
        raise refused(what, (), "must be one point or more")
    path = finite(what, points, shape)
    times = np.asarray(dt * np.arange(count), dtype=float)
    if poses is None:
        backend.follow_joint_chunk(times, path, stamp)
    else:
        backend.follow_tip_chunk(times, path, stamp)


def _joint_goal(backend: RobotBackend, since: float, target: Array) -> MotionGoal:
    """Goal of the joints that a robot has taken; see :class:`MotionGoal`."""
    cyclic = backend.model.cyclic
    return MotionGoal(
        since, lambda state: wrap(target - state.blocks["reference_position"], cyclic), backend
    )


def _joint_rule(backend: RobotBackend) -> str:
    """Rule for a target of the joints: their number, their units, and their names."""
    units = dict.fromkeys(each.position for each in backend.model.limits.units)
    names = ", ".join(backend.config.joints)
    count = backend.config.n
    return f"must be {count} numbers in {' or '.join(units)}, one for each joint: {names}"


def _numbers(value: Any) -> Array:
    """Copy of numbers; NaN where they are none."""
    try:
        return np.array(value, dtype=float)
    except (TypeError, ValueError):
        return np.array(np.nan)


def finite(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    """Copy of finite numbers of a shape, or ConfigError."""
    numbers = _numbers(value)
    if numbers.shape != shape or not np.isfinite(numbers).all():
        sizes = " rows of ".join(map(str, shape))
        raise refused(name, value, f"must be {sizes} finite numbers", shape)
    return numbers
