"""Judges a fault's effect on an arm, by its commands and its motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from robot_control_ros.control.safety import LONGEST_STEP, STOPPING
from robot_control_ros.core.types import Array, CommandMode, RobotState
from robot_control_ros.robot.configuration import RobotConfig
from robot_control_ros.robot.model import JointLimits, RobotModel

JITTER = 1.25  # of an interval, by which commands arrive later or sooner than they were sent
AT_REST = 0.02  # rad/s (m/s) of the fastest joint


@dataclass(frozen=True)
class Heard:
    """A command on the arm's topics; the line of a simulated arm may still lose or delay it.

    Attributes:
        time: Time of the arm when it came [s].
        clock: System's time when it was sent [s].
        mode: Mode of the command.
        values: Values (n,) of the command, in the unit of its mode.
        by_watchdog: True where the watchdog sent it.
        by_stranger: True where a row of the table sent it; such a command is not measured.
    """

    time: float
    clock: float
    mode: CommandMode
    values: Array
    by_watchdog: bool
    by_stranger: bool = False


@dataclass(frozen=True)
class Moment:
    """The arm at one sample.

    Attributes:
        time: Time of the arm [s].
        v: Joint velocities (n,) [rad/s].
        tip: Position of the tip in the base (3,) [m].
        tip_speed: Speed of the tip [m/s].
    """

    time: float
    v: Array
    tip: Array
    tip_speed: float


@dataclass(frozen=True)
class Step:
    """The largest change from one command to the next.

    Attributes:
        change: Change of the joint that has the largest share [N·m, rad or rad/s].
        share: Share of what the rate allows; above 1 the change was too large.
    """

    change: float
    share: float


def moment_of(model: RobotModel, time: float, state: RobotState) -> Moment:
    """The arm at a sample, at a time [s]."""
    kin = model.at(state.q, state.v)
    return Moment(
        time, state.v.copy(), kin.pose[:3, 3].copy(), float(np.linalg.norm(kin.twist[:3]))
    )


def largest_step(commands: Sequence[Heard], robot: RobotConfig, limits: JointLimits) -> Step:
    """The largest step among commands, oldest first, as a share of what may be.

    A command may change by its rate times the time since the one before. It may not change by more
    than in twice the interval before, as :class:`Safety` has it: after a silence a command makes no
    larger step than usual. Here both times are at least two periods, for a sample may be missing.
    They are longer by JITTER, for a command may arrive a little later than another. The watchdog
    counts by a clock that goes on where the arm waits for an answer. A command of another mode than
    the one before is measured against nothing.
    """
    rates = {
        CommandMode.EFFORT: np.array(robot.effort_rate),
        CommandMode.POSITION: limits.velocity,
        CommandMode.VELOCITY: STOPPING * limits.velocity,
    }
    largest = Step(0.0, 0.0)
    usual = robot.period
    commands = [command for command in commands if not command.by_stranger]
    for previous, command in pairwise(commands):
        if command.mode is not previous.mode:
            usual = robot.period
            continue
        interval = command.time - previous.time
        if command.by_watchdog:
            interval = max(interval, command.clock - previous.clock)
        countable = min(max(interval, LONGEST_STEP * robot.period), LONGEST_STEP * usual) * JITTER
        usual = max(interval, robot.period)
        change = np.abs(command.values - previous.values)
        shares = change / (rates[command.mode] * countable)
        worst = int(np.argmax(shares))
        if shares[worst] > largest.share:
            largest = Step(float(change[worst]), float(shares[worst]))
    return largest


def top_speed(moments: Sequence[Moment], limits: JointLimits) -> float:
    """The largest joint speed, as a share of the joint's limit."""
    return float(max((np.abs(moment.v) / limits.velocity).max() for moment in moments))


def way(moments: Sequence[Moment]) -> float:
    """The largest distance of the tip from where it was at first [m]."""
    return max(float(np.linalg.norm(moment.tip - moments[0].tip)) for moment in moments)


def way_within(moments: Sequence[Moment], seconds: float) -> float:
    """The distance of the tip, some seconds after the first moment, from where
    it was at first [m].
    """
    later = [moment for moment in moments if moment.time <= moments[0].time + seconds]
    return float(np.linalg.norm(later[-1].tip - moments[0].tip))


def off_path(moments: Sequence[Moment], path: Array) -> float:
    """The largest distance of the tip from a path (k, 3) that it would have followed [m]."""
    return max(float(np.linalg.norm(path - moment.tip, axis=1).min()) for moment in moments)


def rest_after(moments: Sequence[Moment], since: float) -> float | None:
    """Time from `since` [s] to the sample from which on the arm rested; None where it
    still moves at the end.
    """
    moving = [moment.time for moment in moments if np.abs(moment.v).max() > AT_REST]
    if not moments or (moving and moving[-1] >= moments[-1].time):
        return None
    return max(moving[-1] - since, 0.0) if moving else 0.0
