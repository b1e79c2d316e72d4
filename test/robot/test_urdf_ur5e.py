"""What is particular to the UR5e's description and profiles."""

import numpy as np
import pytest
from arms import Chain

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.types import CommandMode
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

UR5E = load_robot("ur5e")
WRIST_3 = "wrist_3_link"


def test_frames_that_others_rely_on_are_there():
    frames = {"world", "base_link", "base", "flange", "ft_frame", "tool0", "tool0_controller"}
    assert frames <= set(RobotModel.of(UR5E).frames)


def test_tool_and_sensor_are_one_place():
    chain = Chain(UR5E.urdf())
    in_sensor = chain.relative("ft_frame", "tool0", {})
    # half a turn about x
    np.testing.assert_allclose(in_sensor, np.diag([1.0, -1.0, -1.0, 1.0]), rtol=0, atol=1e-12)
    np.testing.assert_allclose(chain.relative(WRIST_3, "tool0", {}), np.eye(4), rtol=0, atol=1e-12)


def test_the_frame_of_the_drivers_wrenches_is_the_tool_frame():
    np.testing.assert_allclose(
        Chain(UR5E.urdf()).relative("tool0", "tool0_controller", {}), np.eye(4), atol=1e-12
    )


def test_the_real_one_takes_torques_at_500_hz_and_compensates_gravity_itself():
    robot = load_robot("ur5e", "real")
    assert set(robot.profile.commands) == set(CommandMode)
    assert robot.period == pytest.approx(0.002)
    loop = ControlLoop(robot, "impedance")
    assert loop.running.gains.target.gravity == 0.0
    with pytest.raises(ConfigError, match=r"UR5e \(profile real\) compensates gravity itself"):
        loop.running.gains.set({"gravity": True})
