"""Numbers of a description that can't be are told with link or joint, number and way out; what is
fit for kinematics alone runs laws of positions, and no law of torques.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from arms import profile_names
from descriptions import ARM, GOOD, inertial, joint, link, random_robot, robot

from robot_control_ros.cli.init_robot import write_robot
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.errors import ConfigError, ModelError, RobotControlError
from robot_control_ros.core.types import CommandMode
from robot_control_ros.laws import command_mode, law_class, law_names
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.references import JointPath
from robot_control_ros.robot.arm_description import moving_bodies, physical_description
from robot_control_ros.robot.configuration import load_robot, robot_names
from robot_control_ros.robot.description import LinkMass, link_masses
from robot_control_ros.robot.implausible import (
    DENSEST,
    doubts_of,
    implausible_numbers,
    least_density,
    torque_problem,
)
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.in_process import Push, simulate
from robot_control_ros.simulation.trouble import DescriptionWarning

HOME = (0.3, 0.4)
TRIALS = 200
TORQUE_LAWS = [
    name
    for name in law_names(plugins=False)
    if command_mode(law_class(name), law_class(name).Gains()) is CommandMode.EFFORT
]


def model_of(*parts):
    return RobotModel(robot(*parts), ("a", "b"), "base", "fore")


def arm_with(fore, limits=()):
    """The usual arm with another inertial element of its last link, and other texts in it."""
    text = robot(*ARM[:-1], link("fore", fore))
    for usual, other in limits:
        assert usual in text
        text = text.replace(usual, other)
    return RobotModel(text, ("a", "b"), "base", "fore")


def only(findings):
    (finding,) = findings
    return finding


@pytest.mark.parametrize("name", robot_names())
def test_robots_of_the_package_have_no_number_that_can_not_be(name):
    for profile in profile_names(name):
        robot = load_robot(name, profile)
        assert doubts_of(robot, RobotModel.of(robot)) == ()


@pytest.mark.parametrize(
    ("element", "quantity", "value", "forbids"),
    [
        (inertial(-2.0, (0.02, 0.03, 0.04)), "mass", -2.0, True),
        (inertial(2.0, (0.001, 0.001, 0.04)), "inertia", 0.04, True),
        (inertial(2.0, (2e4, 3e4, 4e4)), "inertia", 4e4, False),
        (inertial(2000.0, (0.02, 0.03, 0.04)), "mass", 2000.0, False),
        (inertial(2000.0, (20.0, 30.0, 40.0)), "effort", None, False),
    ],
    ids=["negative", "triangle", "g mm²", "mass in grams", "all in grams"],
)
def test_an_inertia_that_can_not_be_is_told_by_link_and_number(element, quantity, value, forbids):
    findings = implausible_numbers(arm_with(element), HOME)
    finding = next(each for each in findings if each.quantity == quantity)
    assert finding.part == ("fore" if value is not None else "a")
    assert value is None or finding.value == pytest.approx(value)
    assert finding.forbids_torques is forbids
    assert finding.remedy
    assert finding.part in finding.text


def test_an_inertia_that_parsers_leave_out_is_told():
    lacking = '<inertial><mass value="0.2"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial>'
    finding = implausible_numbers(arm_with(lacking), HOME)[0]
    assert (finding.part, finding.quantity) == ("fore", "inertia")
    assert math.isnan(finding.value)


def test_an_impossible_inertia_of_a_fixed_link_is_told_and_forbids_nothing():
    parts = (
        *ARM,
        joint("screw", "fore", "sensor", "fixed"),
        link("sensor", inertial(0.05, (1e-4, 1e-4, 1e-3))),
    )
    finding = only(implausible_numbers(model_of(*parts), HOME))
    assert (finding.part, finding.quantity, finding.forbids_torques) == ("sensor", "inertia", False)


def test_links_that_no_joint_moves_may_have_any_inertia():
    mast = (
        joint("stand", "base", "mast", "fixed"),
        link("mast", inertial(-1.0, (1.0, 0.0, 0.0))),
    )
    assert implausible_numbers(model_of(*ARM, *mast), HOME) == ()


@pytest.mark.parametrize(
    ("usual", "other", "quantity", "value"),
    [
        ('lower="-2" upper="2"', 'lower="-120" upper="170"', "position", 170.0),
        ('velocity="3"', 'velocity="180"', "velocity", 180.0),
        ('velocity="3"', 'velocity="0"', "velocity", 0.0),
        ('effort="50"', 'effort="0"', "effort", 0.0),
        ('effort="50"', 'effort="1"', "effort", None),
        ('lower="-2" upper="2"', 'lower="-2" upper="0.4"', "home", 0.4),
    ],
)
def test_limits_that_can_not_be_are_told_by_joint_and_number(usual, other, quantity, value):
    findings = implausible_numbers(arm_with(GOOD, [(usual, other)]), HOME)
    finding = next(each for each in findings if each.quantity == quantity)
    assert finding.part in ("a", "b")
    assert value is None or finding.value == value
    assert finding.forbids_torques is (quantity == "effort" and value == 0.0)


def test_a_joint_that_is_too_light_for_its_motor_lacks_a_rotor():
    light = arm_with(inertial(0.02, (2e-6, 2e-6, 2e-6), center="0 0 0.01"))
    finding = only(implausible_numbers(light, HOME))
    assert (finding.part, finding.quantity) == ("b", "rotor_inertia")
    assert finding.value == pytest.approx(3.0 * (2e-6 + 0.02 * 0.01**2) / 50.0)
    with_rotors = RobotModel(light.urdf, light.joints, "base", "fore", (0.1, 0.1))
    assert implausible_numbers(with_rotors, HOME) == ()


def test_an_arm_without_inertia_is_fit_for_kinematics_alone():
    model = RobotModel(robot(*(part.replace(GOOD, "") for part in ARM)), ("a", "b"), "base", "fore")
    finding = only(implausible_numbers(model, HOME))
    assert finding.forbids_torques
    assert model.dynamics_problem
    with_rotors = RobotModel(model.urdf, model.joints, "base", "fore", (0.1, 0.1))
    assert with_rotors.dynamics_problem == ""


def test_the_density_is_that_of_a_sphere_and_less_than_that_of_other_bodies():
    radius, density = 0.05, 2700.0
    mass = density * 4.0 / 3.0 * math.pi * radius**3
    sphere = LinkMass(mass, np.zeros(3), 0.4 * mass * radius**2 * np.eye(3))
    assert least_density(sphere) == pytest.approx(density)
    size = (0.02, 0.05, 0.4)
    mass = density * math.prod(size)
    squares = np.square(size)
    box = LinkMass(mass, np.zeros(3), np.diag(mass / 12.0 * (squares.sum() - squares)))
    assert least_density(box) < density < DENSEST


def test_bodies_that_move_are_the_sum_of_what_is_fixed_to_them():
    parts = (
        *ARM,
        joint("screw", "fore", "tool", "fixed", origin="0.1 0 0.2", rpy="0.3 0.2 0.1"),
        link("tool", GOOD),
    )
    urdf = robot(*parts)
    body = moving_bodies(urdf, ("a", "b"))["fore"]
    known = RobotModel(urdf, ("a", "b"), "base", "fore").body_beyond("fore")
    assert body.mass == pytest.approx(known.mass)
    np.testing.assert_allclose(body.center, known.center, atol=1e-12)
    np.testing.assert_allclose(body.inertia, known.inertia, atol=1e-12)
    assert link_masses(urdf)["tool"].mass == 2.0


# --- random robots ---


def test_what_no_physics_engine_takes_is_a_problem_of_the_dynamics():
    rng = np.random.default_rng(5)
    problems = []
    for _ in range(TRIALS):
        urdf, joints, tip = random_robot(rng)
        model = RobotModel(urdf, joints, "base", tip)
        implausible_numbers(model, np.zeros(len(joints)).tolist())
        try:
            physical_description(urdf, joints)
        except ModelError as error:
            problems.append((error.name, model.dynamics_problem))
    assert TRIALS // 20 < len(problems) < TRIALS
    assert all(problem.startswith("link ") for _, problem in problems)


def test_random_descriptions_are_written_or_refused_in_words(tmp_path):
    rng = np.random.default_rng(6)
    written = 0
    for number in range(TRIALS // 2):
        urdf, joints, tip = random_robot(rng)
        limits = rng.choice(['lower="-2"', 'lower="-200"', 'lower="1.9"', 'lower="3"', ""])
        effort = rng.choice(['effort="50"', 'effort="0"', 'effort="-1"', 'effort="inf"'])
        urdf = urdf.replace('lower="-2"', limits).replace('effort="50"', effort)
        urdf = urdf.replace('"joint', rng.choice(['"joint', '"1', '"a: b', '"ж', '"# ']))
        path = tmp_path / f"{number}.urdf"
        path.write_text(urdf, encoding="utf-8")
        try:
            config = write_robot(path, path.with_suffix(".yaml"), tip=tip)
        except RobotControlError:
            assert not path.with_suffix(".yaml").exists()
            continue
        written += 1
        assert config.n == len(joints)
        model = RobotModel.of(config)
        for law in TORQUE_LAWS:
            if torque_problem(model):
                with pytest.raises(ConfigError):
                    RunningLaw(config, law)
            else:
                RunningLaw(config, law)
    assert written > TRIALS // 8


# --- an arm for kinematics alone ---


@pytest.fixture
def massless(tmp_path):
    """The configuration of an arm without any inertia, as init-robot writes it."""
    path = tmp_path / "arm.urdf"
    path.write_text(robot(*(part.replace(GOOD, "") for part in ARM)), encoding="utf-8")
    return write_robot(path, path.with_suffix(".yaml"))


def test_the_file_of_such_an_arm_says_so(massless, tmp_path):
    lines = (tmp_path / "arm.yaml").read_text(encoding="utf-8").splitlines()
    assert any("CHECK" in line and "inertia" in line for line in lines)


@pytest.mark.parametrize("law", TORQUE_LAWS)
def test_laws_of_torques_are_refused_for_it(massless, law):
    with pytest.raises(ConfigError) as caught:
        RunningLaw(massless, law)
    assert caught.value.name == law
    assert CommandMode.POSITION in caught.value.bound


def test_a_published_description_without_inertia_is_refused_as_well(massless):
    ur5 = load_robot("ur5")
    text = ur5.urdf()
    while "<inertial>" in text:
        begin, _, rest = text.partition("<inertial>")
        text = begin + rest.partition("</inertial>")[2]
    model = RobotModel.of(replace(ur5, rotor_inertia=(0.0,) * ur5.n), text)
    with pytest.raises(ConfigError):
        ControlLoop(ur5, "impedance", model=model)
    loop = ControlLoop(ur5, "joint_pid", model=model)
    with pytest.raises(ConfigError):
        loop.check_switch(RunningLaw(ur5, "impedance"))


@pytest.mark.sim
def test_a_law_of_positions_leads_it(massless):
    pytest.importorskip("mujoco")
    model = RobotModel.of(massless)
    start = np.array(massless.home)
    goal = start + 0.2
    path = JointPath(
        model,
        start,
        np.array([0.0, 1.0]),
        np.array([start, goal]),
        None,
        0.0,
        model.limits.velocity,
    )
    with pytest.warns(DescriptionWarning):
        log = simulate(massless, "joint_pid", reference=path, duration=2.0, rate=500.0)
    assert not any(log.fault)
    np.testing.assert_allclose(log.q[-1], goal, atol=0.01)


@pytest.mark.sim
def test_it_yields_to_a_hand_under_admittance(massless):
    pytest.importorskip("mujoco")
    push = Push(force=(5.0, 0.0, 0.0), start=0.2, duration=0.6)
    with pytest.warns(DescriptionWarning):
        log = simulate(massless, "admittance", push=push, duration=1.0, rate=500.0)
    assert not any(log.fault)
    assert np.abs(log.q - log.q[0]).max() > 1e-3
