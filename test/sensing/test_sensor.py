"""Sensors of the user's own: loaded, read, silent, refused; in a law, in the record, in a replay."""

import math
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

from robot_control_ros.control.law_replay import Replay
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.cycle import SENSORS
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.gains import gain
from robot_control_ros.core.types import Command, CommandMode, RobotState
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.sensing.sensor import SensorReadings, SensorValue

HERE = __name__
PERIOD = 0.002


class Distance:
    topic = "distance"
    message = "sensor_msgs/msg/Range"
    values = (SensorValue("distance", "m", "Distance from the tip to the surface."),)
    timeout = 0.2

    def read(self, message):
        return [message.range]


class Pad:
    topic = "pad"
    message = "std_msgs/msg/Float64MultiArray"
    values = tuple(SensorValue(f"pad_{k}", "N", "Force on a cell.") for k in range(3))
    timeout = 1.0

    def read(self, message):
        return message.data


class Wide(Pad):
    values = tuple(SensorValue(f"wide_{k}", "N", "Force on a cell.") for k in range(SENSORS))


class NoTopic:
    message = "std_msgs/msg/Float64"
    values = ()
    timeout = 1.0

    def read(self, message):
        return ()


class NeverLate(Pad):
    timeout = math.inf


class Away:
    """A law whose torque on the last joint is the distance, in N·m per m."""

    @dataclass(frozen=True)
    class Gains:
        factor: float = gain(1.0, upper=100.0, unit="N", doc="Torque per distance.")

    mode = CommandMode.EFFORT

    def __init__(self):
        self.terms = {}

    def reset(self, state, kin):
        pass

    def compute(self, state, kin, reference, gains, dt):
        away = np.zeros(len(state.q))
        if state.sensors is not None and not np.isnan(state.sensors[0]):
            away[-1] = gains.factor * state.sensors[0]
        self.terms = {"gravity": kin.gravity, "away": away}
        return Command(self.mode, kin.gravity + away)


def _of(*classes):
    return SensorReadings([f"{HERE}:{each.__name__}" for each in classes])


def test_each_number_has_its_place_until_its_sensor_is_silent():
    readings = _of(Distance, Pad)
    assert readings.names == ("distance", "pad_0", "pad_1", "pad_2")
    assert np.isnan(readings.at(0.0)).all()
    readings.take(1, SimpleNamespace(data=[1.0, 2.0, math.nan]), 10.0)
    readings.take(0, SimpleNamespace(range=0.5), 10.0)
    np.testing.assert_array_equal(readings.at(10.2), [0.5, 1.0, 2.0, math.nan])
    assert not readings.silent(10.2)
    np.testing.assert_array_equal(readings.at(10.3), [math.nan, 1.0, 2.0, math.nan])
    assert "distance" in readings.silent(10.3)
    assert "pad" in readings.silent(11.1)


@pytest.mark.parametrize(
    "data", [[1.0], [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, math.inf], ["a", "b", "c"], None]
)
def test_a_message_without_its_numbers_is_refused_and_the_last_ones_stay(data):
    readings = _of(Pad)
    readings.take(0, SimpleNamespace(data=[1.0, 2.0, 3.0]), 0.0)
    with pytest.raises(ConfigError) as error:
        readings.take(0, SimpleNamespace(data=data), 0.1)
    assert error.value.name == "pad"
    np.testing.assert_array_equal(readings.at(0.1), [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    "names",
    [
        ["distance"],
        ["no_such_module:Distance"],
        [f"{HERE}:NoSuchClass"],
        [f"{HERE}:NoTopic"],
        [f"{HERE}:NeverLate"],
        [f"{HERE}:Distance", f"{HERE}:Distance"],
        [f"{HERE}:Wide", f"{HERE}:Distance"],
    ],
)
def test_a_class_that_is_no_sensor_is_refused(names):
    with pytest.raises(ConfigError):
        SensorReadings(names)


def test_a_law_gets_the_numbers_and_a_record_replays_them():
    robot = load_robot("ur5")
    robot = replace(robot, profile=replace(robot.profile, sensors=(f"{HERE}:Distance",)))
    loop = ControlLoop(robot, f"{HERE}:Away")
    home = np.array(robot.home)
    still = np.zeros(robot.n)
    distances = [math.nan, 0.5, 0.25, 0.25]
    for k, distance in enumerate(distances):
        sensors = np.array([distance])
        loop.tick(RobotState(PERIOD * k, home, still, still, sensors=sensors))
    record = loop.recorder.last()
    np.testing.assert_array_equal(record["sensors"][:, 0], distances)
    assert np.isnan(record["sensors"][:, 1:]).all()
    away = record["asked"][:, -1] - loop.kin.gravity[-1]
    np.testing.assert_allclose(away, np.nan_to_num(distances), atol=1e-12)
    assert np.abs(Replay(loop.model).run(record).difference()).max() <= 1e-12
