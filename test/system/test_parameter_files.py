"""Parameters on command lines and in files, as ROS's own parser reads them: it is C, and is
called by a node only.
"""

import pytest
import yaml

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

import rclpy

from robot_control_ros.bringup import NodeSpec
from robot_control_ros.robot.files import share_directory

pytestmark = pytest.mark.ros

FORWARD = "forward_command_controller/ForwardCommandController"
VALUES = {
    "yes": True,
    "no": False,
    "count": 3,
    "negative": -0.5,
    "rate": 250.0,
    "small": 1e-6,
    "large": 1e20,
    "numbers": [1.0, 2.5],
    "text": "ur5",
    "law": "package.module:Class",
    "path": "/a folder/robot.yaml",
    "mapping": "a: b",
    "comment": "#1",
}


def node_of(ros, name, arguments):
    """A node that declares whatever its command line gives it."""
    given = {"automatically_declare_parameters_from_overrides": True, "use_global_arguments": False}
    return rclpy.create_node(name, context=ros.context, cli_args=arguments, **given)


def test_each_parameter_arrives_as_it_was_given(ros):
    node = node_of(ros, "any", NodeSpec("any", "any", VALUES).ros_arguments())
    for name, value in VALUES.items():
        found = node.get_parameter(name).value
        assert (list(found) if isinstance(value, list) else found) == value, name
        assert isinstance(value, list) or type(found) is type(value), name


def test_ros_reads_every_file_of_ros2_control(ros):
    """By the parser that ros2_control_node and Gazebo's plug-in use, and as a
    controller sees it.
    """
    files = sorted((share_directory() / "config/ros2_control").glob("*.yaml"))
    assert files
    for path in files:
        sections = yaml.safe_load(path.read_text(encoding="utf-8"))
        declared = sections["controller_manager"]["ros__parameters"]
        controllers = [
            key
            for key, each in declared.items()
            if isinstance(each, dict) and each["type"] == FORWARD
        ]
        assert controllers, path
        for name in controllers:
            node = node_of(ros, name, ["--ros-args", "--params-file", str(path)])
            seen = {key: node.get_parameter(key).value for key in ("joints", "interface_name")}
            assert seen == sections[name]["ros__parameters"], (path, name)
