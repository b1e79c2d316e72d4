"""What efforts of an arm at rest tell, with states from the model: to the doctor, and
while a controller runs.
"""

from dataclasses import replace

import numpy as np
import pytest

from robot_control_ros.core.types import RobotState
from robot_control_ros.nodes.controller.effort_check import SAMPLES, EffortCheck
from robot_control_ros.nodes.doctor.examination import contact_torque
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.robot.payload import Payload
from robot_control_ros.ros.effort_findings import AT_REST, MOVED, check_efforts
from robot_control_ros.ros.findings import Level, describe

OK, WARNING, ERROR = Level.OK, Level.WARNING, Level.ERROR
UR5 = load_robot("ur5")
MODEL = RobotModel.of(UR5)
HOME = np.array(UR5.home)
GRAVITY = MODEL.at(HOME).gravity
UPRIGHT = np.array([0.0, -np.pi / 2, 0.0, -np.pi / 2, 0.0, 0.0])  # where gravity needs no torque


def under(**changes):
    """The UR5 with some entries of its profile changed."""
    return replace(UR5, profile=replace(UR5.profile, **changes))


def at_rest(effort, count=10, v=0.0, q=HOME):
    return [RobotState(0.002 * i, q, np.full(6, v), np.array(effort)) for i in range(count)]


def test_torques_that_hold_the_arm_are_well():
    (found,) = check_efforts(UR5, MODEL, at_rest(GRAVITY))
    assert found.level is OK


@pytest.mark.parametrize(
    ("entry", "other"), [("torque", "reversed_torque"), ("reversed_torque", "torque")]
)
def test_torques_of_the_other_sign_are_an_error_that_names_the_entry(entry, other):
    robot = under(joint_effort=entry)
    (found,) = check_efforts(robot, MODEL, at_rest(GRAVITY if other == "torque" else -GRAVITY))
    assert found.level is ERROR
    assert found.advice == f"Set joint_effort: {other} in profile sim"


def test_the_sign_is_told_in_spite_of_friction():
    friction = np.array([0.0, 3.0, -3.0, 0.5, 0.5, 0.5])
    assert check_efforts(UR5, MODEL, at_rest(GRAVITY + friction))[0].level is OK
    assert check_efforts(UR5, MODEL, at_rest(friction - GRAVITY))[0].level is ERROR


@pytest.mark.parametrize("effort", [2.0 * GRAVITY, GRAVITY + 30.0])
def test_efforts_that_hold_no_weight_are_told(effort):
    (found,) = check_efforts(UR5, MODEL, at_rest(effort))
    assert found.level is WARNING
    assert "Are they torques?" in found.advice


def test_missing_efforts_are_told():
    (found,) = check_efforts(UR5, MODEL, at_rest(np.full(6, np.nan)))
    assert found.level is WARNING
    assert found.advice == "Set joint_effort: none in profile sim"


@pytest.mark.parametrize(
    ("effort", "kind"),
    [(np.zeros(6), "none"), (GRAVITY / 9.0, "current"), (0.03 * GRAVITY, "torque_without_gravity")],
)
def test_another_kind_of_effort_is_a_warning_that_names_the_entry(effort, kind):
    (found,) = check_efforts(UR5, MODEL, at_rest(effort))
    assert (found.level, found.advice) == (WARNING, f"Set joint_effort: {kind} in profile sim")
    if kind != "none":
        (found,) = check_efforts(under(joint_effort=kind), MODEL, at_rest(effort))
        assert found.level is OK


def test_a_wrong_torque_constant_is_told():
    assert (
        check_efforts(
            under(joint_effort="current", torque_constant=(9.0,) * 6), MODEL, at_rest(GRAVITY / 9.0)
        )[0].level
        is OK
    )
    (found,) = check_efforts(
        under(joint_effort="current", torque_constant=(4.0,) * 6), MODEL, at_rest(GRAVITY / 9.0)
    )
    assert (found.level, found.advice) == (WARNING, "Check torque_constant in profile sim")


def test_a_push_while_it_rests_does_not_count():
    pushed = [*at_rest(GRAVITY), *at_rest(GRAVITY + 60.0, 5, v=0.1)]
    (found,) = check_efforts(UR5, MODEL, pushed)
    assert found.level is OK


def test_nothing_is_said_of_a_robot_that_moves_nor_of_an_arm_without_weight():
    moving = [*at_rest(-GRAVITY, 4), *at_rest(-GRAVITY, 6, v=0.1)]
    assert check_efforts(UR5, MODEL, moving) == []
    upright = np.array([0.0, -np.pi / 2, 0.0, -np.pi / 2, 0.0, 0.0])
    assert np.linalg.norm(MODEL.at(upright).gravity) < 2.0
    assert check_efforts(UR5, MODEL, [RobotState(0.0, upright, np.zeros(6), np.zeros(6))]) == []


def test_the_sign_of_the_gen3_s_profile_is_that_of_the_vendor_s_torques():
    """At rest they are the negative of gravity: Kinova-kortex2_Gen3_G3L, issue 226."""
    robot = load_robot("gen3", "real")
    model = RobotModel.of(robot)
    sent = -model.at(np.array(robot.home)).gravity
    states = [RobotState(0.0, np.array(robot.home), np.zeros(7), sent)]
    (found,) = check_efforts(robot, model, states)
    assert found.level is OK


