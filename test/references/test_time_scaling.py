"""Time scaling: where it begins and ends, that it is continuous, and that limits are kept and used.

Ways are compared with the integral of the speed, speeds with the integral of the acceleration.
"""

import math

import numpy as np
import pytest
from refusals import refuses

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.references import Chain, QuinticTimeScaling, Trapezoid

SCALINGS = {
    "trapezoid": Trapezoid(0.7, 0.25, 1.0),
    "triangle": Trapezoid(0.01, 0.25, 1.0),
    "trapezoid of given time": Trapezoid.lasting(1.9, 4.0),
    "triangle of given time": Trapezoid.lasting(1.9, 4.0, ramp=0.5),
    "quintic": QuinticTimeScaling(0.7, 3.0),
    "quintic within limits": QuinticTimeScaling.within(0.7, 0.25, 0.3),
    "chain": Chain(
        [Trapezoid(0.7, 0.25, 1.0), QuinticTimeScaling(0.2, 1.1), Trapezoid(0.01, 0.25, 1.0)],
        dwell=0.3,
    ),
    "chain of given time": Chain.shared([0.3, 1.0, 0.5], 4.0, Trapezoid.lasting),
}


@pytest.fixture(params=SCALINGS)
def scaling(request):
    return SCALINGS[request.param]


def test_a_scaling_rests_at_its_ends_before_and_after(scaling):
    for t in (-1.0, -1e-12, scaling.duration, scaling.duration + 1e-9, scaling.duration + 7.0):
        s, speed, acceleration = scaling.at(t)
        assert s == pytest.approx(0.0 if t < 0.0 else scaling.length, abs=1e-14)
        assert speed == pytest.approx(0.0, abs=1e-14)
        assert acceleration == pytest.approx(0.0, abs=1e-12)
    assert scaling.at(0.0)[0] == 0.0
    assert scaling.at(0.0)[1] == 0.0


def test_way_and_speed_are_the_integrals_of_speed_and_acceleration(scaling):
    times = np.linspace(-0.1, scaling.duration + 0.1, 50001)
    s, speed, acceleration = scaling.at(times)
    dt = times[1] - times[0]
    assert np.abs(dt * np.cumsum(speed) - s).max() <= dt * speed.max()
    # the jumps of the acceleration, four to a trapezoid, cost a step each
    assert (
        np.abs(dt * np.cumsum(acceleration) - speed).max() <= 4.0 * dt * np.abs(acceleration).max()
    )


def test_a_scaling_is_continuous_and_never_goes_back(scaling):
    times = np.linspace(-0.1, scaling.duration + 0.1, 100001)
    s, speed, acceleration = scaling.at(times)
    dt = times[1] - times[0]
    assert np.diff(s).min() >= -1e-15
    assert np.diff(s).max() <= speed.max() * dt * (1.0 + 1e-9) + 1e-15
    assert np.abs(np.diff(speed)).max() <= np.abs(acceleration).max() * dt * (1.0 + 1e-9)
    assert speed.min() >= -1e-15


