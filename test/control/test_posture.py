"""The null space of an arm with seven joints is moved, while the tip stays where it is."""

import numpy as np
import pytest
from refusals import refuses

from robot_control_ros.control.controller import set_posture
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.in_process import lockstep
from robot_control_ros.simulation.mujoco_plant import MujocoPlant

pytestmark = pytest.mark.sim
pytest.importorskip("mujoco")

GEN3 = load_robot("gen3").at_rate(500.0)
HOME = np.array(GEN3.home)
ELBOW = "forearm_link"


def with_elbow_aside():
    """Joint angles at home's pose, with the elbow turned to one side."""
    model = RobotModel.of(GEN3)
    pose = model.at(HOME).pose
    q = HOME.copy()
    for _ in range(400):
        kin = model.at(q)
        null = np.linalg.svd(kin.jacobian)[2][-1]
        q = q + 0.001 * null * np.sign(null[0])
        error = model.at(q).pose[:3, 3] - pose[:3, 3]
        q = q - np.linalg.pinv(kin.jacobian) @ np.concatenate((error, np.zeros(3)))
    return q


def run(law, gains, goal, seconds=8.0):
    """Loop, and the largest distance of the tip from where it began [m]."""
    plant = MujocoPlant(GEN3)
    loop = ControlLoop(GEN3, law, gains)
    away = []
    for number, (_, kin, _) in enumerate(lockstep(plant, loop, round(seconds * 500.0))):
        if number == 50:
            start = kin.pose[:3, 3].copy()
            set_posture(loop, goal)
        if number > 50:
            away.append(np.linalg.norm(kin.pose[:3, 3] - start))
    return loop, max(away)


@pytest.mark.parametrize(
    ("law", "gains"),
    [
        ("joint_impedance", {}),
        ("joint_pid", {}),
        ("impedance", {"posture_stiffness": 20.0}),
        ("impedance", {"posture_stiffness": [40.0, 40.0, 40.0, 20.0, 5.0, 5.0, 5.0]}),
        ("admittance", {}),
    ],
)
def test_the_elbow_goes_aside_and_the_tip_stays(law, gains):
    goal = with_elbow_aside()
    assert np.abs(goal - HOME).max() > 0.1
    loop, away = run(law, gains, goal)
    assert loop.fault == ""
    assert away < 0.01
    assert np.abs(loop.state.q - goal).max() < 0.25 * np.abs(goal - HOME).max()


def test_a_law_that_holds_no_posture_and_an_arm_without_one_refuse():
    loop = ControlLoop(GEN3, "impedance")
    plant = MujocoPlant(GEN3)
    for _ in lockstep(plant, loop, 5):
        pass
    with refuses("impedance.posture_stiffness", 0.0):
        set_posture(loop, HOME)
    loop.running.gains.set({"posture_stiffness": 5.0})
    with refuses("joint goal"):
        set_posture(loop, HOME[:6])
    ur5 = load_robot("ur5").at_rate(500.0)
    six = ControlLoop(ur5, "joint_impedance")
    for _ in lockstep(MujocoPlant(ur5), six, 5):
        pass
    with refuses("joints", 6, 7):
        set_posture(six, np.array(ur5.home))


def test_after_a_move_of_the_joints_the_elbow_can_be_moved_and_not_during_it():
    goal = with_elbow_aside()
    loop = ControlLoop(GEN3, "joint_impedance")
    for number, _ in enumerate(lockstep(MujocoPlant(GEN3), loop, 5500)):
        if number == 50:
            loop.motion.move_joints_to(HOME + 0.05)
        if number == 60:
            with refuses("motion of the joints"):
                set_posture(loop, goal)
        if number == 1500:
            assert not loop.motion.is_moving()
            loop.motion.go_home()
        if number == 3000:
            assert not loop.motion.is_moving()
            set_posture(loop, goal)
    assert np.abs(loop.state.q - goal).max() < 0.25 * np.abs(goal - HOME).max()


def test_a_hold_ends_the_motion_of_the_elbow():
    goal = with_elbow_aside()
    plant = MujocoPlant(GEN3)
    loop = ControlLoop(GEN3, "joint_impedance")
    for number, _ in enumerate(lockstep(plant, loop, 1500)):
        if number == 50:
            set_posture(loop, goal)
        if number == 400:
            loop.motion.hold()
    assert not loop.motion.is_moving()
    assert loop.motion.posture is None
    assert np.abs(loop.state.q - goal).max() > 0.5 * np.abs(goal - HOME).max()
