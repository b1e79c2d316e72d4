"""What must hold for every robot that the package brings, and for every profile of it."""

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from arms import (
    TRIED,
    Chain,
    configuration_cases,
    profile_names,
    robot_cases,
    slowest_swing,
)

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.control.safety import Safety
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.types import Command, CommandMode
from robot_control_ros.laws import law_names
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.references import Circle
from robot_control_ros.robot.configuration import load_robot, robot_names
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.mujoco_plant import MujocoPlant

DATA = Path(__file__).parents[1] / "support" / "data"
VENDOR = {
    path.stem.removesuffix("_vendor"): json.loads(path.read_text())
    for path in DATA.glob("*_vendor.json")
}
ROBOTS = {name: load_robot(name) for name in robot_names()}
NO_VENDOR = {"planar_two_link"}

# each robot in `make test`, too: for what takes no time
every_single_robot = pytest.mark.parametrize("robot", ROBOTS.values(), ids=ROBOTS)
every_robot = pytest.mark.parametrize("robot", configuration_cases(ROBOTS))
# The UR5e is the UR5 with other numbers: what moves is tried with one of them, and both rates with
# that one, which takes long: the tests of the laws run on it.
MOVING = {name: robot for name, robot in ROBOTS.items() if name != "ur5e"}
every_moving_robot = pytest.mark.parametrize("robot", configuration_cases(MOVING))
RATES = [
    (name, rate) for name in MOVING for rate in ((500.0, 1000.0) if name == "ur5" else (500.0,))
]
every_robot_and_rate = pytest.mark.parametrize(
    ("robot", "rate"),
    [
        pytest.param(
            ROBOTS[name],
            rate,
            id=f"{name}-{rate:g}",
            marks=() if name in TRIED and name != "ur5" else pytest.mark.long,
        )
        for name, rate in RATES
    ],
)
every_single_vendors_robot = pytest.mark.parametrize("name", VENDOR)
every_vendors_robot = pytest.mark.parametrize("name", robot_cases(VENDOR))


def profiles(robot):
    """The robot under each of its profiles."""
    return [load_robot(robot.name, name) for name in profile_names(robot.name)]


def bare_model(robot):
    """Of the description alone: without the rotor inertia of the configuration."""
    return RobotModel(robot.urdf(), robot.joints, robot.base, robot.tip)


def states(robot, rng, count=20):
    """Joint angles within the limits, of continuous joints within a turn, and velocities."""
    limits = RobotModel.of(robot).limits
    lower, upper = np.maximum(limits.lower, -np.pi), np.minimum(limits.upper, np.pi)
    return [(rng.uniform(lower, upper), rng.uniform(-np.pi, np.pi, robot.n)) for _ in range(count)]


def parents(robot):
    """The link above each link."""
    joints = ElementTree.fromstring(robot.urdf()).findall("joint")
    return {joint.find("child").get("link"): joint.find("parent").get("link") for joint in joints}


def test_a_robot_either_has_a_vendors_figures_or_is_known_to_have_none():
    assert set(VENDOR) | NO_VENDOR == set(ROBOTS)
    assert not set(VENDOR) & NO_VENDOR


# --- configuration and description fit together ---


@every_robot
def test_the_frames_exist(robot):
    assert {robot.base, robot.tip, robot.wrench_frame} <= set(RobotModel.of(robot).frames)


@every_robot
def test_the_tip_hangs_on_the_sensor(robot):
    above, link = parents(robot), robot.tip
    chain = [link]
    while link in above:
        chain.append(link := above[link])
    assert robot.wrench_frame in chain


@every_robot
def test_effort_and_velocity_limits_are_above_zero(robot):
    limits = RobotModel.of(robot).limits
    for values in (limits.effort, limits.velocity):
        assert np.isfinite(values).all()
        assert (values > 0.0).all()


@every_single_robot
def test_home_is_within_the_limits_with_room_to_move(robot):
    limits = RobotModel.of(robot).limits
    assert (limits.lower + 0.5 < robot.home).all()
    assert (robot.home < limits.upper - 0.5).all()


@every_single_robot
def test_home_can_be_held_with_half_the_effort(robot):
    model = RobotModel.of(robot)
    assert (abs(model.at(np.array(robot.home)).gravity) < 0.5 * model.limits.effort).all()


