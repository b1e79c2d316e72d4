"""Ringing: an oscillation that the controller feeds is found and named; one
that it brakes is not.
"""

import numpy as np
import pytest

from robot_control_ros.core.cycle import CYCLE, Cycles
from robot_control_ros.sensing.ringing import ARM, MARKS, RingingDetector, find_ringing

PERIOD = 0.002  # s
INERTIA = np.diag([4.0, 0.25])  # kg·m²
ROOT = np.sqrt(INERTIA[1, 1])
SIZE = 0.2  # √J
NONE = np.full(2, np.nan)


class Swing:
    """The second joint swings.

    Args:
        frequency: [Hz].
        size: at the start [√J].
        growth: of its size in a period, as a factor.
    """

    def __init__(self, frequency, size=SIZE, growth=1.0):
        self.turn = 2.0 * np.pi * frequency
        self.rate = np.log(growth) * frequency + 1j * self.turn
        self.size = size / ROOT

    def velocity(self, t):
        return np.array([0.0, (self.size * np.exp(self.rate * t)).imag])

    def inertial(self, t):
        """The torque that the motion of the arm takes: the mean of the last period."""
        return INERTIA @ (self.velocity(t) - self.velocity(t - PERIOD)) / PERIOD

    def damper(self, t, damping=2.0, late=0.0):
        return -damping * self.velocity(t - PERIOD / 2.0 - late)


def nothing(t):
    return NONE


def seen(velocity, torque, duration=3.0, floor=None, period=PERIOD):
    """What a detector finds first; None for nothing."""
    detector = RingingDetector(INERTIA)
    if floor is not None:
        detector.floor = floor
    times = np.arange(0.0, duration, period)
    found = (detector.update(t, np.asarray(velocity(t)), np.asarray(torque(t))) for t in times)
    return next((each for each in found if each is not None), None)


# --- what the controller feeds ---


@pytest.mark.parametrize("frequency", [1.5, 3.0, 6.0, 12.0, 40.0, 125.0])
@pytest.mark.parametrize("growth", [1.0, 1.2])
def test_what_the_controller_s_own_torque_keeps_up_is_found_with_joint_and_frequency(
    frequency, growth
):
    swing = Swing(frequency, growth=growth)
    found = seen(swing.velocity, swing.inertial)
    assert found.joint == 1
    assert found.frequency == pytest.approx(frequency, rel=0.15)
    assert found.time <= (MARKS + 2) / (2.0 * frequency) + 0.07


@pytest.mark.parametrize("frequency", [1.5, 3.0, 12.0])
def test_what_grows_fast_is_found_within_two_and_a_half_periods(frequency):
    swing = Swing(frequency, growth=3.0)
    assert seen(swing.velocity, swing.inertial).time <= 2.5 / frequency


def test_what_grows_in_contact_is_found_where_the_controller_pays_for_it():
    """A wall gives most of the torque; the controller's is small, and in
    phase with the velocity.
    """
    swing = Swing(20.0, growth=1.3)
    needed = 2.05 * np.log(1.3) * 20.0 * INERTIA[1, 1]  # N·m·s/rad
    assert seen(swing.velocity, lambda t: swing.damper(t, -needed)) is not None


@pytest.mark.parametrize("frequency", [6.0, 12.0])
def test_without_a_torque_what_grows_is_found(frequency):
    assert seen(Swing(frequency, growth=1.4).velocity, nothing).joint == 1


# --- what it doesn't ---


@pytest.mark.parametrize("frequency", [1.5, 3.0, 5.5, 12.0, 25.0, 60.0])
@pytest.mark.parametrize("growth", [1.0, 1.2])
def test_an_arm_that_is_shaken_and_brakes_does_not_ring(frequency, growth):
    swing = Swing(frequency, growth=growth)
    assert seen(swing.velocity, swing.damper) is None


@pytest.mark.parametrize("frequency", [5.5, 12.0, 25.0, 60.0])
def test_one_whose_damper_is_late_and_weak_does_not_ring(frequency):
    """Half a period late it feeds; but its torque is far too small to make the motion."""
    swing = Swing(frequency)
    late = 0.5 / frequency
    assert seen(swing.velocity, lambda t: swing.damper(t, late=late)) is None


def test_an_arm_that_is_shaken_and_gives_no_torque_does_not_ring():
    assert seen(Swing(12.0).velocity, lambda t: np.zeros(2)) is None


@pytest.mark.parametrize("frequency", [5.5, 12.0, 25.0])
def test_without_a_torque_what_lasts_does_not_ring(frequency):
    assert seen(Swing(frequency).velocity, nothing) is None


@pytest.mark.parametrize(
    "swing",
    [
        Swing(12.0, growth=0.8),
        Swing(12.0, size=0.01),
    ],
)
def test_what_decays_and_what_is_small_does_not_ring(swing):
    assert seen(swing.velocity, swing.inertial) is None


@pytest.mark.parametrize(
    "velocity",
    [
        lambda t: (np.clip(t, 0.0, 0.3), 0.5),  # a move that starts
        lambda t: (0.0, 1.0 if 0.5 < t < 0.6 else 0.0),  # a blow
    ],
)
def test_moves_and_blows_do_not_ring(velocity):
    assert seen(velocity, nothing) is None


