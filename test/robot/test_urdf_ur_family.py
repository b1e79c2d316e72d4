"""What is particular to the arms of Universal Robots that one template makes from figures."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import xacro
from arms import Chain

from robot_control_ros.bringup.drivers import UR_TYPES
from robot_control_ros.core.types import CommandMode
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.files import share_directory
from robot_control_ros.robot.model import RobotModel

FOLDER = share_directory() / "urdf" / "ur_family"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))

every_arm = pytest.mark.parametrize("name", NAMES)


def canonical(text):
    return ElementTree.canonicalize(text, strip_text=True)


def test_each_set_of_figures_is_a_robot_that_the_driver_launches():
    assert {*NAMES, "ur5", "ur5e"} == set(UR_TYPES)


@every_arm
def test_the_description_is_what_the_template_makes_of_the_figures(name):
    template = str(FOLDER / "ur.urdf.xacro")
    made = xacro.process_file(template, mappings={"model": name}).toxml()
    assert canonical(made) == canonical(load_robot(name).urdf())


@every_arm
def test_frames_that_others_rely_on_are_there_and_tool_and_sensor_are_one_place(name):
    robot = load_robot(name)
    frames = {"world", "base_link", "base", "flange", "ft_frame", "tool0", "tool0_controller"}
    assert frames <= set(RobotModel.of(robot).frames)
    chain = Chain(robot.urdf())
    in_sensor = chain.relative("ft_frame", "tool0", {})
    # half a turn about x
    np.testing.assert_allclose(in_sensor, np.diag([1.0, -1.0, -1.0, 1.0]), rtol=0, atol=1e-12)
    for frame in ("wrist_3_link", "tool0_controller"):
        np.testing.assert_allclose(
            chain.relative(frame, "tool0", {}), np.eye(4), rtol=0, atol=1e-12
        )


@every_arm
def test_the_real_one_takes_torques_and_compensates_gravity_itself(name):
    profile = load_robot(name, "real").profile
    assert set(profile.commands) == set(CommandMode)
    assert profile.gravity_by_robot
    assert profile.start.endswith(f"ur_type:={name} robot_ip:=ADDRESS")
