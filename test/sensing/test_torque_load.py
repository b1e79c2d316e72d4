"""A payload from joint torques at rest: exact without friction, within 10 % with 1 N·m of
it; doubt is refused.
"""

import numpy as np
import pytest
from refusals import refuses

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.types import RobotState
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.robot.payload import Payload
from robot_control_ros.sensing.sensor_drift import AT_REST
from robot_control_ros.sensing.sensor_load import PayloadIdentification
from robot_control_ros.sensing.torque_load import FEWEST_POSES, MAX_RESIDUAL, TorqueIdentification
from robot_control_ros.simulation.imperfect.imperfect_plant import arm_and_plant
from robot_control_ros.simulation.imperfect.imperfections import (
    Imperfections,
    LoadedFriction,
    ModelErrors,
)

ROBOTS = ("ur5e", "gen3")
LOAD = Payload(2.0, (0.02, -0.03, 0.08))


@pytest.fixture(params=ROBOTS)
def robot(request):
    return load_robot(request.param)


def postures(robot, count, seed=5, spread=0.7):
    return np.array(robot.home) + np.random.default_rng(seed).uniform(
        -spread, spread, (count, robot.n)
    )


def sampled(robot, poses, friction=0.0, told=None, seed=1):
    """What has sampled the torques of an arm that carries LOAD; the model was
    told another payload.
    """
    model, truth = RobotModel.of(robot), RobotModel.of(robot)
    truth.payload = LOAD
    model.payload = told or Payload()
    random = np.random.default_rng(seed)
    found = TorqueIdentification()
    for q in poses:
        effort = truth.at(q).gravity + friction * random.uniform(-1.0, 1.0, robot.n)
        found.add(RobotState(0.0, q, np.zeros(robot.n), effort), model.update(q, np.zeros(robot.n)))
    return found, model


@pytest.mark.parametrize(
    "told", [None, Payload(1.0, (0.1, 0.0, 0.0))], ids=["unknown", "told wrongly"]
)
def test_torques_without_friction_give_the_payload_exactly(robot, told):
    found, model = sampled(robot, postures(robot, FEWEST_POSES), told=told)
    identified = found.identified(model)
    assert identified.payload.mass == pytest.approx(2.0, rel=1e-9)
    np.testing.assert_allclose(identified.payload.center, LOAD.center, atol=1e-9)


def test_friction_of_1_newton_metre_leaves_the_mass_within_10_percent(robot):
    errors = []
    for seed in range(40):
        found, model = sampled(robot, postures(robot, 12, seed), friction=1.0, seed=seed)
        errors.append(abs(found.identified(model).payload.mass / 2.0 - 1.0))
    assert np.percentile(errors, 95) < 0.1


def test_an_arm_without_payload_has_none(robot):
    model, found = RobotModel.of(robot), TorqueIdentification()
    for q in postures(robot, FEWEST_POSES):
        kin = model.update(q, np.zeros(robot.n))
        found.add(RobotState(0.0, q, np.zeros(robot.n), kin.gravity), kin)
    assert found.identified(model).payload.mass == pytest.approx(0.0, abs=1e-9)


def test_too_few_poses_and_such_that_are_all_the_same_are_refused(robot):
    found, model = sampled(robot, postures(robot, FEWEST_POSES - 1))
    with refuses("poses", FEWEST_POSES - 1, FEWEST_POSES):
        found.identified(model)
    found, model = sampled(robot, np.repeat(postures(robot, 1), 12, axis=0), friction=1.0)
    with pytest.raises(ConfigError):
        found.identified(model)


def test_torques_that_no_payload_explains_are_refused(robot):
    found, model = sampled(robot, postures(robot, 12), friction=20.0)
    with refuses("torque", bound=MAX_RESIDUAL):
        found.identified(model)


def test_a_sample_in_motion_and_one_without_torques_are_refused_and_leave_the_others(robot):
    found, model = sampled(robot, postures(robot, 3))
    q, rest = np.array(robot.home), np.zeros(robot.n)
    kin = model.update(q, rest)
    with refuses("velocity", 0.1, AT_REST):
        found.add(RobotState(0.0, q, rest + 0.1, kin.gravity), kin)
    with pytest.raises(ConfigError):
        found.add(RobotState(0.0, q, rest, np.full(robot.n, np.nan)), kin)
    assert len(found) == 3


@pytest.mark.sim
@pytest.mark.parametrize(
    "robot", [pytest.param("ur5e", marks=pytest.mark.long), "gen3"], indirect=True
)
def test_a_simulated_arm_with_friction_finds_its_payload_by_its_sensor_and_by_its_torques(robot):
    """It moves to twelve poses, rests in each, and samples: 5 % by the sensor,
    10 % by the torques.
    """
    pytest.importorskip("mujoco")
    robot = robot.at_rate(250.0)
    wrong = Imperfections(
        name="rubs",
        friction=LoadedFriction(coulomb=(1.0,)),
        model=ModelErrors(payload_mass=2.0, payload_centre=tuple(LOAD.center.tolist())),
    )
    _, plant = arm_and_plant(robot, wrong, rate=250.0)
    loop = ControlLoop(robot, "joint_impedance")
    by_sensor, by_torques = PayloadIdentification(), TorqueIdentification()
    plant.write(loop.tick(plant.read()))
    for goal in postures(robot, 12, spread=0.5):
        loop.motion.move_joints_to(goal)
        for _ in range(1000):
            plant.write(loop.tick(plant.read()))
        by_sensor.add(loop.state, loop.kin)
        by_torques.add(loop.state, loop.kin)
    assert by_sensor.identified(loop.model).payload.mass == pytest.approx(2.0, rel=0.05)
    np.testing.assert_allclose(
        by_sensor.identified(loop.model).payload.center, LOAD.center, atol=0.005
    )
    assert by_torques.identified(loop.model).payload.mass == pytest.approx(2.0, rel=0.1)
