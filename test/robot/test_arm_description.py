"""Descriptions of makers: model and simulation are of the same arm, or the description
is refused in words.
"""

from xml.etree import ElementTree

import numpy as np
import pytest

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

TURN = '<axis xyz="{axis}"/><limit lower="-2" upper="2" effort="50" velocity="3"/>'
TRIALS = 200


def inertial(mass, moments, rpy="0 0 0", center="0.02 -0.01 0.05"):
    """The element of a mass with principal moments of inertia along axes that
    are turned by `rpy`.
    """
    tensor = " ".join(
        f'{name}="{value!r}"' for name, value in zip(("ixx", "iyy", "izz"), moments, strict=True)
    )
    return (
        f'<inertial><origin xyz="{center}" rpy="{rpy}"/><mass value="{mass!r}"/>'
        f'<inertia {tensor} ixy="0" ixz="0" iyz="0"/></inertial>'
    )


def link(name, content=""):
    return f'<link name="{name}">{content}</link>'


def joint(
    name, parent, child, kind="revolute", *, origin="0 0 0.2", rpy="0 0 0", axis="0 1 0", more=""
):
    limit = "" if kind == "fixed" else TURN.format(axis=axis)
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{origin}" rpy="{rpy}"/>{limit}{more}</joint>'
    )


def robot(*parts):
    return f'<robot name="r">{"".join(parts)}</robot>'


GOOD = inertial(2.0, (0.02, 0.03, 0.04), "0.1 0.2 0.3")
ARM = (
    link("base"),
    joint("a", "base", "upper"),
    link("upper", GOOD),
    joint("b", "upper", "fore"),
    link("fore", GOOD),
)


def random_robot(rng):
    """A chain of two to five joints, with fixed links, fingers that mimic others, and odd
    inertias; its joints.
    """
    parts = [link("base", inertial(1e-6, (0.0, 0.0, 3e-6)) if rng.random() < 0.3 else "")]
    names = []
    carrier = "base"
    kinds = ("revolute", "continuous", "prismatic")
    for number in range(rng.integers(2, 6)):
        child = f"link{number}"
        name = child if rng.random() < 0.2 else f"joint{number}"  # a joint and a link of one name
        axis = " ".join(map(repr, np.round(unit(rng), 6).tolist()))
        turned = " ".join(map(repr, rng.uniform(-1.0, 1.0, 3).tolist()))
        parts += [
            joint(name, carrier, child, rng.choice(kinds), rpy=turned, axis=axis),
            link(child, odd(rng, GOOD)),
        ]
        for side in range(rng.integers(0, 3)):
            extra = f"{child}_side{side}"
            parts += [
                joint(f"{extra}_joint", child, extra, "fixed", rpy=turned),
                link(extra, odd(rng, "")),
            ]
        names.append(name)
        carrier = child
    follower = '<mimic joint="finger0" multiplier="-1"/>'
    for side in range(rng.integers(0, 3)):
        more = follower if side else ""
        parts += [
            joint(f"finger{side}", carrier, f"finger{side}_link", more=more),
            link(f"finger{side}_link", GOOD),
        ]
    order = rng.permutation(len(parts))
    return robot(*(parts[k] for k in order)), tuple(names), carrier


def unit(rng):
    direction = rng.normal(size=3)
    return direction / np.linalg.norm(direction)


def odd(rng, usual):
    """The inertial element of a link: usual, or one as makers write them."""
    point = inertial(0.05, (0.0, 0.0, 0.0))
    rod = inertial(0.3, (0.0, 0.02, 0.02), "0.3 0.1 0.2")
    impossible = inertial(0.05, (1e-4, 1e-4, 1e-3))
    lacking = '<inertial><mass value="0.2"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial>'
    choices = [usual, usual, usual, "", point, rod, impossible, lacking]
    return choices[rng.integers(len(choices))]


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
