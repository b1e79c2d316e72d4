"""Judges some seconds of a robot's messages: rates, clocks, frames, distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core.types import Array
from ...references.clearance import Clearance
from ...robot.configuration import RobotConfig
from ...robot.implausible import doubts_of
from ...robot.model import RobotModel
from ...ros.findings import Finding, error, ok, warning
from ...sensing.wrench import SIGNS, WrenchPipeline

MAX_AGE = 0.05  # s that a stamp may be old, or ahead, when its message arrives
ANOTHER_TIME = 1e7  # s: stamps that are further off are no wall time
RATE_TOLERANCE = 0.1  # fraction of the nominal rate
MAX_FREE_FORCE = 5.0  # N of force in free space, beyond which a tare is needed


@dataclass(frozen=True)
class Samples:
    """Messages of one topic, oldest first.

    Attributes:
        arrivals: Times at which they came, by the wall clock [s].
        stamps: Times of their stamps [s].
    """

    arrivals: Sequence[float]
    stamps: Sequence[float]

    def __len__(self) -> int:
        return len(self.arrivals)

    def gaps(self, simulated: bool) -> Array:
        """Times between them [s], at least one: by stamps where time is
        simulated, else by arrivals.
        """
        return np.diff(self.stamps if simulated else self.arrivals)


def judge_rate(what: str, samples: Samples, nominal: float, simulated: bool) -> Finding:
    """Compare the rate with the profile's [Hz], by simulated time where time is simulated."""
    text, rate = _rate(what, samples, simulated)
    if abs(rate / nominal - 1.0) <= RATE_TOLERANCE:
        return ok(text)
    advice = (
        f"set the controller's rate: {rate:.0f} in the parameter file of the launch argument gains"
    )
    too_slow = "Look at the driver's update_rate, the network and this machine's load, or"
    advice = f"{too_slow if rate < nominal else 'If the rate is right,'} {advice}"
    return warning(f"{text}, but the profile says {nominal:.0f} Hz", advice)


def judge_gaps(what: str, samples: Samples, longest: float, simulated: bool) -> Finding:
    """Find gaps in which messages become older than `longest` [s]."""
    text, _ = _rate(what, samples, simulated)
    if samples.gaps(simulated).max() > longest:
        remedy = "A law that needs it stops meanwhile: look at the sensor's rate and the network"
        return warning(f"{text}, but at most {longest * 1e3:.0f} ms are allowed", remedy)
    return ok(text)


def judge_clock(what: str, samples: Samples, simulated: bool, publishers: str) -> Finding:
    """Find stamps that don't rise, or that are of another machine's clock.

    In simulated time stamps may repeat: ros2_control stamps with the last time heard on /clock.
    """
    steps = np.diff(samples.stamps)
    if simulated and not steps.any():
        return error(
            f"{what}: stamps stand still",
            "Is there a /clock, and does it run?",
            "ros2 topic hz /clock",
        )
    if (steps < 0.0).any():
        return error(
            f"{what}: stamps go back",
            "Look for two publishers, or a simulation that was reset",
            publishers,
        )
    if simulated:
        return ok(f"{what}: stamps of simulated time don't go back")
    if not steps.all():
        return error(
            f"{what}: stamps repeat",
            "Look for two publishers, or a driver without stamps",
            publishers,
        )
    age = float(np.median(np.subtract(samples.arrivals, samples.stamps)))
    if abs(age) > ANOTHER_TIME:
        return warning(
            f"{what}: stamps are of simulated time",
            "Ask for a profile with simulated_time, such as sim",
        )
    if abs(age) > MAX_AGE:
        remedy = (
            "Let both machines keep the same time (chrony), or take a profile with simulated_time"
        )
        return warning(f"{what}: stamps are {age * 1e3:+.0f} ms old on arrival", remedy)
    return ok(f"{what}: stamps are {age * 1e3:.1f} ms old on arrival")