def test_states_at_another_posture_do_not_count():
    """Efforts of two postures have no gravity in common."""
    elsewhere = HOME + 10.0 * MOVED
    (found,) = check_efforts(UR5, MODEL, [*at_rest(-GRAVITY, 4, q=elsewhere), *at_rest(GRAVITY, 6)])
    assert found.level is OK
    assert (
        check_efforts(UR5, MODEL, [*at_rest(-GRAVITY, 6, q=elsewhere), *at_rest(GRAVITY, 4)]) == []
    )


# --- while a controller runs ---


def told(check, states):
    """The warnings of a check that looks at these states."""
    return [text for text in (check.look(state) for state in states) if text]


def test_the_running_check_tells_what_the_doctor_tells_and_once():
    robot = under(joint_effort="reversed_torque")
    check = EffortCheck(robot, MODEL)
    states = at_rest(GRAVITY, 3 * SAMPLES)
    assert told(check, states) == [describe(check_efforts(robot, MODEL, states))] == [check.text]
    assert "Set joint_effort: torque" in check.text


def test_the_running_check_says_in_diagnostics_that_all_is_well():
    check = EffortCheck(UR5, MODEL)
    assert told(check, at_rest(GRAVITY, SAMPLES)) == []
    assert check.text == describe(check_efforts(UR5, MODEL, at_rest(GRAVITY, SAMPLES))) != ""


def test_the_running_check_looks_on_where_gravity_is_small_and_where_the_arm_moves():
    check = EffortCheck(UR5, MODEL)
    assert told(check, at_rest(np.zeros(6), 2 * SAMPLES, q=UPRIGHT)) == []
    assert told(check, at_rest(-GRAVITY, 2 * SAMPLES, v=2.0 * AT_REST)) == []
    steps = [at_rest(-GRAVITY, 1, q=HOME + 2.0 * MOVED * step)[0] for step in range(2 * SAMPLES)]
    assert told(check, steps) == []
    assert check.text == ""
    assert len(told(check, at_rest(-GRAVITY, SAMPLES, q=steps[-1].q))) == 1


def test_the_running_check_counts_anew_at_another_posture():
    check = EffortCheck(UR5, MODEL)
    assert told(check, at_rest(-GRAVITY, SAMPLES - 1, q=HOME + 2.0 * MOVED)) == []
    assert told(check, at_rest(-GRAVITY, SAMPLES - 1)) == []
    assert len(told(check, at_rest(-GRAVITY, 1))) == 1


@pytest.mark.parametrize("kind", ["torque", "torque_without_gravity"])
def test_a_tilted_base_is_told_where_the_arm_is_alone(kind):
    """A base that is tilted by 11 degrees, and not in the description."""
    tilted = RobotModel.of(replace(UR5, mount=(0.0, 0.0, 0.0, 0.2, 0.0, 0.0))).at(HOME).gravity
    effort = tilted if kind == "torque" else tilted - GRAVITY
    robot = under(joint_effort=kind)
    first, second = check_efforts(robot, MODEL, at_rest(effort), alone=True)
    assert first.level is OK
    assert second.level is WARNING
    assert "roll 0.200, pitch 0.000" in second.text
    assert [each.level for each in check_efforts(robot, MODEL, at_rest(effort))] == [OK]
    assert [each.level for each in check_efforts(UR5, MODEL, at_rest(GRAVITY), alone=True)] == [OK]


def test_a_load_that_the_description_lacks_is_told():
    torque = MODEL.holding_torque(MODEL.at(HOME), Payload(1.0))
    _, found = check_efforts(UR5, MODEL, at_rest(torque), alone=True)
    assert found.level is WARNING
    assert "1.00 kg" in found.text


@pytest.mark.parametrize("height", [20.0, 60.0])
def test_the_torques_of_an_arm_that_presses_are_not_called_none(height):
    contact = MODEL.at(HOME).jacobian.T @ np.array([0.0, 10.0, height, 0.0, 0.0, 0.0])
    states = at_rest(GRAVITY - contact)
    assert check_efforts(UR5, MODEL, states)[0].level is not OK  # without the force
    (found,) = check_efforts(UR5, MODEL, states, contact=contact)
    assert found.level is OK


def test_a_wrong_sign_is_told_of_an_arm_that_presses_too():
    contact = MODEL.at(HOME).jacobian.T @ np.array([0.0, 0.0, 10.0, 0.0, 0.0, 0.0])
    robot = under(joint_effort="reversed_torque")
    (found,) = check_efforts(robot, MODEL, at_rest(GRAVITY - contact), contact=contact)
    assert found.level is ERROR


def test_the_contact_torque_is_that_of_the_wrench_in_the_sensor_s_frame():
    pose, jacobian = MODEL.link("ft_frame", HOME)
    force = np.array([3.0, -4.0, 12.0])  # in base axes
    wrench = np.concatenate((pose[:3, :3].T @ force, np.zeros(3)))
    torque = contact_torque(UR5, MODEL, wrench, "ft_frame", HOME)
    np.testing.assert_allclose(torque, jacobian[:3].T @ force, atol=1e-9)
    assert contact_torque(UR5, MODEL, wrench / 10.0, "ft_frame", HOME) is None  # free space
    assert contact_torque(UR5, MODEL, wrench, "nowhere", HOME) is None
    assert contact_torque(UR5, MODEL, np.full(6, np.nan), "ft_frame", HOME) is None
