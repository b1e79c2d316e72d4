"""The joints' way of the last quarter of a second, whatever the rate that it came with."""

import numpy as np
import pytest

from robot_control_ros.core.remembered_path import AHEAD, REMEMBERED, RememberedPath


def sample_at(t):
    """Q, v and a (3, 2) of two joints, one of them a parabola and one at rest."""
    return np.array([[0.5 * t * t, 1.0], [t, 0.0], [1.0, 0.0]])


def remembered(rate, seconds=1.0):
    """A path that was given at a rate, until a time."""
    path = RememberedPath(2)
    times = np.arange(round(seconds * rate) + 1) / rate
    for t in times:
        path.remember(float(t), sample_at(t))
    return path, times


@pytest.mark.parametrize("rate", [10.0, 500.0, 1000.0, 4000.0, 10000.0])
def test_all_of_the_last_quarter_of_a_second_is_recalled_at_any_rate(rate):
    path, times = remembered(rate)
    for t in times[times >= times[-1] - REMEMBERED]:
        np.testing.assert_allclose(path(t), sample_at(t), rtol=0, atol=1e-12)
    before = times[times >= times[-1] - REMEMBERED][0]
    np.testing.assert_array_equal(path(-1.0), sample_at(before))


@pytest.mark.parametrize("rate", [10.0, 500.0, 10000.0])
def test_a_parabola_is_recalled_between_its_samples_and_beyond_the_last_one(rate):
    path, times = remembered(rate)
    end = times[-1]
    for t in np.random.default_rng(1).uniform(end - 0.5 * REMEMBERED, end + AHEAD, 100):
        np.testing.assert_allclose(path(t), sample_at(t), rtol=0, atol=1e-12)
    np.testing.assert_allclose(path(end + 1.0), sample_at(end + AHEAD), rtol=0, atol=1e-12)


def test_it_goes_on_over_a_change_of_the_rate():
    path, _ = remembered(500.0)
    for t in 1.0 + np.arange(1, 5001) / 20000.0:
        path.remember(float(t), sample_at(t))
    for t in np.linspace(1.0, 1.25, 50):
        np.testing.assert_allclose(path(t), sample_at(t), rtol=0, atol=1e-12)


def test_where_nothing_is_remembered_it_is_not_a_number():
    path, _ = remembered(500.0)
    path.clear()
    assert np.isnan(path(0.5)).all()
