"""Which laws the tests of every law run over.

The environment variable ROBOT_CONTROL_LAWS adds laws of a user's own: package.module:Class, several
with spaces.
"""

import os

import numpy as np

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.gains import gain_specs
from robot_control_ros.core.types import RobotState, Wrench
from robot_control_ros.laws import law_class, law_names

LAWS = [*law_names(plugins=False), *os.environ.get("ROBOT_CONTROL_LAWS", "").split()]


def outputs(law):
    """The words of a law's gain `output`; None for a law without that choice."""
    return next(
        (spec.choices for spec in gain_specs(law_class(law).Gains) if spec.name == "output"),
        (None,),
    )


def has_target(law, robot):
    """Whether a target changes what a law commands an arm that stands still."""
    loop, home = ControlLoop(robot, law), np.array(robot.home)
    still = np.zeros(robot.n)
    wrench = Wrench(np.zeros(3), np.zeros(3), robot.wrench_frame)

    def command(step):
        return loop.tick(RobotState(step * robot.period, home, still, still, wrench)).values

    first = command(0)
    loop.motion.move_joints_to(home + 0.1)
    return any(not np.allclose(command(step), first, atol=1e-6) for step in range(1, 200))
