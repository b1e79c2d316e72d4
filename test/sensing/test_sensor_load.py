"""Payload identification: what is put in comes out, what can't be told is refused."""

from dataclasses import replace

import numpy as np
import pytest
from arms import random_arm
from free_postures import FreePostures
from refusals import refuses
from scipy.spatial.transform import Rotation

from robot_control_ros.core.errors import ConfigError, ModelError
from robot_control_ros.core.types import RobotState, Wrench
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.sensing.sensor_load import (
    MAX_CONDITION,
    MAX_FORCE_RESIDUAL,
    MAX_TORQUE_RESIDUAL,
    PayloadIdentification,
    identify,
)
from robot_control_ros.sensing.wrench import WrenchPipeline

GRAVITY = np.array([0.0, 0.0, -9.81])
MASS, CENTER = 1.7, np.array([0.02, -0.05, 0.11])
BIAS = np.array([4.0, -2.0, 9.0, 0.3, -0.1, 0.7])


def measured(rotation, mass=MASS, center=CENTER, bias=BIAS, gravity=GRAVITY):
    """What a sensor with these axes in the base shows of a hanging payload: its weight at its
    centre, and the bias.
    """
    weight = rotation.T @ (mass * np.asarray(gravity))
    return np.concatenate((weight, np.cross(center, weight))) + bias


def poses(count, seed=1):
    return Rotation.random(count, random_state=seed).as_matrix()


def tilts(degrees):
    """Level, and tilted by so much about two axes to both sides."""
    steps = np.radians(degrees) * np.array(
        [[0, 0, 0], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1]]
    )
    return Rotation.from_rotvec(steps).as_matrix()


def samples(rotations, **what):
    return np.array([measured(rotation, **what) for rotation in rotations])


# --- least squares ---


@pytest.mark.parametrize(
    "gravity", [GRAVITY, np.array([3.0, -9.0, 2.0]), np.array([0.0, 0.0, -1.62])]
)
@pytest.mark.parametrize("count", [6, 20])
def test_exact_wrenches_give_the_payload_exactly(count, gravity):
    rotations = poses(count)
    payload = identify(rotations, samples(rotations, gravity=gravity), gravity)
    assert payload.mass == pytest.approx(MASS, rel=1e-9)
    np.testing.assert_allclose(payload.center, CENTER, atol=1e-9)
    np.testing.assert_allclose(payload.bias, BIAS, atol=1e-8)
    assert payload.force_residual < 1e-9
    assert payload.torque_residual < 1e-9


def test_turning_the_base_changes_nothing(rng):
    rotations, turn = poses(8), Rotation.random(random_state=7).as_matrix()
    wrenches = samples(rotations) + 0.1 * rng.normal(size=(8, 6))
    one, other = (
        identify(rotations, wrenches, GRAVITY),
        identify(turn @ rotations, wrenches, turn @ GRAVITY),
    )
    assert one.mass == pytest.approx(other.mass, rel=1e-9)
    np.testing.assert_allclose(one.center, other.center, atol=1e-9)
    np.testing.assert_allclose(one.bias, other.bias, atol=1e-9)


def test_the_centre_moves_with_the_origin_of_the_sensors_frame():
    """The same wrenches about another origin: torques change by the lever arm, the
    centre by the shift.
    """
    rotations, shift = poses(8), np.array([0.1, -0.2, 0.3])
    wrenches = samples(rotations)
    moved = wrenches.copy()
    moved[:, 3:] += np.cross(-shift, wrenches[:, :3])
    payload = identify(rotations, moved, GRAVITY)
    np.testing.assert_allclose(payload.center, CENTER - shift, atol=1e-9)


def test_noise_averages_out_and_shows_as_the_residual(rng):
    rotations, noise = poses(400), np.array([0.2] * 3 + [0.01] * 3)
    payload = identify(rotations, samples(rotations) + noise * rng.normal(size=(400, 6)), GRAVITY)
    assert payload.mass == pytest.approx(MASS, abs=0.01)
    np.testing.assert_allclose(payload.center, CENTER, atol=2e-3)
    np.testing.assert_allclose(payload.bias, BIAS, atol=0.05)
    assert payload.force_residual == pytest.approx(0.2, rel=0.1)
    assert payload.torque_residual == pytest.approx(0.01, rel=0.1)


def test_tilts_of_30_degrees_are_enough_and_of_8_are_not():
    payload = identify(tilts(30.0), samples(tilts(30.0)), GRAVITY)
    assert payload.mass == pytest.approx(MASS, rel=1e-9)
    with refuses("condition", bound=MAX_CONDITION):
        identify(tilts(8.0), samples(tilts(8.0)), GRAVITY)


def test_turning_about_the_vertical_alone_is_refused():
    """The weight stays where it is in the sensor's axes: it could be a bias."""
    turned = Rotation.from_rotvec(np.outer(np.linspace(0.0, 5.0, 9), [0, 0, 1])).as_matrix()
    with refuses("condition", bound=MAX_CONDITION):
        identify(turned, samples(turned), GRAVITY)


def test_what_cannot_be_identified_is_refused_with_words():
    rotations = poses(8)
    wrenches = samples(rotations)
    with refuses("poses", 5, 6):
        identify(rotations[:5], wrenches[:5], GRAVITY)
    with pytest.raises(ConfigError, match=r"must be \(k, 3, 3\), \(k, 6\)"):
        identify(rotations, wrenches[:7], GRAVITY)
    with pytest.raises(ConfigError, match="finite"):
        identify(rotations, np.where(np.arange(6) == 2, np.nan, wrenches), GRAVITY)
    with refuses("gravity", np.zeros(3), None):
        identify(rotations, wrenches, np.zeros(3))
    with refuses("mass", bound=0.01):
        identify(rotations, -wrenches, GRAVITY)
    with refuses("mass", bound=0.01):
        identify(rotations, samples(rotations, mass=0.0), GRAVITY)


