"""What some seconds of a robot's messages tell: rates, clocks, frames, torques. Numbers in, findings out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .findings import Finding, error, ok, warning
from .model import RobotModel
from .robots import RobotConfig
from .types import Array, RobotState

LARGEST_AGE = 0.05  # s that a stamp may be old, or ahead, when its message arrives
AT_REST = 0.02  # rad/s
TELLING = 2.0  # N·m of gravity, from which on the sign of a torque can be told
HEAVY = 5.0  # N of force in free space that ask for a tare


@dataclass
class Samples:
    """Messages of one topic, oldest first.

    Attributes:
        arrivals, stamps: when each came, by the wall clock, and its stamp [s].
    """

    arrivals: list[float] = field(default_factory=list)
    stamps: list[float] = field(default_factory=list)

    def add(self, arrival: float, stamp: float) -> None:
        """One more."""
        self.arrivals.append(arrival)
        self.stamps.append(stamp)

    def __len__(self) -> int:
        return len(self.arrivals)

    @property
    def rate(self) -> float:
        """Messages per second [Hz]; 0 of fewer than two."""
        return 0.0 if len(self) < 2 else (len(self) - 1) / max(self.arrivals[-1] - self.arrivals[0], 1e-9)

    @property
    def longest_gap(self) -> float:
        """The longest time between two arrivals [s]."""
        return float(np.diff(self.arrivals).max()) if len(self) > 1 else 0.0

    @property
    def age(self) -> float:
        """Median of arrival minus stamp [s]."""
        return float(np.median(np.array(self.arrivals) - np.array(self.stamps)))


def judge_rate(what: str, samples: Samples, nominal: float) -> Finding:
    """Whether as many messages come as the profile says [Hz]."""
    rate = samples.rate
    text = f"{what}: {rate:.0f} Hz, longest gap {samples.longest_gap * 1e3:.0f} ms"
    if rate < 0.9 * nominal:
        remedy = (
            "Look at the driver's update_rate, the network and the load of this machine; or set the rate parameter."
        )
        return warning(f"{text}, where {nominal:.0f} Hz are nominal", remedy)
    return ok(text)


def judge_clock(what: str, samples: Samples, simulated: bool) -> Finding:
    """Whether stamps rise, and are of this machine's clock where time isn't simulated."""
    if (np.diff(samples.stamps) <= 0.0).any():
        remedy = "Two publishers, or a driver without stamps: one of them must go."
        return error(f"{what}: stamps repeat or go back", remedy)
    if simulated:
        return ok(f"{what}: stamps of simulated time rise")
    age = samples.age
    if abs(age) > LARGEST_AGE:
        remedy = "Let both machines keep the same time (chrony), or set use_sim_time where it is simulated."
        return warning(f"{what}: stamps are {age * 1e3:+.0f} ms old on arrival", remedy)
    return ok(f"{what}: stamps are {age * 1e3:.1f} ms old on arrival")


def judge_joints(robot: RobotConfig, names: Sequence[str]) -> Finding:
    """Whether all the robot's joints are there."""
    missing = [joint for joint in robot.joints if joint not in names]
    if missing:
        remedy = "Is it another robot, or one with a prefix? The joints are matched by name."
        return error(f"joint states: {missing} are missing; there are: {', '.join(names)}", remedy)
    return ok(f"joint states: all {robot.n} joints, matched by name")


def judge_torques(robot: RobotConfig, model: RobotModel, states: Sequence[RobotState]) -> list[Finding]:
    """Whether measured torques, of a robot at rest, are those that hold its weight, in sign and size.

    Args:
        robot: its profile says what efforts are meant to be.
        model: of it.
        states: with efforts as the profile's sign makes them; all at rest, or nothing is said.
    """
    still = [state for state in states if np.abs(state.v).max() < AT_REST]
    if robot.profile.joint_effort == "none" or not still or len(still) < len(states):
        return []
    effort = np.mean([state.effort for state in still], axis=0)
    if not np.isfinite(effort).all():
        remedy = "No law needs it but by wrench.source = joint_effort."
        return [warning("joint states: no effort", remedy)]
    gravity = model.at(still[-1].q).gravity
    if np.linalg.norm(gravity) < TELLING:
        return []
    same, reversed_ = np.linalg.norm(effort - gravity), np.linalg.norm(effort + gravity)
    size = f"{_numbers(effort)} N·m measured, {_numbers(gravity)} N·m of gravity in the model"
    if reversed_ < 0.5 * same:
        other = "torque" if robot.profile.joint_effort == "reversed_torque" else "reversed_torque"
        return [error(f"joint efforts have the other sign: {size}", f"Set joint_effort: {other} in the profile.")]
    if same > 0.5 * np.linalg.norm(gravity):
        remedy = "Are they torques? What is mounted must be in the description; or set joint_effort: none."
        return [warning(f"joint efforts don't hold the weight: {size}", remedy)]
    return [ok(f"joint efforts hold the weight: {size}")]


def judge_wrench_frame(robot: RobotConfig, model: RobotModel, frame: str) -> Finding:
    """Whether the sensor's frame is known."""
    known = robot.profile.wrench_frames.get(frame, frame)
    if not model.has_frame(known):
        remedy = f"Add it to wrench_frames of profile {robot.profile_name}; frames: {', '.join(model.frames())}"
        return error(f"wrench: unknown frame {frame!r}", remedy)
    return ok(f"wrench: in frame {frame}" + (f", which is {known}" if known != frame else ""))


def judge_force(force: Array, zero: str) -> Finding:
    """Whether a mean force (3,) [N] in free space asks for a tare; `zero` is what to type for it."""
    size = float(np.linalg.norm(force))
    if size > HEAVY:
        return warning(f"wrench: {size:.1f} N", f"If nothing touches the tool: {zero}")
    return ok(f"wrench: {size:.1f} N")


def _numbers(values: Array) -> str:
    return "[" + ", ".join(f"{value:.1f}" for value in values) + "]"
