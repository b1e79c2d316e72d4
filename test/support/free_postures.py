"""Random postures in which a robot touches neither itself nor its cell: the simulated
arm collides there.
"""

from robot_control_ros.references.clearance import Clearance
from robot_control_ros.robot.model import RobotModel

APART = 0.005  # m


class FreePostures:
    """Draws postures of a robot."""

    def __init__(self, robot):
        self.model = RobotModel.of(robot)
        self._clearance = Clearance(robot, self.model)

    def draw(self, rng, lower, upper):
        """Joint angles (n,) between bounds [rad]."""
        while True:
            q = rng.uniform(lower, upper, self.model.n)
            pair = self._clearance.nearest(q)
            if pair is None or pair.distance >= APART:
                return q
