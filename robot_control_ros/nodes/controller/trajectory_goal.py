"""Whether a joint trajectory is followed as its goal demands: the part of FollowJointTrajectory that needs no ROS.

As joint_trajectory_controller of ros2_controllers does it: error codes and tolerances of control_msgs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.errors import ConfigError
from ...core.gains import JOINT, gain
from ...core.spatial import wrap
from ...core.types import Array

# control_msgs/action/FollowJointTrajectory: Result.error_code
SUCCESSFUL, INVALID_GOAL, PATH_TOLERANCE_VIOLATED, GOAL_TOLERANCE_VIOLATED = 0, -1, -4, -5

ERASED = -1.0  # control_msgs/JointTolerance: no tolerance, even where there is a default


@dataclass(frozen=True, eq=False)
class Constraints:
    """What a goal must keep that says nothing else."""

    goal_time: float = gain(
        0.0, unit="s", upper=600.0, doc="Time after a trajectory's end within which its goal must be reached; 0: any."
    )
    stopped_velocity_tolerance: float = gain(
        0.01, unit="rad/s", upper=10.0, doc="Largest joint speed with which a goal counts as reached; 0: any."
    )
    trajectory: Array = gain(0.0, size=JOINT, unit="rad", upper=10.0, doc="Largest error on the way; 0: any.")
    goal: Array = gain(0.0, size=JOINT, unit="rad", upper=10.0, doc="Largest error at the goal; 0: any.")


class Tolerance(NamedTuple):
    """What goes for one joint, as in control_msgs/JointTolerance; accelerations aren't measured, nor checked."""

    name: str
    position: float
    velocity: float


class Outcome(NamedTuple):
    """How a goal ended: error code, and what there is to say."""

    code: int
    text: str = ""


@dataclass(frozen=True, eq=False)
class Bounds:
    """Largest errors of position and velocity, (n,) each [rad, rad/s]; infinite where any will do."""

    position: Array
    velocity: Array

    def exceeded(self, joints: Sequence[str], position: Array, velocity: Array) -> str:
        """Which joint exceeds which bound by how much, in words; empty where none does."""
        for unit, errors, bounds in (("rad", position, self.position), ("rad/s", velocity, self.velocity)):
            sizes = np.abs(errors)
            if not (sizes <= bounds).all():
                at = int(np.argmax(sizes - bounds))
                return f"{joints[at]} is off by {sizes[at]:.4g} {unit}: must be at most {bounds[at]:g} {unit}"
        return ""


def bounds_of(joints: Sequence[str], given: Iterable[Tolerance], position: Array, velocity: Array) -> Bounds:
    """The tolerances that a goal gives over the defaults: 0 takes the default, -1 is none at all.

    Args:
        joints: the robot's, in its order.
        given: by the goal.
        position, velocity: (n,) the defaults; 0 is none.

    Raises:
        ConfigError: an unknown joint, or a tolerance that is neither positive, 0 nor -1.
    """
    both = {"position": _or_any(position), "velocity": _or_any(velocity)}
    for tolerance in given:
        if tolerance.name not in joints:
            raise ConfigError(f"tolerance for unknown joint {tolerance.name!r}; joints: {', '.join(joints)}")
        for kind, values in both.items():
            value = getattr(tolerance, kind)
            if not (value >= 0.0 or value == ERASED):
                raise ConfigError(f"{kind} tolerance of {tolerance.name} = {value:g}: must be positive, 0 or -1")
            if value != 0.0:
                values[joints.index(tolerance.name)] = math.inf if value == ERASED else value
    return Bounds(both["position"], both["velocity"])


def goal_time_of(given: float, default: float) -> float:
    """Time [s] that is left to reach the goal after the trajectory's end: see :func:`bounds_of`; infinite where 0.

    Raises:
        ConfigError: neither positive, 0 nor -1 s.
    """
    if not (given >= 0.0 or given == ERASED):
        raise ConfigError(f"goal_time_tolerance = {given:g} s: must be positive, 0 or -1")
    chosen = default if given == 0.0 else given
    return chosen if chosen > 0.0 else math.inf


@dataclass(frozen=True, eq=False)
class TrajectoryGoal:
    """A trajectory that is to be followed.

    Attributes:
        joints: the robot's, in its order.
        cyclic: (n,) whether a joint goes round and round: then the shorter way counts.
        start: of the trajectory, by the robot's clock [s].
        times: (k,) of its points, after the start [s].
        on_path: bounds until the last point's time.
        at_goal: bounds from then on.
        goal_time: how long after it they may still be exceeded [s].
    """

    joints: Sequence[str]
    cyclic: NDArray[np.bool_]
    start: float
    times: Array
    on_path: Bounds
    at_goal: Bounds
    goal_time: float = math.inf

    @property
    def end(self) -> float:
        """When the last point is due [s]."""
        return self.start + float(self.times[-1])

    def error(self, desired: Array, actual: Array) -> Array:
        """Desired less actual joint positions (n,)."""
        return wrap(desired - actual, self.cyclic)

    def point(self, time: float) -> int:
        """Index of the last point that is due at a time [s]; 0 before the first."""
        return max(int(np.searchsorted(self.times, time - self.start, side="right")) - 1, 0)

    def judge(self, time: float, position_error: Array, velocity_error: Array) -> Outcome | None:
        """How the goal ends at a time [s] with these errors (n,), or None where it goes on."""
        if time < self.end:
            words = self.on_path.exceeded(self.joints, position_error, velocity_error)
            return Outcome(PATH_TOLERANCE_VIOLATED, f"on the way {words}") if words else None
        words = self.at_goal.exceeded(self.joints, position_error, velocity_error)
        if not words:
            return Outcome(SUCCESSFUL)
        late = time - self.end
        if late > self.goal_time:
            return Outcome(GOAL_TOLERANCE_VIOLATED, f"{late:.3f} s after the end {words}")
        return None


def _or_any(values: Array) -> Array:
    return np.where(values > 0.0, values, math.inf)
