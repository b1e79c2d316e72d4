"""The payload that the robot believes, and the controller's."""

import numpy as np
import pytest
from fake_franka import HOME, NOTHING

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.fieldbus.franka.franka_connection import FlangeBody, FrankaSettings
from robot_control_ros.fieldbus.franka.load import (
    check_load,
    load_besides,
    modelled_body,
    total_body,
)
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

FR3 = load_robot("fr3", "franka")
FLANGE = "fr3_link8"
TOLERANCE = 0.2  # N·m
HAND = FlangeBody(0.73, np.array([-0.01, 0.0, 0.03]), np.diag([0.001, 0.0025, 0.0017]))


def settings(end_effector=NOTHING, load=NOTHING):
    return FrankaSettings(end_effector, load, np.eye(4))


def carrying(mass, center=(0.0, 0.0, 0.05), inertia=(0.001, 0.001, 0.001, 0.0, 0.0, 0.0)):
    return RobotModel.of(FR3.with_payload(mass, center, inertia))


def test_a_bare_flange_carries_nothing():
    body = modelled_body(RobotModel.of(FR3), FLANGE)
    assert body.mass == 0.0
    assert load_besides(body, NOTHING).mass == 0.0


def test_the_payload_of_the_model_is_the_load_of_the_robot():
    load = load_besides(modelled_body(carrying(1.0), FLANGE), NOTHING)
    assert load.mass == pytest.approx(1.0)
    np.testing.assert_allclose(load.center, (0.0, 0.0, 0.05), rtol=0, atol=1e-12)
    np.testing.assert_allclose(load.inertia, 0.001 * np.eye(3), rtol=0, atol=1e-12)


def test_an_end_effector_of_desk_is_not_sent_once_more():
    whole = modelled_body(carrying(1.5, (0.0, 0.02, 0.08)), FLANGE)
    load = load_besides(whole, HAND)
    assert load.mass == pytest.approx(1.5 - 0.73)
    total = total_body(settings(HAND, load))
    assert total.mass == pytest.approx(1.5)
    np.testing.assert_allclose(total.center, (0.0, 0.02, 0.08), rtol=0, atol=1e-12)


def test_an_end_effector_that_the_model_lacks_is_refused_with_the_way_out():
    with pytest.raises(ConfigError) as error:
        load_besides(modelled_body(RobotModel.of(FR3), FLANGE), HAND)
    assert (error.value.name, error.value.value, error.value.bound) == ("end_effector", 0.73, 0.0)


def test_what_the_robot_was_told_is_taken():
    model = carrying(1.0)
    load = load_besides(modelled_body(model, FLANGE), NOTHING)
    check_load(model.update(HOME, 0 * HOME), FLANGE, settings(load=load), FR3.joints, TOLERANCE)


def test_a_forgotten_payload_is_refused_with_the_torque_that_it_means():
    model = carrying(1.0)
    kin = model.update(HOME, 0 * HOME)
    bare = RobotModel.of(FR3).update(HOME, 0 * HOME).gravity
    expected = bare - kin.gravity  # what the robot would lack, by the model alone
    with pytest.raises(ConfigError) as error:
        check_load(kin, FLANGE, settings(), FR3.joints, TOLERANCE)
    worst = int(np.abs(expected).argmax())
    assert error.value.name == FR3.joints[worst]
    assert error.value.value == pytest.approx(expected[worst], abs=1e-9)
    assert error.value.bound == TOLERANCE


def test_the_torque_error_is_that_of_another_centre(rng):
    for _ in range(20):
        ours = carrying(2.0, rng.uniform(-0.1, 0.1, 3))
        other = rng.uniform(-0.1, 0.1, 3)
        q = HOME + rng.uniform(-0.4, 0.4, 7)
        kin = ours.update(q, 0 * q)
        expected = carrying(2.0, other).update(q, 0 * q).gravity - kin.gravity
        load = FlangeBody(2.0, other, np.zeros((3, 3)))
        worst = float(expected[np.abs(expected).argmax()])
        if abs(worst) <= TOLERANCE:
            check_load(kin, FLANGE, settings(load=load), FR3.joints, TOLERANCE)
            continue
        with pytest.raises(ConfigError) as error:
            check_load(kin, FLANGE, settings(load=load), FR3.joints, TOLERANCE)
        assert error.value.value == pytest.approx(worst, abs=1e-9)
