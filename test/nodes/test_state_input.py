"""Which wrench is a new one: stamps, bytes, late copies, clocks that are set back."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from geometry_msgs.msg import WrenchStamped
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.nodes.controller.state_input import SET_BACK, StateInput
from robot_control_ros.robot.configuration import load_robot, robot_names
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.ros.messages import to_stamp

pytestmark = pytest.mark.ros

ROBOT = load_robot("ur5")
DT = 0.002
MAX_AGE = 0.1  # s, of a wrench, by default


@pytest.fixture(scope="module")
def model():
    return RobotModel.of(ROBOT)


class Sensor:
    """Joint states at 500 Hz, and a wrench before each of them."""

    def __init__(self, model, frozen_after=0.0):
        profile = replace(ROBOT.profile, wrench_frozen_after=frozen_after)
        self.input = StateInput(replace(ROBOT, profile=profile), model, lambda: 0.0)
        self.time, self.errors = 100.0, []

    def age(self, force=None, stamp=None, seconds=DT):
        """Age of the wrench after some time in which it came with a force and a stamp;
        None: it didn't come.
        """
        for _ in range(round(seconds / DT)):
            self.time += DT
            if force is not None:
                self._publish(force, self.time if stamp is None else stamp)
            message = JointState(
                name=list(ROBOT.joints), position=list(ROBOT.home), velocity=[0.0] * ROBOT.n
            )
            message.header.stamp = to_stamp(self.time)
            self.state = self.input.read(serialize_message(message), 0.0, True)
        return self.state.time - self.state.wrench.time

    def _publish(self, force, stamp):
        message = WrenchStamped()
        message.header.frame_id, message.header.stamp = "ft_frame", to_stamp(stamp)
        message.wrench.force.z = force
        try:
            self.input.on_wrench(message)
        except ConfigError as error:
            self.errors.append(error)

    @property
    def force(self):
        return float(self.state.wrench.force[2])


def test_a_new_stamp_makes_the_same_values_new(model):
    sensor = Sensor(model)
    assert sensor.age(8.0, seconds=1.0) < DT
    assert not sensor.errors


def test_the_same_stamp_again_and_again_grows_old_and_is_told(model):
    sensor = Sensor(model)
    sensor.age(8.0)
    assert sensor.age(8.0, stamp=sensor.time, seconds=1.0) > 0.9
    assert {error.name for error in sensor.errors} == {"wrench"}
    assert sensor.age(8.0) < DT


def test_newer_values_under_the_same_stamp_are_as_old_as_the_stamp(model):
    sensor = Sensor(model)
    sensor.age(8.0)
    assert sensor.age(9.0, stamp=sensor.time, seconds=0.05) == pytest.approx(0.05)
    assert sensor.force == 9.0


def test_without_a_stamp_values_must_change(model):
    sensor = Sensor(model)
    for k in range(100):
        assert sensor.age(8.0 + 0.01 * (k % 2), stamp=0.0) < DT
    assert not sensor.errors
    assert sensor.age(8.0, stamp=0.0, seconds=1.0) > 0.9
    assert sensor.errors


def test_the_same_values_under_new_stamps_grow_old_where_the_profile_says_so(model):
    sensor = Sensor(model, frozen_after=0.1)
    assert sensor.age(8.0, seconds=0.09) < DT
    assert sensor.age(8.0, seconds=1.0) > 0.9
    assert sensor.errors
    assert sensor.age(8.0 + 1e-12) < DT


def test_a_late_copy_is_dropped(model):
    sensor = Sensor(model)
    sensor.age(8.0, seconds=0.1)
    assert sensor.age(-99.0, stamp=sensor.time - 0.03) < 2.5 * DT
    assert sensor.force == 8.0
    assert not sensor.errors


def test_a_clock_that_was_set_back_is_followed(model):
    sensor = Sensor(model)
    sensor.age(8.0)
    assert sensor.age(7.0, stamp=sensor.time - 2.0 * SET_BACK) < DT
    assert sensor.force == 7.0


def test_a_sensor_with_a_clock_of_its_own_is_followed(model):
    sensor = Sensor(model)
    for k in range(100):
        assert sensor.age(8.0, stamp=1e6 + k * DT) < DT
    assert not sensor.errors


def test_a_simulation_that_begins_anew_has_a_new_wrench(model):
    sensor = Sensor(model)
    sensor.time = 0.2
    sensor.age(8.0, seconds=0.1)
    sensor.time = 0.0
    assert sensor.age(7.0, seconds=3 * DT) < DT
    assert sensor.force == 7.0


@pytest.mark.parametrize("name", [name for name in robot_names() if name.startswith("ur")])
def test_the_real_sensors_of_this_package_have_a_range_and_may_not_stand_still(name):
    profile = load_robot(name, "real").profile
    assert 0.0 < profile.wrench_frozen_after <= MAX_AGE
    assert 0.0 < profile.wrench["range_force"] <= 300.0
    assert np.isfinite(profile.wrench["range_torque"])
