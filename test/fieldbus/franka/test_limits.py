"""Commands that keep the robot's limits, as the robot counts them."""

import numpy as np
import pytest

from robot_control_ros.fieldbus.franka.limits import (
    ACCELERATION,
    BRAKE_ZONE,
    JERK,
    LOWER,
    MAX_TORQUE,
    MAX_VELOCITY,
    PERIOD,
    TORQUE_RATE,
    UPPER,
    braking_torque,
    limited_position,
    limited_torque,
    velocity_limits,
)

MIDDLE = (LOWER + UPPER) / 2.0


def test_in_the_middle_the_velocity_limits_are_the_largest():
    lowest, highest = velocity_limits(MIDDLE)
    np.testing.assert_allclose(highest, MAX_VELOCITY - 1e-3)
    np.testing.assert_allclose(lowest, -highest, rtol=0, atol=1e-12)


def test_the_velocity_limits_are_those_of_the_makers_formula():
    # joint 1 of libfranka's rate_limiting.h: min(2.62, max(0, -0.30 + sqrt(12.0 (2.7501 - q))))
    for q in (0.0, 2.0, 2.5, 2.7, 2.74):
        angles = MIDDLE.copy()
        angles[0] = q
        _, highest = velocity_limits(angles)
        expected = min(2.62, max(0.0, -0.30 + np.sqrt(12.0 * (2.7501 - q)))) - 1e-3
        assert highest[0] == pytest.approx(expected, abs=1e-12)


def test_at_and_beyond_the_end_no_joint_may_go_on():
    _, highest = velocity_limits(UPPER + 0.01)
    lowest, _ = velocity_limits(LOWER - 0.01)
    assert (highest <= 0.0).all()
    assert (lowest >= 0.0).all()


def test_a_slow_joint_isnt_braked(rng):
    for _ in range(50):
        q = rng.uniform(LOWER + 0.6, UPPER - 0.6)
        assert not braking_torque(q, rng.uniform(-0.2, 0.2, 7)).any()


def test_a_brake_only_takes_energy_and_is_the_whole_torque_at_the_limit(rng):
    for _ in range(500):
        q = rng.uniform(LOWER, UPPER)
        v = rng.uniform(-1.2, 1.2, 7) * MAX_VELOCITY
        torque = braking_torque(q, v)
        assert (torque * v <= 0.0).all()
        assert (np.abs(torque) <= MAX_TORQUE).all()
    _, highest = velocity_limits(MIDDLE)
    np.testing.assert_allclose(braking_torque(MIDDLE, highest), -MAX_TORQUE, rtol=1e-9)
    assert not braking_torque(MIDDLE, highest - BRAKE_ZONE * MAX_VELOCITY).any()


def test_whatever_is_wanted_the_robot_takes_the_torque(rng):
    sent = np.zeros(7)
    taken = np.zeros(7)
    for _ in range(2000):
        torque = limited_torque(rng.normal(scale=100.0, size=7), sent, taken)
        assert np.abs(torque - taken).max() <= 1000.0 * PERIOD
        assert (np.abs(torque) <= MAX_TORQUE).all()
        sent = torque
        if rng.random() > 0.2:  # one of five is lost on its way
            taken = torque


def test_the_torque_that_is_wanted_is_reached_at_the_largest_rate():
    torque = np.zeros(7)
    for _ in range(88):
        torque = limited_torque(np.full(7, 200.0), torque, torque)
    np.testing.assert_array_equal(torque, MAX_TORQUE)
    assert TORQUE_RATE < 1000.0


def follow(wanted, velocities, start=MIDDLE):
    """Positions (k, 7) that a robot takes, with the largest derivatives that it would count."""
    q, v, a = start.copy(), np.zeros(7), np.zeros(7)
    path, fastest, hardest = [], 0.0, 0.0
    for target, velocity in zip(wanted, velocities, strict=True):
        position = limited_position(target, velocity, q, v, a)
        new_v = (position - q) / PERIOD
        new_a = (new_v - v) / PERIOD
        fastest = max(fastest, float(np.abs(new_a).max()))
        hardest = max(hardest, float(np.abs(new_a - a).max()) / PERIOD)
        q, v, a = position, new_v, new_a
        path.append(q)
    return np.array(path), fastest, hardest


def test_a_jump_of_the_position_is_followed_within_the_limits_and_without_overshoot():
    target = MIDDLE + 0.05
    path, acceleration, jerk = follow([target] * 1500, [np.zeros(7)] * 1500)
    assert acceleration <= ACCELERATION + 1e-6
    assert jerk <= JERK + 1e-2
    np.testing.assert_allclose(path[-1], target, rtol=0, atol=1e-5)
    assert (path - target).max() < 1e-3


def test_a_smooth_motion_is_followed_without_lag():
    times = np.arange(0.0, 4.0, PERIOD)
    phase = 2.0 * np.pi * times / 4.0
    wanted = MIDDLE + 0.1 * (1.0 - np.cos(phase))[:, None]
    velocity = np.repeat((0.1 * 2.0 * np.pi / 4.0 * np.sin(phase))[:, None], 7, axis=1)
    path, _, jerk = follow(wanted, velocity)
    assert jerk <= JERK + 1e-2
    assert np.abs(path - wanted).max() < 1e-3


def test_random_positions_never_break_a_limit(rng):
    wanted = MIDDLE + np.cumsum(rng.normal(scale=3e-3, size=(3000, 7)), axis=0)
    wanted = np.clip(wanted, LOWER, UPPER)
    velocities = np.diff(wanted, axis=0, prepend=wanted[:1]) / PERIOD
    path, acceleration, jerk = follow(wanted, velocities)
    assert acceleration <= ACCELERATION + 1e-6
    assert jerk <= JERK + 1e-2
    assert (path > LOWER).all()
    assert (path < UPPER).all()
