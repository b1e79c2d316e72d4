"""Joints that move farther than they can: refused one by one, believed where they stay, and
never where they can.
"""

import numpy as np
import pytest
from arms import robot_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.sensing.derived_velocity import DerivedVelocity
from robot_control_ros.sensing.joint_jumps import CONFIRMED_AFTER, JointJumps

UR5 = load_robot("ur5")
MODEL = RobotModel.of(UR5)
PERIOD = UR5.period
HOME = np.array(UR5.home)
REST = np.zeros(6)
ELBOW = np.eye(6)[2]


def fed(jumps, time, q, v=REST):
    """Whether a sample is accepted."""
    try:
        jumps.check(time, q, v)
    except ConfigError:
        return False
    jumps.accept(time, q, v)
    return True


@pytest.fixture
def jumps():
    result = JointJumps(MODEL, PERIOD)
    result.accept(0.0, HOME, REST)
    return result


def test_a_joint_that_jumps_for_one_sample_is_refused_and_named(jumps):
    with refuses("elbow_joint") as refusal:
        jumps.check(PERIOD, HOME + 0.5 * ELBOW, REST)
    assert refusal.value.value == pytest.approx(0.5)
    assert 0.02 < refusal.value.bound < 0.05
    assert fed(jumps, 2 * PERIOD, HOME)
    assert not fed(jumps, 3 * PERIOD, HOME - 0.5 * ELBOW)


@pytest.mark.parametrize("name", robot_cases())
def test_at_twice_its_speed_limit_a_joint_is_believed_whatever_is_lost_or_late(name, rng):
    """The stamps differ from the times of the samples by 1 ms; one in five is lost, and 50
    ms of them at once.
    """
    robot = load_robot(name)
    model = RobotModel.of(robot)
    jumps = JointJumps(model, robot.period)
    v = 2.0 * model.limits.velocity
    kept = rng.random(400) < 0.8
    kept[200 : 200 + int(0.05 / robot.period)] = False
    for k in np.flatnonzero(kept):
        time = k * robot.period
        assert fed(jumps, time + rng.uniform(-0.001, 0.001), np.array(robot.home) + time * v, v)


def test_positions_that_are_read_for_every_fourth_sample_only_are_believed(jumps):
    v = MODEL.limits.velocity
    for k in range(1, 200):
        assert fed(jumps, k * PERIOD, HOME + 4 * (k // 4) * PERIOD * v, v)


def test_samples_without_new_time_let_the_joints_move_on(jumps):
    v = MODEL.limits.velocity
    for _ in range(20):
        jumps.pass_over()
    assert fed(jumps, PERIOD, HOME + 21 * PERIOD * v, v)


def test_after_a_gap_a_joint_may_be_anywhere(jumps):
    assert fed(jumps, 0.11, HOME + 2.0)


def test_a_clock_that_goes_back_is_no_jump(jumps):
    assert fed(jumps, -5.0, HOME + 2.0)


def test_a_joint_without_end_may_jump_by_turns_and_no_other():
    robot = load_robot("gen3")
    model = RobotModel.of(robot)
    q, turn = np.array(robot.home), 2.0 * np.pi * np.ones(robot.n)
    for joint in range(robot.n):
        jumps = JointJumps(model, robot.period)
        jumps.accept(0.0, q, np.zeros(robot.n))
        moved = q + turn * np.eye(robot.n)[joint]
        assert fed(jumps, robot.period, moved, np.zeros(robot.n)) == model.cyclic[joint]
    assert model.cyclic.any()


def test_joints_that_jump_and_stay_are_believed_after_a_time(jumps):
    for k in range(1, 100):
        try:
            reason = jumps.check(k * PERIOD, HOME + 0.5 * ELBOW, REST)
        except ConfigError:
            continue
        break
    assert "elbow_joint" in reason
    assert k * PERIOD == pytest.approx(PERIOD + CONFIRMED_AFTER, abs=1.5 * PERIOD)


def test_the_same_sample_again_confirms_nothing(jumps):
    for _ in range(100):
        with pytest.raises(ConfigError):
            jumps.check(PERIOD, HOME + 0.5 * ELBOW, REST)


def test_joints_that_jump_here_and_there_are_not_confirmed(jumps):
    for k in range(1, 20):
        assert not fed(jumps, k * PERIOD, HOME + (0.9 + 0.5 * (k % 2)) * ELBOW)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(-3.0, 3.0), min_size=100, max_size=100))
def test_nothing_is_refused_for_ever(places):
    jumps = JointJumps(MODEL, PERIOD)
    jumps.accept(0.0, HOME, REST)
    assert any(
        fed(jumps, k * PERIOD, HOME + place * ELBOW) for k, place in enumerate(places, start=1)
    )


@pytest.mark.parametrize("glitch", [0.04, 0.5, -2.0])
def test_a_derived_velocity_does_not_know_of_a_sample_that_is_refused(glitch):
    velocity, plain = (DerivedVelocity(0.01, PERIOD, JointJumps(MODEL, PERIOD)) for _ in range(2))
    for k in range(100):
        time, q = k * PERIOD, HOME + 0.5 * k * PERIOD
        if k == 50:
            before = velocity.update(time - PERIOD / 2, q + glitch * ELBOW)
            assert before == pytest.approx(0.5 * np.ones(6), rel=0.01)
        assert np.array_equal(velocity.update(time, q), plain.update(time, q))


def test_a_derived_velocity_begins_at_rest_where_the_joints_have_jumped_to():
    velocity = DerivedVelocity(0.01, PERIOD, JointJumps(MODEL, PERIOD))
    for k in range(100):
        v = velocity.update(k * PERIOD, HOME + 0.5 * ELBOW * (k >= 50))
        assert not v.any()
