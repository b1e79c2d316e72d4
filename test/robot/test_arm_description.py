"""Descriptions of makers: model and simulation are of the same arm, or the description
is refused in words.
"""

from xml.etree import ElementTree

import numpy as np
import pytest
from descriptions import ARM, GOOD, inertial, joint, link, random_robot, robot

from robot_control_ros.core.errors import ModelError
from robot_control_ros.robot.arm_description import (
    arm_description,
    independent_joints,
    inertia_problem,
    physical_description,
)
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.description import LinkMass, link_masses
from robot_control_ros.robot.model import RobotModel

TRIALS = 200


def mass_matrix(urdf, joints, q):
    """The joint-space inertia (n, n) that MuJoCo computes of a description."""
    mujoco = pytest.importorskip("mujoco")
    compiler = (
        '<mujoco><compiler strippath="false" fusestatic="false" balanceinertia="false"/></mujoco>'
    )
    text = physical_description(urdf, joints).replace("</robot>", f"{compiler}</robot>")
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    at = [int(model.joint(name).qposadr[0]) for name in joints]
    data.qpos[at] = q
    mujoco.mj_forward(model, data)
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, full)
    rows = [int(model.joint(name).dofadr[0]) for name in joints]
    return full[np.ix_(rows, rows)], np.array(data.qfrc_bias)[rows]


@pytest.mark.sim
def test_model_and_simulation_of_random_robots_agree_or_the_robot_is_refused():
    rng = np.random.default_rng(4)
    simulated = 0
    refused = []
    for _ in range(TRIALS):
        urdf, joints, tip = random_robot(rng)
        model = RobotModel(urdf, joints, "base", tip)
        q = rng.uniform(-1.0, 1.0, len(joints))
        try:
            mass, bias = mass_matrix(urdf, joints, q)
        except ModelError as error:
            refused.append(error.name)
            continue
        simulated += 1
        np.testing.assert_allclose(mass, model.mass(q), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(bias, model.at(q).gravity, rtol=1e-9, atol=1e-9)
    assert TRIALS // 4 < simulated < TRIALS
    assert all(name.startswith("link") for name in refused)


def test_an_inertia_that_no_body_has_is_refused_by_link_and_rule():
    urdf = robot(*ARM[:-1], link("fore", inertial(0.05, (1e-4, 1e-4, 1e-3))))
    with pytest.raises(ModelError) as caught:
        physical_description(urdf, ("a", "b"))
    assert caught.value.name == "fore"


def test_an_impossible_inertia_of_a_fixed_link_counts_with_the_link_that_carries_it():
    parts = (
        joint("screw", "fore", "sensor", "fixed"),
        link("sensor", inertial(0.05, (1e-4, 1e-4, 1e-3))),
    )
    urdf = robot(*ARM, *parts)
    masses = link_masses(physical_description(urdf, ("a", "b")))
    assert masses["sensor"].mass == 0.0
    assert masses["fore"].mass == pytest.approx(2.05)


def test_what_no_joint_moves_has_no_inertia():
    mast = (joint("stand", "base", "mast", "fixed"), link("mast", inertial(1.0, (1.0, 0.0, 0.0))))
    masses = link_masses(physical_description(robot(*ARM, *mast), ("a", "b")))
    assert masses["mast"].mass == 0.0


@pytest.mark.parametrize("name", ["ur5", "ur5e", "gen3", "planar_two_link"])
def test_robots_of_the_package_keep_all_inertias_of_links_that_move(name):
    config = load_robot(name)
    urdf = config.urdf()
    before = link_masses(urdf)
    after = link_masses(physical_description(urdf, config.joints))
    for moved in RobotModel.of(config).links:
        assert after[moved].mass == before[moved].mass
        assert np.array_equal(after[moved].inertia, before[moved].inertia)


def test_joints_that_mimic_and_those_that_they_follow_are_none_of_the_arm():
    fingers = (
        joint("left", "fore", "l"),
        joint("right", "fore", "r", more='<mimic joint="left"/>'),
        link("l", GOOD),
        link("r", GOOD),
    )
    root = ElementTree.fromstring(robot(*ARM, *fingers))
    assert independent_joints(root) == ["a", "b"]


def test_other_joints_are_fixed_where_their_position_is_0():
    urdf = robot(*ARM, joint("finger", "fore", "tip", origin="0.1 0 0"), link("tip", GOOD))
    moving = RobotModel(urdf, ("a", "b", "finger"), "base", "tip")
    fixed = RobotModel(urdf, ("a", "b"), "base", "tip")
    np.testing.assert_allclose(
        fixed.at(np.array([0.3, -0.4])).pose, moving.at(np.array([0.3, -0.4, 0.0])).pose
    )
    assert "mimic" not in arm_description(urdf, ("a", "b"))


@pytest.mark.parametrize(
    ("moments", "possible"),
    [
        ((1.0, 1.0, 1.0), True),
        ((0.0, 0.0, 0.0), True),
        ((0.0, 1.0, 1.0), True),  # a rod
        ((1.0, 1.0, 2.0), True),  # a disc
        ((1.0, 1.0, 2.1), False),
        ((-0.1, 1.0, 1.0), False),
        ((np.nan, 1.0, 1.0), False),
    ],
)
def test_moments_of_inertia_are_those_of_a_body(moments, possible):
    assert (inertia_problem(LinkMass(1.0, np.zeros(3), np.diag(moments))) == "") is possible


def test_a_negative_mass_is_a_problem():
    assert inertia_problem(LinkMass(-1.0, np.zeros(3), np.eye(3))) != ""
