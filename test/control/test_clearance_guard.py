"""In each cycle the bodies of an arm are kept off each other and its cell, whatever drives it."""

from dataclasses import replace

import numpy as np
import pytest
from driven_arm import DrivenArm
from free_postures import FreePostures

from robot_control_ros.control.clearance_guard import MOST_NEAR, NEAR, ClearanceGuard, is_far
from robot_control_ros.control.soft_limits import SoftLimits
from robot_control_ros.core.types import RobotState
from robot_control_ros.references.clearance import Clearance
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

PushedArm = pytest.importorskip("pushed_arm").PushedArm
robots = pytest.mark.parametrize("name", ["ur5e", "gen3"])
INTO_WALL = 0.004  # m that a push goes into a wall


def spares(clearance, q):
    """What each pair has more than its margin (p,) [m]."""
    bodies = clearance.bodies
    return bodies.distances(q) - bodies.bodies.margin


def guarded(name):
    """A robot, what it keeps clear of, and the guard."""
    robot = load_robot(name)
    model = RobotModel.of(robot)
    clearance = Clearance(robot, model)
    return robot, clearance, ClearanceGuard(clearance, model)


@robots
def test_a_look_finds_the_pairs_that_are_near_and_is_not_needed_elsewhere(name, rng):
    robot, clearance, guard = guarded(name)
    q = np.array(robot.home)
    guard.look(q)
    skipped = 0
    for _ in range(1500):
        q = q + 0.002 * rng.normal(size=robot.n)
        spare = spares(clearance, q)
        if is_far(guard.row, q, np.zeros(robot.n), robot.n):
            skipped += 1
            assert spare.min() > 0.0
            continue
        near = guard.look(q)
        expected = np.flatnonzero(spare < NEAR - 1e-6)
        if len(expected) < MOST_NEAR:
            assert set(expected) <= set(guard.number[:near])
        if spare.min() > 0.0:
            assert guard.gap[:near] == pytest.approx(spare[guard.number[:near]], abs=1e-5)
    assert skipped > 100


@robots
def test_no_look_is_needed_only_where_near_bodies_approach_slowly(name, rng):
    robot, clearance, guard = guarded(name)
    looking = ClearanceGuard(clearance, RobotModel.of(robot))
    q = np.array(robot.home)
    guard.look(q)
    skipped = 0
    for _ in range(1000):
        q = q + 0.002 * rng.normal(size=robot.n)
        v = rng.exponential() * rng.normal(size=robot.n)
        if is_far(guard.row, q, v, robot.n):
            skipped += 1
            looking.look(q)
            assert not looking.approaching(v)
        else:
            guard.look(q)
    assert skipped > 20


@robots
def test_the_gradients_are_those_of_the_distances(name, rng):
    robot, clearance, guard = guarded(name)
    postures = FreePostures(robot)
    compared = 0
    while compared < 10:
        q = postures.draw(rng, -2.0, 2.0)
        guard.restart()
        near = guard.look(q)
        step = 1e-5
        for row in range(near):
            pair = guard.number[row]
            slopes = [
                (spares(clearance, q + each)[pair] - spares(clearance, q - each)[pair])
                / (2.0 * step)
                for each in step * np.eye(robot.n)
            ]
            away = np.abs(np.array(slopes) - guard.gradient[row])
            compared += 1
            assert np.median(away) < 1e-3  # at edges and ends the slope changes at once


def least_spare(arm, seconds, force):
    """The least that a pair had more than its margin [m], while a force (3,) [N] pushed the tip."""
    clearance = Clearance(arm.robot, arm.model)
    least = np.inf
    for _ in range(round(seconds / 0.02)):
        arm.go(arm.loop.tick, 0.02, force)
        least = min(least, spares(clearance, arm.loop.state.q).min())
    return least


def push_inwards(name, law, force, checked=True):
    """An arm whose tip is pushed towards its base, and the least spare of its pairs [m]."""
    arm = PushedArm(name, law)
    arm.loop.clearance.settings.set({"checked": checked})
    arm.go(arm.loop.tick, 0.1)
    way = -arm.loop.tip()[:3, 3]
    return arm, least_spare(arm, 2.5, force * way / np.linalg.norm(way))


