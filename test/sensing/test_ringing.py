"""Ringing: an oscillation that doesn't decay is found and named; what decays, and what a hand does, is not."""

import numpy as np
import pytest

from robot_control_ros.sensing.ringing import EXTREMA, FLOOR, SPAN, RingingDetector

PERIOD = 0.002  # s
INERTIA = np.array([4.0, 0.25])  # kg·m²


def seen(signal, duration=2.0, inertia=INERTIA):
    """What a detector finds first in the velocity (n,) that a function of time gives; None for nothing."""
    detector = RingingDetector(inertia)
    times = np.arange(0.0, duration, PERIOD)
    return next((found for t in times if (found := detector.update(t, np.asarray(signal(t)))) is not None), None)


def sine(frequency, size, decay=0.0):
    """A velocity of the second joint, with its size [√J] and its decay per half turn."""
    speed = size / np.sqrt(INERTIA[1])
    return lambda t: (0.0, speed * (1.0 - decay) ** (2.0 * frequency * t) * np.sin(2.0 * np.pi * frequency * t))


@pytest.mark.parametrize("frequency", [6.0, 12.0, 40.0])
def test_what_does_not_decay_is_found_within_its_extrema_with_joint_and_frequency(frequency):
    found = seen(sine(frequency, 0.2))
    assert found.joint == 1
    assert found.frequency == pytest.approx(frequency, rel=0.1)
    assert found.time <= min((EXTREMA + 3) / (2.0 * frequency), SPAN + 1.5 / frequency)


@pytest.mark.parametrize("decay", [-0.1, 0.0, 0.05])
def test_growing_and_marginal_oscillations_are_found(decay):
    assert seen(sine(12.0, 0.2, decay), 0.6) is not None


@pytest.mark.parametrize(
    "signal",
    [
        sine(12.0, 0.2, decay=0.12),  # the fifth extremum after the first is at 0.53 of it
        sine(4.0, 1.0),  # a hand
        sine(12.0, 0.9 * FLOOR),
        lambda t: (np.clip(t, 0.0, 0.3), 0.5),  # a move that starts
        lambda t: (0.0, 1.0 if 0.5 < t < 0.6 else 0.0),  # a blow
    ],
)
def test_what_decays_a_hand_small_motion_moves_and_blows_are_none(signal):
    assert seen(signal) is None


def test_noise_of_an_encoder_is_none(rng):
    assert seen(lambda t: rng.normal(size=2) * 2e-3, 20.0) is None


def test_after_a_gap_it_begins_anew():
    detector, signal = RingingDetector(INERTIA), sine(12.0, 0.2)
    times = [t + (0.0 if t < 0.2 else 0.2) for t in np.arange(0.0, 0.4, PERIOD)]
    assert not any(detector.update(t, np.array(signal(t))) for t in times)


def test_the_margin_falls_with_each_extremum_in_a_row_and_comes_back_after_a_second():
    detector, signal, seen = RingingDetector(INERTIA), sine(12.0, 0.2), []
    for t in np.arange(0.0, 2.0, PERIOD):
        detector.update(t, np.array(signal(t) if t < 0.3 else (0.0, 0.0)))
        seen.append(detector.margin(t))
    falling = list(dict.fromkeys(seen))
    assert falling == pytest.approx([*np.arange(EXTREMA, -1, -1) / EXTREMA])
    assert seen[0] == seen[-1] == 1.0


def test_a_decaying_oscillation_never_takes_the_whole_margin():
    detector, signal = RingingDetector(INERTIA), sine(12.0, 0.5, decay=0.12)
    margins = []
    for t in np.arange(0.0, 1.0, PERIOD):
        detector.update(t, np.array(signal(t)))
        margins.append(detector.margin(t))
    assert 0.0 < min(margins) < 1.0


def test_after_an_alarm_it_takes_as_many_extrema_again():
    detector, signal = RingingDetector(INERTIA), sine(12.0, 0.2)
    times = [t for t in np.arange(0.0, 1.0, PERIOD) if detector.update(t, np.array(signal(t))) is not None]
    assert np.diff(times) == pytest.approx(EXTREMA / 24.0, abs=2.0 * PERIOD)


def test_the_floor_can_be_raised():
    detector, signal = RingingDetector(INERTIA, floor=0.3), sine(12.0, 0.2)
    assert not any(detector.update(t, np.array(signal(t))) for t in np.arange(0.0, 1.0, PERIOD))
