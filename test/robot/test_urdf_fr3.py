"""What is particular to the FR3's description and profiles."""

import numpy as np
import pytest
import yaml

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.types import CommandMode
from robot_control_ros.fieldbus.franka.limits import (
    LOWER,
    MAX_TORQUE,
    MAX_VELOCITY,
    TORQUE_RATE,
    UPPER,
)
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.files import read_config, share_directory
from robot_control_ros.robot.model import RobotModel

FR3 = load_robot("fr3")


def test_at_all_zeros_the_arm_is_upright_and_the_tool_points_down():
    pose = RobotModel.of(FR3).at(np.zeros(7)).pose
    height = 0.333 + 0.316 + 0.384 - 0.107  # the maker's table of Denavit-Hartenberg parameters
    np.testing.assert_allclose(pose[:3, 3], [0.088, 0.0, height], rtol=0, atol=1e-12)
    np.testing.assert_allclose(pose[:3, :3], np.diag([1.0, -1.0, -1.0]), rtol=0, atol=1e-12)


def test_home_has_the_tool_down():
    pose = RobotModel.of(FR3).at(np.array(FR3.home)).pose
    np.testing.assert_allclose(pose[:3, 2], [0.0, 0.0, -1.0], rtol=0, atol=1e-4)


def test_the_limits_are_within_those_that_the_robot_enforces():
    limits = RobotModel.of(FR3).limits
    np.testing.assert_array_equal(limits.effort, MAX_TORQUE)
    np.testing.assert_array_equal(limits.velocity, MAX_VELOCITY)
    assert (limits.lower >= LOWER).all()
    assert (limits.upper <= UPPER).all()
    assert max(FR3.effort_rate) < TORQUE_RATE


def test_by_the_makers_library_torques_go_at_1_khz_without_gravity():
    robot = load_robot("fr3", "franka")
    assert robot.period == pytest.approx(0.001)
    assert robot.profile.compensated_by_robot == ("gravity", "friction")
    assert ControlLoop(robot, "impedance").running.gains.target.gravity == 0.0
    assert CommandMode.VELOCITY not in robot.profile.commands


def test_the_profile_over_franka_ros2_has_the_names_of_its_driver():
    driver = read_config("driver", "franka_ros2")[1]
    profile = load_robot("fr3", "franka_ros2").profile
    assert f"/{profile.joint_states}" in driver["topics"]
    assert f"/{profile.controller_manager}" in driver["nodes"]
    assert profile.rate == driver["rates"]["fr3"]["rate"]
    assert profile.wrench_settings["convention"] == "by_robot"


def test_our_controllers_for_franka_ros2_fit_the_profile():
    path = share_directory() / "config/franka_ros2/controllers.yaml"
    sections = yaml.safe_load(path.read_text(encoding="utf-8"))["/**"]
    manager = sections["controller_manager"]["ros__parameters"]
    profile = load_robot("fr3", "franka_ros2").profile
    assert manager["update_rate"] == profile.rate
    for mode in profile.commands:
        name = profile.controllers[mode]
        assert manager[name]["type"] == "forward_command_controller/ForwardCommandController"
        parameters = sections[name]["ros__parameters"]
        assert tuple(parameters["joints"]) == FR3.joints
        assert parameters["interface_name"] == mode.value
    driver = read_config("driver", "franka_ros2")[1]
    for name, row in driver["controllers"].items():
        assert manager[name]["type"] == row["type"]
    sensor = sections["force_torque_sensor_broadcaster"]["ros__parameters"]
    assert sensor["sensor_name"] in driver["sensors"]
    assert sensor["frame_id"] == FR3.tip
    assert profile.wrench_topic == "force_torque_sensor_broadcaster/wrench"