@pytest.mark.few(1)
@robots
@pytest.mark.parametrize("force", [20.0, pytest.param(60.0, marks=pytest.mark.long)])
def test_a_pushed_arm_is_kept_off_itself(name, force):
    arm, least = push_inwards(name, "gravity_compensation", force)
    assert least > -INTO_WALL
    _, without = push_inwards(name, "gravity_compensation", force, checked=False)
    assert without < -0.006
    assert "apart" in arm.loop.warning or not arm.loop.fault


@pytest.mark.few(1)
@robots
def test_dampers_of_near_bodies_only_take_power(name, rng):
    robot = load_robot(name)
    model = RobotModel.of(robot)
    clearance = Clearance(robot, model)
    soft_limits = SoftLimits(robot, model, ClearanceGuard(clearance, model))
    soft_limits.set_tip_speed(1e6)  # m/s: none
    postures = FreePostures(robot)
    added = 0
    while added < 20:
        q = postures.draw(rng, -2.0, 2.0)
        if not 0.0 < spares(clearance, q).min() < 0.01:
            continue
        v = 0.3 * model.limits.velocity * rng.uniform(-1.0, 1.0, robot.n)
        state = RobotState(0.0, q, v, np.zeros(robot.n))
        kin = model.at(q, v)
        soft_limits.reset()
        soft_limits.remember(state)
        torque = soft_limits.add(kin.gravity, state, kin) - kin.gravity
        added += "apart" in soft_limits.warning(0.0)
        assert torque.dot(v) <= 1e-9


@pytest.mark.few(2)
@robots
@pytest.mark.parametrize("law", ["Advance", "AdvanceByVelocity"])
def test_positions_and_velocities_lead_no_body_into_another(name, law):
    rates = {"ur5e": [0.0, 0.6, 0.0, 0.0, 0.0, 0.0], "gen3": [0.0, 0.8, 0.0, -0.4, 0.0, 0.0, 0.0]}
    least = {}
    for checked in (True, False):
        arm = DrivenArm(name, f"advancing_law:{law}", {"rate": rates[name]})
        arm.loop.clearance.settings.set({"checked": checked})
        clearance = Clearance(arm.robot, arm.model)
        spare = []
        for _ in range(round(2.5 / arm.robot.period)):
            arm.step()
            spare.append(spares(clearance, arm.q).min())
        least[checked] = min(spare)
        assert ("apart" in arm.loop.warning) is checked
    assert least[True] > -0.0005
    assert least[False] < -0.01


@robots
def test_bodies_that_begin_too_near_get_no_torque_and_come_no_nearer(name, rng):
    robot = load_robot(name)
    clearance = Clearance(robot, RobotModel.of(robot))
    postures = FreePostures(robot)
    while True:
        q = postures.draw(rng, -2.0, 2.0)
        spare = spares(clearance, q).min()
        if -0.004 < spare < -0.002:
            break
    arm = PushedArm(name, "gravity_compensation")
    arm.plant.reset(q)
    state = arm.plant.read()
    first = arm.loop.tick(state)
    assert first.values == pytest.approx(arm.model.at(state.q).gravity, abs=1e-6)
    arm.plant.write(first)
    _, shares = arm.go(arm.loop.tick, 1.0)
    assert shares.max() < 0.01
    assert spares(clearance, arm.loop.state.q).min() == pytest.approx(spare, abs=1e-4)


def test_an_arm_without_bodies_pays_nothing():
    robot = load_robot("ur5e")
    robot = replace(robot, clearance={"checked": False})
    model = RobotModel.of(robot)
    guard = ClearanceGuard(Clearance(robot, model), model)
    assert guard.look(np.array(robot.home)) == 0
    assert is_far(guard.row, np.full(robot.n, 3.0), np.full(robot.n, 3.0), robot.n)
