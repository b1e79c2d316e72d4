"""Blows: the bound on the tip's speed, what is told of it, and arms that run into a body."""

import math

import numpy as np
import pytest
from driven_arm import DrivenArm

from robot_control_ros.control.impact import (
    PRESSED,
    ImpactBound,
    driven_speed,
    expected_blow,
    tip_inertia,
)
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.types import RobotState, Wrench
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.sensing.contact_settings import REACTIONS

robots = pytest.mark.parametrize("name", ["ur5e", "gen3"])
LIMIT = 65.0  # N
HAND = 75000.0  # N/m


def settings_with(robot, **values):
    """Contact settings of a robot."""
    settings = ControlLoop(robot, "gravity_compensation").contact.settings
    settings.set(values)
    return settings.target


# --- the bound ---


@robots
def test_the_blow_on_any_surface_stays_below_the_limit_and_reaches_it_on_the_worst_one(name, rng):
    robot = load_robot(name)
    model = RobotModel.of(robot)
    settings = settings_with(robot, max_impact=LIMIT)
    pressed = PRESSED * LIMIT
    for _ in range(20):
        kin = model.at(np.array(robot.home) + rng.uniform(-0.5, 0.5, robot.n))
        mobility = kin.jacobian[:3] @ np.linalg.inv(kin.mass) @ kin.jacobian[:3].T
        bound = ImpactBound()
        bound.update(settings, kin)
        way = rng.normal(size=3)
        velocity = bound.speed(way) * way / np.linalg.norm(way)
        worst = np.linalg.solve(mobility, velocity)
        forces = []
        for normal in [worst, *rng.normal(size=(50, 3))]:
            normal = normal / np.linalg.norm(normal)
            mass = 1.0 / (normal @ mobility @ normal)
            forces.append(pressed + math.sqrt(pressed**2 + HAND * mass * (normal @ velocity) ** 2))
        assert max(forces) <= LIMIT * (1.0 + 1e-9)
        assert forces[0] == pytest.approx(LIMIT)


def test_a_stiffer_body_allows_less_speed_and_no_limit_allows_any():
    robot = load_robot("ur5e")
    kin = RobotModel.of(robot).at(np.array(robot.home))
    bound = ImpactBound()
    way = np.array([0.0, 0.0, -1.0])
    assert bound.speed(way) == math.inf
    speeds = []
    for stiffness in (1e4, 4e4, 1.6e5):
        bound.update(settings_with(robot, max_impact=LIMIT, body_stiffness=stiffness), kin)
        speeds.append(bound.speed(way))
    np.testing.assert_allclose(speeds[0] / np.array(speeds), [1.0, 2.0, 4.0])
    assert bound.speed(np.zeros(3)) == math.inf
    bound.update(settings_with(robot, max_impact=0.0), kin)
    assert bound.speed(way) == math.inf


def test_a_singular_posture_keeps_the_bound_finite():
    robot = load_robot("ur5e")
    kin = RobotModel.of(robot).at(np.zeros(robot.n))  # stretched
    assert np.isfinite(tip_inertia(kin)).all()
    bound = ImpactBound()
    bound.update(settings_with(robot, max_impact=LIMIT), kin)
    assert all(bound.speed(way) > 0.0 for way in np.eye(3))


def test_drives_that_react_later_or_hold_a_stiffer_body_are_slower():
    fast = load_robot("ur5e")
    settings = settings_with(fast, max_impact=LIMIT)
    speed = driven_speed(fast, settings, True)
    assert 0.0 < speed < math.inf
    assert driven_speed(fast.at_rate(125.0), settings, True) < speed
    assert driven_speed(fast, settings, False) < speed
    stiffer = settings_with(fast, max_impact=LIMIT, body_stiffness=2.0 * HAND)
    assert driven_speed(fast, stiffer, True) == pytest.approx(0.5 * speed)
    assert driven_speed(fast, settings_with(fast), True) == math.inf


# --- it acts in every mode ---


def kept(bound, velocity):
    """The tip's velocity (3,) over the bound along it."""
    return float(np.linalg.norm(velocity)) / bound.speed(velocity)


