"""A robot of the package in MuJoCo under a loop, whose tip somebody pushes."""

import numpy as np

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.mujoco_plant import MujocoPlant

NONE = np.zeros(3)


class PushedArm:
    """A robot under a law, and the place of its tip."""

    def __init__(self, name, law, gains=None, plant_robot=None):
        self.robot = load_robot(name)
        self.model = RobotModel.of(self.robot)
        self.plant = MujocoPlant(self.robot if plant_robot is None else plant_robot)
        self.loop = ControlLoop(self.robot, law, gains, model=self.model)

    @property
    def period(self):
        return self.robot.period

    def go(self, answer, seconds, force=NONE, link=""):
        """Tip positions (N, 3) and largest shares of the joints' speed limits (N,); `link` is
        pushed, or the tip.
        """
        places, shares = [], []
        for _ in range(round(seconds / self.period)):
            self.plant.push(link or self.robot.tip, force, NONE)
            state = self.plant.read()
            self.plant.write(answer(state))
            places.append(self.model.at(state.q).pose[:3, 3])
            shares.append(np.abs(state.v / self.model.limits.velocity).max())
        return np.array(places), np.array(shares)

    def speeds(self, places):
        """Of the tip [m/s], between its places (N, 3)."""
        return np.linalg.norm(np.diff(places, axis=0), axis=1) / self.period
