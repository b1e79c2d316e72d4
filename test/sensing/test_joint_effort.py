"""What efforts look like: states of each kind with noise and friction, random arms; and what the
node makes of them.
"""

from dataclasses import replace

import numpy as np
import pytest
from arms import random_arm

from robot_control_ros.core.types import RobotState
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.sensing.joint_effort import MIN_GRAVITY, effort_kind, judge_effort

KINDS = {  # what a driver sends for joint torques
    "torque": lambda torque, gravity, constant: torque,
    "reversed_torque": lambda torque, gravity, constant: -torque,
    "torque_without_gravity": lambda torque, gravity, constant: torque - gravity,
    "current": lambda torque, gravity, constant: torque / constant,
}


def profile(kind, **changes):
    return replace(random_arm(1, 6).config().profile, joint_effort=kind, **changes)


def rest(rng):
    """Gravity (n,) of a random arm at a random posture, and the joints' torques with friction
    of up to 5 % of it.
    """
    model = random_arm(int(rng.integers(1000)), int(rng.integers(3, 8))).model()
    while (
        np.linalg.norm(gravity := model.at(rng.uniform(-3.0, 3.0, model.n)).gravity) < MIN_GRAVITY
    ):
        pass
    friction = rng.normal(size=model.n)
    friction *= 0.05 * rng.uniform() * np.linalg.norm(gravity) / np.linalg.norm(friction)
    return gravity, gravity + friction


def mean_of_noisy(sent, rng, samples=5):
    return (sent + 0.02 * np.abs(sent).max() * rng.normal(size=(samples, len(sent)))).mean(axis=0)


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_recognised_in_spite_of_friction_and_noise(kind, rng):
    for _ in range(100):
        gravity, torque = rest(rng)
        sent = KINDS[kind](torque, gravity, rng.uniform(6.0, 12.0))
        assert effort_kind(mean_of_noisy(sent, rng), gravity) == kind


@pytest.mark.parametrize("declared", KINDS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_declaration_is_told(kind, declared, rng):
    gravity, torque = rest(rng)
    found = judge_effort(profile(declared), KINDS[kind](torque, gravity, 9.0), gravity)
    assert (found.kind, found.expected) == (kind, kind == declared)


def test_a_torque_constant_is_checked_too(rng):
    gravity, torque = rest(rng)
    for factor, expected in ((1.0, True), (2.0, False)):
        given = profile("current", torque_constant=(9.0 * factor,) * len(gravity))
        assert judge_effort(given, torque / 9.0, gravity).expected is expected


def test_without_gravity_nothing_is_told():
    assert judge_effort(profile("torque"), np.ones(6), np.full(6, 0.1)) is None


def test_a_current_is_a_torque_only_with_its_constant():
    assert not profile("current").measures_torque
    constant = np.arange(1.0, 7.0)
    given = profile("current", torque_constant=tuple(constant))
    assert given.measures_torque
    np.testing.assert_array_equal(given.effort_factor, constant)


# --- the node ---


@pytest.mark.ros
@pytest.mark.parametrize("kind", KINDS)
def test_the_node_gives_the_law_whole_torques_whatever_is_sent(kind, rng):
    pytest.importorskip("rclpy")
    from rclpy.serialization import serialize_message
    from sensor_msgs.msg import JointState

    from robot_control_ros.nodes.controller.state_input import StateInput

    robot = load_robot("ur5e")
    constant = rng.uniform(6.0, 12.0, robot.n)
    changed = replace(robot.profile, joint_effort=kind, torque_constant=tuple(constant))
    robot = replace(robot, profile=changed)
    model = RobotModel.of(robot)
    q, torque = np.array(robot.home), rng.uniform(-20.0, 20.0, robot.n)
    sent = KINDS[kind](torque, model.at(q).gravity, constant)
    message = JointState(
        name=list(robot.joints), position=q, velocity=np.zeros(robot.n), effort=sent
    )
    states = StateInput(robot, model, lambda: 0.0)
    state = states.read(serialize_message(message), 0.0, True)
    np.testing.assert_allclose(state.effort, torque, rtol=0.0, atol=1e-12)
    np.testing.assert_array_equal(states.sent.effort, sent)


@pytest.mark.ros
def test_the_node_tells_once_after_seconds_at_rest():
    pytest.importorskip("rclpy")
    from robot_control_ros.nodes.controller.effort_check import SAMPLES, EffortCheck

    robot = load_robot("ur5e")
    model, q = RobotModel.of(robot), np.array(robot.home)
    gravity = model.at(q).gravity

    def warnings(effort, v=0.0):
        check = EffortCheck(robot, model)
        state = RobotState(0.0, q, np.full(robot.n, v), effort)
        return [check.look(state) for _ in range(3 * SAMPLES)], check.text

    told, text = warnings(gravity / 9.0)
    assert [bool(each) for each in told] == [count == SAMPLES - 1 for count in range(3 * SAMPLES)]
    assert text in told
    told, text = warnings(gravity)
    assert text
    assert not any(told)
    assert warnings(gravity / 9.0, v=0.1) == ([""] * 3 * SAMPLES, "")