@pytest.mark.few(2)
@robots
@pytest.mark.parametrize("law", ["admittance", "joint_pid", "position_domain_pd"])
def test_positions_and_velocities_keep_the_bound_and_the_reference_does_not_run_ahead(name, law):
    gains = {"output": "position"} if law == "position_domain_pd" else {}
    arm = DrivenArm(name, law, gains)
    unmeasured = {"collision_torque": 0.0, "clamping_torque": 0.0}
    arm.loop.contact.settings.set({"max_impact": LIMIT, **unmeasured})
    arm.step()
    goal = arm.loop.tip()
    goal[1, 3] += 0.1
    shares = []
    for count in range(1200):
        if count == 5:
            arm.loop.motion.move_to(goal)
        arm.step()
        if np.abs(arm.v).max() > 1e-4 and count > 5:
            kin = arm.model.at(arm.q, arm.v)
            settings = arm.loop.contact.settings.target
            bound = ImpactBound()
            bound.update(settings, kin, driven_speed(arm.robot, settings, True))
            shares.append(kept(bound, (kin.jacobian @ arm.v)[:3]))
    assert max(shares) <= 1.1  # each joint brakes only as fast as it may
    assert max(shares) > 0.7  # it is no slower than it has to be
    assert np.linalg.norm(arm.loop.pose_error()[:3]) < 0.02
    assert not arm.loop.fault


@pytest.mark.few(2)
@pytest.mark.sim
@robots
@pytest.mark.parametrize("law", ["impedance", "joint_impedance"])
def test_torques_keep_the_bound_on_moves(name, law):
    PushedArm = pytest.importorskip("pushed_arm").PushedArm
    arm = PushedArm(name, law)
    arm.loop.contact.settings.set({"max_impact": LIMIT})
    arm.go(arm.loop.tick, 0.1)
    goal = arm.loop.tip()
    goal[2, 3] -= 0.08
    arm.loop.motion.move_to(goal)
    shares = []

    def answer(state):
        command = arm.loop.tick(state)
        kin = arm.loop.kin
        velocity = (kin.jacobian @ kin.v)[:3]
        if np.linalg.norm(velocity) > 1e-3:
            bound = ImpactBound()
            bound.update(arm.loop.contact.settings.target, kin)
            shares.append(kept(bound, velocity))
        return command

    arm.go(answer, 1.5)
    assert max(shares) <= 1.0
    assert max(shares) > 0.7
    assert not arm.loop.fault


@pytest.mark.few(1)
@pytest.mark.sim
@robots
def test_a_hand_that_leads_the_arm_is_braked_at_the_bound_without_a_fault(name):
    PushedArm = pytest.importorskip("pushed_arm").PushedArm
    speeds = []
    for limit in (0.0, LIMIT):
        arm = PushedArm(name, "gravity_compensation")
        arm.loop.contact.settings.set({"max_impact": limit, "reaction": "none"})
        places, _ = arm.go(arm.loop.tick, 1.0, np.array([0.0, 10.0, 0.0]))
        speeds.append(arm.speeds(places).max())
        assert not arm.loop.fault
    assert speeds[1] < 0.7 * speeds[0]


def test_the_smaller_limit_counts_and_the_other_one_comes_back():
    arm = DrivenArm("ur5e", "joint_pid")
    goal = arm.q.copy()
    goal[0] += 1.0
    fastest = []
    for values, most in (
        ({"max_impact": LIMIT}, 1.5),
        ({"max_impact": 1000.0}, 0.05),
        ({"max_impact": 0.0}, 1.5),
    ):
        arm.loop.contact.settings.set(values)
        arm.loop.limits.set({"max_tip_speed": most})
        goal[0] = -goal[0]
        speeds = []
        for count in range(400):
            arm.step()
            speeds.append(arm.tip_speed)
            if count == 5:
                arm.loop.motion.move_joints_to(goal)
        fastest.append(max(speeds))
    assert fastest[0] < 0.15
    assert fastest[1] <= 0.05
    assert fastest[2] > 0.15


# --- what ends the pressing ---


def test_a_limit_has_a_reaction_and_without_one_contacts_change_nothing():
    robot = load_robot("ur5e")
    assert settings_with(robot).reaction_in_force == "none"
    assert settings_with(robot, max_impact=LIMIT).reaction_in_force == "retreat"
    for reaction in set(REACTIONS) - {"none"}:
        assert (
            settings_with(robot, max_impact=LIMIT, reaction=reaction).reaction_in_force == reaction
        )


def test_a_limit_bounds_the_forces_that_count_as_a_contact():
    robot = load_robot("ur5e")
    own = settings_with(robot)
    assert own.forces == (own.collision_force, own.clamping_force)
    assert max(settings_with(robot, max_impact=LIMIT).forces) < LIMIT
    assert settings_with(robot, max_impact=1000.0).forces == own.forces
    unwatched = settings_with(robot, max_impact=LIMIT, collision_force=0.0, clamping_force=0.0)
    assert 0.0 < unwatched.forces[0] <= unwatched.forces[1] < LIMIT


