"""Ringing: arms beyond their largest stable stiffness, or at a wall too stiff for their
damping; others don't ring.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.types import Array
from robot_control_ros.laws.impedance import Impedance
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.robot.configuration import RobotConfig
from robot_control_ros.robot.model import RobotDynamics, RobotModel
from robot_control_ros.stability.contact_bound import SERVO, SampledContact
from robot_control_ros.stability.stiffness_bound import MAX_GROWTH, largest_stable, stiffness_bound

from ..row import Row, required
from .trial_arm import Load, LoadedArm, TrialArm, cycles, trial_robot

TRANSLATION = "translation"
ROTATION = "rotation"
SOFT = (500.0, 20.0)  # N/m, N·m/rad: of the other part, and of an arm that a hand shakes
CELLS = {  # by robot, what is stiff, and how late commands act [s]
    "ur5e": ((ROTATION, 0.004), (ROTATION, 0.016), (TRANSLATION, 0.016)),
    "gen3": ((TRANSLATION, 0.008), (ROTATION, 0.008)),
    "ur5": ((ROTATION, 0.008),),
}
CONTACTS = {"ur5e": 0.004, "ur5": 0.002}  # by robot, how late commands act at a wall [s]
# kg, N/m: the admittance at the wall; critical damping
MASS = 2.0
STIFFNESS = 500.0
# of the largest stable stiffness
BEYOND = 1.5
WITHIN = 0.5
# N, N·m, s
PUSH = 20.0
TURN = 2.0
PUSHED = 0.1
DIRECTION = np.array([1.0, 2.0, 3.0]) / math.sqrt(14.0)
# s: of the push; after it, when the arm must be quiet
START = 0.05
END = 1.6
# m into the wall, and s until the tip is pulled off it
PRESS = 0.02
PULL = 0.75
# s, √J, √J: the bounds
SEEN = 0.45
QUIET = 0.13
PEAK = 1.7
CALM = 60.0  # s of each trial that must not alarm
HAND = (2.0, 4.0)  # Hz
# m, m/s of moves; s from one push or move to the next
WAY = 0.1
SPEED = 0.25
EVERY = 1.0
REQUIRED = required("evidence/contact/ringing_trials.py")


@dataclass(frozen=True)
class Rung:
    """Figures of one trial.

    Attributes:
        alarm: Time from the disturbance to the detector's first alarm [s]; infinite where there was
            none.
        peak, last: Weighted speed of the joints, the largest and the last one [√J].
        fault: Reason why the safe output was sent; empty where it wasn't.
    """

    alarm: float
    peak: float
    last: float
    fault: str


class RingingTrial(NamedTuple):
    """An arm, its loop and the delay of its line [s]."""

    arm: TrialArm
    loop: ControlLoop
    delay: float


def held(
    name: str, kind: str, delay: float, factor: float, load: Load, **settings: Any
) -> RingingTrial:
    """An impedance at a multiple of the largest stable stiffness."""
    robot = trial_robot(name)
    loop = ControlLoop(
        robot, "impedance", {"stiffness": _stiffness(kind, factor * limit(robot, kind, delay))}
    )
    loop.ringing.settings.set(settings)
    return RingingTrial(LoadedArm(robot, load), loop, delay)


def limit(robot: RobotConfig, kind: str, delay: float) -> float:
    """The largest stable translational [N/m] or rotational [N·m/rad] stiffness at home."""
    running = RunningLaw(robot, "impedance")
    bound = stiffness_bound(running, RobotModel.of(robot).at(np.array(robot.home)), delay=delay)
    assert bound is not None

    def stable(value: float) -> bool:
        gains = running.gains.check({"stiffness": _stiffness(kind, value)})
        return (
            bound.arm.growth(*Impedance.joint_gains(gains, bound.mass, bound.jacobian))
            <= MAX_GROWTH
        )

    return largest_stable(stable, 10.0, 1e4)


def pressed(name: str, delay: float, factor: float, **settings: Any) -> RingingTrial:
    """An admittance that presses on a wall with a multiple of the largest stable
    stiffness, and is pulled off.
    """
    robot = trial_robot(name)
    start = RobotModel.of(robot).at(np.array(robot.home))
    place = start.pose[:3, 3]
    inward = start.pose[:3, 2]
    wall = factor * wall_limit(robot, start, delay)

    def load(time: float, kin: RobotDynamics) -> Array:
        depth = float((kin.pose[:3, 3] - place).dot(inward))
        pull = PUSH if PULL <= time < PULL + PUSHED else 0.0
        return np.concatenate((-(wall * max(depth, 0.0) + pull) * inward, np.zeros(3)))

    gains = {
        "mass": [MASS] * 3 + [0.1] * 3,
        "stiffness": [STIFFNESS] * 3 + [20.0] * 3,
        "damping": 0.0,
    }
    loop = ControlLoop(robot, "admittance", gains | {"damping_ratio": 1.0})
    loop.ringing.settings.set(settings)
    return RingingTrial(LoadedArm(robot, load), loop, delay)


def wall_limit(robot: RobotConfig, start: RobotDynamics, delay: float) -> float:
    """The stiffness of the stiffest wall [N/m], across the tip's z axis, at which that
    admittance is stable.
    """
    inward = start.jacobian[:3].T.dot(start.pose[:3, 2])
    inertia = 1.0 / float(inward.dot(np.linalg.solve(start.mass, inward)))
    damping = 2.0 * math.sqrt(MASS * STIFFNESS)

    def stable(wall: float) -> bool:
        contact = SampledContact(inertia, wall, 0.0, robot.period, delay, SERVO)
        return contact.growth(MASS, damping, STIFFNESS) <= MAX_GROWTH

    return largest_stable(stable, 250.0, 1.28e5)


def rung(trial: RingingTrial, disturbed: float, seconds: float, goal: float = 0.0) -> Rung:
    """Run a trial whose disturbance begins at a time [s].

    The reference first moves by `goal` [m] along the tip's z axis.
    """
    arm, loop, delay = trial
    weights = np.sqrt(loop.model.mass(np.array(loop.robot.home)).diagonal())
    alarm = math.inf
    fault = ""
    speeds = list[float]()
    for count, (state, kin) in enumerate(cycles(arm, loop, delay, seconds)):
        if goal and not count:
            pose = kin.pose.copy()
            pose[:3, 3] += goal * pose[:3, 2]
            loop.motion.move_to(pose)
        if loop.ringing.margin(state.time) == 0.0:
            alarm = min(alarm, state.time - disturbed)
        fault = fault or loop.fault
        if state.time >= disturbed:
            speeds.append(float(np.linalg.norm(weights * state.v)))
    return Rung(alarm, max(speeds), speeds[-1], fault)


def pushed(name: str, kind: str, delay: float, factor: float, **settings: Any) -> Rung:
    """Push an impedance once."""
    return rung(held(name, kind, delay, factor, push_at(START), **settings), START, START + END)


def push_at(start: float, every: float = math.inf) -> Load:
    """A push at a time [s], and again after some."""
    wrench = np.concatenate((PUSH * DIRECTION, TURN * DIRECTION))
    return lambda time, kin: wrench if 0.0 <= (time - start) % every < PUSHED else np.zeros(6)


def shaken(time: float, kin: RobotDynamics) -> Array:
    """A hand at 2 and at 4 Hz, in turns of a second."""
    rate = HAND[int(time) % len(HAND)]
    return np.concatenate((PUSH * math.sin(2.0 * math.pi * rate * time) * DIRECTION, np.zeros(3)))


def false_alarms(name: str, kind: str, delay: float, seconds: float = CALM) -> tuple[int, int, int]:
    """Numbers of alarms in trials that must not alarm.

    Two are at half the largest stable stiffness: pushed, and moving. In the third a hand shakes a
    soft arm.
    """
    pushes = alarms(
        held(name, kind, delay, WITHIN, push_at(START, EVERY), reaction="warn"), seconds
    )
    moves = alarms(
        held(name, kind, delay, WITHIN, lambda time, kin: np.zeros(6), reaction="warn"),
        seconds,
        moves=True,
    )
    robot = trial_robot(name)
    loop = ControlLoop(robot, "impedance", {"stiffness": _stiffness(ROTATION, SOFT[1])})
    return pushes, moves, alarms(RingingTrial(LoadedArm(robot, shaken), loop, delay), seconds)


def alarms(trial: RingingTrial, seconds: float, moves: bool = False) -> int:
    """Number of the detector's alarms; where `moves` is True, the reference moves to and fro."""
    arm, loop, delay = trial
    count = 0
    before = 1.0
    way = WAY
    steps = round(EVERY * loop.robot.profile.rate)
    for number, (state, kin) in enumerate(cycles(arm, loop, delay, seconds)):
        margin = loop.ringing.margin(state.time)
        count += margin == 0.0 < before
        before = margin
        if moves and number % steps == 0:
            pose = kin.pose.copy()
            pose[:3, 3] += way * DIRECTION
            loop.motion.move_to(pose)
            way = -way
    return count


