"""Judges whether a joint trajectory is followed as its goal demands, without ROS.

Error codes and tolerances are those of control_msgs, with the same meaning as in
joint_trajectory_controller of ros2_controllers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....control.controller import Controller
from ....core.errors import ConfigError, refused
from ....core.gains import JOINT, gain
from ....core.spatial import wrap
from ....core.types import Array

# control_msgs/action/FollowJointTrajectory: Result.error_code
SUCCESSFUL = 0
INVALID_GOAL = -1
PATH_TOLERANCE_VIOLATED = -4
GOAL_TOLERANCE_VIOLATED = -5

ERASED = -1.0  # control_msgs/JointTolerance: no tolerance, even where there is a default


@dataclass(frozen=True, eq=False)
class Constraints:
    """Tolerances of a goal that gives none itself."""

    goal_time: float = gain(
        0.0,
        unit="s",
        upper=600.0,
        doc="Time after a trajectory's end within which its goal must be reached; 0: any.",
    )
    stopped_velocity_tolerance: float = gain(
        0.01,
        unit="rad/s",
        upper=10.0,
        doc="Largest joint speed with which a goal counts as reached; 0: any.",
    )
    trajectory: Array = gain(
        0.0, size=JOINT, unit="rad", upper=10.0, doc="Largest error on the way; 0: any."
    )
    goal: Array = gain(
        0.0, size=JOINT, unit="rad", upper=10.0, doc="Largest error at the goal; 0: any."
    )


class Outcome(NamedTuple):
    """End of a goal: the error code, and a text that says why."""

    code: int
    text: str = ""


@dataclass(frozen=True, eq=False)
class Bounds:
    """Largest errors of position and velocity, (n,) each [rad, rad/s];
    infinite where any will do.
    """

    position: Array
    velocity: Array

    def exceeded(self, joints: Sequence[str], position: Array, velocity: Array) -> str:
        """Text that names the joint that is off, its error and the bound; empty where none is."""
        for unit, errors, bounds in (
            ("rad", position, self.position),
            ("rad/s", velocity, self.velocity),
        ):
            sizes = np.abs(errors)
            if not (sizes <= bounds).all():
                at = int(np.argmax(sizes - bounds))
                return f"{joints[at]} is off by {sizes[at]:.4g} {unit}: must be at most {bounds[at]:g} {unit}"
        return ""


def tolerance_of(name: str, given: float, default: float) -> float:
    """The tolerance that a goal gives; infinite where there is none.

    A given 0 takes the default. A given -1, or a default of 0, is no tolerance at all.

    Raises:
        ConfigError: The given tolerance is neither positive, 0 nor -1.
    """
    if not (given >= 0.0 or given == ERASED):
        raise ConfigError(
            f"{name} = {given:g}: must be positive, 0 or -1", name=name, value=given, bound=0.0
        )
    chosen = default if given == 0.0 else given
    return chosen if chosen > 0.0 else math.inf


def bounds_of(
    joints: Sequence[str], given: Iterable[Any], position: Array, velocity: Array
) -> Bounds:
    """The defaults, replaced by the tolerances that a goal gives; see :func:`tolerance_of`.

    Args:
        joints: Names of the robot's joints, in its order.
        given: Tolerances (control_msgs/JointTolerance); accelerations aren't measured, nor checked.
        position, velocity: (n,) default tolerances [rad, rad/s].

    Raises:
        ConfigError: A joint is unknown or named twice; a tolerance is neither positive, 0 nor -1.
    """
    defaults = {"position": position, "velocity": velocity}
    both = {kind: np.where(values > 0.0, values, math.inf) for kind, values in defaults.items()}
    named: set[str] = set()
    for tolerance in given:
        if tolerance.name in named:
            raise refused("name", tolerance.name, "must stand once", where="tolerances: ")
        named.add(tolerance.name)
        if tolerance.name not in joints:
            message = f"tolerance for unknown joint {tolerance.name!r}; joints: {', '.join(joints)}"
            raise ConfigError(message, name=tolerance.name, bound=tuple(joints))
        at = joints.index(tolerance.name)
        for kind, values in both.items():
            values[at] = tolerance_of(
                f"{kind} tolerance of {tolerance.name}", getattr(tolerance, kind), values[at]
            )
    return Bounds(**both)


@dataclass(frozen=True, eq=False)
class TrajectoryGoal:
    """A trajectory that is to be followed.

    Attributes:
        joints: Names of the robot's joints, in its order.
        cyclic: (n,) True for a joint that turns without end: the shorter way counts there.
        start: Start of the trajectory, by the robot's clock [s].
        times: (k,) times of its points, after the start [s].
        on_path: Bounds of the errors until the last point is due.
        at_goal: Bounds of the errors from then on.
        goal_time: Time after the last point for which `at_goal` may still be exceeded [s].
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
        """Time when the last point is due, by the robot's clock [s]."""
        return self.start + float(self.times[-1])

    def error(self, desired: Array, actual: Array) -> Array:
        """Desired less actual joint positions (n,)."""
        return wrap(desired - actual, self.cyclic)

    def point(self, time: float) -> int:
        """Index of the last point that is due at a time [s]; 0 before the first."""
        return max(int(np.searchsorted(self.times, time - self.start, side="right")) - 1, 0)

    def judge(self, time: float, position_error: Array, velocity_error: Array) -> Outcome | None:
        """End of the goal at a time [s] with these errors (n,); None where it goes on."""
        if time < self.end:
            message = self.on_path.exceeded(self.joints, position_error, velocity_error)
            return Outcome(PATH_TOLERANCE_VIOLATED, f"on the way {message}") if message else None
        message = self.at_goal.exceeded(self.joints, position_error, velocity_error)
        if not message:
            return Outcome(SUCCESSFUL)
        late = time - self.end
        if late > self.goal_time:
            return Outcome(GOAL_TOLERANCE_VIOLATED, f"{late:.3f} s after the end {message}")
        return None


class FollowedGoal:
    """A goal that a loop follows from now on.

    Args:
        goal: Trajectory and bounds that must be kept.
        loop: Control loop that has just begun to follow the trajectory.
    """

    def __init__(self, goal: TrajectoryGoal, loop: Controller) -> None:
        self.goal = goal
        self._loop = loop
        self._trajectory = loop.motion.trajectory
        self._restarts = loop.restarts

    def errors(self) -> tuple[Array, Array] | None:
        """Desired less actual joint positions and velocities (n,) of the last cycle.

        None where it had no reference.
        """
        reference = self._loop.reference
        state = self._loop.state
        if state is None or reference.q is None or reference.v is None:
            return None
        return self.goal.error(reference.q, state.q), reference.v - state.v

    def lost(self) -> Outcome | None:
        """End of the goal where the loop follows it no more; None while the loop follows it."""
        loop = self._loop
        if loop.motion.trajectory is self._trajectory:
            return None
        restarted = loop.restart_reason if loop.restarts != self._restarts else ""
        if reason := loop.fault or restarted:
            return Outcome(PATH_TOLERANCE_VIOLATED, reason)
        return Outcome(INVALID_GOAL, "another target took its place")

    def judge(self) -> Outcome | None:
        """End of the goal after the last cycle; None where it goes on."""
        errors = self.errors()
        state = self._loop.state
        return None if errors is None or state is None else self.goal.judge(state.time, *errors)
