"""Behind ros2_control a robot may have a prefix, and stand elsewhere: description, controllers
and our nodes agree.
"""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import yaml

from robot_control_ros.bringup import SETUPS
from robot_control_ros.bringup.system import PACKAGE, LaunchFile
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

UR5 = load_robot("ur5")
pytestmark = pytest.mark.usefixtures("xacro_here")


def description(system):
    """The text that the state publisher is given."""
    return system.node("robot_state_publisher").parameters["robot_description"].text()


def controllers_file(system):
    """The file that the spawners give to their controllers, or else that of the manager."""
    arguments = system.node("spawn_joint_state_broadcaster").arguments
    return Path(arguments[arguments.index("--param-file") + 1])


def unprefixed(value):
    """The same without the prefix of names."""
    if isinstance(value, dict):
        return {key: unprefixed(each) for key, each in value.items()}
    if isinstance(value, list):
        return [unprefixed(each) for each in value]
    return value.removeprefix("left_") if isinstance(value, str) else value


@pytest.mark.parametrize("name", ["mock", "gazebo", "icube", "sim_ros2_control"])
def test_behind_ros2_control_a_prefix_is_at_all_joints_and_frames_alike(name):
    """In the description, at its hardware, in the file of the controllers,
    and for our own nodes.
    """
    plain, system = SETUPS[name].make(), SETUPS[name].make(prefix="left_")
    joints = [f"left_{joint}" for joint in UR5.joints]
    text = description(system)
    before, after = ElementTree.fromstring(description(plain)), ElementTree.fromstring(text)
    assert [joint.get("name") for joint in after.iterfind("ros2_control/joint")] == joints
    for path, attribute in (
        ("link", "name"),
        ("joint", "name"),
        ("joint/child", "link"),
        ("gazebo", "reference"),
    ):
        old, new = (
            [each.get(attribute) for each in root.iterfind(path)] for root in (before, after)
        )
        assert new == [each and (each if each == "world" else f"left_{each}") for each in old]
    assert RobotModel.of(load_robot("ur5", prefix="left_"), text).joints == tuple(joints)
    file = controllers_file(system)
    sections = yaml.safe_load(file.read_text(encoding="utf-8"))
    given = [each["ros__parameters"] for each in sections.values()]
    assert all(each["joints"] == joints for each in given if "joints" in each)
    assert [each["frame_id"] for each in given if "frame_id" in each] == ["left_ft_frame"]
    assert unprefixed(sections) == yaml.safe_load(
        controllers_file(plain).read_text(encoding="utf-8")
    )
    ours = [
        node
        for node in system.nodes()
        if node.package == PACKAGE and node.executable != "wait_active"
    ]
    assert ours
    assert {node.parameters["prefix"] for node in ours} == {"left_"}


def test_gazebos_sensor_keeps_its_name_and_its_frame_gets_the_prefix():
    root = ElementTree.fromstring(description(SETUPS["gazebo"].make(prefix="left_")))
    assert root.findtext("gazebo/sensor/gz_frame_id") == "left_ft_frame"
    names = {
        each.get("name")
        for path in ("ros2_control", "gazebo")
        for each in root.iterfind(f"{path}/sensor")
    }
    assert names == {"force_torque_sensor"}


def test_behind_ros2_control_an_arm_stands_where_its_file_says(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(
        "extends: ur5\nprefix: my_\nmount: [1.0, 0.0, 0.5, 0.0, 0.0, 0.0]\n", encoding="utf-8"
    )
    text = description(SETUPS["mock"].make(robot=str(path)))
    for given in (text, load_robot(str(path)).urdf()):
        (placed,) = [
            joint.find("origin").get("xyz")
            for joint in ElementTree.fromstring(given).iterfind("joint")
            if joint.find("parent").get("link") == "world"
        ]
        assert [float(each) for each in placed.split()] == [1.0, 0.0, 0.5]


def test_a_file_of_controllers_that_is_given_is_taken_as_it_is(tmp_path):
    file = tmp_path / "controllers.yaml"
    file.write_text("{}", encoding="utf-8")
    assert controllers_file(SETUPS["mock"].make(prefix="left_", controllers_file=str(file))) == file


def test_kinovas_driver_its_controllers_and_our_nodes_get_the_same_prefix():
    system = SETUPS["gen3"].make(robot_ip="192.168.1.10", prefix="left_")
    (driver,) = (part for part in system.parts if isinstance(part, LaunchFile))
    assert driver.arguments["prefix"] == "left_"
    file = Path(driver.arguments["controllers_file"])
    sections = yaml.safe_load(file.read_text(encoding="utf-8"))
    joints = [f"left_{joint}" for joint in load_robot("gen3").joints]
    assert sections["forward_position_controller"]["ros__parameters"]["joints"] == joints
    # ros2_kortex gives it no prefix
    assert sections["twist_controller"]["ros__parameters"]["joint"] == "tcp"
    assert {node.parameters["prefix"] for node in system.nodes()} == {"left_"}
