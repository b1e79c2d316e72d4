"""A tip that stands away from its target is told, with what holds it there."""

import re

import numpy as np
import pytest
from driven_arm import DrivenArm

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.types import RobotState
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

PushedArm = pytest.importorskip("pushed_arm").PushedArm
robots = pytest.mark.parametrize("name", ["ur5e", "gen3"])
SHOWN = (("ur5e", "impedance"), ("gen3", "joint_pid_effort"))  # the others are long
MOST_ON_THE_WAY = 2.25  # of tip_speed: the joints come back from behind it
FAR = np.array([0.85, 0.65, 0.4])  # m, within the workspace and beyond the reach of both


def torque_in(warning):
    """The torque [N·m] that a warning names."""
    found = re.search(r"([0-9.]+) N·m at (\w+)", warning)
    assert found, warning
    return float(found.group(1)), found.group(2)


def balanced(name, law, gains, moved):
    """A loop whose arm stands where it is put, moved joints (n,) [rad] away from the start."""
    robot = load_robot(name)
    loop = ControlLoop(robot, law, gains, model=RobotModel.of(robot))
    home = np.array(robot.home)
    for k in range(1500):
        q = home + min(k / 300.0, 1.0) * moved
        v = np.where(k < 300, moved / (300.0 * robot.period), 0.0)
        loop.tick(RobotState(k * robot.period, q, v, np.zeros(robot.n)))
    return loop


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "law"),
    [
        pytest.param(name, law, marks=() if (name, law) in SHOWN else pytest.mark.long)
        for name in ("ur5e", "gen3")
        for law in (
            "impedance",
            "task_space_pd",
            "joint_impedance",
            "joint_pid_effort",
            "force_control",
        )
    ],
)
def test_a_target_beyond_reach_is_told_by_laws_of_efforts(name, law):
    arm = PushedArm(name, law)
    arm.go(arm.loop.tick, 0.2)
    goal = arm.loop.tip()
    goal[:3, 3] = FAR
    arm.loop.motion.move_to(goal)
    arm.go(arm.loop.tick, 6.0)
    assert "reach" in arm.loop.warning or "blocked" in arm.loop.warning
    assert np.linalg.norm(arm.loop.pose_error()[:3]) > 0.1


@pytest.mark.few(2)
@robots
@pytest.mark.parametrize(
    ("law", "gains"),
    [("admittance", {}), ("joint_pid", {}), ("position_domain_pd", {"output": "position"})],
)
def test_a_target_beyond_reach_is_told_by_laws_of_positions_and_velocities(name, law, gains):
    arm = DrivenArm(name, law, gains)
    arm.step()
    goal = arm.loop.tip()
    goal[:3, 3] = FAR
    arm.loop.motion.move_to(goal)
    speeds = []
    for _ in range(round(6.0 / arm.robot.period)):
        arm.step()
        speeds.append(arm.tip_speed)
    assert "reach" in arm.loop.warning
    assert max(speeds) <= MOST_ON_THE_WAY * arm.robot.tip_speed[0]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "law", "link"),
    [
        ("ur5e", "impedance", "wrist_1_link"),
        ("ur5e", "joint_impedance", "wrist_1_link"),
        ("gen3", "joint_impedance", "forearm_link"),
    ],
)
def test_what_holds_a_tip_short_of_its_target_is_told_with_its_torque(name, law, link):
    """A force that no sensor sees; in balance the joint's torque is that of the force."""
    arm = PushedArm(name, law)
    force = np.array([0.0, 0.0, -30.0])
    arm.go(arm.loop.tick, 4.0, force, link)
    torque, joint = torque_in(arm.loop.warning)
    expected = np.abs(arm.model.link(link, arm.loop.kin.q)[1][:3].T @ force)
    assert torque == pytest.approx(expected[arm.robot.joints.index(joint)], rel=0.1)


@pytest.mark.few(1)
@robots
def test_at_its_target_and_where_a_law_leaves_the_tip_free_nothing_is_told(name):
    arm = PushedArm(name, "impedance")
    arm.go(arm.loop.tick, 2.0)
    assert arm.loop.warning == ""
    moved = np.zeros(arm.robot.n)
    moved[1] = 0.2
    assert balanced(name, "gravity_compensation", {}, moved).warning == ""
    free = balanced(name, "impedance", {"stiffness": [0.0] * 3 + [0.0] * 3}, moved)
    assert np.linalg.norm(free.pose_error()[:3]) > 0.05
    assert free.warning == ""


def test_a_wrench_that_is_measured_explains_what_it_displaces():
    arm = DrivenArm("ur5e", "admittance")
    for _ in range(2000):
        arm.step((0.0, 20.0, 0.0))
    assert np.linalg.norm(arm.loop.pose_error()[:3]) > 0.02
    assert arm.loop.warning == ""