@every_robot
def test_home_is_not_singular_in_the_axes_that_the_arm_controls(robot):
    jacobian = RobotModel.of(robot).at(np.array(robot.home)).jacobian[np.array(robot.axes) > 0.0]
    singular_values = np.linalg.svd(jacobian, compute_uv=False)
    assert len(singular_values) == sum(robot.axes) == min(robot.n, 6)
    assert singular_values.min() > 0.1


@every_robot
def test_impedance_runs_where_torques_are_taken_and_is_refused_elsewhere(robot):
    for profiled in profiles(robot):
        if CommandMode.EFFORT in profiled.profile.commands:
            loop = ControlLoop(profiled, "impedance")
            assert loop.running.gains.target.gravity == (
                0.0 if profiled.profile.gravity_by_robot else 1.0
            )
        else:
            with pytest.raises(ConfigError, match=f"profile {profiled.profile_name}.* takes only"):
                ControlLoop(profiled, "impedance")


@every_robot
def test_a_real_robot_that_lacks_an_interface_says_the_way_out(robot):
    for profiled in profiles(robot):
        if set(profiled.profile.commands) != set(CommandMode):
            named = [name for name in law_names(plugins=False) if name in profiled.profile.remedy]
            assert named
            for name in named:
                assert RunningLaw(profiled, name).mode in profiled.profile.commands


@every_robot
def test_there_is_a_profile_for_the_simulator_and_gravity_is_ours_there(robot):
    assert robot.profile_name == "sim"
    assert set(robot.profile.commands) == set(CommandMode)
    assert not robot.profile.gravity_by_robot


# --- the description ---


@every_robot
def test_every_link_with_mass_can_be_seen_and_touched(robot):
    links = ElementTree.fromstring(robot.urdf()).findall("link")
    with_mass = [link for link in links if link.find("inertial") is not None]
    assert len(with_mass) >= robot.n
    for link in with_mass:
        assert link.find("visual") is not None, link.get("name")
        assert link.find("collision") is not None, link.get("name")


@every_robot
def test_the_description_needs_no_other_file(robot):
    geometries = list(ElementTree.fromstring(robot.urdf()).iter("geometry"))
    assert geometries
    assert all(
        shape.tag in ("box", "cylinder", "sphere") for geometry in geometries for shape in geometry
    )


@every_robot
def test_every_colour_that_is_referred_to_is_defined(robot):
    description = ElementTree.fromstring(robot.urdf())
    defined = {material.get("name") for material in description.findall("material")}
    used = {
        material.get("name")
        for visual in description.iter("visual")
        for material in visual.findall("material")
    }
    assert used
    assert used <= defined


@every_robot
def test_inertias_are_those_of_real_bodies(robot):
    for inertia in ElementTree.fromstring(robot.urdf()).iter("inertia"):
        i = {key: float(value) for key, value in inertia.attrib.items()}
        tensor = np.array(
            [
                [i["ixx"], i["ixy"], i["ixz"]],
                [i["ixy"], i["iyy"], i["iyz"]],
                [i["ixz"], i["iyz"], i["izz"]],
            ]
        )
        moments = np.linalg.eigvalsh(tensor)
        assert moments[0] > 0.0
        assert moments[0] + moments[1] >= moments[2] * (1.0 - 1e-12)


# --- the vendor's figures ---


@every_vendors_robot
def test_joints_and_frames_are_the_vendors(name):
    robot, vendor = ROBOTS[name], VENDOR[name]
    assert list(robot.joints) == vendor["joints"]
    assert (robot.base, robot.tip) == (vendor["base_frame"], vendor["tip_frame"])
    assert vendor["gravity"] == [0.0, 0.0, -9.81]
    assert len(vendor["states"]) == 20


@every_vendors_robot
def test_limits_are_the_vendors(name):
    limits = bare_model(ROBOTS[name]).limits
    expected = VENDOR[name]["limits"]
    np.testing.assert_array_equal(limits.effort, expected["effort"])
    np.testing.assert_array_equal(limits.velocity, expected["velocity"])
    np.testing.assert_array_equal(
        limits.lower, [-np.inf if x is None else x for x in expected["lower"]]
    )
    np.testing.assert_array_equal(
        limits.upper, [np.inf if x is None else x for x in expected["upper"]]
    )


@every_vendors_robot
def test_inertials_are_the_vendors(name):
    found = {}
    for link in ElementTree.fromstring(ROBOTS[name].urdf()).findall("link"):
        inertial = link.find("inertial")
        if inertial is not None:
            at, inertia = inertial.find("origin"), inertial.find("inertia")
            found[link.get("name")] = {
                "mass": float(inertial.find("mass").get("value")),
                "xyz": [float(x) for x in at.get("xyz").split()],
                "rpy": [float(x) for x in at.get("rpy").split()],
                "inertia": [
                    float(inertia.get(key)) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
                ],
            }
    assert found == VENDOR[name]["inertials"]