def test_a_scaling_takes_many_times_at_once(scaling):
    times = np.linspace(-0.5, scaling.duration + 0.5, 60).reshape(3, 4, 5)
    together = scaling.at(times)
    for index in np.ndindex(times.shape):
        for one, many in zip(scaling.at(float(times[index])), together, strict=True):
            assert np.shape(one) == ()
            assert one == pytest.approx(many[index], rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("seed", range(20))
def test_a_trapezoid_keeps_its_limits_and_is_as_fast_as_they_allow(seed):
    """Bang-bang control: v/a up, v/a down and the rest at v; or 2 sqrt(L/a)
    where v isn't reached.
    """
    length, speed, acceleration = 10.0 ** np.random.default_rng(seed).uniform(-2.0, 1.0, 3)
    scaling = Trapezoid(length, speed, acceleration)
    if length >= speed**2 / acceleration:
        assert scaling.duration == pytest.approx(length / speed + speed / acceleration)
        assert scaling.speed == pytest.approx(speed)
    else:
        assert scaling.duration == pytest.approx(2.0 * math.sqrt(length / acceleration))
        assert scaling.speed == pytest.approx(math.sqrt(length * acceleration))
    _, speeds, accelerations = scaling.at(np.linspace(0.0, scaling.duration, 1001))
    assert speeds.max() == pytest.approx(scaling.speed, rel=1e-2)
    assert speeds.max() <= speed * (1.0 + 1e-12)
    assert set(np.abs(accelerations)) <= {0.0, acceleration}


def test_a_trapezoid_of_given_time_has_ramps_of_a_tenth_of_it():
    """As a formula: v = L / 0.9 T; a = v / 0.1 T; after a tenth v 0.1 T / 2 is gone, in the
    middle half of all.
    """
    scaling = Trapezoid.lasting(1.8, 4.0)
    assert scaling.duration == pytest.approx(4.0)
    assert scaling.ramp == pytest.approx(0.4)
    for t, expected in (
        (0.2, (0.5 * 1.25 * 0.2**2, 0.25, 1.25)),
        (0.4, (0.1, 0.5, 0.0)),
        (2.0, (0.9, 0.5, 0.0)),
        (3.6, (1.7, 0.5, None)),
        (3.8, (1.8 - 0.5 * 1.25 * 0.2**2, 0.25, -1.25)),
    ):
        for found, wanted in zip(scaling.at(t), expected, strict=True):
            assert wanted is None or found == pytest.approx(wanted, abs=1e-12)


def test_a_trapezoid_with_ramps_of_half_its_time_is_a_triangle():
    scaling = Trapezoid.lasting(1.0, 2.0, ramp=0.5)
    assert scaling.duration == pytest.approx(2.0)
    assert scaling.speed == pytest.approx(1.0)


def test_the_quintic_scaling_is_the_minimum_jerk_polynomial():
    scaling, polynomial = (
        QuinticTimeScaling(0.7, 3.0),
        0.7 * np.poly1d([6.0, -15.0, 10.0, 0.0, 0.0, 0.0]),
    )
    for t in np.linspace(-0.5, 3.5, 41):
        u = min(max(t / 3.0, 0.0), 1.0)
        for order, found in enumerate(scaling.at(t)):
            assert found == pytest.approx(
                (polynomial.deriv(order) if order else polynomial)(u) / 3.0**order, abs=1e-12
            )


@pytest.mark.parametrize(
    ("speed", "acceleration"),
    [(0.25, 10.0), (0.25, math.inf), (5.0, 0.4)],
    ids=["speed", "speed alone", "acceleration"],
)
def test_a_quintic_scaling_within_limits_keeps_both_and_reaches_one(speed, acceleration):
    scaling = QuinticTimeScaling.within(0.8, speed, acceleration)
    _, speeds, accelerations = scaling.at(np.linspace(0.0, scaling.duration, 20001))
    shares = speeds.max() / speed, np.abs(accelerations).max() / acceleration
    assert max(shares) == pytest.approx(1.0, abs=1e-6)


def test_a_trapezoid_is_never_slower_than_a_quintic_within_the_same_limits():
    for length in (0.01, 0.1, 1.0):
        assert (
            Trapezoid(length, 0.25, 1.0).duration
            < QuinticTimeScaling.within(length, 0.25, 1.0).duration
        )


def test_a_chain_shares_its_time_by_length_and_rests_between_and_while_it_dwells():
    chain = Chain.shared([0.5, 0.4, 0.5, 0.4], 4.0, dwell=0.3)
    assert chain.length == pytest.approx(1.8)
    assert chain.duration == pytest.approx(4.0 + 3 * 0.3)
    long, short = 4.0 * 0.5 / 1.8, 4.0 * 0.4 / 1.8
    begin = 0.0
    for done, length, time in (
        (0.0, 0.5, long),
        (0.5, 0.4, short),
        (0.9, 0.5, long),
        (1.4, 0.4, short),
    ):
        assert chain.at(begin + time / 2.0)[0] == pytest.approx(done + length / 2.0)
        assert chain.at(begin + time / 2.0)[1] == pytest.approx(15.0 / 8.0 * length / time)
        for rest in np.linspace(begin + time, begin + time + 0.3, 5):
            assert chain.at(rest) == pytest.approx((done + length, 0.0, 0.0), abs=1e-9)
        begin += time + 0.3


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_a_scaling_refuses_what_is_not_above_zero(bad):
    for at, name in enumerate(("length", "speed", "acceleration")):
        values = [1.0, 1.0, 1.0]
        values[at] = bad
        with refuses(name, bad, (0.0, math.inf)):
            Trapezoid(*values)
        if name != "acceleration" or bad != math.inf:
            with refuses(name, bad, (0.0, math.inf)):
                QuinticTimeScaling.within(*values)
    for make in (QuinticTimeScaling, Trapezoid.lasting):
        with refuses("duration", bad, (0.0, math.inf)):
            make(1.0, bad)
    dwell = -1.0 if bad == 0.0 else bad
    with refuses("dwell", dwell, (0.0, math.inf)):
        Chain([QuinticTimeScaling(1.0, 1.0)], dwell)


@pytest.mark.parametrize("ramp", [0.0, 0.51, -0.1, math.nan])
def test_a_trapezoid_refuses_ramps_that_do_not_fit_its_time(ramp):
    with refuses("ramp", ramp, (0.0, 0.5)):
        Trapezoid.lasting(1.0, 1.0, ramp)


def test_a_chain_of_nothing_is_refused():
    with pytest.raises(ConfigError, match="chain of 0 time scalings"):
        Chain([])
