"""Another sensor's messages reach ~/state; in lockstep."""

import math

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from lockstep import LockstepRos
from ros_support import Controller, FakeRobot
from sensor_msgs.msg import Range
from std_msgs.msg import Float64MultiArray

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.ros.message_type import message_type
from robot_control_ros.ros.messages import read_blocks
from robot_control_ros.sensing.sensor import SensorValue

pytestmark = pytest.mark.ros
WRONG_TYPES = ("Range", "sensor_msgs/Range", "sensor_msgs/msg/Rang", "no_msgs/msg/Range", "", "//")


class Distance:
    topic = "distance"
    message = "sensor_msgs/msg/Range"
    values = (SensorValue("distance", "m", "Distance from the tip to the surface."),)
    timeout = 0.2

    def read(self, message):
        return [message.range]


def _robot(folder, sensor):
    path = folder / "sensing_ur5.yaml"
    path.write_text(
        "extends: ur5\nprofiles:\n  own:\n    rate: 500\n    commands: [effort]\n"
        f"    gravity_by_robot: false\n    sensors: ['{sensor}']\n"
    )
    return str(path)


@pytest.fixture
def ros(tmp_path):
    with LockstepRos(tmp_path) as made:
        yield made


def test_a_sensor_s_number_is_in_the_state_until_it_is_silent(ros, tmp_path):
    place = _robot(tmp_path, f"{__name__}:Distance")
    publisher = ros.publisher(Range, "distance")
    states = ros.subscribe(Float64MultiArray, "/controller/state")
    controller = Controller(ros, robot=place, profile="own", state_timeout=10.0)
    robot = FakeRobot(ros, load_robot(place, "own"))
    model = RobotModel.of(robot.robot)
    robot.begin(lambda q: model.at(q).gravity)

    def number():
        before = len(states)
        while len(states) == before:
            robot.exchange()
        return read_blocks(states.last)["sensors"][0]

    assert math.isnan(number())
    publisher.publish(Range(range=0.5))
    ros.until(lambda: number() == 0.5, "the distance")
    publisher.publish(Range(range=math.inf))  # refused: the last one stays
    assert number() == 0.5
    ros.until(lambda: math.isnan(number()), "the end of the distance")
    ros.until(lambda: controller.diagnosis()[2].get("further sensors"), "a word on the sensor")


def test_a_class_that_is_no_sensor_leaves_the_controller_unconfigured(ros, tmp_path):
    place = _robot(tmp_path, f"{__name__}:NoSuchClass")
    controller = Controller(ros, robot=place, profile="own", autostart=False)
    assert not controller.change("configure")


@pytest.mark.parametrize("name", WRONG_TYPES)
def test_a_type_of_messages_that_isn_t_there_is_refused(name):
    assert message_type("sensor_msgs/msg/Range") is Range
    with pytest.raises(ConfigError) as error:
        message_type(name)
    assert error.value.value == name
