"""A guarded motion: the controller ends it in the cycle that sees the force, under each law."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")

from shaken_arms import DOWN, NO_WRENCH, Trial, wall

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.sensing.contact_detector import GUARD
from robot_control_ros.simulation.mujoco_plant import MujocoPlant

pytestmark = pytest.mark.sim
LIMIT = 5.0  # N
PEAK = 7.0  # N
SPEED = 0.02  # m/s
STIFF = 1e4  # N/m
GAP = 0.01  # m
WAY = 0.08  # m, of the target below
SECONDS = 4.0  # to the target
CONTACT = 2.0  # s, in which the wall is met and the guard has acted for a second
LAWS = ("impedance", "joint_impedance", "task_space_pd", "admittance", "position_domain_pd")


@dataclass
class Descent:
    """What has become of a descent: each cycle's force of the wall [N], and the loop at its end."""

    loop: object
    forces: list


def descend(
    law,
    robot="ur5e",
    reaction="brake",
    gap=GAP,
    guard=LIMIT,
    meanwhile=lambda loop, cycle: None,
    seconds=CONTACT,
):
    """Let a tip go down onto a wall, guarded."""
    forces = []
    obstacle = wall(STIFF, gap, robot=robot)

    def load(time, kin):
        wrench = obstacle(time, kin)
        forces.append(float(wrench[2]))
        return wrench

    def begin(loop, pose):
        fastest = loop.robot.tip_speed[0]
        loop.limits.set({"speed": SPEED / fastest})
        loop.contact.settings.set({"guard_force": guard, "guard_reaction": reaction})
        pose[:3, 3] += WAY * DOWN
        loop.motion.move_to(pose)

    trial = Trial(law, load=load, begin=begin, meanwhile=meanwhile, robot=robot)
    loop = trial.loop()
    trial.drive(loop, seconds)
    return Descent(loop, forces)


@pytest.mark.few(3)
@pytest.mark.parametrize("robot", ["ur5e", "gen3"])
@pytest.mark.parametrize("law", LAWS)
def test_the_motion_ends_in_the_cycle_that_sees_the_force(robot, law):
    """Onto 10 N/mm at 20 mm/s with a limit of 5 N, the arm presses with 7 N at most."""
    descent = descend(law, robot)
    contact = descent.loop.contact.found
    assert contact.detector == GUARD
    assert contact.size >= LIMIT
    assert descent.loop.contact.reaction == "brake"
    assert max(descent.forces) <= PEAK
    assert not descent.loop.motion.is_moving()


@pytest.mark.parametrize("law", ["impedance", "admittance"])
def test_a_retreat_lets_go(law):
    descent = descend(law, reaction="retreat")
    assert descent.loop.contact.found.detector == GUARD
    assert max(descent.forces) <= PEAK
    assert descent.forces[-1] < 0.2 * LIMIT


def test_an_arm_that_goes_on_tells_the_contact_and_presses():
    descent = descend("impedance", reaction="none")
    assert descent.loop.contact.found.detector == GUARD
    assert descent.loop.contact.reaction == ""
    assert descent.loop.contact.message == ""
    assert descent.forces[-1] > 2.0 * LIMIT


def test_in_free_air_a_guarded_motion_gets_to_its_goal():
    descent = descend("impedance", gap=1.0, seconds=SECONDS)
    assert descent.loop.contact.found is None
    assert np.linalg.norm(descent.loop.pose_error()[:3]) < 1e-3


def test_without_a_guard_the_arm_presses_on():
    descent = descend("impedance", guard=0.0)
    assert descent.loop.contact.found is None
    assert descent.forces[-1] > 2.0 * LIMIT


def test_a_guarded_motion_without_a_measured_force_ends_at_once():
    """The sensor falls silent on the way: nothing would end the motion."""
    robot = load_robot("ur5e")
    loop = ControlLoop(robot, "impedance")
    loop.contact.settings.set({"guard_force": LIMIT})
    plant = MujocoPlant(robot)
    plant.open()
    moving = []
    for cycle in range(300):
        state = plant.read()
        plant.write(loop.tick(replace(state, wrench=state.wrench if cycle < 200 else None)))
        moving.append(loop.motion.is_moving())
        if cycle == 0:
            pose = loop.tip().copy()
            pose[:3, 3] += WAY * DOWN
            loop.motion.move_to(pose)
    held = moving.index(False, 1)
    assert 200 <= held < 300
    assert not any(moving[held:])
    assert "guard_force" in loop.restart_reason


@pytest.mark.parametrize("name", ["ur5e", "gen3"])
@pytest.mark.parametrize("scale", [0.1, 0.5])
def test_a_move_keeps_its_fraction_of_the_speed(name, scale):
    """Of the tip and of the joints; also where it changes on the way."""
    robot = load_robot(name)
    speeds = []

    def begin(loop, pose):
        loop.limits.set({"speed": scale})
        pose[:3, 3] += 0.1 * DOWN
        loop.motion.move_to(pose)

    def meanwhile(loop, cycle):
        twist = loop.reference.twist
        speeds.append(0.0 if twist is None else float(np.linalg.norm(twist[:3])))

    Trial(
        "impedance", load=lambda time, kin: NO_WRENCH, begin=begin, meanwhile=meanwhile, robot=name
    ).run(2.0)
    assert max(speeds) <= scale * robot.tip_speed[0] * (1.0 + 1e-9)
    assert max(speeds) > 0.9 * scale * robot.tip_speed[0]