@pytest.mark.parametrize("late", [1, 2, 4])
@pytest.mark.parametrize("known", [True, False])
def test_noise_of_velocities_does_not_ring(rng, late, known):
    noise = (0.2 if known else 0.005) * rng.normal(size=(10_000, 2))

    def at(t):
        return noise[round(t / PERIOD)]

    def answer(t):
        return -5.0 * at(max(t - late * PERIOD, 0.0)) if known else NONE

    assert seen(at, answer, 15.0) is None


def test_a_torque_that_is_no_number_for_a_while_is_not_known_then_and_counts_again_later():
    swing = Swing(12.0)

    def torque(t):
        return swing.inertial(t) + (np.array([0.0, np.nan]) if t < 0.2 else 0.0)

    assert seen(swing.velocity, torque).time > 0.4


# --- the record ---


def run(signals, cycles=1500, friction=-1):
    """Whether something is found in records; `signals` gives the fields of each by
    name, of its time [s].
    """
    detector = RingingDetector(INERTIA)
    detector.watch(ARM, True, friction)
    rows = Cycles(2)
    for k in range(cycles):
        rows.time[0] = k * PERIOD
        rows.jacobian[0] = np.eye(6, 2)
        for name, value in signals(k * PERIOD).items():
            getattr(rows, name)[0] = value
        if find_ringing(detector.rows, CYCLE.views(rows.rows[0], 2), 2) >= 0:
            return True
    return False


def with_weight(swing, t):
    weight = np.array([10.0, np.sin(3.0 * t)])
    return {"v": swing.velocity(t), "gravity": weight, "effort": weight + swing.inertial(t)}


def test_weight_is_no_torque_of_the_controller():
    swing = Swing(2.0)
    assert run(lambda t: with_weight(swing, t))
    assert not run(lambda t: with_weight(swing, t) | {"effort": with_weight(swing, t)["gravity"]})


@pytest.mark.few(1)
@pytest.mark.parametrize("frequency", [1.5, 6.0, 10.0])
def test_an_arm_that_follows_a_reference_that_swings_does_not_ring(frequency):
    swing = Swing(frequency)
    lagging = 0.9

    def sample(t):
        return with_weight(swing, t) | {"target_v": lagging * swing.velocity(t)}

    assert run(lambda t: with_weight(swing, t))
    assert not run(sample)


def test_what_a_law_follows_counts_in_place_of_the_reference():
    swing = Swing(3.0)
    still = {"target_v": np.zeros(2)}

    def sample(t):
        return with_weight(swing, t) | still | {"followed_v": swing.velocity(t)}

    assert run(lambda t: with_weight(swing, t) | still)
    assert not run(sample)


def test_the_tip_s_twist_and_a_pose_that_moves_are_references_too():
    swing = Swing(3.0)

    def twist(t):
        return with_weight(swing, t) | {"target_twist": np.append(swing.velocity(t), np.zeros(4))}

    def pose(t):
        place = np.eye(4)
        place[1, 3] = -swing.size / swing.turn * np.cos(swing.turn * t)
        return with_weight(swing, t) | {"target_pose": place}

    assert not run(twist)
    assert not run(pose)


def test_compensation_of_friction_does_not_count():
    swing = Swing(3.0)

    def sample(t):
        terms = np.zeros((12, 2))
        terms[7] = swing.inertial(t)
        return with_weight(swing, t) | {"terms": terms}

    assert run(sample)
    assert not run(sample, friction=7)


# --- the margin, and beginning anew ---


def test_after_a_gap_it_begins_anew():
    detector, swing = RingingDetector(INERTIA), Swing(12.0)
    for t in np.arange(0.0, 0.4, PERIOD):
        shifted = t + (0.0 if t < 0.2 else 0.2)
        assert detector.update(shifted, swing.velocity(t), swing.inertial(t)) is None


def test_the_margin_falls_with_each_half_period_and_comes_back_after_a_second():
    detector, swing, margins = RingingDetector(INERTIA), Swing(12.0), []
    for t in np.arange(0.0, 2.0, PERIOD):
        rings = t < 0.3
        detector.update(
            t,
            swing.velocity(t) if rings else np.zeros(2),
            swing.inertial(t) if rings else np.zeros(2),
        )
        margins.append(detector.margin(t))
    assert min(margins) == 0.0
    falling = margins[: margins.index(0.0) + 1]
    assert falling == sorted(falling, reverse=True)
    assert len(set(falling)) >= 4
    assert margins[0] == margins[-1] == 1.0


def test_after_an_alarm_it_takes_as_many_half_periods_again():
    detector, swing = RingingDetector(INERTIA), Swing(12.0)
    times = [
        t
        for t in np.arange(0.0, 1.5, PERIOD)
        if detector.update(t, swing.velocity(t), swing.inertial(t)) is not None
    ]
    assert np.diff(times) == pytest.approx(MARKS / 24.0, abs=1.0 / 24.0)


def test_the_floor_can_be_raised():
    swing = Swing(12.0)
    assert seen(swing.velocity, swing.inertial, floor=0.3) is None
