"""A joint's unit is that of its kind, in every message that names one."""

import numpy as np
import pytest
from descriptions import GOOD, joint, link, robot
from refusals import refuses

from robot_control_ros.control.payload_input import overload_at
from robot_control_ros.core.types import CommandMode
from robot_control_ros.references import JointPath
from robot_control_ros.robot.joint_units import SLIDING, TURNING, joint_units
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.trouble import find_trouble

URDF = robot(
    link("base"),
    joint("lift", "base", "carriage", "prismatic", axis="0 0 1"),
    link("carriage", GOOD),
    joint("turn", "carriage", "arm"),
    link("arm", GOOD),
)
MODEL = RobotModel(URDF, ("lift", "turn"), "base", "arm")


def test_a_joint_slides_or_turns():
    assert MODEL.slides.tolist() == [True, False]
    assert MODEL.limits.units == (SLIDING, TURNING)
    assert joint_units(True).of_command(CommandMode.EFFORT) == "N"
    assert joint_units(False).of_command(CommandMode.VELOCITY) == "rad/s"
    swapped = RobotModel(URDF, ("turn", "lift"), "base", "arm")
    assert swapped.slides.tolist() == [False, True]


@pytest.mark.parametrize(("joint", "unit"), [(0, "m"), (1, "rad")])
def test_a_position_beyond_the_limits_has_the_joints_unit(joint, unit):
    q = np.zeros(2)
    q[joint] = 9.0
    with refuses(MODEL.joints[joint], 9.0, (-2.0, 2.0)) as caught:
        MODEL.limits.check(MODEL.joints, q, "")
    assert f" 9 {unit}: " in str(caught.value)


def test_a_velocity_beyond_the_limit_has_it():
    with refuses("velocity of lift") as caught:
        JointPath(
            MODEL,
            np.zeros(2),
            np.array([0.0, 0.1]),
            np.array([[0.0, 0.0], [1.0, 0.0]]),
            None,
            0.0,
            MODEL.limits.velocity,
        )
    assert str(caught.value).endswith("3 m/s")


@pytest.mark.parametrize(("joint", "unit"), [(0, "m/s"), (1, "rad/s")])
def test_trouble_of_a_simulation_has_it(joint, unit):
    v = np.zeros((3, 2))
    v[1, joint] = 9.0
    flags = np.zeros((3, 2), dtype=bool)
    (trouble,) = find_trouble(
        MODEL.joints, np.arange(3.0), np.zeros((3, 2)), v, flags, ["", "", ""], MODEL.limits
    )
    assert trouble.value == 9.0
    assert f"9 {unit} " in trouble.message


def test_a_load_that_a_lift_can_not_hold_is_in_newtons():
    weak = RobotModel(URDF.replace('effort="50"', 'effort="5"'), ("lift", "turn"), "base", "arm")
    assert overload_at(weak.at(np.zeros(2))).endswith("5 N")
