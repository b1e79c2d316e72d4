"""A sender's clock that is behind, ahead, drifts or is set, and samples that really come late."""

import numpy as np
import pytest

from robot_control_ros.sensing.sample_age import SampleAge

PERIOD, LINE = 0.002, 0.001  # s
STEADY = 50.0  # s, what the steady clock shows when the others show 1e9


def lates(count, *, offset=0.0, delay=lambda time: LINE, drift=0.0, age=None, begin=1e9):
    """How late samples are said to come.

    Args:
        count: of samples.
        offset: by which the sender's clock is behind [s].
        delay: of a sample, by the time since the begin [s].
        drift: by which the sender's clock is slow [s per s].
        age: what judges.
        begin: time of the first sample [s].
    """
    age = age or SampleAge()
    found = []
    for k in range(count):
        time = k * PERIOD
        arrival = begin + time + delay(time)
        found.append(
            age.late(begin + time * (1.0 - drift) - offset, arrival, arrival - 1e9 + STEADY)
        )
    return age, np.array(found)


@pytest.mark.parametrize("offset", [0.3, 5.0, 60.0, 3600.0, 1e6, -0.1, -5.0, -1e6])
def test_a_clock_that_is_always_off_makes_nothing_late(offset, rng):
    age, found = lates(3000, offset=offset, delay=lambda time: LINE + 2e-4 * rng.random())
    assert np.abs(found).max() < 0.003
    assert age.offset == pytest.approx(offset, abs=0.01)


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.06, 0.2])
def test_a_delay_that_a_line_may_have_is_one(delay):
    age, found = lates(1000, delay=lambda time: delay)
    np.testing.assert_allclose(found, delay, atol=1e-6)
    assert age.offset == 0.0


@pytest.mark.parametrize("offset", [0.0, 0.3, 20.0, -3.0])
@pytest.mark.parametrize("growth", [0.001, 0.01, 0.5])
def test_a_delay_that_grows_is_found_whatever_the_clock_shows(offset, growth):
    _, found = lates(5000, offset=offset, delay=lambda time: LINE + growth * time)
    least = 0.001 if offset == 0.0 else 0.0
    assert found[-1] > 0.7 * growth * 10.0 + 0.5 * least


def test_a_delay_that_comes_at_once_and_stays_is_found_for_minutes():
    _, found = lates(60_000, offset=2.0, delay=lambda time: LINE + 0.1 * (time > 1.0))
    assert found[-1] > 0.07


@pytest.mark.parametrize("offset", [0.0, 2.0])
@pytest.mark.parametrize("drift", [1e-4, -1e-4])
def test_a_clock_that_drifts_makes_nothing_late(offset, drift):
    _, found = lates(30_000, offset=offset, drift=drift)
    assert found.max() < 0.01 + (0.0 if offset else 0.001 + 1e-4 * 60.0)


@pytest.mark.parametrize("jump", [0.7, -0.7, 40.0, -40.0])
def test_a_sender_s_clock_that_is_set_makes_nothing_late(jump):
    age, _ = lates(500, offset=1.0)
    age, found = lates(500, offset=1.0 + jump, age=age, begin=1e9 + 1.0)
    assert found.max() < 0.003


@pytest.mark.parametrize("jump", [0.7, -0.7, 40.0])
def test_our_own_clock_that_is_set_makes_nothing_late(jump):
    age = SampleAge()
    for k in range(1000):
        steady = STEADY + k * PERIOD
        late = age.late(1e9 + k * PERIOD, 1e9 + k * PERIOD + LINE + jump * (k > 500), steady)
        assert late < 0.003


def test_stamps_of_another_time_are_not_judged():
    """They may be those of a simulation that pauses."""
    _, found = lates(1000, offset=1e9 - 100.0, delay=lambda time: LINE + 2.0 * (time > 1.0))
    assert not found.any()


def test_a_coarse_clock_of_a_simulation_makes_nothing_late():
    age = SampleAge()
    for k in range(1000):
        time = k * PERIOD
        assert age.late(time, 0.01 * (k // 5), STEADY + 3.0 * time) < 1e-9


def test_a_first_sample_that_waited_is_no_offset_for_long():
    _, found = lates(100, delay=lambda time: 0.4 if time == 0.0 else LINE)
    np.testing.assert_allclose(found[1:], LINE, atol=1e-5)