@every_single_vendors_robot
def test_pose_and_dynamics_are_the_vendors(name):
    model = bare_model(ROBOTS[name])
    for state in VENDOR[name]["states"]:
        state = {key: np.array(value) for key, value in state.items()}
        kin = model.update(state["q"], state["v"])
        np.testing.assert_allclose(kin.pose[:3, 3], state["tip_position"], rtol=0, atol=1e-9)
        np.testing.assert_allclose(kin.pose[:3, :3], state["tip_rotation"], rtol=0, atol=1e-9)
        np.testing.assert_allclose(kin.gravity, state["gravity_torque"], rtol=0, atol=1e-9)
        np.testing.assert_allclose(kin.mass, state["mass_matrix"], rtol=0, atol=1e-9)
        np.testing.assert_allclose(
            model.bias(state["q"], state["v"]), state["bias"], rtol=0, atol=1e-9
        )


# --- the model ---


@every_robot
def test_pose_and_inertia_are_those_of_the_description_by_textbook_formulae(robot, rng):
    model, chain = bare_model(robot), Chain(robot.urdf())
    for q, v in states(robot, rng, 5):
        angles = dict(zip(robot.joints, q, strict=True))
        kin = model.at(q, v)
        np.testing.assert_allclose(
            kin.pose, chain.relative(robot.base, robot.tip, angles), rtol=0, atol=1e-10
        )
        np.testing.assert_allclose(kin.mass, chain.mass_matrix(angles), rtol=0, atol=1e-10)


