"""Velocities that are derived from positions alone: right for irregular, repeated
and missing samples.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.sensing.derived_velocity import RESTART, DerivedVelocity
from robot_control_ros.stability.stiffness_bound import running_delay, stiffness_bound

T, PERIOD = 0.01, 0.002  # s
SPEED = np.array([0.4, -1.3])  # rad/s
UR5 = load_robot("ur5")
intervals = st.lists(st.floats(1e-4, 0.02), min_size=100, max_size=150)


def with_filter(time_constant):
    return replace(UR5, profile=replace(UR5.profile, velocity_filter=time_constant))


def fed(velocity, times, positions):
    return np.array([velocity.update(time, q) for time, q in zip(times, positions, strict=True)])


@settings(deadline=None)
@given(intervals)
def test_an_even_motion_has_its_speed_whatever_the_intervals(steps):
    times = 100.0 + np.cumsum(steps)
    v = fed(DerivedVelocity(T, PERIOD), times, np.outer(times, SPEED))
    rise = 1.0 - np.exp(-(times - times[0]) / T)
    np.testing.assert_allclose(v, np.outer(rise, SPEED), atol=1e-6)


@pytest.mark.parametrize("time_constant", [0.001, 0.005, 0.02])
def test_a_speed_that_grows_evenly_comes_late_by_the_delay_that_is_told(time_constant):
    times, acceleration = np.arange(0.0, 1.0, PERIOD), 2.0
    v = fed(DerivedVelocity(time_constant, PERIOD), times, 0.5 * acceleration * times[:, None] ** 2)
    delay = times[-1] - v[-1, 0] / acceleration
    assert delay == pytest.approx(with_filter(time_constant).profile.velocity_delay, rel=1e-3)
    assert delay >= 0.5 * PERIOD


def test_a_joint_without_end_may_jump_by_turns():
    times = np.arange(0.0, 12.0, PERIOD)
    q = np.outer(times, SPEED)
    wrapped = np.remainder(q + np.pi, 2.0 * np.pi) - np.pi
    assert np.abs(np.diff(wrapped, axis=0)).max() > 6.0
    np.testing.assert_allclose(
        fed(DerivedVelocity(T, PERIOD), times, wrapped),
        fed(DerivedVelocity(T, PERIOD), times, q),
        atol=1e-9,
    )


def test_repeated_and_older_stamps_and_numbers_that_are_none_change_nothing():
    times = np.arange(0.0, 0.2, PERIOD)
    velocity, plain = DerivedVelocity(T, PERIOD), DerivedVelocity(T, PERIOD)
    for time in times:
        v = velocity.update(time, time * SPEED)
        assert np.array_equal(v, plain.update(time, time * SPEED))
        for other, q in (
            (time, time * SPEED + 0.1),
            (time - 0.004, np.zeros(2)),
            (time + 0.001, np.full(2, np.nan)),
        ):
            assert np.array_equal(velocity.update(other, q), v)


@pytest.mark.parametrize("step", [RESTART + 0.01, 10.0, -1.0, -1e9])
def test_after_a_gap_or_a_clock_that_was_set_it_begins_at_rest(step):
    velocity = DerivedVelocity(T, PERIOD)
    fed(velocity, np.arange(0.0, 0.2, PERIOD), np.outer(np.arange(0.0, 0.2, PERIOD), SPEED))
    assert not velocity.update(0.2 + step, np.array([5.0, 5.0])).any()
    assert velocity.update(0.2 + step + PERIOD, np.array([5.0, 5.0]) + PERIOD * SPEED).all()


def test_a_slow_driver_is_no_row_of_gaps():
    velocity = DerivedVelocity(T, period=0.1)
    for k in range(20):
        v = velocity.update(0.1 * k, 0.1 * k * SPEED)
    np.testing.assert_allclose(v, SPEED, rtol=1e-3)


def test_noise_of_the_positions_is_filtered(rng):
    times, noise = np.arange(0.0, 2.0, PERIOD), 1e-4
    v = fed(DerivedVelocity(T, PERIOD), times, noise * rng.normal(size=(len(times), 2)))
    plain = np.sqrt(2.0) * noise / PERIOD
    assert v[100:].std() < 0.2 * plain


def test_the_delay_counts_in_the_stiffness_bound_and_in_the_notes():
    kin = RobotModel.of(UR5).at(np.array(UR5.home))
    bounds = []
    for robot in (UR5, with_filter(0.005), with_filter(0.02)):
        running = RunningLaw(robot, "joint_impedance")
        usual = running_delay(RunningLaw(UR5, "joint_impedance"))
        assert running_delay(running) == usual + robot.profile.velocity_delay
        bounds.append(stiffness_bound(running, kin).values.min())
    assert all(stiff > soft for stiff, soft in itertools.pairwise(bounds))
    assert UR5.profile.velocity_delay == 0.0
    assert UR5.profile.all_notes == list(UR5.profile.notes)
    assert len(with_filter(0.01).profile.all_notes) == len(UR5.profile.notes) + 1