def judge_joints(robot: RobotConfig, names: Sequence[str]) -> Finding:
    """Find joints of the robot that are missing."""
    missing = [joint for joint in robot.joints if joint not in names]
    if missing:
        remedy = "Is it another robot, or one with a prefix? Joints are matched by name"
        return error(f"joint states: {missing} are missing; there are: {', '.join(names)}", remedy)
    return ok(f"joint states: all {robot.n} joints, matched by name")


def judge_description(robot: RobotConfig, model: RobotModel) -> list[Finding]:
    """Find numbers of the description that can't be, or that are hardly meant."""
    return [
        warning(each.text, f"{each.remedy[0].upper()}{each.remedy[1:]}")
        for each in doubts_of(robot, model)
    ]


def judge_clearance(clearance: Clearance, q: Array) -> list[Finding]:
    """Judge the distance of the arm's bodies at joint angles q (n,) from each other and the cell.

    Links whose bodies aren't known are findings, too.
    """
    left_out = [
        warning(
            f"bodies: {problem}", "Its link counts as nothing: give it `bodies` in the robot's file"
        )
        for problem in clearance.bodies.problems
    ]
    nearest = clearance.nearest(q)
    if nearest is None:
        return left_out
    text = f"{nearest.first} is {1e3 * nearest.distance:.0f} mm from {nearest.second}, the nearest pair of bodies"
    if nearest.distance >= nearest.margin:
        return [*left_out, ok(text)]
    remedy = "Only moves that lead them apart are taken; is `cell` of the robot's file right?"
    return [
        *left_out,
        warning(f"{text}: less than its margin of {1e3 * nearest.margin:g} mm", remedy),
    ]


def judge_wrench_frame(robot: RobotConfig, model: RobotModel, frame: str) -> Finding:
    """Look the sensor's frame up in the robot's model."""
    known = robot.profile.wrench_frames.get(frame, frame)
    if known not in model.frames:
        remedy = f"Add it to wrench_frames of profile {robot.profile_name}; frames: {', '.join(model.frames)}"
        return error(f"wrench: unknown frame {frame!r}", remedy)
    return ok(f"wrench: in frame {frame}" + (f", which is {known}" if known != frame else ""))


def judge_force(force: Array, zero: str) -> Finding:
    """Judge by a mean force (3,) [N] in free space if it needs a tare; `zero` is
    what to type for it.
    """
    size = float(np.linalg.norm(force))
    if size > MAX_FREE_FORCE:
        return warning(f"wrench: {size:.1f} N", "If nothing touches the tool, zero it", zero)
    return ok(f"wrench: {size:.1f} N")


def contact_torque(
    robot: RobotConfig, model: RobotModel, wrench: Array, frame: str, q: Array
) -> Array | None:
    """Torques (n,) that a contact exerts on the joints, by the sensor's mean wrench [N·m].

    Args:
        robot: Configuration of the robot.
        model: Model of the robot.
        wrench: (6,) force and torque, as the sensor sends them [N, N·m].
        frame: Frame of the wrench's messages.
        q: (n,) joint angles.

    Returns:
        The torques; None where the force is small, or the frame unknown.
    """
    known = robot.profile.wrench_frames.get(frame, frame)
    force = float(np.linalg.norm(wrench[:3]))
    if known not in model.frames or not MAX_FREE_FORCE < force < np.inf:
        return None
    sign = SIGNS[WrenchPipeline(robot.profile.wrench_settings).settings.current.convention]
    pose, jacobian = model.link(known, q)
    rotation = pose[:3, :3]
    exerted = sign * np.concatenate((rotation @ wrench[:3], rotation @ wrench[3:]))
    return np.asarray(jacobian.T @ exerted)


def _rate(what: str, samples: Samples, simulated: bool) -> tuple[str, float]:
    """Text on the rate of messages, and the rate [Hz]."""
    gaps = samples.gaps(simulated)
    rate = float(1.0 / gaps.mean())
    text = f"{what}: {rate:.0f} Hz, longest gap {gaps.max() * 1e3:.0f} ms"
    if simulated:
        speed = float(gaps.sum() / samples.gaps(False).sum())
        text += f", of a simulation at {speed:.2f} times real time"
    return text, rate
