"""What is particular to the UR5's description; what holds for every robot is in
test_every_robot.py.
"""

import numpy as np
from arms import Chain

from robot_control_ros.robot.model import RobotModel

TURN = 2 * np.pi


def test_limits_are_those_of_the_data_sheet(ur5_model):
    limits = ur5_model.limits
    assert limits.effort.tolist() == [150.0, 150.0, 150.0, 28.0, 28.0, 28.0]
    np.testing.assert_allclose(limits.velocity, np.pi, rtol=1e-15)
    np.testing.assert_allclose(limits.upper, [TURN, TURN, np.pi, TURN, TURN, TURN], rtol=1e-15)
    np.testing.assert_array_equal(limits.lower, -limits.upper)


def test_frames_that_others_rely_on_are_there(ur5):
    assert {"world", "base_link", "base", "flange", "ft_frame", "tool0"} <= set(
        RobotModel.of(ur5).frames
    )


def test_tool_and_sensor_are_one_place(ur5):
    in_sensor = Chain(ur5.urdf()).relative("ft_frame", "tool0", {})
    np.testing.assert_allclose(in_sensor[:3, 3], 0.0, rtol=0, atol=1e-12)