@pytest.mark.parametrize(
    ("axis", "bound", "unit"), [(1, MAX_FORCE_RESIDUAL, "N"), (4, MAX_TORQUE_RESIDUAL, "N·m")]
)
def test_a_contact_during_the_measurement_is_refused(axis, bound, unit):
    rotations = poses(12)
    wrenches = samples(rotations)
    wrenches[5, axis] += 10.0 * bound
    with refuses("force" if unit == "N" else "torque", bound=bound):
        identify(rotations, wrenches, GRAVITY)
    wrenches[5, axis] -= 9.0 * bound
    assert identify(rotations, wrenches, GRAVITY).mass == pytest.approx(MASS, rel=0.1)


# --- collecting ---


def sample(model, q, wrench, v=None, frame="ft_frame"):
    v = np.zeros(model.n) if v is None else v
    kin = model.update(q, v)
    return RobotState(0.0, q, v, np.zeros(model.n), Wrench(wrench[:3], wrench[3:], frame)), kin


def test_collected_poses_of_a_mounted_arm_give_the_payload(rng):
    """The base hangs upside down: gravity is taken in its axes, the sensor's
    axes from the model.
    """
    arm = random_arm(5, 6, mount=((0.0, 0.0, 2.0), (np.pi, 0.0, 0.4)))
    model, found = arm.model(), PayloadIdentification()
    for count in range(8):
        assert len(found) == count
        q = rng.uniform(-2.0, 2.0, 6)
        rotation = model.at(q).pose[:3, :3]
        in_world = Rotation.from_euler("xyz", (np.pi, 0.0, 0.4)).as_matrix() @ rotation
        found.add(*sample(model, q, measured(in_world), frame="tip"))
    payload = found.result()
    assert payload.mass == pytest.approx(MASS, rel=1e-9)
    np.testing.assert_allclose(payload.center, CENTER, atol=1e-9)
    np.testing.assert_allclose(payload.bias, BIAS, atol=1e-8)


def test_a_sensor_of_the_other_convention_gives_the_same_payload(ur5_model, rng):
    found = PayloadIdentification("by_robot")
    for _ in range(8):
        q = rng.uniform(-2.0, 2.0, 6)
        ur5_model.update(q, np.zeros(6))
        found.add(*sample(ur5_model, q, -measured(ur5_model.frame_pose("ft_frame")[:3, :3])))
    payload = found.result()
    assert payload.mass == pytest.approx(MASS, rel=1e-9)
    np.testing.assert_allclose(payload.bias, BIAS, atol=1e-8)


def test_unusable_poses_are_refused_and_leave_the_others(ur5_model):
    found, q = PayloadIdentification(), np.zeros(6)
    found.add(*sample(ur5_model, q, BIAS))
    with refuses("velocity", 0.2, 0.01):
        found.add(*sample(ur5_model, q, BIAS, v=np.array([0, 0, -0.2, 0, 0, 0])))
    with pytest.raises(ConfigError, match="force"):
        found.add(*sample(ur5_model, q, np.full(6, np.nan)))
    with refuses("frame", "tool0", "ft_frame"):
        found.add(*sample(ur5_model, q, BIAS, frame="tool0"))
    with pytest.raises(ModelError, match="nowhere"):
        found.add(*sample(ur5_model, q, BIAS, frame="nowhere"))
    state, kin = sample(ur5_model, q, BIAS)
    with pytest.raises(ConfigError, match="no wrench"):
        found.add(replace(state, wrench=None), kin)
    assert len(found) == 1
    with refuses("poses", 1, 6):
        found.result()
    with refuses("poses", 0, 6):
        PayloadIdentification().result()


@pytest.mark.sim
def test_the_tool_of_a_simulated_arm_is_identified_and_then_no_longer_felt(ur5, rng):
    """What MuJoCo's sensor shows is the weight of what the description mounts beyond it."""
    pytest.importorskip("mujoco")
    from robot_control_ros.simulation.mujoco_plant import MujocoPlant

    plant = MujocoPlant(load_robot("ur5"), urdf=with_tool(ur5.urdf()))
    model, found = RobotModel.of(ur5), PayloadIdentification()
    postures = FreePostures(ur5)
    for _ in range(10):
        plant.reset(postures.draw(rng, -1.0, 1.0))
        state = plant.read()
        found.add(state, model.update(state.q, state.v))
    payload = found.result()
    assert payload.mass == pytest.approx(2.0, rel=1e-6)
    tool_in_sensor = np.linalg.inv(model.frame_pose("ft_frame")) @ model.frame_pose("tool0")
    np.testing.assert_allclose(
        payload.center, (tool_in_sensor @ [0.03, -0.02, 0.1, 1.0])[:3], atol=1e-6
    )
    np.testing.assert_allclose(payload.bias, np.zeros(6), atol=1e-6)

    robots_payload = found.identified(model).payload
    np.testing.assert_allclose(robots_payload.center, [0.03, -0.02, 0.1], atol=1e-6)
    model.payload = robots_payload
    pipeline = WrenchPipeline()
    plant.reset(postures.draw(rng, -1.0, 1.0))
    state = plant.read()
    np.testing.assert_allclose(
        pipeline.on_tip(state, model.update(state.q, state.v)), np.zeros(6), atol=1e-6
    )


def with_tool(urdf):
    weight = (
        '<link name="load"><inertial><origin xyz="0.03 -0.02 0.1"/><mass value="2.0"/>'
        '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>'
        '<joint name="load_joint" type="fixed"><parent link="tool0"/><child link="load"/></joint>'
    )
    return urdf.replace("</robot>", weight + "</robot>")
