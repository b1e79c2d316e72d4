"""What nodes make of joint states without velocities, of a driver with another clock, and of
joints in two messages.
"""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.nodes.controller.state_input import StateInput
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.ros.messages import to_stamp
from robot_control_ros.ros.robot_states import RobotStateReader

pytestmark = pytest.mark.ros

UR5 = load_robot("ur5")
FILTERED = replace(UR5, profile=replace(UR5.profile, velocity_filter=0.01))
SPEED = np.arange(1.0, 7.0) / 10.0  # rad/s
PERIOD = UR5.period


def joint_state(time, **parts):
    message = JointState(name=list(UR5.joints), position=(time * SPEED).tolist(), **parts)
    message.header.stamp = to_stamp(time)
    return message


@pytest.mark.parametrize("velocity", [[], [float("nan")] * 6])
def test_without_velocities_the_refusal_names_the_option(velocity):
    reader = RobotStateReader(UR5)
    message = joint_state(1.0, velocity=velocity)
    for read, data in (
        (reader.read, bytes(serialize_message(message))),
        (reader.read_message, message),
    ):
        with pytest.raises(ConfigError, match="velocity_filter") as refused:
            read(data)
        assert refused.value.name == "velocities"
    good = joint_state(1.0, velocity=[0.0] * 6)
    assert not reader.read(bytes(serialize_message(good))).v.any()
    with pytest.raises(ConfigError):
        reader.read(bytes(serialize_message(message)))


@pytest.mark.parametrize("velocity", [[], [float("nan")] * 6, [9.0] * 6, [1.0]])
def test_with_the_option_velocities_are_those_of_the_positions_whatever_is_sent(velocity):
    in_place, ordinary = RobotStateReader(FILTERED), RobotStateReader(FILTERED)
    for k in range(100):
        message = joint_state(k * PERIOD, velocity=velocity, effort=[2.0] * 6)
        state = in_place.read(bytes(serialize_message(message)))
        assert np.array_equal(state.v, ordinary.read_message(message).v)
        assert np.array_equal(state.effort, np.full(6, 2.0))
    np.testing.assert_allclose(state.v, SPEED, rtol=1e-6)


def test_joints_that_come_in_two_messages_are_refused_with_what_to_do():
    reader = RobotStateReader(UR5)
    message = joint_state(1.0, velocity=[0.0] * 6)
    message.name, message.position, message.velocity = (
        message.name[:4],
        message.position[:4],
        message.velocity[:4],
    )
    with pytest.raises(ConfigError, match="in one message") as refused:
        reader.read(bytes(serialize_message(message)))
    assert refused.value.name == UR5.joints[4]


class Driver:
    """Joint states to the controller's input, on a clock that only the test moves."""

    def __init__(self, robot, offset):
        self.time, self.offset = 1000.0, offset
        self.input = StateInput(robot, RobotModel.of(UR5), lambda: self.time)

    def send(self, delay):
        """The state of a message that came `delay` s after it was sent."""
        self.time += PERIOD
        message = joint_state(self.time - delay - self.offset, velocity=[0.0] * 6)
        return self.input.read(bytes(serialize_message(message)), self.time, True)


@pytest.mark.parametrize("offset", [0.3, 3.0, 59.0, -0.5])
def test_a_driver_s_clock_that_is_off_is_told_once_and_is_not_late(offset):
    driver = Driver(UR5, offset)
    assert max(driver.send(0.001).age for _ in range(500)) < 0.002
    assert driver.input.look()
    assert not driver.input.look()
    late = [driver.send(0.001 + 1e-4 * k).age for k in range(1000)]
    assert late[-1] == pytest.approx(0.1, abs=0.01)


def test_a_driver_that_keeps_our_time_is_not_told_of():
    driver = Driver(UR5, 0.0)
    for _ in range(100):
        driver.send(0.002)
    assert not driver.input.look()


def test_a_driver_that_is_frozen_is_found_where_velocities_are_derived():
    """Derived velocities fade, so that they change although nothing comes from the robot."""
    robot = replace(FILTERED, profile=replace(FILTERED.profile, frozen_after=0.05))
    given = StateInput(robot, RobotModel.of(UR5), lambda: 0.0)
    for k in range(20):
        given.read(bytes(serialize_message(joint_state(k * PERIOD))), k * PERIOD, True)
    frozen = joint_state(20 * PERIOD)

    def send(k):
        frozen.header.stamp = to_stamp(k * PERIOD)
        given.read(bytes(serialize_message(frozen)), k * PERIOD, True)

    for k in range(20, 40):
        send(k)
    with pytest.raises(ConfigError, match="same to the last bit"):
        send(60)
