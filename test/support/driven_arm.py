"""A robot of the package under a loop, whose drives execute its positions or velocities exactly."""

import numpy as np

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.types import CommandMode, RobotState, Wrench
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel


class DrivenArm:
    """A robot whose drives execute positions or velocities exactly, and a wrench at its sensor."""

    def __init__(self, name, law, gains=None, q=None):
        self.robot = load_robot(name)
        self.model = RobotModel.of(self.robot)
        self.loop = ControlLoop(self.robot, law, gains, model=self.model)
        self.q = np.array(self.robot.home) if q is None else q
        self.v = np.zeros(self.robot.n)
        self._cycle = 0

    def step(self, force=(0.0, 0.0, 0.0)):
        """One cycle under a force at the sensor (3,) [N]."""
        period = self.robot.period
        wrench = Wrench(np.array(force), np.zeros(3), self.robot.wrench_frame)
        state = RobotState(self._cycle * period, self.q, self.v, np.zeros(self.robot.n), wrench)
        sent = self.loop.tick(state)
        before = self.q
        self.q = before + period * sent.values if sent.mode is CommandMode.VELOCITY else sent.values
        self.v = (self.q - before) / period
        self._cycle += 1

    @property
    def tip_speed(self):
        return float(np.linalg.norm((self.model.at(self.q, self.v).jacobian @ self.v)[:3]))
