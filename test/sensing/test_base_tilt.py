"""The base's tilt, recognised by torques of models that were mounted with it."""

from dataclasses import replace

import numpy as np
import pytest
from arms import random_arm

from robot_control_ros.core.spatial import rotation_from_rpy
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.robot.payload import Payload
from robot_control_ros.sensing.base_tilt import explain_torque, tilted_gravity, tilted_mount

UR5E = load_robot("ur5e")
ON_A_WALL = replace(UR5E, mount=(0.1, 0.0, 0.5, 0.0, np.pi / 2, 0.3))


def postures(model, rng, count=3):
    return [model.at(rng.uniform(-2.0, 2.0, model.n)) for _ in range(count)]


def held(model, known):
    """Torques (m, n) that a model needs at the postures of another one."""
    return np.array([model.at(kin.q).gravity for kin in known])


def test_the_regressor_times_gravity_is_what_holds_the_arm(rng):
    for seed in range(10):
        arm = random_arm(seed, int(rng.integers(1, 8)))
        gravity = 9.81 * rng.normal(size=3)
        q = rng.uniform(-2.0, 2.0, arm.n)
        regressor = arm.model().at(q).gravity_regressor
        other = arm.model(gravity=gravity)
        np.testing.assert_allclose(regressor @ other.gravity, other.at(q).gravity, atol=1e-9)


@pytest.mark.parametrize("robot", [UR5E, ON_A_WALL], ids=["floor", "wall"])
@pytest.mark.parametrize("tilt", [(0.087, 0.0), (-0.1, 0.2), (0.0, 0.52), (-0.7, -0.3)])
def test_a_tilted_base_is_found_and_named_by_its_mount(robot, tilt, rng):
    """The true arm is mounted as the answer says, independently of the search."""
    model = RobotModel.of(robot)
    known = postures(model, rng)
    true = RobotModel(
        robot.urdf(),
        robot.joints,
        robot.base,
        robot.tip,
        gravity=rotation_from_rpy(*tilt, 0.0).T @ (0.0, 0.0, -9.81),
    )
    explained = explain_torque(known, held(true, known))
    np.testing.assert_allclose(explained.tilt, tilt, atol=1e-6)
    assert explained.by_tilt
    assert not explained.by_load
    cosine = true.gravity @ model.gravity / 9.81**2
    assert explained.angle == pytest.approx(np.arccos(cosine), abs=1e-6)
    x, y, z = robot.mount[:3]
    mounted = replace(robot, mount=(x, y, z, *tilted_mount(robot.mount, explained.tilt)))
    np.testing.assert_allclose(
        held(RobotModel.of(mounted), known), held(true, known), rtol=1e-6, atol=1e-5
    )


def test_one_posture_is_enough_for_an_arm_of_six_joints(rng):
    model = RobotModel.of(UR5E)
    known = [model.at(np.array(UR5E.home))]
    regressor = known[0].gravity_regressor
    torque = regressor @ tilted_gravity(model, np.array([0.1, -0.05]))
    explained = explain_torque(known, torque[np.newaxis])
    np.testing.assert_allclose(explained.tilt, (0.1, -0.05), atol=1e-6)
    assert explained.by_tilt


def test_a_load_is_told_from_a_tilt(rng):
    model = RobotModel.of(UR5E)
    known = postures(model, rng)
    loaded = np.array([model.holding_torque(kin, Payload(2.0)) for kin in known])
    explained = explain_torque(known, loaded)
    assert explained.mass == pytest.approx(2.0)
    assert explained.by_load
    assert not explained.by_tilt


def test_friction_explains_itself(rng):
    """Little torque beyond the model says nothing; much that fits nothing is explained by nothing."""
    model = RobotModel.of(UR5E)
    for _ in range(20):
        known = postures(model, rng, count=2)
        torque = held(model, known)
        friction = rng.normal(size=torque.shape)
        friction /= np.linalg.norm(friction)
        assert explain_torque(known, torque + 0.05 * np.linalg.norm(torque) * friction) is None
        explained = explain_torque(known, torque + 0.5 * np.linalg.norm(torque) * friction)
        assert not explained.by_tilt
        assert not explained.by_load


def test_two_joints_tell_no_tilt():
    arm = random_arm(3, 2)
    known = [arm.model().at(np.zeros(2))]
    assert explain_torque(known, np.array([[30.0, 30.0]])) is None


def test_without_gravity_nothing_is_told(rng):
    arm = random_arm(3, 6)
    known = postures(arm.model(gravity=(0.0, 0.0, 0.0)), rng)
    assert explain_torque(known, np.full((3, 6), 10.0)) is None
