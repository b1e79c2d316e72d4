"""A sensor's drift is found while the arm rests, and nothing else is taken for it."""

import numpy as np
import pytest

from robot_control_ros.sensing.sensor_drift import SHORTEST, TURNED, SensorDrift

PERIOD = 0.05  # s
Q = np.array([0.1, -0.2, 0.3])
STILL = np.zeros(3)
UR5E = np.array([0.0, 0.0, 0.0134, 0.0, 0.0, 0.0])  # 4 N in 5 min
NOISE = np.array([0.2, 0.2, 0.2, 0.005, 0.005, 0.005])


def watched(wrench, seconds, drift=None, begin=0.0, q=lambda time: Q, v=STILL):
    """The drift of a sensor after so many seconds, whose wrench (6,) is a function of the time."""
    drift = SensorDrift() if drift is None else drift
    for time in begin + PERIOD * np.arange(1, round(seconds / PERIOD) + 1):
        drift.add(float(time), q(time), v, wrench(time))
    return drift


def noisy(rng, rate=UR5E, bias=None):
    bias = rng.uniform(-20.0, 20.0, 6) if bias is None else bias
    return lambda time: bias + rate * time + NOISE * rng.normal(size=6)


def test_the_rate_is_found_whatever_the_bias(rng):
    for _ in range(5):
        rate = rng.choice([-1.0, 1.0], 6) * rng.uniform(0.01, 0.05, 6)
        found = watched(noisy(rng, rate), 60.0).rate
        np.testing.assert_allclose(found, rate, rtol=0.1, atol=0)


def test_that_of_a_ur5e_is_found_in_half_a_minute_and_exactly_in_five(rng):
    assert watched(noisy(rng), 1.1 * SHORTEST).rate[2] == pytest.approx(UR5E[2], rel=0.3)
    assert watched(noisy(rng), 300.0).rate[2] == pytest.approx(UR5E[2], rel=0.02)


def test_noise_has_no_rate():
    found = [
        watched(noisy(np.random.default_rng(seed), np.zeros(6)), 60.0).rate for seed in range(20)
    ]
    assert np.mean(np.array(found) != 0.0) <= 0.01


def test_before_the_first_rest_there_is_none(rng):
    assert watched(noisy(rng), 0.95 * SHORTEST).rate is None


def test_an_arm_that_moves_tells_nothing(rng):
    assert watched(noisy(rng), 100.0, v=np.array([0.0, 0.02, 0.0])).rate is None
    creeps = 1.2 * TURNED / SHORTEST
    assert watched(noisy(rng), 100.0, q=lambda time: Q + creeps * time).rate is None


@pytest.mark.parametrize("force", [1.0, 5.0])
def test_contacts_are_no_drift(rng, force):
    """Every 20 s something touches the sensor for 10 s."""
    free = noisy(rng, np.zeros(6))
    touched = np.array([0.0, force, 0.0, 0.0, 0.0, 0.0])
    assert watched(lambda time: free(time) + touched * (time % 20.0 > 10.0), 200.0).rate is None


def test_a_gap_begins_another_rest_and_the_last_rate_stays(rng):
    drift = watched(noisy(rng, bias=np.zeros(6)), 40.0)
    before = drift.rate
    watched(noisy(rng, np.zeros(6)), 20.0, drift, begin=41.0)
    assert np.array_equal(drift.rate, before)
    watched(noisy(rng, np.zeros(6)), 20.0, drift, begin=61.0)
    assert np.array_equal(drift.rate, before)  # the wrench made a step, and this rest is short
    drift.interrupt()
    watched(noisy(rng, np.zeros(6), np.zeros(6)), 60.0, drift, begin=81.0)
    assert abs(drift.rate[2]) < 0.1 * UR5E[2]


def test_a_sensor_that_drifts_less_with_time_is_followed(rng):
    """Time constant of 5 min: after an hour nothing is left of the first rate."""
    warm = lambda time: -4.0 * np.exp(-time / 300.0) * np.ones(6) + NOISE * rng.normal(size=6)  # noqa: E731
    drift = watched(warm, 60.0)
    assert drift.rate[0] == pytest.approx(0.0134, rel=0.3)
    watched(warm, 3600.0, drift, begin=60.0)
    assert abs(drift.rate[0]) < 1e-4
