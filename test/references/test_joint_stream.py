"""Chunks of joint angles, followed within limits: bounds at each sample, seams, and where it rests."""

import numpy as np
import pytest
from refusals import refuses

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.gains import ParameterSet
from robot_control_ros.references import JointChunk, JointStream, StreamSettings
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

UR5 = load_robot("ur5")
MODEL = RobotModel.of(UR5)
HOME = np.array(UR5.home)
SPEED = np.linspace(0.5, 1.5, 6)
ACCELERATION = 4.0 * SPEED
JERK = 40.0 * ACCELERATION
PERIOD = 0.002  # s


def stream(**settings):
    rest = np.zeros(6)
    limits = SPEED, ACCELERATION, JERK
    return JointStream(
        MODEL, HOME, rest, rest, 0.0, *limits, ParameterSet(StreamSettings, 0, settings)
    )


def follow(made, arriving, lasting, begin=0.0):
    """References at each sample; chunks (arrival, times, positions) arrive on the way."""
    waiting = list(arriving)
    references = []
    for t in np.arange(begin, lasting, PERIOD):
        while waiting and waiting[0][0] <= t:
            _, times, positions = waiting.pop(0)
            try:
                made.add(t, times - t, positions)
            except ConfigError:  # it came after a newer one
                continue
        references.append(made.sample(t))
    return references


def assert_within_limits(references):
    velocity = np.array([each.v for each in references])
    acceleration = np.array([each.a for each in references])
    assert (np.abs(velocity) <= 1.001 * SPEED).all()
    assert (np.abs(acceleration) <= (1.0 + 1e-9) * ACCELERATION).all()
    assert (np.abs(np.diff(acceleration, axis=0)) <= (1.0 + 1e-9) * JERK * PERIOD).all()


@pytest.mark.parametrize("seed", range(3))
def test_limits_are_kept_whatever_comes(seed):
    rng = np.random.default_rng(seed)
    arriving = []
    for arrival in np.arange(0.0, 1.5, 0.05):
        count = int(rng.integers(1, 6))
        times = arrival + rng.uniform(-0.1, 0.3) + np.cumsum(rng.uniform(0.01, 0.2, count))
        arriving.append((arrival, times, HOME + rng.uniform(-0.5, 0.5, (count, 6))))
    assert_within_limits(follow(stream(), arriving, 2.5))


def test_the_points_are_passed_the_delay_after_their_times():
    times = np.arange(0.0, 2.01, 0.1)
    turn = 0.2 * np.sin(times)[:, None] * np.ones(6)
    made = stream()
    references = follow(made, [(0.0, times, HOME + turn)], 2.0)
    for i, each in list(enumerate(references))[400:]:
        expected = HOME + 0.2 * np.sin(PERIOD * i - 0.12)
        # one sample, and what the filter takes from the amplitude at 1 rad/s
        assert np.abs(each.q - expected).max() < 0.2 * (PERIOD + 1.5 / 25.0**2) + 1e-4


def test_a_joint_at_its_limit_slows_the_others_down_so_that_the_way_is_straight():
    goal = HOME + np.linspace(0.1, 0.9, 6)
    references = follow(stream(), [(0.0, np.zeros(1), goal[None])], 4.0)
    assert_within_limits(references)
    shares = (np.array([each.q for each in references]) - HOME) / (goal - HOME)
    assert np.ptp(shares, axis=1).max() < 1e-9
    assert shares.max() < 1.0 + 1e-6
    assert np.abs(references[-1].q - goal).max() < 1e-6


def test_chunks_that_jump_back_at_each_seam_give_small_steps_of_velocity():
    """Ten times per second by 0.1 rad, forward with 1 rad/s in between."""
    times = np.arange(10) / 30.0
    made = stream()
    arriving = [(k / 10.0, k / 10.0 + times, HOME + times[:, None] * np.ones(6)) for k in range(30)]
    references = follow(made, arriving, 3.0)
    assert_within_limits(references)
    assert 0.0 < made.seam_step < 0.1
    assert 0.0 < made.seam_jerk <= 1.0 + 1e-9
    steps = np.abs(np.diff([each.v for each in references], axis=0)) / SPEED
    assert made.seam_step <= steps.max() + 1e-12


def test_a_policy_that_falls_silent_ends_in_a_stop_along_its_path():
    """On a straight way, at constant speed: the reference stays on it, and stops at its end."""
    times = np.arange(11) / 10.0
    direction = np.linspace(0.1, 0.3, 6)
    made = stream()
    references = follow(made, [(0.0, times, HOME + times[:, None] * direction)], 3.0)
    assert_within_limits(references)
    shares = (np.array([each.q for each in references]) - HOME) / direction
    assert np.ptp(shares, axis=1).max() < 1e-9
    assert shares.max() < 1.0 + 1e-4
    assert made.arrived
    assert not references[-1].v.any()


def test_a_first_point_that_comes_late_is_gone_to_in_the_time_until_then():
    """As ros2_controllers' joint_trajectory_controller does, for positions alone."""
    goal = HOME + 0.3
    times = np.array((2.0, 2.5))
    references = follow(stream(), [(0.0, times, np.array((goal, goal)))], 4.0)
    speed = np.array([each.v[0] for each in references])
    assert speed.max() < 2.0 * 0.3 / 2.0
    assert 0.1 < references[500].q[0] - HOME[0] < 0.2
    assert np.abs(references[-1].q - goal).max() < 1e-6


def test_what_is_past_or_out_of_order_is_refused_and_what_ran_goes_on():
    made = stream()
    goal = HOME + 0.1
    made.add(1.0, np.array((0.0, 0.2)), np.array((HOME, goal)))
    with refuses("begin", bound=1.0):
        made.add(1.01, np.array((-0.1, 0.2)), np.array((HOME, HOME)))
    with refuses("last point", bound=-0.12):
        made.add(2.0, np.array((-0.4, -0.2)), np.array((HOME, HOME)))
    with refuses("times"):
        made.add(2.0, np.array((0.2, 0.1)), np.array((HOME, HOME)))
    with refuses("positions"):
        made.add(2.0, np.array((0.1, 0.2)), np.array((HOME, HOME * np.nan)))
    references = follow(made, [], 4.0)
    assert np.abs(references[-1].q - goal).max() < 1e-6


def test_a_chunk_that_is_too_fast_is_reported_with_how_far_it_is_behind():
    made = stream()
    times = np.arange(0.0, 0.61, 0.1)
    follow(made, [(0.0, times, HOME + 3.0 * times[:, None] * np.ones(6))], 0.5)
    assert "behind" in made.message
    follow(made, [], 8.0, begin=0.5)
    assert made.message == ""


@pytest.mark.parametrize(
    ("times", "positions", "name"),
    [
        ((0.0, 0.0), np.zeros((2, 6)), "times"),
        ((0.0, np.nan), np.zeros((2, 6)), "times"),
        ((0.0, 0.1), np.full((2, 6), np.inf), "positions"),
        ((0.0, 0.1), np.zeros((1, 6)), "positions"),
        ((), np.zeros((0, 6)), "positions"),
    ],
)
def test_a_chunk_that_makes_no_sense_is_refused(times, positions, name):
    with refuses(name):
        JointChunk(np.array(times, dtype=float), positions)
