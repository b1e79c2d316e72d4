"""The robot's payload: what can't be is refused, and the model has the rest
as a body on its tip.
"""

from dataclasses import replace

import numpy as np
import pytest
from refusals import refuses

from robot_control_ros.core.errors import ConfigError, ModelError
from robot_control_ros.core.spatial import skew
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.robot.payload import Payload

ROBOTS = ("ur5e", "gen3")
GRAVITY = 9.81
MASS = 2.0
CENTER = np.array([0.03, -0.02, 0.08])
INERTIA = (0.01, 0.012, 0.008, 0.001, -0.002, 0.0005)
LOAD = Payload(MASS, CENTER, INERTIA)


def postures(model, count=5):
    """Joint angles (count, n) and velocities."""
    random = np.random.default_rng(40)
    return random.uniform(-1.5, 1.5, (count, 2, model.n))


@pytest.fixture(params=ROBOTS)
def model(request):
    return RobotModel.of(load_robot(request.param))


# --- what can't be ---


@pytest.mark.parametrize(
    ("figures", "name"),
    [
        ({"mass": -0.1}, "mass"),
        ({"mass": np.nan}, "mass"),
        ({"mass": np.inf}, "mass"),
        ({"mass": 1e6}, "mass"),
        ({"mass": "heavy"}, "mass"),
        ({"mass": 1.0, "center": (0.0, 0.0, 1.2)}, "center[2]"),
        ({"mass": 1.0, "center": (0.8, 0.8, 0.0)}, "center"),
        ({"mass": 1.0, "center": (0.0, np.nan, 0.0)}, "center[1]"),
        ({"mass": 1.0, "center": (0.0, 0.0)}, "center"),
        ({"mass": 1.0, "inertia": (-0.01, 0.01, 0.01, 0.0, 0.0, 0.0)}, "inertia"),
        ({"mass": 1.0, "inertia": (0.01, 0.01, 0.01, 0.02, 0.0, 0.0)}, "inertia"),
        ({"mass": 1.0, "inertia": (0.01, 0.01, 0.03, 0.0, 0.0, 0.0)}, "inertia"),
        ({"mass": 1.0, "inertia": (0.01, 0.01, np.nan, 0.0, 0.0, 0.0)}, "inertia[2]"),
        ({"mass": 0.1, "inertia": 0.5}, "inertia"),
        ({"mass": 0.0, "inertia": 0.01}, "inertia"),
        ({"mass": 1.0, "inertia": (0.01, 0.01, 0.01)}, "inertia"),
    ],
)
def test_a_payload_that_no_body_is_or_that_is_far_from_the_tip_is_refused_by_name(figures, name):
    with pytest.raises(ConfigError) as refused:
        Payload(**figures)
    assert refused.value.name == name
    assert refused.value.bound is not None


def test_bodies_at_the_border_of_what_can_be_are_taken_also_with_rounded_figures():
    rod = Payload(1.0, inertia=(0.0833, 0.0833, 0.0, 0.0, 0.0, 0.0))
    plate = Payload(1.0, inertia=(0.0333, 0.0333, 0.0667, 0.0, 0.0, 0.0))
    assert rod.mass == plate.mass == 1.0
    np.testing.assert_array_equal(Payload(1.0, inertia=0.02).tensor, 0.02 * np.eye(3))


def test_the_bound_of_the_inertia_is_that_of_the_sum_of_the_others():
    with refuses("inertia", 0.03, 0.02):
        Payload(1.0, inertia=(0.01, 0.01, 0.03, 0.0, 0.0, 0.0))


# --- the model ---


def test_gravity_torques_have_the_weight_at_its_centre(model):
    for q, _ in postures(model):
        model.payload = Payload()
        bare = model.at(q)
        model.payload = LOAD
        lever = bare.pose[:3, :3] @ CENTER
        at_center = bare.jacobian[:3] - skew(lever) @ bare.jacobian[3:]
        weight = MASS * model.gravity
        np.testing.assert_allclose(
            model.at(q).gravity - bare.gravity, -at_center.T @ weight, atol=1e-9
        )


