"""What the fault table measures: steps of commands, distances, rest."""

from dataclasses import replace

import numpy as np
import pytest

from evidence.faults.judge import (
    JITTER,
    Heard,
    Moment,
    largest_step,
    off_path,
    rest_after,
    top_speed,
    way,
)
from robot_control_ros.core.types import CommandMode
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

ROBOT = load_robot("ur5")
LIMITS = RobotModel.of(ROBOT).limits
RATE = np.array(ROBOT.effort_rate)
PERIOD = ROBOT.period


def heard(k, change=0.0, mode=CommandMode.EFFORT, by_watchdog=False):
    """The k-th command, one a period; the first joint's is `change`."""
    return Heard(
        k * PERIOD, 10.0 + k * PERIOD, mode, np.array([change, *[0.0] * (ROBOT.n - 1)]), by_watchdog
    )


def share(*commands):
    return largest_step(commands, ROBOT, LIMITS).share


def test_a_step_is_a_share_of_two_periods_worth_of_its_rate():
    assert share(heard(0), heard(1, 3.0)) == pytest.approx(3.0 / (2.0 * RATE[0] * PERIOD * JITTER))


def test_the_change_is_that_of_the_joint_with_the_largest_share():
    small = replace(heard(1), values=np.array([3.0, 0.0, 0.0, 0.0, 0.0, 2.0]))
    step = largest_step([heard(0), small], ROBOT, LIMITS)
    assert step.change == 2.0
    assert step.share == pytest.approx(2.0 / (2.0 * RATE[5] * PERIOD * JITTER))


@pytest.mark.parametrize("silence", [2, 25, 500])
def test_after_a_silence_a_command_may_change_by_no_more(silence):
    assert share(heard(0), heard(1), heard(1 + silence, 7.0)) == share(
        heard(0), heard(1), heard(3, 7.0)
    )


def test_seven_newton_metres_after_a_standstill_are_a_finding_where_one_and_a_half_periods_are_none():
    assert share(heard(0), heard(25, 7.6)) > 1.0
    assert share(heard(0), heard(25, 1.5 * RATE[0] * PERIOD)) < 1.0


def test_another_mode_is_measured_against_nothing():
    assert share(heard(0, 50.0), heard(1, 0.5, CommandMode.POSITION)) == 0.0


def test_a_stranger_s_commands_are_left_out():
    assert share(heard(0), replace(heard(1, 100.0), by_stranger=True), heard(2)) == 0.0


def test_the_watchdog_counts_by_the_steady_clock():
    late = replace(heard(2, by_watchdog=True), clock=10.02)
    later = replace(heard(3, 20.0, by_watchdog=True), clock=10.04)
    assert share(heard(1), late, later) < 1.0
    assert (
        share(heard(1), replace(late, by_watchdog=False), replace(later, by_watchdog=False)) > 1.0
    )


def moment(k, speed=0.0, x=0.0):
    return Moment(k * PERIOD, np.full(ROBOT.n, speed), np.array([x, 0.0, 0.0]), 0.0)


def test_speed_is_a_share_of_each_joint_s_limit():
    assert top_speed([moment(0), moment(1, 1.0)], LIMITS) == pytest.approx(
        1.0 / LIMITS.velocity.min()
    )


def test_way_is_from_the_first_moment_and_off_path_from_the_nearest_point():
    moments = [moment(k, x=0.1 * k) for k in range(5)]
    assert way(moments) == pytest.approx(0.4)
    assert off_path(moments, np.array([[0.1 * k, 0.0, 0.03] for k in range(9)])) == pytest.approx(
        0.03
    )


def test_an_arm_rests_from_the_last_moment_on_at_which_it_moved():
    moments = [moment(k, 1.0 if k < 50 else 0.0) for k in range(100)]
    assert rest_after(moments, 10 * PERIOD) == pytest.approx(39 * PERIOD)
    assert rest_after(moments[50:], 0.0) == 0.0
    assert rest_after(moments[:40], 0.0) is None
