"""What is particular to the Gen3's description and profiles."""

import numpy as np
import pytest

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

GEN3 = load_robot("gen3")


def test_at_all_zeros_the_arm_is_upright():
    pose = RobotModel.of(GEN3).at(np.zeros(7)).pose
    np.testing.assert_allclose(pose[:3, 3], [0.0, -0.0248596, 1.1873848], rtol=0, atol=5e-8)
    # The vendor's frames turn by 3.1416 and 1.5708 instead of pi and pi/2.
    np.testing.assert_allclose(pose[:3, :3], np.eye(3), rtol=0, atol=1e-5)


def test_every_other_joint_turns_without_end():
    model = RobotModel.of(GEN3)
    assert model.cyclic.tolist() == [True, False, True, False, True, False, True]
    assert np.isinf(model.limits.upper).tolist() == model.cyclic.tolist()
    assert model.limits.effort.tolist() == [39.0] * 4 + [9.0] * 3


def test_whole_turns_of_a_continuous_joint_change_nothing(rng):
    model = RobotModel.of(GEN3)
    turns = 2 * np.pi * np.array([1, 0, -2, 0, 3, 0, -1])
    q, v = rng.uniform(-2, 2, 7), rng.uniform(-1, 1, 7)
    near, far = model.at(q, v), model.at(q + turns, v)
    np.testing.assert_allclose(far.pose, near.pose, rtol=0, atol=1e-12)
    np.testing.assert_allclose(far.coriolis, near.coriolis, rtol=0, atol=1e-12)


def test_home_has_the_tool_down():
    pose = RobotModel.of(GEN3).at(np.array(GEN3.home)).pose
    np.testing.assert_allclose(pose[:3, 2], [0.0, 0.0, -1.0], rtol=0, atol=1e-3)


def test_the_real_one_takes_positions_only_and_says_the_way_out():
    robot = load_robot("gen3", "real")
    assert robot.period == pytest.approx(0.001)
    assert robot.profile.gravity_by_robot
    with pytest.raises(
        ConfigError, match=r"takes only: position\. .* use admittance or position_domain_pd"
    ):
        ControlLoop(robot, "impedance")


@pytest.mark.long
@pytest.mark.sim
def test_the_elbow_comes_to_rest_where_it_was_pushed_to():
    pytest.importorskip("mujoco")
    from robot_control_ros.simulation.in_process import Push, simulate

    push = Push((0.0, 10.0, 0.0), start=0.1, duration=0.5, link="forearm_link")
    log = simulate(GEN3, push=push, duration=4.0)
    undamped = simulate(GEN3, gains={"posture_damping": 0.0}, push=push, duration=4.0)
    assert abs(log.q[-1] - log.q[0]).max() > 0.1
    assert abs(log.pose_error[-1]).max() < 1e-6
    assert abs(log.v[log.t > 3.5]).max() < 1e-6
    assert abs(undamped.v[undamped.t > 3.5]).max() > 0.1