def pressed(loop, force, seconds, start):
    """Ticks at home under a force (3,) at the sensor [N]; the time after them."""
    robot = loop.robot
    home = np.array(robot.home)
    rest = np.zeros(robot.n)
    for count in range(round(seconds / robot.period)):
        time = start + count * robot.period
        torque = loop.model.at(home).gravity
        loop.tick(
            RobotState(
                time, home, rest, torque, Wrench(np.array(force), np.zeros(3), robot.wrench_frame)
            )
        )
    return start + seconds


@pytest.mark.parametrize("law", ["impedance", "admittance", "joint_pid"])
@pytest.mark.parametrize(("limit", "reacts"), [(LIMIT, True), (0.0, False)])
def test_a_measured_force_of_half_the_limit_ends_the_pressing(law, limit, reacts):
    loop = ControlLoop(load_robot("ur5e"), law)
    loop.contact.settings.set({"max_impact": limit})
    time = pressed(loop, (0.0, 0.0, 0.0), 0.4, 0.0)
    time = pressed(loop, (0.0, 0.0, 0.3 * LIMIT), 0.1, time)
    assert bool(loop.contact.reaction) is reacts
    assert bool(loop.contact.message) is reacts


def test_an_arm_that_can_find_no_contact_is_told():
    robot = load_robot("planar_two_link")
    loop = ControlLoop(robot, "impedance")
    rest = np.zeros(robot.n)
    told = []
    for limit in (0.0, LIMIT):
        loop.contact.settings.set({"max_impact": limit})
        for _ in range(5):
            time = 0.0 if loop.state is None else loop.state.time + robot.period
            loop.tick(RobotState(time, np.array(robot.home), rest, rest))
        told.append(bool(loop.contact.warning))
    assert told == [False, True]


# --- what is told ---


@robots
def test_a_blow_is_told_before_the_arm_moves(name):
    robot = load_robot(name)
    kin = RobotModel.of(robot).at(np.array(robot.home))
    assert expected_blow(settings_with(robot), kin, 0.25) is None
    settings = settings_with(robot, max_impact=LIMIT)
    blow = expected_blow(settings, kin, 0.25)
    mobility = kin.jacobian[:3] @ np.linalg.inv(kin.mass) @ kin.jacobian[:3].T
    masses = np.sort(1.0 / np.linalg.eigvalsh(mobility))
    np.testing.assert_allclose(blow.masses, masses[[0, 2]], rtol=1e-6)
    np.testing.assert_allclose(blow.forces, 0.25 * np.sqrt(HAND * masses[[0, 2]]), rtol=1e-6)
    assert blow.exceeds
    assert not expected_blow(settings, kin, 0.01).exceeds
    assert f"{LIMIT:g}" in str(blow)
    heavy = expected_blow(settings, kin, 0.25, np.diag([60.0, 20.0, 20.0, 1.0, 1.0, 1.0]))
    assert heavy.virtual == pytest.approx(60.0)


# --- the fault after a blow ---


def test_a_fault_after_a_contact_names_the_contact_first_and_a_later_one_does_not():
    loop = ControlLoop(load_robot("ur5e"), "impedance")
    time = pressed(loop, (0.0, 0.0, 0.0), 0.4, 0.0)
    assert loop.contact.explained("overrun", time) == "overrun"
    time = pressed(loop, (0.0, 0.0, 60.0), 0.1, time)
    contact = loop.contact.found
    assert contact is not None
    for later, named in ((0.1, True), (5.0, False)):
        text = loop.contact.explained("overrun", contact.last + later)
        assert text.startswith(str(contact)) is named
        assert text.endswith("overrun")
    assert loop.contact.explained("", time) == ""


def test_an_arm_that_passes_a_limit_in_contact_has_the_contact_in_its_fault():
    loop = ControlLoop(load_robot("ur5e"), "gravity_compensation")
    time = pressed(loop, (0.0, 0.0, 0.0), 0.4, 0.0)
    time = pressed(loop, (0.0, 0.0, 60.0), 0.02, time)
    robot = loop.robot
    speed = 1.2 * loop.model.limits.velocity[5]
    q = np.array(robot.home)
    for _ in range(10):
        q = q + np.eye(robot.n)[5] * speed * robot.period
        wrench = Wrench(np.array([0.0, 0.0, 60.0]), np.zeros(3), robot.wrench_frame)
        loop.tick(RobotState(time, q, np.eye(robot.n)[5] * speed, loop.model.at(q).gravity, wrench))
        time += robot.period
    assert robot.joints[5] in loop.fault
    assert loop.fault.startswith("contact on tool0")
