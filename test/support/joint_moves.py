"""A move of the joints for the tests of what follows one."""

import numpy as np

from robot_control_ros.references.joint import joint_reference
from robot_control_ros.references.time_scaling import QuinticTimeScaling


class JointMove:
    """From rest at q0 (n,) at `time` to rest at `goal`, all joints together, the slowest at its
    limit `speed` (n,).
    """

    def __init__(self, model, q0, goal, time, speed):
        self._scaling = QuinticTimeScaling.within(1.0, 1.0 / (np.abs(goal - q0) / speed).max())
        self._model, self._q0, self._way, self._time = model, q0, goal - q0, time
        self.end = time + self._scaling.duration

    def path(self, t):
        s, speed, acceleration = self._scaling.at(t - self._time)
        return self._q0 + s * self._way, speed * self._way, acceleration * self._way

    def sample(self, t):
        return joint_reference(self._model, *self.path(t))