def test_the_inertia_has_the_body_as_its_kinetic_energy_says(model):
    for q, v in postures(model):
        model.payload = Payload()
        bare = model.at(q)
        bare_energy = v @ bare.mass @ v
        model.payload = LOAD
        twist = bare.jacobian @ v
        rotation = bare.pose[:3, :3]
        velocity = twist[:3] + np.cross(twist[3:], rotation @ CENTER)
        turning = rotation.T @ twist[3:]
        energy = MASS * velocity @ velocity + turning @ LOAD.tensor @ turning
        assert v @ model.mass(q) @ v - bare_energy == pytest.approx(energy, rel=1e-9)


def test_torques_of_motion_and_bias_have_it_too(model):
    """M(q) a + C v + g is linear in the ten figures: half of them twice is the
    same as all at once.
    """
    half = Payload(MASS / 2.0, CENTER, np.array(INERTIA) / 2.0)
    for q, v in postures(model):
        torques = []
        for payload in (Payload(), half, LOAD):
            model.payload = payload
            torques.append(
                (model.bias(q, v), model.motion_torque(q, v, v), model.inverse_dynamics(q, v, v))
            )
        for none, some, whole in zip(*torques, strict=True):
            np.testing.assert_allclose(some - none, (whole - none) / 2.0, atol=1e-9)
            assert np.abs(whole - none).max() > 1e-3


def test_without_payload_the_model_is_the_same_to_the_bit_as_before(model):
    q, v = postures(model)[0]
    before = model.bias(q, v), model.mass(q)
    model.payload = LOAD
    model.payload = Payload()
    np.testing.assert_array_equal(model.bias(q, v), before[0])
    np.testing.assert_array_equal(model.mass(q), before[1])


def test_a_payload_of_one_model_is_not_that_of_another(model):
    other = RobotModel(model.urdf, model.joints, model.base, model.tip)
    q, _ = postures(model)[0]
    before = other.at(q).gravity
    model.payload = LOAD
    np.testing.assert_array_equal(other.at(q).gravity, before)


def test_the_torque_that_holds_another_payload_is_known_before_it_is_taken(model):
    for q, _ in postures(model):
        model.payload = Payload(0.5, (0.1, 0.0, 0.0))
        said = model.holding_torque(model.at(q), LOAD)
        model.payload = LOAD
        np.testing.assert_allclose(said, model.at(q).gravity, atol=1e-9)


# --- beyond a sensor ---


def steiner(offset):
    """Inertia (3, 3) per mass that a point has about another one."""
    return offset @ offset * np.eye(3) - np.outer(offset, offset)


def test_a_sensor_carries_the_payload_and_links_of_the_description_beyond_it():
    robot = load_robot("ur5e+robotiq_2f85")
    model = RobotModel.of(robot)
    gripper = model.body_beyond("ft_frame")
    assert gripper.mass == pytest.approx(0.6632 + 2 * 0.0861 + 2 * 0.0427)
    model.payload = LOAD
    both = model.body_beyond("ft_frame")
    assert both.mass == pytest.approx(gripper.mass + MASS)
    model.update(np.array(robot.home), np.zeros(6))
    to_sensor = np.linalg.inv(model.frame_pose("ft_frame")) @ model.frame_pose(robot.tip)
    moment = MASS * (to_sensor @ [*CENTER, 1.0])[:3] + gripper.mass * gripper.center
    np.testing.assert_allclose(both.center, moment / both.mass, atol=1e-12)
    turn = to_sensor[:3, :3]
    parts = (
        (gripper.mass, gripper.center, gripper.inertia),
        (MASS, (to_sensor @ [*CENTER, 1.0])[:3], turn @ LOAD.tensor @ turn.T),
    )
    about_both = sum(
        tensor + mass * steiner(center - both.center) for mass, center, tensor in parts
    )
    np.testing.assert_allclose(both.inertia, about_both, atol=1e-12)
    found = model.payload_beyond("ft_frame", both.mass, both.center)
    assert found.mass == pytest.approx(MASS)
    np.testing.assert_allclose(found.center, CENTER, atol=1e-9)