def rows(robot: str) -> list[Row]:
    """All trials of a robot."""
    found = []
    for kind, delay in CELLS.get(robot, ()):
        got = pushed(robot, kind, delay, BEYOND)
        head = f"{kind} {BEYOND:g} times too stiff, {1e3 * delay:g} ms: "
        found += _rows(head, got)
        head = f"{kind} at {WITHIN:g} of the limit, {1e3 * delay:g} ms, {CALM:g} s: alarms "
        for what, count in zip(
            ("of pushes", "of moves", "of a hand"), false_alarms(robot, kind, delay), strict=True
        ):
            found.append(Row.at_most(head + what, count, 0, "", REQUIRED))
    if robot in CONTACTS:
        delay = CONTACTS[robot]
        head = f"admittance at a wall {BEYOND:g} times too stiff, {1e3 * delay:g} ms: "
        found += _rows(head, rung(pressed(robot, delay, BEYOND), 0.0, PULL + PUSHED + END, PRESS))
        head = f"admittance at a wall of {WITHIN:g} of the limit, {1e3 * delay:g} ms: alarms "
        got = rung(pressed(robot, delay, WITHIN), 0.0, PULL + PUSHED + END, PRESS)
        alarm = math.isfinite(got.alarm)
        found.append(Row.at_most(head + "when pulled off", alarm, 0, "", REQUIRED))
    return found


def _rows(head: str, got: Rung) -> list[Row]:
    after = f"after {'the safe output' if got.fault else 'softening'}"
    later = f"weighted speed {END:g} s later, {after}"
    return [
        Row.at_most(head + "alarm after", got.alarm, SEEN, "s", REQUIRED),
        Row.at_most(head + f"largest weighted speed, {after}", got.peak, PEAK, "√J", REQUIRED),
        Row.at_most(head + later, got.last, QUIET, "√J", REQUIRED),
    ]


def _stiffness(kind: str, value: float) -> list[float]:
    return [value] * 3 + [SOFT[1]] * 3 if kind == TRANSLATION else [SOFT[0]] * 3 + [value] * 3
