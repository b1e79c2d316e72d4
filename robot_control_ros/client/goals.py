"""The goals of motions: sending them, and seeing whether they are reached."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.errors import NotReached, refused
from ..core.spatial import make_pose, pose_error, wrap
from ..core.types import Array
from .backend import RobotBackend
from .snapshot import Snapshot

AT_GOAL = 1e-5  # m and rad, between a reference and the goal that it has reached
AT_REST = 0.002  # rad/s, of each joint
SETTLE = 2.0  # s after which an arm counts as settled that doesn't come to rest at its goal


class MotionGoal:
    """A goal that a robot has taken.

    Args:
        since: states later than that are under it [s].
        error: its distance from a state's reference, (m,) [m, rad].
    """

    def __init__(self, since: float, error: Callable[[Snapshot], Array]) -> None:
        self._since, self._error = since, error
        self._arrived: float | None = None

    def reached(self, state: Snapshot) -> bool:
        """Whether the reference rests at it, and the arm too, or long enough.

        Raises:
            NotReached: the reference rests elsewhere.
        """
        if self._arrived is None:
            if state.time <= self._since or state.moving:
                return False
            left = float(np.abs(self._error(state)).max())
            if not left < AT_GOAL:
                text = f"the motion ended {left:.3g} (m or rad) before its goal: by a hold, or another target"
                raise NotReached(text, name="the goal", value=left, bound=AT_GOAL)
            self._arrived = state.time
        return bool(np.abs(state.v).max() < AT_REST) or state.time - self._arrived > SETTLE


def tip_goal(backend: RobotBackend, pose: Any) -> MotionGoal:
    """Send a pose (4, 4), or a position (3,) with the rotation of the reference.

    Raises:
        ConfigError: it is refused.
    """
    if np.shape(pose) == (3,):
        assert backend.feed.newest is not None
        target = make_pose(finite("pose", pose, (3,)), backend.feed.newest.reference_pose[:3, :3])
    else:
        target = finite("pose", pose, (4, 4))
        rotation = target[:3, :3]
        if not np.allclose(rotation @ rotation.T, np.eye(3), rtol=0.0, atol=1e-6) or np.linalg.det(rotation) < 0.0:
            raise refused("pose", pose, "its upper left (3, 3) must be a rotation")
    since = backend.move_to(target)
    return MotionGoal(since, lambda state: pose_error(target, state.reference_pose))


def joint_goal(backend: RobotBackend, q: Any) -> MotionGoal:
    """Send joint angles (n,) [rad]; ConfigError where they are refused."""
    goal, cyclic = finite("q", q, (backend.config.n,)), backend.model.cyclic
    since = backend.move_joints_to(goal)
    return MotionGoal(since, lambda state: wrap(goal - state.blocks["reference_position"], cyclic))


def finite(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    """A copy of finite numbers of a shape, or ConfigError."""
    try:
        numbers = np.array(value, dtype=float)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape != shape or not np.isfinite(numbers).all():
        raise refused(name, value, f"must be finite numbers of the shape {shape}", shape)
    return numbers
