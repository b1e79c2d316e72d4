"""A simulated arm collides with itself and its cell, and not where its links touch by design."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("mujoco")

from robot_control_ros.core.types import Command, CommandMode
from robot_control_ros.robot.cell import CellObject
from robot_control_ros.robot.collision_model import CollisionModel
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.robot.payload import Payload
from robot_control_ros.robot.solids import Shape
from robot_control_ros.simulation.mujoco_plant import MujocoPlant

pytestmark = pytest.mark.sim

SUNK = 0.02  # m that a contact may give way


def collision_model(robot):
    return CollisionModel(robot, RobotModel.of(robot), 0.01, Payload())


@pytest.mark.parametrize("name", ["ur5e", "gen3", "planar_two_link", "ur5e+robotiq_2f85"])
def test_at_home_nothing_touches(name):
    plant = MujocoPlant(load_robot(name))
    plant.read()
    assert plant.contacts() == []


@pytest.mark.parametrize("name", ["ur5e", "gen3"])
def test_an_arm_without_torque_falls_on_the_floor_and_not_through_it(name):
    robot = load_robot(name)
    arm = collision_model(robot)
    start = np.array(robot.home)
    start[1] += 0.3
    plant = MujocoPlant(robot)
    plant.reset(start)
    touched = set()
    nothing = np.zeros(robot.n)
    for _ in range(1500):
        plant.read()
        plant.write(Command(CommandMode.EFFORT, nothing))
        touched |= {contact.object for contact in plant.contacts()}
    assert "floor" in touched
    assert arm.nearest(plant.sample().q).distance > -SUNK


def test_an_elbow_that_is_folded_by_its_servo_stops_at_the_arm_itself():
    robot = load_robot("ur5e")
    arm = collision_model(robot)
    plant = MujocoPlant(robot)
    goal = np.array(robot.home)
    touched = set()
    for _ in range(1500):
        plant.read()
        goal[2] = min(goal[2] + 0.002, 3.1)
        plant.write(Command(CommandMode.POSITION, goal))
        touched |= {frozenset((contact.link, contact.object)) for contact in plant.contacts()}
    assert frozenset(("upper_arm_link", "wrist_3_link")) in touched
    q = plant.sample().q
    assert q[2] < 2.95
    assert arm.nearest(q).distance > -SUNK


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["ur5e", "gen3", "ur5e+robotiq_2f85"])
def test_links_that_touch_by_design_make_no_contact(name):
    robot = load_robot(name)
    arm = collision_model(robot)
    checked = {frozenset(arm.pair_names(pair)) for pair in range(len(arm.bodies.pairs))}
    plant = MujocoPlant(robot)
    random = np.random.default_rng(0)
    contacts = 0
    for _ in range(100):
        plant.reset(np.array(robot.home) + random.uniform(-2.0, 2.0, robot.n))
        for contact in plant.contacts():
            contacts += 1
            assert frozenset((contact.link, contact.object)) in checked
            assert arm.nearest(plant.sample().q).distance < 1e-3
    assert contacts > 10


def test_a_solid_of_the_cell_stands_in_the_world_and_holds_the_arm_up():
    shape = Shape("box", (0.4, 0.4, 0.1), np.eye(4))
    shape.pose[:3, 3] = (0.5, 0.1, 0.2)
    robot = replace(load_robot("ur5e"), cell={"table": CellObject(name="table", shape=shape)})
    plant = MujocoPlant(robot)
    for _ in range(1500):
        plant.read()
        plant.write(Command(CommandMode.EFFORT, np.zeros(robot.n)))
    assert {contact.object for contact in plant.contacts()} <= {
        "table",
        *RobotModel.of(robot).frames,
    }
    lowest = collision_model(robot).nearest(plant.sample().q)
    assert lowest.distance > -SUNK


def test_the_sensor_feels_the_cell_and_not_what_is_within_the_hand():
    robot = load_robot("ur5e")
    plant = MujocoPlant(robot)
    down = np.array(robot.home)
    for _ in range(1200):
        plant.read()
        down[1] += 0.001
        plant.write(Command(CommandMode.POSITION, down))
        beyond = [
            each
            for each in plant.contacts()
            if each.object == "floor" and each.link == "wrist_3_link"
        ]
        if beyond:
            break
    total = sum((each.wrench[:3] for each in plant.contacts()), np.zeros(3))
    assert total[2] > 0.0
