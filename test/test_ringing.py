"""Ringing: an oscillation that doesn't decay is found and named; what decays, and what a hand does, is not."""

import numpy as np
import pytest

from robot_control_ros import Push, simulate
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.types import CommandMode, RobotState
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.laws.stiffness_bound import stiffness_bound
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.sensing.ringing import EXTREMA, FLOOR, SPAN, RingingDetector
from robot_control_ros.simulation.imperfections import CommandLine, Imperfections

PERIOD = 0.002  # s
INERTIA = np.array([4.0, 0.25])  # kg·m²
LONGEST = 0.45  # s after the disturbance, within which it must be found


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


# --- an arm whose torques come late ---

CASES = [
    ("ur5e", 0.016, (0.0, 0.0, 20.0)),
    ("gen3", 0.016, (0.0, 0.0, 20.0)),
    ("ur5", 0.016, (0.0, 20.0, 0.0)),
]


def pushed(name, delay, force, factor):
    """The log of an arm under impedance at a multiple of its largest stable stiffness, pushed for 0.1 s at 0.2 s."""
    robot = load_robot(name).at_rate(500.0)
    running = RunningLaw(robot, "impedance", {"stiffness": [1000.0] * 3 + [50.0] * 3})
    bound = stiffness_bound(running, RobotModel.of(robot).at(np.array(robot.home)), delay=delay)
    stiffness = np.diag(running.gains.target.stiffness) * bound.factor * factor
    late = Imperfections(name="late", commands=CommandLine(delay=delay))
    push = Push(force=force, start=0.2, duration=0.1)
    return robot, simulate(
        robot, "impedance", {"stiffness": stiffness}, duration=1.6, push=push, imperfections=late, rate=500.0
    )


def first_alarm(robot, log):
    model = RobotModel.of(robot)
    detector = RingingDetector(model.mass(np.array(robot.home)).diagonal())
    return next((found for t, v in zip(log.t, log.v, strict=True) if (found := detector.update(t, v))), None)


@pytest.mark.sim
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("name", "delay", "force"), CASES)
def test_an_arm_beyond_its_largest_stable_stiffness_is_told_in_time_and_one_at_half_of_it_is_not(name, delay, force):
    robot, log = pushed(name, delay, force, 1.5)
    found = first_alarm(robot, log)
    assert found is not None
    assert found.time - log.t[0] <= 0.2 + LONGEST
    assert first_alarm(*pushed(name, delay, force, 0.5)) is None


# --- in the loop ---


def test_the_loop_warns_with_joint_frequency_and_law_for_a_second_and_commands_the_same(rng):
    robot = load_robot("ur5").at_rate(500.0)
    loop = ControlLoop(robot, "impedance")
    home, warned = np.array(robot.home), []
    for k in range(1200):
        t = k * PERIOD
        shaken = 0.3 * np.sin(2.0 * np.pi * 10.0 * t) if t < 0.6 else 0.0
        loop.tick(RobotState(t, home, np.array([0.0, 0.0, shaken, 0.0, 0.0, 0.0]), np.zeros(6)))
        if "rings" in loop.warning:
            warned.append((t, loop.warning))
    times = [t for t, _ in warned]
    assert 0.2 < times[0] < 0.5
    assert 1.0 < times[-1] < 1.8
    assert "elbow_joint rings at 10 Hz" in warned[0][1]
    assert "impedance" in warned[0][1]
    assert loop.running.mode is CommandMode.EFFORT
    assert loop.fault == ""
