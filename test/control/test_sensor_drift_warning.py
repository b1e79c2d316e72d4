"""A drifting force-torque sensor is told, with when it was zeroed last, under laws that use it."""

import math

import numpy as np
import pytest

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.types import CommandMode, RobotState, Wrench
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.sensing.wrench import DRIFTED, WrenchPipeline

RATE = 50.0  # Hz: ten minutes are 30,000 cycles
UR5E = 0.0134  # N/s: 4 N in 5 min
PRESSES = {"force": [0.0, 0.0, -10.0, 0.0, 0.0, 0.0], "force_axes": [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]}


class SensedArm:
    """An arm that follows position commands exactly and stands under torques, with a sensor
    that drifts along z.
    """

    def __init__(self, name, law, gains=None, drift=UR5E):
        self.robot = load_robot(name).at_rate(RATE)
        self.loop = ControlLoop(self.robot, law, gains)
        self.time = 0.0
        self.begin = self.loop.model.at(np.array(self.robot.home)).pose[:3, 3]
        self._q = np.array(self.robot.home)
        self._drift = drift
        self._random = np.random.default_rng(1)

    def go(self, seconds, regulated=None):
        """The first time of a warning [s], or None; `regulated` is a force along z that
        a contact keeps [N].
        """
        told = None
        for _ in range(round(seconds * RATE)):
            along = self._drift * self.time if regulated is None else regulated
            force = np.array([0.0, 0.0, along]) + 0.2 * self._random.normal(size=3)
            wrench = Wrench(force, np.zeros(3), self.robot.wrench_frame)
            still = np.zeros(self.robot.n)
            sent = self.loop.tick(RobotState(self.time, self._q, still, still, wrench))
            if sent.mode is CommandMode.POSITION:
                self._q = sent.values
            if (
                told is None
                and self.loop.wrench.drift_warning(self.time) == self.loop.warning != ""
            ):
                told = self.time
            self.time += 1.0 / RATE
        return told

    @property
    def moved(self):
        return float(np.linalg.norm(self.loop.model.at(self._q).pose[:3, 3] - self.begin))


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["ur5e", "gen3"])
def test_admittance_tells_a_drift_before_it_has_gone_far_and_not_after_a_zero(name):
    arm = SensedArm(name, "admittance")
    arm.loop.ringing.settings.set({"floor": 1.0})
    assert math.isnan(arm.loop.wrench.time_since_zero(arm.time))
    told = arm.go(100.0)
    assert told == pytest.approx(DRIFTED[0] / UR5E, rel=0.2)
    assert 0.0 < arm.moved < 0.01
    arm.loop.wrench.zero()
    assert arm.go(50.0) is None
    assert arm.loop.report().since_zero == pytest.approx(50.0, abs=0.1)
    assert arm.go(50.0) is not None


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["ur5e", "gen3"])
def test_force_control_tells_what_the_last_rest_has_shown(name):
    """In contact the measured force is the wanted one, whatever the sensor has drifted by."""
    arm = SensedArm(name, "force_control")
    assert arm.go(40.0) is None
    arm.loop.wrench.zero()
    zeroed = arm.time
    arm.loop.running.gains.set(PRESSES)
    told = arm.go(100.0, regulated=10.0)
    assert told - zeroed == pytest.approx(DRIFTED[0] / UR5E, rel=0.2)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["ur5e", "gen3"])
def test_without_a_rest_the_data_sheet_counts(name):
    arm = SensedArm(name, "force_control", PRESSES)
    assert arm.go(10.0, regulated=10.0) is None
    arm.loop.wrench.settings.set({"drift_force": 0.1})
    assert arm.go(5.0, regulated=10.0) is not None
    arm.loop.wrench.zero()
    assert arm.go(9.0, regulated=10.0) is None
    assert arm.go(5.0, regulated=10.0) is not None


def test_a_rest_without_drift_counts_more_than_the_data_sheet():
    arm = SensedArm("ur5e", "admittance", drift=0.0)
    arm.loop.wrench.settings.set({"drift_force": 0.02})
    assert arm.go(80.0) is None


def test_a_law_that_uses_no_wrench_tells_nothing():
    arm = SensedArm("ur5e", "impedance", drift=0.1)
    assert arm.go(60.0) is None
    assert arm.loop.wrench.drift_warning(arm.time) != ""
    assert arm.loop.warning == ""


def test_the_sensor_of_a_ur5e_has_its_drift_in_the_profile():
    settings = WrenchPipeline(load_robot("ur5e", "real").profile.wrench_settings).settings.current
    assert settings.drift_force == pytest.approx(UR5E)


def test_a_tare_from_outside_counts_as_a_zero():
    arm = SensedArm("ur5e", "admittance", drift=0.05)
    assert arm.go(40.0) is not None
    arm.loop.wrench.set_tare(np.array([0.0, 0.0, 2.0, 0.0, 0.0, 0.0]))
    arm.go(1.0)
    assert arm.loop.report().since_zero == pytest.approx(1.0, abs=0.05)
    assert arm.loop.wrench.drift_warning(arm.time) == ""