@every_robot
def test_the_order_of_the_joints_is_the_configurations(robot, rng):
    order = rng.permutation(robot.n)
    while (order == np.arange(robot.n)).all():
        order = rng.permutation(robot.n)
    model, shuffled_model = RobotModel.of(robot), RobotModel.of(shuffled(robot, order))
    for q, v in states(robot, rng, 5):
        kin, other = model.at(q, v), shuffled_model.at(q[order], v[order])
        np.testing.assert_allclose(other.pose, kin.pose, rtol=0, atol=1e-12)
        np.testing.assert_allclose(other.jacobian, kin.jacobian[:, order], rtol=0, atol=1e-12)
        np.testing.assert_allclose(other.mass, kin.mass[np.ix_(order, order)], rtol=0, atol=1e-12)
        np.testing.assert_allclose(other.gravity, kin.gravity[order], rtol=0, atol=1e-12)
        np.testing.assert_allclose(other.coriolis, kin.coriolis[order], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(shuffled_model.limits.effort, model.limits.effort[order])
    np.testing.assert_array_equal(shuffled_model.limits.upper, model.limits.upper[order])


def shuffled(robot, order):
    """The same robot with its joints in another order."""

    def pick(values):
        return tuple(values[i] for i in order)

    return replace(
        robot,
        joints=pick(robot.joints),
        home=pick(robot.home),
        rotor_inertia=pick(robot.rotor_inertia),
        effort_rate=pick(robot.effort_rate),
        safe_damping=pick(robot.safe_damping),
    )


# --- in MuJoCo ---


@pytest.mark.sim
@every_single_robot
def test_mujoco_and_pinocchio_agree(robot, rng):
    pytest.importorskip("mujoco")
    from robot_control_ros.simulation.mujoco_plant import MujocoPlant

    plant, model = MujocoPlant(robot), RobotModel.of(robot)
    for q, v in states(robot, rng):
        mass, bias, pose = plant.dynamics(q, v)
        np.testing.assert_allclose(mass, model.mass(q), rtol=0, atol=1e-10)
        np.testing.assert_allclose(bias, model.bias(q, v), rtol=0, atol=1e-10)
        np.testing.assert_allclose(pose, model.at(q, v).pose, rtol=0, atol=1e-10)


@pytest.mark.sim
@every_robot_and_rate
def test_impedance_holds_the_robot_at_home_without_drift(robot, rate):
    pytest.importorskip("mujoco")
    from robot_control_ros.simulation.in_process import simulate

    log = simulate(robot, duration=1.0, rate=rate)
    np.testing.assert_allclose(log.q, np.tile(robot.home, (len(log.q), 1)), rtol=0, atol=1e-6)
    np.testing.assert_allclose(log.pose_error, 0.0, rtol=0, atol=1e-6)


@pytest.mark.few(1)
@pytest.mark.sim
@every_robot_and_rate
def test_impedance_gives_way_to_a_push_as_a_spring_and_then_comes_to_rest(robot, rate):
    pytest.importorskip("mujoco")
    from robot_control_ros.simulation.in_process import Push, simulate

    stiffness = [500.0] * 3 + [50.0] * 3
    # (1 + 12) e^-12 of the way is left then
    rest = max(2.0, 12.0 / slowest_swing(robot, stiffness))
    push = Push((20.0, 0.0, 0.0), start=0.1, duration=rest)
    log = simulate(
        robot, gains={"stiffness": stiffness}, duration=2.0 * rest + 0.5, push=push, rate=rate
    )
    np.testing.assert_allclose(
        log.pose_error[log.t.searchsorted(rest), :3], [-20.0 / 500.0, 0, 0], rtol=0, atol=1e-3
    )
    assert abs(log.pose_error[-1]).max() < 1e-4
    assert abs(log.v[log.t > 2.0 * rest]).max() < 1e-3


@pytest.mark.few(1)
@pytest.mark.sim
@every_robot_and_rate
def test_a_stiffly_held_robot_does_not_run_away_when_it_is_pushed_hard(robot, rate):
    pytest.importorskip("mujoco")
    from robot_control_ros.simulation.in_process import Push, simulate

    stiffness = [2000.0] * 3 + [200.0] * 3
    rest, push = (
        max(1.0, 12.0 / slowest_swing(robot, stiffness)),
        Push((40.0, 0.0, 0.0), start=0.1, duration=1.0),
    )
    log = simulate(robot, gains={"stiffness": stiffness}, push=push, duration=1.1 + rest, rate=rate)
    assert abs(log.pose_error[:, :3]).max() < 1.2 * 40.0 / 2000.0
    assert abs(log.v[-1]).max() < 1e-3


@pytest.mark.few(1)
@pytest.mark.sim
@every_moving_robot
def test_impedance_follows_a_slow_circle_about_home(robot):
    pytest.importorskip("mujoco")
    from robot_control_ros.simulation.in_process import simulate

    def circle(start):
        return Circle(start, 0.08, period=5.0, normal=(0.0, 0.0, 1.0))

    log = simulate(robot, reference=circle, duration=5.5, rate=500.0)
    assert np.ptp(log.pose[:, 0, 3]) > 0.15
    lag = 0.08 * (2.0 * np.pi / 5.0) ** 2 / slowest_swing(robot, [500.0] * 3 + [50.0] * 3) ** 2
    assert abs(log.pose_error[:, :3]).max() < max(lag, 0.005)


@pytest.mark.few(1)
@pytest.mark.sim
@every_moving_robot
def test_a_simulation_does_not_depend_on_the_order_of_the_joints(robot):
    pytest.importorskip("mujoco")
    from robot_control_ros.simulation.in_process import Push, simulate

    order = np.arange(robot.n)[::-1]
    push = Push((10.0, 5.0, 0.0), start=0.1, duration=0.2)
    log, other = (
        simulate(config, duration=0.5, push=push) for config in (robot, shuffled(robot, order))
    )
    np.testing.assert_allclose(other.q, log.q[:, order], rtol=0, atol=1e-9)
    np.testing.assert_allclose(other.command, log.command[:, order], rtol=0, atol=1e-6)
    assert np.ptp(log.q, axis=0).max() > 1e-3


@every_moving_robot
@pytest.mark.parametrize("delay", [0.0, 0.008])
def test_safe_torque_brings_a_moving_arm_to_rest(robot, delay):
    model, plant = RobotModel.of(robot), MujocoPlant(robot)
    safety, late = Safety(robot, model.limits), round(delay / robot.period)
    plant.open()
    speed = (
        0.5 * np.minimum(model.limits.velocity, 2.0) * np.where(np.arange(robot.n) % 2, -1.0, 1.0)
    )
    for _ in range(round(0.4 / robot.period)):
        plant.write(Command(CommandMode.VELOCITY, speed))
        state = plant.read()
    assert np.abs(state.v).max() > 0.5
    sent = []
    for _ in range(round(0.5 / robot.period)):
        sent.append(
            safety.safe_output(
                CommandMode.EFFORT, state, model.update(state.q, state.v), robot.period
            )
        )
        if len(sent) > late:
            plant.write(sent[-1 - late])
        state = plant.read()
    assert np.abs(state.v).max() < 0.05