def test_links_before_the_sensor_are_not_beyond_it():
    bare = RobotModel.of(load_robot("ur5e"))
    for frame in ("ft_frame", "tool0", "flange"):
        assert bare.body_beyond(frame).mass == 0.0


def test_an_unknown_frame_of_a_sensor_and_one_that_does_not_move_with_the_tip_are_refused():
    model = RobotModel.of(load_robot("ur5e"))
    with pytest.raises(ModelError):
        model.body_beyond("nowhere")
    with refuses("base_link", None, None, ModelError):
        model.payload_beyond("base_link", 1.0, np.zeros(3))


# --- the configuration ---


def test_the_file_of_a_robot_has_its_payload(tmp_path):
    path = tmp_path / "with_tool.yaml"
    path.write_text(
        "extends: ur5e\npayload: { mass: 2.0, center: [0.03, -0.02, 0.08], inertia: 0.01 }\n"
    )
    robot = load_robot(str(path))
    np.testing.assert_allclose(
        robot.payload.row, [2.0, 0.03, -0.02, 0.08, 0.01, 0.01, 0.01, 0.0, 0.0, 0.0]
    )
    q = np.array(robot.home)
    np.testing.assert_array_equal(
        RobotModel.of(robot).at(q).gravity, loaded("ur5e", robot.payload).at(q).gravity
    )
    topic = RobotModel.of(robot, load_robot("ur5e").urdf())  # a description that comes by topic
    assert topic.payload is robot.payload


def test_a_description_that_others_publish_gets_mount_gripper_and_payload_of_the_configuration(
    tmp_path,
):
    path = tmp_path / "mounted.yaml"
    path.write_text(
        "extends: ur5e\nmount: [0.1, 0.2, 0.3, 1.5708, 0, 0]\ngripper: robotiq_2f85\npayload: { mass: 1.0 }\n"
    )
    robot = load_robot(str(path))
    published = load_robot("ur5e").urdf()
    q = np.array(robot.home)
    expected = RobotModel.of(robot).at(q)
    model = RobotModel.of(robot, robot.completed(published))
    np.testing.assert_allclose(model.at(q).gravity, expected.gravity, atol=1e-9)
    np.testing.assert_allclose(model.at(q).pose, expected.pose, atol=1e-12)
    assert robot.completed(robot.urdf()) == robot.urdf()  # nothing is there twice
    elsewhere = replace(load_robot("ur5e"), mount=(0.0, 0.0, 0.0, 0.0, 0.7, 0.0))
    # where its publisher has put it
    turned = RobotModel.of(robot, robot.completed(elsewhere.urdf()))
    np.testing.assert_allclose(turned.gravity, RobotModel.of(elsewhere).gravity, atol=1e-9)


def loaded(name, payload):
    model = RobotModel.of(load_robot(name))
    model.payload = payload
    return model


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ("{ mass: -1 }", "mass"),
        ("{ weight: 2 }", "gain"),
        ("{ mass: 1, center: [0, 0, 3] }", "center[2]"),
        ("{ mass: 1, inertia: [0.1, 0.1, 0.3, 0, 0, 0] }", "inertia"),
        ("2.0", "payload"),
    ],
)
def test_a_payload_of_a_file_that_cannot_be_is_refused_by_name(tmp_path, entry, name):
    path = tmp_path / "wrong.yaml"
    path.write_text(f"extends: ur5e\npayload: {entry}\n")
    with pytest.raises(ConfigError) as refused:
        load_robot(str(path))
    assert refused.value.name == name
    assert str(path) in str(refused.value)
