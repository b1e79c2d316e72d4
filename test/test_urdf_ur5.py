"""The UR5's description against the vendor's figures, and MuJoCo against Pinocchio on it."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from arms import Chain

from robot_control_ros.model import RobotModel

VENDOR = json.loads((Path(__file__).parent / "data" / "ur5_vendor.json").read_text(encoding="utf-8"))
STATES = [{key: np.array(value) for key, value in state.items()} for state in VENDOR["states"]]
TURN = 2 * np.pi


@pytest.fixture(scope="module")
def bare_model(ur5):
    """Of the description alone: without the rotor inertia of the configuration."""
    return RobotModel(ur5.urdf(), VENDOR["joints"], VENDOR["base_frame"], VENDOR["tip_frame"])


@pytest.fixture(scope="module")
def links(ur5):
    return ElementTree.fromstring(ur5.urdf()).findall("link")


def test_the_configuration_names_the_vendors_joints_and_frames(ur5):
    assert list(ur5.joints) == VENDOR["joints"]
    assert (ur5.base, ur5.tip) == (VENDOR["base_frame"], VENDOR["tip_frame"])
    assert VENDOR["gravity"] == [0.0, 0.0, -9.81]
    assert len(STATES) == 20


@pytest.mark.parametrize("state", STATES)
def test_pose_is_the_vendors(bare_model, state):
    pose = bare_model.update(state["q"], state["v"]).pose
    np.testing.assert_allclose(pose[:3, 3], state["tip_position"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(pose[:3, :3], state["tip_rotation"], rtol=0, atol=1e-9)


@pytest.mark.parametrize("state", STATES)
def test_dynamics_are_the_vendors(bare_model, state):
    kin = bare_model.update(state["q"], state["v"])
    np.testing.assert_allclose(kin.gravity, state["gravity_torque"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(kin.mass, state["mass_matrix"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(bare_model.bias(state["q"], state["v"]), state["bias"], rtol=0, atol=1e-9)


def test_limits_are_the_vendors(bare_model):
    limits = bare_model.limits
    assert limits.effort.tolist() == [150.0, 150.0, 150.0, 28.0, 28.0, 28.0]
    np.testing.assert_allclose(limits.velocity, np.pi, rtol=1e-15)
    np.testing.assert_allclose(limits.upper, [TURN, TURN, np.pi, TURN, TURN, TURN], rtol=1e-15)
    np.testing.assert_array_equal(limits.lower, -limits.upper)


def test_frames_that_others_rely_on_are_there(bare_model):
    assert {"world", "base_link", "base", "flange", "ft_frame", "tool0"} <= set(bare_model.frames())


def test_tool_and_sensor_are_one_place_and_the_tool_hangs_on_the_sensor(ur5):
    chain = Chain(ur5.urdf())
    in_sensor = chain.relative("ft_frame", "tool0", {})
    np.testing.assert_allclose(in_sensor[:3, 3], 0.0, rtol=0, atol=1e-12)
    robot = ElementTree.fromstring(ur5.urdf())
    parents = {j.find("child").get("link"): j.find("parent").get("link") for j in robot.findall("joint")}
    link, above = "tool0", []
    while link in parents:
        link = parents[link]
        above.append(link)
    assert "ft_frame" in above


def test_every_link_with_mass_can_be_seen_and_touched(links):
    with_mass = [link for link in links if link.find("inertial") is not None]
    assert len(with_mass) >= 7
    for link in with_mass:
        assert link.find("visual") is not None, link.get("name")
        assert link.find("collision") is not None, link.get("name")


def test_the_description_needs_no_other_file(links):
    geometries = [geometry for link in links for geometry in link.iter("geometry")]
    assert geometries
    assert all(shape.tag in ("box", "cylinder", "sphere") for geometry in geometries for shape in geometry)


@pytest.mark.sim
def test_mujoco_and_pinocchio_agree(ur5, rng):
    pytest.importorskip("mujoco")
    from robot_control_ros.plants.mujoco import MujocoPlant

    plant, model = MujocoPlant(ur5), RobotModel.of(ur5)
    for _ in range(20):
        q, v = rng.uniform(-np.pi, np.pi, 6), rng.uniform(-np.pi, np.pi, 6)
        mass, bias, pose = plant.dynamics(q, v)
        np.testing.assert_allclose(mass, model.mass(q), rtol=0, atol=1e-10)
        np.testing.assert_allclose(bias, model.bias(q, v), rtol=0, atol=1e-10)
        np.testing.assert_allclose(pose, model.at(q, v).pose, rtol=0, atol=1e-10)
